"""The payments of one Saleor order, what of it is still to be paid, and a link with which somebody pays that.

Staff make the link for an order that is placed and not paid, for a customer on the telephone. Saleor begins the
transaction and asks us by the usual webhook, so that the payment is one like any other.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from app.db.aggregates import PaymentAggregate, find_attempts
from app.db.installations import OpenInstallation
from app.db.payouts import PayoutRecord, payouts_for
from app.db.tables import Kind, Mode, State
from app.payments.core.balance import ZERO, balance, check_amount
from app.payments.core.refusal import RefusalCode, RefusalError
from app.payments.services import Services
from app.saleor.errors import SaleorError, SaleorRefusedError
from app.saleor.graphql import SaleorClient
from app.saleor.orders import Begun, OrderToPay, begin_transaction, order_to_pay

NOT_ASKED = "Saleor could not be asked about this order: try again in a minute."
NO_ORDER = "Saleor has no such order."
NOT_PAYABLE = "Nobody can pay this order: it is not placed, or cancelled."
ALL_PAID = "Nothing of this order is left to pay."
_NO_ANSWER = (
    "Saleor did not answer in time. The link may have been made all the same: look at the order again in a minute."
)
_NOT_KNOWN = "It is not known yet whether the payment page was opened: look at the order again in a minute."
# What the storefront is told to pass, staff can only find on the order.
_ON_THE_ORDER = {
    RefusalCode.MISSING_NAME: "The order has no first and last name, which the merchant account asks for",
    RefusalCode.MISSING_EMAIL: "The order has no e-mail address, which the gateway needs",
    RefusalCode.MISSING_PHONE: "The order has no phone number, which the gateway needs",
}
_ADD_IT = "add it to the order, best to its billing address, and try again."


@dataclass(frozen=True, slots=True)
class OrderPayments:
    """An order's payments, oldest first, and the payouts that are about these. ``gateway`` is how Saleor calls the app.

    ``order`` None: Saleor could not be asked (``unreachable``), or has no such order. Then only those payments are
    found that were begun on the order itself, and not on the checkout that it was made of.
    """

    order: OrderToPay | None
    aggregates: Sequence[PaymentAggregate]
    gateway: str = ""
    unreachable: bool = False
    payouts: Sequence[PayoutRecord] = ()

    @property
    def to_pay(self) -> Decimal:
        """What somebody can be asked to pay now; zero for an order that is paid, cancelled or not known.

        What has been refunded was paid. Of our own payments, Saleor may not have heard everything yet.
        """
        if self.order is None or self.order.total is None or not self.order.payable:
            return ZERO
        ours = {each.payment.transaction_id: once_covered(each) for each in self.aggregates}
        covered = (max(each.once_covered, ours.get(each.id, ZERO)) for each in self.order.transactions)
        return max(ZERO, self.order.total.gross.amount - sum(covered, ZERO))

    def link_over(self, amount: Decimal, now: datetime) -> PaymentAggregate | None:
        """Return the newest payment whose page is open over exactly that amount."""
        return next(
            (each for each in reversed(self.aggregates) if each.payment.amount == amount and can_be_paid(each, now)),
            None,
        )


def can_be_paid(aggregate: PaymentAggregate, now: datetime) -> bool:
    """Return True while somebody can pay on the payment's page, as far as is known."""
    payment = aggregate.payment
    in_time = payment.expires_at is None or now < payment.expires_at
    return payment.checkout_url is not None and in_time and balance(payment.flow, aggregate.operations).unpaid


def once_covered(aggregate: PaymentAggregate) -> Decimal:
    """Return what of its order a payment covers, or has covered before it was refunded. Pure."""
    create, now = aggregate.create, balance(aggregate.payment.flow, aggregate.operations)
    asked = create.state in {State.INTENT, State.UNKNOWN} and aggregate.payment.mode is Mode.DIRECT
    if asked or create.state is State.PENDING:
        return create.amount
    used = any(each.kind in {Kind.CAPTURE, Kind.VOID} and each.state is State.SUCCESS for each in aggregate.operations)
    return now.charged + (ZERO if used else now.authorized)


