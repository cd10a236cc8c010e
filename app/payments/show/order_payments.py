"""The payments of one Saleor order, and what of the order is still to be paid."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from app.ledger.installations import OpenInstallation
from app.ledger.sheets import Sheet, find_attempts
from app.ledger.tables import Kind, Mode, State
from app.payments.desk import Desk
from app.payments.outcome.balance import ZERO, balance
from app.saleor.errors import SaleorError, SaleorRefused
from app.saleor.graphql import SaleorClient
from app.saleor.orders import OrderToPay, order_to_pay


@dataclass(frozen=True, slots=True)
class OrderPayments:
    """An order's payments, oldest first. ``gateway`` is how Saleor calls the app there.

    ``order`` None: Saleor could not be asked (``unreachable``), or has no such order. Then only those payments are
    found that were begun on the order itself, and not on the checkout that it was made of.
    """

    order: OrderToPay | None
    sheets: Sequence[Sheet]
    gateway: str = ""
    unreachable: bool = False

    @property
    def to_pay(self) -> Decimal:
        """What somebody can be asked to pay now; zero for an order that is paid, cancelled or not known.

        What has been refunded was paid. Of our own payments, Saleor may not have heard everything yet.
        """
        if self.order is None or self.order.total is None or not self.order.payable:
            return ZERO
        ours = {each.payment.transaction_id: once_covered(each) for each in self.sheets}
        covered = (max(each.once_covered, ours.get(each.id, ZERO)) for each in self.order.transactions)
        return max(ZERO, self.order.total.gross.amount - sum(covered, ZERO))

    def link_over(self, amount: Decimal, now: datetime) -> Sheet | None:
        """Return the newest payment whose page is open over exactly that amount."""
        return next(
            (each for each in reversed(self.sheets) if each.payment.amount == amount and can_be_paid(each, now)), None
        )


def can_be_paid(sheet: Sheet, now: datetime) -> bool:
    """Return True while somebody can pay on the payment's page, as far as is known."""
    payment = sheet.payment
    in_time = payment.expires_at is None or now < payment.expires_at
    return payment.checkout_url is not None and in_time and balance(payment.flow, sheet.operations).unpaid


def once_covered(sheet: Sheet) -> Decimal:
    """Return what of its order a payment covers, or has covered before it was refunded. Pure."""
    create, now = sheet.create, balance(sheet.payment.flow, sheet.operations)
    asked = create.state in {State.INTENT, State.UNKNOWN} and sheet.payment.mode is Mode.DIRECT
    if asked or create.state is State.PENDING:
        return create.amount
    used = any(each.kind in {Kind.CAPTURE, Kind.VOID} and each.state is State.SUCCESS for each in sheet.operations)
    return now.charged + (ZERO if used else now.authorized)


async def payments_of_order(
    desk: Desk, client: SaleorClient, installation: OpenInstallation, order_id: str
) -> OrderPayments:
    """Return what Saleor and the ledger know of that store's order. Of another store's, nobody here knows anything."""
    order, gateway, unreachable = None, "", False
    try:
        order, gateway = await order_to_pay(client, installation, order_id)
    except SaleorRefused:  # what somebody calls an order cannot be one
        pass
    except SaleorError:
        unreachable = True
    known = None if order is None else [each.id for each in order.transactions]
    async with desk.database.transaction() as session:
        sheets = await find_attempts(session, installation.id, source_id=order_id, transaction_ids=known)
    return OrderPayments(order, sheets, gateway, unreachable)
