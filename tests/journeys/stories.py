"""Actions of shoppers and staff, and checks of what must be true afterwards."""

from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from gateway_client.dialect import DialectName
from gateway_client.sandbox.control.views import PaymentView
from integration_base_tests.waiting import eventually
from saleor_app_sdk.testing.views import NewCheckout, SessionView, TransactionView
from saleor_app_sdk.testing.vocabulary import Flow
from tests.journeys.stack import STOREFRONT, Stack

TOTAL = Decimal("569.50")
ZERO = Decimal(0)
BACK = {"returnUrl": f"{STOREFRONT}/back"}


def order_of(transaction: TransactionView) -> str:
    """Return the gateway's order id of a transaction: the link to the payment's page at its events ends with it."""
    links = (event.external_url for event in transaction.events if event.external_url)
    return urlsplit(next(links)).path.rpartition("/")[2]


def order_id_of(session: SessionView) -> str:
    """Return the gateway's order id of a session's transaction."""
    return order_of(session.required_transaction)


async def begin(
    shop: Stack, action: Flow = Flow.CHARGE, *, data: Any = BACK, checkout_id: str | None = None
) -> tuple[str, SessionView]:
    """Fill a basket (or take that checkout) and begin to pay; return the checkout and the session."""
    if checkout_id is None:
        checkout_id = (await shop.saleor.create_checkout(NewCheckout())).id
    session = await shop.saleor.initialize(checkout_id, action=action, data=data)
    assert session.event is not None, session
    return checkout_id, session


async def wait_for_event(shop: Stack, transaction_id: str, event: str) -> TransactionView:
    """Wait until Saleor has received an event; return the transaction as it is then."""

    async def heard() -> TransactionView | None:
        transaction = await shop.saleor.transaction(transaction_id)
        return transaction if event in transaction.event_types() else None

    return await eventually(heard)


async def charge_part(shop: Stack, transaction_id: str, amount: Decimal) -> TransactionView:
    """Let staff charge a part of a reservation, and release the rest where the gateway keeps it; wait for both."""
    await shop.saleor.charge(transaction_id, amount)
    if shop.dialect is DialectName.INTERFACE:
        transaction = await wait_for_event(shop, transaction_id, "CHARGE_SUCCESS")
        assert transaction.amounts.authorized > ZERO
        await shop.saleor.wait_for_background()
        await shop.saleor.cancel(transaction_id)
    return await wait_for_event(shop, transaction_id, "CANCEL_SUCCESS")


async def wait_until_quiet(shop: Stack, transaction_id: str) -> TransactionView:
    """Wait until nothing is left to send: no webhook in progress, no event waiting in the outbox."""
    await shop.saleor.wait_for_background()
    await shop.gateway.wait_for_webhooks()

    async def nothing_waits() -> bool:
        return await shop.undelivered_events() == 0

    await eventually(nothing_waits)
    return await shop.saleor.transaction(transaction_id)


async def paid_order(shop: Stack, checkout_id: str) -> None:
    """Place the order: it must be paid in full."""
    completion = await shop.saleor.complete(checkout_id)
    assert completion.order is not None, completion.errors
    assert completion.order.charge_status == "FULL"


async def assert_books_agree(shop: Stack, transaction_id: str) -> None:
    """Compare a transaction's amounts in Saleor with what the gateway did."""
    saleor = (await wait_until_quiet(shop, transaction_id)).amounts
    gateway = await shop.gateway.payment(order_of(await shop.saleor.transaction(transaction_id)))
    charged, refunded = _at_the_gateway(gateway)
    assert saleor.charged == charged - refunded
    assert saleor.refunded == refunded
    assert saleor.charge_pending == saleor.refund_pending == saleor.cancel_pending == ZERO


def _at_the_gateway(payment: PaymentView) -> tuple[Decimal, Decimal]:
    done = [operation for operation in payment.operations if operation.status == "success"]
    refunded = sum((operation.amount for operation in done if operation.method == "refund"), ZERO)
    if payment.method == "purchase":
        return (payment.amount if payment.status == "success" else ZERO), refunded
    return sum((operation.amount for operation in done if operation.method == "capture"), ZERO), refunded
