"""The balance of a payment: what is reserved, charged and refunded; and which actions are available. Pure.

It is computed from the payment's operations. Operations in flight count as if they will succeed (laws of money, 3), so
that no amount is promised twice. What has perhaps succeeded (7) counts as used, and leaves nothing to use. No amount is
requested that the gateway cannot take (14). When money has moved, and the fee for it, is stored for the daily sums
(``store.day_sums``): at the time that the gateway names for the success, if it names a possible one; unchanged by later
records.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from app.core.ids import GatewayOperationId
from app.core.payment import Operation, Payment, PaymentAggregate, returned_of_payout
from app.core.vocabulary import GIVES_A_PAYOUT_BACK, Flow, Kind, PaymentStatus, State
from app.i18n.currencies import smallest_unit
from app.i18n.messages import LazyMessage, Money
from app.rules.details import Details
from app.rules.refusal import RefusalCode, RefusalError
from app.rules.stated_times import can_have_happened
from gateway_client.statuses import CodeKind, Status, explain
from integration_base.amounts import CENT, LARGEST, format_amount, has_whole_cents, has_whole_millionths
from saleor_app_sdk.responses import AvailableAction

ZERO = Decimal("0.00")
_MAX_CURRENCY_LENGTH = 3


@dataclass(frozen=True, slots=True)
class RecurringCharge:
    """A later charge of the subscription that the payment has begun; ``id`` is the gateway's.

    ``refundable`` is the amount of this charge, and of no other, that can be refunded (gateway facts, 6); ``held`` what
    the store still has of it; ``refunding`` and ``disputed`` are those of this charge (see ``Balance``).
    """

    id: GatewayOperationId
    charged: Decimal
    refunded: Decimal
    refunding: Decimal
    disputed: Decimal
    refundable: Decimal
    held: Decimal


@dataclass(frozen=True, slots=True)
class Balance:
    """Amounts of one payment, in its currency.

    ``capturable`` is what is left of a reservation: nothing after a capture which releases the rest
    (``Operation.keeps_rest``) or a void. ``unpaid`` means that the shopper has not paid yet and can still be stopped.
    ``capturing``, ``refunding`` and ``voiding`` are pending operations, sent or not. ``disputed`` is the amount that
    payers claim back from their bank, or have received: refunding it too would pay it twice. ``recurring`` are the
    later charges of the subscription that the payment has begun, which are in none of the other sums. ``charged_back``
    is what payers have received back from their bank, of later charges too. ``standing`` is the state of the payment
    itself. ``in_doubt``: it has perhaps succeeded or failed, whatever it says, or its capture has, or it was perhaps
    voided (laws of money, 7).
    ``reserved`` is what is left of the reservation, whatever is pending; ``held`` what the store still has of the
    payment, charged or reserved.
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
    recurring: tuple[RecurringCharge, ...] = ()
    in_doubt: bool = False
    reserved: Decimal = ZERO
    held: Decimal = ZERO
    charged_back: Decimal = ZERO

    @property
    def taken(self) -> Decimal:
        """The whole amount charged, by the payment and by its subscription."""
        return self.charged + sum((charge.charged for charge in self.recurring), ZERO)

    @property
    def returned(self) -> Decimal:
        """The whole amount refunded, of the payment and of its subscription's charges."""
        return self.refunded + sum((charge.refunded for charge in self.recurring), ZERO)

    @property
    def kept(self) -> Decimal:
        """What the store still has of the payment and of its subscription's charges."""
        return self.held + sum((charge.held for charge in self.recurring), ZERO)

    @property
    def actions(self) -> tuple[AvailableAction, ...]:
        """The actions that staff may request next: none that the gateway would refuse."""
        actions = []
        if self.capturable:
            actions.append(AvailableAction.CHARGE)
        if self.refundable:
            actions.append(AvailableAction.REFUND)
        if self.capturable or self.unpaid:
            actions.append(AvailableAction.CANCEL)
        return tuple(actions)

    def refundable_of(self, charge_id: GatewayOperationId | None) -> Decimal:
        """Return what can be refunded of one charge; None: of the payment itself, without its later charges."""
        if charge_id is None:
            return self.refundable
        return next((charge.refundable for charge in self.recurring if charge.id == charge_id), ZERO)

    def sum(self, amount: Decimal) -> Money:
        """Return ``amount`` with the payment's currency."""
        return Money(amount, self.currency)


