"""Orders that are placed and paid for, over HTTP."""

from integration_base_tests.loopback import json_reply
from saleor_app_sdk.testing import FakeSaleor
from saleor_app_sdk.testing.views import OrderView, TransactionView
from saleor_app_sdk.testing.vocabulary import WebhookEvent
from saleor_app_sdk_tests.testing.stub import Stub


async def an_order(saleor: FakeSaleor, stub: Stub, result: str) -> tuple[OrderView, TransactionView]:
    """Return an order whose only transaction was answered with this result."""
    stub.answer(
        WebhookEvent.TRANSACTION_INITIALIZE_SESSION,
        json_reply({"result": result, "pspReference": "p-1", "actions": ["CHARGE", "REFUND", "CANCEL"]}),
    )
    checkout = await saleor.create_checkout()
    session = await saleor.initialize(checkout.id)
    done = await saleor.complete(checkout.id)
    assert done.order is not None
    return done.order, session.required_transaction
