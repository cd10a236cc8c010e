"""The payments of one Saleor order, and what of the order is still to be paid."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from app.db.aggregates import PaymentAggregate, find_attempts
from app.db.installations import OpenInstallation
from app.db.tables import Kind, Mode, State
from app.payments.core.balance import ZERO, balance
from app.payments.services import Services
from app.saleor.errors import SaleorError, SaleorRefusedError
from app.saleor.graphql import SaleorClient
from app.saleor.orders import OrderToPay, order_to_pay


@dataclass(frozen=True, slots=True)
class OrderPayments:
    """An order's payments, oldest first. ``gateway`` is how Saleor calls the app there.

    ``order`` None: Saleor could not be asked (``unreachable``), or has no such order. Then only those payments are
    found that were begun on the order itself, and not on the checkout that it was made of.
    """

    order: OrderToPay | None
    aggregates: Sequence[PaymentAggregate]
    gateway: str = ""
    unreachable: bool = False

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
    return OrderPayments(order, aggregates, gateway, unreachable)