def balance(flow: Flow, operations: Sequence[Operation]) -> Balance:
    """Return the balance of a payment made for ``flow``."""
    create = [operation for operation in operations if operation.kind is Kind.CREATE][-1]
    paid = create.amount if create.state is State.SUCCESS else ZERO
    in_doubt = any(_leaves_in_doubt(flow, operation) for operation in operations)
    captured = _sum(operations, Kind.CAPTURE, State.SUCCESS)
    charged = paid if flow is Flow.CHARGE else captured
    cancelling = any(operation.kind is Kind.CANCEL and not operation.state.final for operation in operations)
    authorized = paid if flow is Flow.AUTHORIZATION else ZERO
    capturable = _unused(authorized, [operation for operation in operations if _counts(operation)])
    reserved = _unused(authorized, [operation for operation in operations if operation.state is State.SUCCESS])
    refunded = _sum(operations, Kind.REFUND, State.SUCCESS)
    disputes = (operation for operation in operations if operation.kind is Kind.DISPUTE)
    lost = [dispute for dispute in disputes if dispute.state is State.SUCCESS]
    return Balance(
        currency=create.currency,
        standing=create.state,
        authorized=authorized,
        charged=charged,
        refunded=refunded,
        capturing=_sum_pending(operations, Kind.CAPTURE),
        refunding=_sum_pending(operations, Kind.REFUND),
        voiding=any(operation.kind is Kind.VOID and not operation.state.final for operation in operations),
        capturable=ZERO if in_doubt else capturable,
        disputed=_sum_of(operations, Kind.DISPUTE, _counts),
        refundable=ZERO if in_doubt else _remainder_of(charged, None, operations),
        unpaid=create.state is State.INIT and not cancelling,
        in_flight=any(is_in_flight(operation) for operation in operations),
        recurring=tuple(_recurring_charges(operations)),
        in_doubt=in_doubt,
        reserved=reserved,
        charged_back=sum((dispute.amount for dispute in lost), ZERO),
        held=charged + reserved - refunded - _sum(operations, Kind.DISPUTE, State.SUCCESS),
    )


def actions_to_offer(aggregate: PaymentAggregate) -> list[str]:
    """Return the actions that staff may request next, as an event offers them in Saleor."""
    return [action.value for action in balance(aggregate.payment.flow, aggregate.operations).actions]


def _leaves_in_doubt(flow: Flow, operation: Operation) -> bool:
    """Return True when, because of this operation, nobody knows what the store has of the payment."""
    if operation.kind is Kind.VOID:
        return operation.contradicted and operation.state is State.FAILURE
    decisive = {Kind.CREATE} if flow is Flow.CHARGE else {Kind.CREATE, Kind.CAPTURE}
    return operation.contradicted and operation.kind in decisive


def _unused(authorized: Decimal, operations: Sequence[Operation]) -> Decimal:
    """Return what these operations leave of a reservation."""
    captures = [operation for operation in operations if operation.kind is Kind.CAPTURE]
    is_voided = any(operation.kind is Kind.VOID for operation in operations)
    if is_voided or not all(capture.keeps_rest for capture in captures):
        return ZERO
    return max(ZERO, authorized - sum((capture.amount for capture in captures), ZERO))


