"""What of a payment is reserved, taken, given back; and what may be asked next. Pure: computed from its operations.

Operations in flight count as if they will succeed (laws of money, 3), so that nothing is promised twice. No amount is
asked for that the gateway cannot take (14).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from app.amounts import CENT, LARGEST, is_in_cents
from app.db.tables import Flow, Kind, Operation, State
from app.i18n.messages import LazyMessage, Money
from app.payments.core.refusal import RefusalCode, RefusalError
from app.saleor.answers import AvailableAction

ZERO = Decimal("0.00")


@dataclass(frozen=True, slots=True)
class Balance:
    """Amounts of one payment, in its currency.

    ``capturable`` is the whole reservation or nothing: the gateway takes a reservation once, and a smaller capture
    releases the rest (gateway facts, 6). ``unpaid`` means that the shopper has not paid yet and can still be stopped.
    ``capturing``, ``refunding`` and ``voiding`` are on their way, sent or not. ``disputed`` is what payers want back
    from their bank, or have got: who refunds it too pays twice. ``standing`` is how far the payment itself has come.
    """

    currency: str
    standing: State
    authorized: Decimal
    charged: Decimal
    refunded: Decimal
    capturing: Decimal
    refunding: Decimal
    voiding: bool
    disputed: Decimal
    capturable: Decimal
    refundable: Decimal
    unpaid: bool
    in_flight: bool

    @property
    def actions(self) -> tuple[AvailableAction, ...]:
        """What staff may ask next: nothing that the gateway would refuse."""
        actions = []
        if self.capturable:
            actions.append(AvailableAction.CHARGE)
        if self.refundable:
            actions.append(AvailableAction.REFUND)
        if self.capturable or self.unpaid:
            actions.append(AvailableAction.CANCEL)
        return tuple(actions)

    def sum(self, amount: Decimal) -> Money:
        """Return an amount of this payment."""
        return Money(amount, self.currency)


def balance(flow: Flow, operations: Sequence[Operation]) -> Balance:
    """Return the balance of a payment made for ``flow``."""
    create = [each for each in operations if each.kind is Kind.CREATE][-1]
    paid = create.amount if create.state is State.SUCCESS else ZERO
    captured = _sum(operations, Kind.CAPTURE, State.SUCCESS)
    refunded = _sum(operations, Kind.REFUND, State.SUCCESS)
    charged = paid if flow is Flow.CHARGE else captured
    refunding = _sum_on_its_way(operations, Kind.REFUND)
    disputed = sum((each.amount for each in operations if each.kind is Kind.DISPUTE and _counts(each)), ZERO)
    used = any(each.kind in {Kind.CAPTURE, Kind.VOID} and _counts(each) for each in operations)
    cancelling = any(each.kind is Kind.CANCEL and not each.state.final for each in operations)
    return Balance(
        currency=create.currency,
        standing=create.state,
        authorized=paid if flow is Flow.AUTHORIZATION else ZERO,
        charged=charged,
        refunded=refunded,
        capturing=_sum_on_its_way(operations, Kind.CAPTURE),
        refunding=refunding,
        voiding=any(each.kind is Kind.VOID and not each.state.final for each in operations),
        capturable=paid if flow is Flow.AUTHORIZATION and not used else ZERO,
        disputed=disputed,
        refundable=max(ZERO, charged - refunded - refunding - disputed),
        unpaid=create.state is State.INIT and not cancelling,
        in_flight=any(in_flight(each) for each in operations),
    )


def in_flight(operation: Operation) -> bool:
    """Return True for a secondary operation that was sent, or is about to be, and whose outcome is open."""
    asked = operation.kind not in {Kind.CREATE, Kind.DISPUTE}
    return asked and not operation.state.final and operation.state is not State.WAITING


def _counts(operation: Operation) -> bool:
    return operation.state is not State.FAILURE


def _sum(operations: Sequence[Operation], kind: Kind, state: State) -> Decimal:
    return sum((each.amount for each in operations if each.kind is kind and each.state is state), ZERO)


def _sum_on_its_way(operations: Sequence[Operation], kind: Kind) -> Decimal:
    return sum((each.amount for each in operations if each.kind is kind and not each.state.final), ZERO)


def check_amount(amount: Decimal) -> Decimal:
    """Return an amount with exactly two decimals.

    Raises RefusalError for one that is not above zero, larger than any, or finer.
    """
    if amount <= 0:
        raise RefusalError(
            RefusalCode.INVALID_AMOUNT, LazyMessage("There is nothing left to pay: the amount is zero."), "amount"
        )
    if amount > LARGEST:
        raise RefusalError(
            RefusalCode.INVALID_AMOUNT,
            LazyMessage("The amount %(amount)s is larger than any that can be paid.", amount=str(amount)),
            "amount",
        )
    if not is_in_cents(amount):
        raise RefusalError(
            RefusalCode.INVALID_AMOUNT,
            LazyMessage("The amount %(amount)s has more than two decimals; the gateway takes two.", amount=str(amount)),
            "amount",
        )
    return amount.quantize(CENT)