async def payments_of_order(
    services: Services, client: SaleorClient, installation: OpenInstallation, order_id: str
) -> OrderPayments:
    """Return what Saleor and the database know of that store's order.

    Of another store's, nobody here knows anything.
    """
    order, gateway, unreachable = None, "", False
    try:
        order, gateway = await order_to_pay(client, installation, order_id)
    except SaleorRefusedError:  # what somebody calls an order cannot be one
        pass
    except SaleorError:
        unreachable = True
    known = None if order is None else [each.id for each in order.transactions]
    async with services.database.transaction() as session:
        aggregates = await find_attempts(session, installation.id, source_id=order_id, transaction_ids=known)
        payouts = await payouts_for(session, [each.payment.id for each in aggregates])
    return OrderPayments(order, aggregates, gateway, unreachable, payouts)


def attempt_of(known: OrderPayments) -> str:
    """Return what tells the next attempt to pay from all before: a form that is sent twice names the same."""
    transactions = known.order.transactions if known.order is not None else ()
    return _digest(*sorted(each.id for each in transactions))


async def payment_link(
    services: Services,
    client: SaleorClient,
    installation: OpenInstallation,
    order_id: str,
    *,
    amount: Decimal | None = None,
    attempt: str | None = None,
) -> PaymentAggregate:
    """Return a payment on whose page the order can be paid over ``amount``, or over all that is open.

    If such a page is open, it is that one. ``attempt`` is what ``attempt_of`` said to whoever asks: the same attempt
    over the same amount is one transaction in Saleor and one payment here, however often it is asked for (laws of
    money, 4). Raises RefusalError.
    """
    known = await payments_of_order(services, client, installation, order_id)
    amount = _amount(known, amount)
    already = known.link_over(amount, services.now())
    if already is not None:
        return already
    key = f"link-{_digest(order_id, attempt or attempt_of(known), str(amount))}"
    try:
        begun = await begin_transaction(
            client, installation, order_id=order_id, amount=amount, gateway=known.gateway, key=key
        )
    except SaleorRefusedError as refused:
        words = f"Saleor did not begin a payment: {refused.message}"
        raise RefusalError(RefusalCode.NOT_POSSIBLE, words) from refused
    except SaleorError as error:
        raise RefusalError(RefusalCode.NOT_POSSIBLE, _NO_ANSWER) from error
    return await _opened(services, installation, begun)


def _amount(known: OrderPayments, wanted: Decimal | None) -> Decimal:
    if known.order is None:
        raise RefusalError(RefusalCode.NOT_POSSIBLE, NOT_ASKED if known.unreachable else NO_ORDER)
    if not known.order.payable:
        raise RefusalError(RefusalCode.NOT_POSSIBLE, NOT_PAYABLE)
    if not known.to_pay:
        raise RefusalError(RefusalCode.NOT_POSSIBLE, ALL_PAID)
    amount = check_amount(known.to_pay if wanted is None else wanted)
    if amount > known.to_pay:
        words = f"{known.to_pay} {known.order.channel.currency_code} is left to pay of this order: ask for no more."
        raise RefusalError(RefusalCode.INVALID_AMOUNT, words, "amount")
    return amount


async def _opened(services: Services, installation: OpenInstallation, begun: Begun) -> PaymentAggregate:
    async with services.database.transaction() as session:
        found = await find_attempts(session, installation.id, source_id="", transaction_ids=[begun.transaction_id])
    if not found:
        raise _refused(begun)
    (aggregate,) = found
    if can_be_paid(aggregate, services.now()):
        return aggregate
    over = aggregate.create.state.final or aggregate.create.state is State.INIT
    words = aggregate.create.message if over else None
    raise RefusalError(RefusalCode.NOT_POSSIBLE, words or _NOT_KNOWN)


def _refused(begun: Begun) -> RefusalError:
    """Return why our own webhook refused it, in words for staff."""
    said: Any = begun.data
    errors = said.get("errors") if isinstance(said, Mapping) else None
    error = errors[0] if isinstance(errors, list) and errors and isinstance(errors[0], Mapping) else {}
    code = str(error.get("code"))
    if code in _ON_THE_ORDER:
        return RefusalError(RefusalCode(code), f"{_ON_THE_ORDER[RefusalCode(code)]}: {_ADD_IT}")
    words = str(error.get("message") or begun.message or "The app did not answer Saleor.")
    return RefusalError(RefusalCode.NOT_POSSIBLE, words)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