def _recurring_charges(operations: Sequence[Operation]) -> Iterator[RecurringCharge]:
    # Sorted once: a subscription that is charged each day has a thousand charges after three years.
    of_charges: defaultdict[str | None, list[Operation]] = defaultdict(list)
    for operation in operations:
        of_charges[operation.charge_id].append(operation)
    for operation in operations:
        if operation.kind is Kind.RECURRING and operation.state is State.SUCCESS and operation.operation_id is not None:
            charge_id = operation.operation_id
            its_own = of_charges.get(charge_id, [])
            refunded = _sum(its_own, Kind.REFUND, State.SUCCESS, of=charge_id)
            left = ZERO if operation.contradicted else _remainder_of(operation.amount, charge_id, its_own)
            yield RecurringCharge(
                id=charge_id,
                charged=operation.amount,
                refunded=refunded,
                refunding=_sum_pending(its_own, Kind.REFUND, of=charge_id),
                disputed=_sum_of(its_own, Kind.DISPUTE, _counts, of=charge_id),
                refundable=left,
                held=operation.amount - refunded - _sum(its_own, Kind.DISPUTE, State.SUCCESS, of=charge_id),
            )


def _remainder_of(charged: Decimal, charge_id: GatewayOperationId | None, operations: Sequence[Operation]) -> Decimal:
    """Return the refundable rest of one charge: pending refunds and disputes count as gone."""
    gone = [_sum_of(operations, kind, _counts, of=charge_id) for kind in (Kind.REFUND, Kind.DISPUTE)]
    return max(ZERO, charged - sum(gone, ZERO))


def is_overdrawn(flow: Flow, operations: Sequence[Operation]) -> bool:
    """Return True when more has been refunded than charged, or more charged and released than was reserved.

    A payout is overdrawn when more of it has come back than was paid out.
    """
    now = balance(flow, operations)
    if flow is Flow.PAYOUT:
        paid_out = _sum(operations, Kind.CREATE, State.SUCCESS)
        return returned_of_payout(operations) > paid_out or now.charged > ZERO
    uses = [
        operation
        for operation in operations
        if operation.kind in {Kind.CAPTURE, Kind.VOID} and operation.state is State.SUCCESS
    ]
    is_overused = sum((use.amount for use in uses), ZERO) > now.authorized
    refunds = _sum_of(
        operations, Kind.REFUND, lambda operation: _counts(operation) and operation.state is not State.WAITING
    )
    return refunds > now.charged or is_overused or any(charge.refunded > charge.charged for charge in now.recurring)


def is_in_flight(operation: Operation) -> bool:
    """Return True for a secondary operation that was sent, or is about to be, and whose outcome is open."""
    is_requested = operation.kind not in {Kind.CREATE, Kind.DISPUTE, Kind.RECURRING}
    return is_requested and not operation.state.final and operation.state is not State.WAITING


def _counts(operation: Operation) -> bool:
    return not operation.has_surely_failed


def _sum(operations: Sequence[Operation], kind: Kind, state: State, *, of: str | None = None) -> Decimal:
    return _sum_of(operations, kind, lambda operation: operation.state is state, of=of)


def _sum_pending(operations: Sequence[Operation], kind: Kind, *, of: str | None = None) -> Decimal:
    return _sum_of(operations, kind, lambda operation: not operation.state.final, of=of)


def _sum_of(
    operations: Sequence[Operation], kind: Kind, counts: Callable[[Operation], bool], *, of: str | None = None
) -> Decimal:
    """Return the sum of the operations on one charge; ``of`` None is the payment itself."""
    done = (operation for operation in operations if operation.kind is kind and operation.charge_id == of)
    return sum((operation.amount for operation in done if counts(operation)), ZERO)


def check_amount(amount: Decimal, currency: str = "") -> Decimal:
    """Return an amount with exactly two decimals.

    Raises RefusalError for one that is not above zero, above the largest amount, or has more than two decimals; or more
    than its ``currency`` has, if that is given.
    """
    if amount <= 0:
        raise RefusalError(
            RefusalCode.INVALID_AMOUNT, LazyMessage("There is nothing left to pay: the amount is zero."), "amount"
        )
    if amount > LARGEST:
        raise RefusalError(
            RefusalCode.AMOUNT_NOT_ACCEPTED,
            LazyMessage("The amount %(amount)s is larger than the largest that can be paid.", amount=amount),
            "amount",
        )
    if not has_whole_cents(amount):
        raise RefusalError(
            RefusalCode.AMOUNT_NOT_ACCEPTED,
            LazyMessage(
                "The amount %(amount)s has more than two decimal places; the gateway accepts two.", amount=amount
            ),
            "amount",
        )
    if message := fraction_message(amount, currency):
        raise RefusalError(RefusalCode.AMOUNT_NOT_ACCEPTED, message, "amount")
    return amount.quantize(CENT)


def moves_money(flow: Flow, kind: Kind) -> bool:
    """Return True when the success of such an operation moves money, in either direction."""
    if flow is Flow.PAYOUT:
        return kind is Kind.CREATE or kind in GIVES_A_PAYOUT_BACK
    return kind in {Kind.CAPTURE, Kind.REFUND, Kind.DISPUTE, Kind.RECURRING} or (
        kind is Kind.CREATE and flow is Flow.CHARGE
    )


def status_of(flow: Flow, operations: Sequence[Operation]) -> PaymentStatus:
    """Return the status of a payment made for ``flow``."""
    create = [operation for operation in operations if operation.kind is Kind.CREATE][-1]
    if create.contradicted:
        return PaymentStatus.PENDING
    if create.state is State.FAILURE:
        ended_unpaid = explain(Status.FAILURE, create.status_code).kind is CodeKind.CANCELLED
        return PaymentStatus.CANCELED if ended_unpaid else PaymentStatus.FAILED
    if create.state is not State.SUCCESS:
        return PaymentStatus.PENDING
    done = {
        operation.kind for operation in operations if operation.state is State.SUCCESS and operation.charge_id is None
    }
    gives_back = GIVES_A_PAYOUT_BACK if flow is Flow.PAYOUT else {Kind.REFUND}
    if done & gives_back:
        return PaymentStatus.REFUNDED
    if flow is not Flow.AUTHORIZATION or Kind.CAPTURE in done:
        return PaymentStatus.PAID
    return PaymentStatus.CANCELED if Kind.VOID in done else PaymentStatus.AUTHORIZED


def processed_at_of(payment: Payment, operation: Operation, arrived_at: datetime) -> datetime | None:
    """Return when the gateway says that it processed an operation; None if it does not say, or if that cannot be."""
    stated = Details.from_row(operation.details).processed_at
    return stated if stated is not None and can_have_happened(stated, payment, arrived_at) else None


def update_booking(payment: Payment, operation: Operation, arrived_at: datetime | None = None) -> None:
    """Set when an operation moved money, when a payment attempt ended, and the fee; clear what does not apply.

    ``arrived_at`` is when the message arrived that shows it; None: at the operation's last change. A fee that has more
    decimals or digits than the column holds, or no valid currency, is left out here; ``details`` have it.
    """
    moved = operation.state is State.SUCCESS and moves_money(payment.flow, operation.kind)
    ended = operation.state.final and operation.kind is Kind.CREATE and payment.flow is not Flow.PAYOUT
    details = Details.from_row(operation.details)
    arrived_at = arrived_at or operation.updated_at
    occurred_at = processed_at_of(payment, operation, arrived_at) or arrived_at
    operation.booked_at = (operation.booked_at or occurred_at) if moved else None
    operation.ended_at = (operation.booked_at or operation.ended_at or occurred_at) if ended else None
    if not moved:
        operation.fee = operation.fee_currency = None
        return
    currency = operation.currency if details.fee is None else details.fee.currency or operation.currency
    if details.fee is not None and has_whole_millionths(details.fee.amount) and len(currency) <= _MAX_CURRENCY_LENGTH:
        operation.fee, operation.fee_currency = details.fee.amount, currency
    else:
        operation.fee = operation.fee_currency = None


def fraction_message(amount: Decimal, currency: str) -> LazyMessage | None:
    """Return why an amount is finer than its currency; None if it is not."""
    if not amount % smallest_unit(currency):
        return None
    return LazyMessage(
        "Amounts in %(currency)s have no decimals, so %(amount)s is not possible.",
        currency=currency,
        amount=format_amount(amount),
    )
