"""An app looks at an order, and begins a transaction on it: the SDK's own calls, at a Saleor over HTTP."""

import base64
from collections.abc import AsyncIterator
from decimal import Decimal

import httpx2
import pytest

from integration_base_tests.loopback import json_reply
from saleor_app_sdk.documents import Documents
from saleor_app_sdk.errors import SaleorNotAuthorisedError, SaleorRefusedError, SaleorUnreachableError
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.orders import InitializedTransaction, fetch_order_to_pay, fetch_source, initialize_transaction
from saleor_app_sdk.testing import FakeSaleor, SaleorSettings, serving
from saleor_app_sdk.testing.vocabulary import WebhookEvent
from saleor_app_sdk.transaction_source import PlacedOrder
from saleor_app_sdk_tests.fake_saleor import Row
from saleor_app_sdk_tests.served_app import MANIFEST
from saleor_app_sdk_tests.testing.stub import Stub

INITIALIZE = WebhookEvent.TRANSACTION_INITIALIZE_SESSION
PAGE = {"result": "CHARGE_ACTION_REQUIRED", "pspReference": "p-1", "data": {"checkoutUrl": "https://pay.example/1"}}


@pytest.fixture
async def client() -> AsyncIterator[SaleorClient]:
    async with httpx2.AsyncClient() as http:
        yield SaleorClient(http, Documents(MANIFEST / "operations"))


@pytest.fixture
async def store(saleor: FakeSaleor, installed: Stub) -> Row:
    """The installation of an app that opens a page for whoever wants to pay."""
    installed.answer(INITIALIZE, json_reply(PAGE))
    (app,) = await saleor.apps()
    return Row(saleor.api_url, schema_version="3.23", app_id=app.id, token=app.token)


async def test_an_order_that_nobody_has_paid(client: SaleorClient, store: Row, saleor: FakeSaleor) -> None:
    taken = await saleor.create_order()
    order, gateway = await fetch_order_to_pay(client, store, taken.id)
    assert order is not None
    assert (order.id, order.number, order.channel.slug, order.status) == (taken.id, "1", "uah", "UNFULFILLED")
    assert order.total is not None
    assert order.total.gross.amount == Decimal("569.50")
    assert order.amount_due == Decimal("569.50")
    assert order.transactions == ()
    assert order.is_payable
    assert gateway == (await saleor.apps())[0].identifier

    await saleor.cancel_order(taken.id)
    cancelled, _ = await fetch_order_to_pay(client, store, taken.id)
    assert cancelled is not None
    assert not cancelled.is_payable


async def test_what_was_paid_on_the_checkout_is_paid_on_the_order(
    client: SaleorClient, store: Row, saleor: FakeSaleor, installed: Stub
) -> None:
    installed.answer(INITIALIZE, json_reply({"result": "CHARGE_SUCCESS", "pspReference": "p-1", "actions": ["REFUND"]}))
    checkout = await saleor.create_checkout()
    paid = (await saleor.initialize(checkout.id)).required_transaction
    taken = (await saleor.complete(checkout.id)).order
    assert taken is not None
    installed.answer(
        WebhookEvent.TRANSACTION_REFUND_REQUESTED, json_reply({"result": "REFUND_SUCCESS", "pspReference": "r-1"})
    )
    await saleor.refund(paid.id, Decimal(100))
    await saleor.wait_for_background()

    order, _ = await fetch_order_to_pay(client, store, taken.id)
    assert order is not None
    (transaction,) = order.transactions
    assert (transaction.id, transaction.covered) == (paid.id, Decimal("469.50"))
    assert order.amount_due == Decimal("569.50")


async def test_what_staff_granted_to_refund_is_not_owed(
    client: SaleorClient, store: Row, saleor: FakeSaleor, installed: Stub
) -> None:
    """The balance says so, the default amount and the total do not."""
    taken = await saleor.create_order()
    await saleor.initialize(taken.id)
    await saleor.grant_refund(taken.id, Decimal(200))
    order, _ = await fetch_order_to_pay(client, store, taken.id)
    assert order is not None
    assert order.total is not None
    assert (order.total.gross.amount, order.amount_due) == (Decimal("569.50"), Decimal("369.50"))
    await saleor.initialize(taken.id)
    assert installed.asked_for(INITIALIZE.value)[1].json["action"]["amount"] == 569.5


async def test_a_transaction_is_begun_and_the_same_key_begins_no_other(
    client: SaleorClient, store: Row, saleor: FakeSaleor, installed: Stub
) -> None:
    taken = await saleor.create_order()
    _, gateway = await fetch_order_to_pay(client, store, taken.id)
    asked = {"order_id": taken.id, "amount": Decimal("100.5"), "gateway": gateway, "key": "key-1"}
    begun = await initialize_transaction(client, store, **asked)  # type: ignore[arg-type]
    assert begun == InitializedTransaction(begun.transaction_id, "", PAGE["data"])
    assert (await saleor.order(taken.id)).transaction_ids == [begun.transaction_id]
    told = installed.asked_for(INITIALIZE.value)[0].json
    assert (told["action"]["amount"], told["idempotencyKey"]) == (100.5, "key-1")

    assert await initialize_transaction(client, store, **asked) == begun  # type: ignore[arg-type]
    assert (await saleor.order(taken.id)).transaction_ids == [begun.transaction_id]
    with pytest.raises(SaleorRefusedError, match="UNIQUE"):
        await initialize_transaction(client, store, **asked | {"amount": Decimal(100)})  # type: ignore[arg-type]


async def test_what_the_app_refuses_is_told_with_its_reason(
    client: SaleorClient, store: Row, saleor: FakeSaleor, installed: Stub
) -> None:
    why = {"errors": [{"code": "MISSING_PHONE", "message": "no phone number"}]}
    refusal = {"result": "CHARGE_FAILURE", "pspReference": "refused-1", "message": "no phone number", "data": why}
    installed.answer(INITIALIZE, json_reply(refusal))
    taken = await saleor.create_order()
    begun = await initialize_transaction(
        client, store, order_id=taken.id, amount=Decimal(1), gateway=installed.manifest["id"], key="key-1"
    )
    assert (begun.message, begun.data) == ("no phone number", why)


async def test_what_is_not_there(client: SaleorClient, store: Row, saleor: FakeSaleor, installed: Stub) -> None:
    taken = await saleor.create_order()
    checkout = await saleor.create_checkout()
    missing = taken.id.removesuffix(taken.id[-4:]) + "AAAA"
    assert (await fetch_order_to_pay(client, store, missing))[0] is None
    for garbage in ("garbage", checkout.id, ""):
        with pytest.raises(SaleorRefusedError):
            await fetch_order_to_pay(client, store, garbage)
    with pytest.raises(SaleorRefusedError, match="NOT_FOUND"):
        await initialize_transaction(client, store, order_id=missing, amount=Decimal(1), gateway="x", key="1")
    with pytest.raises(SaleorRefusedError, match="paymentGateway"):
        await initialize_transaction(client, store, order_id=taken.id, amount=Decimal(1), gateway="nobody", key="1")


async def test_trouble_is_told_as_what_it_is(client: SaleorClient, store: Row, saleor: FakeSaleor) -> None:
    taken = await saleor.create_order()
    await saleor.set_faults(refuse_token=True)
    with pytest.raises(SaleorNotAuthorisedError):
        await fetch_order_to_pay(client, store, taken.id)
    await saleor.set_faults(graphql_status=503)
    with pytest.raises(SaleorUnreachableError):
        await fetch_order_to_pay(client, store, taken.id)
    await saleor.set_faults(graphql_internal_error=True)
    with pytest.raises(SaleorUnreachableError):
        await initialize_transaction(client, store, order_id=taken.id, amount=Decimal(1), gateway="x", key="1")


async def test_an_app_without_the_permission_sees_no_transactions(client: SaleorClient, stub: Stub) -> None:
    async with serving(SaleorSettings()) as running:
        done = await running.saleor.install(stub.manifest_url, permissions=())
        store = Row(running.saleor.api_url, schema_version="3.23", app_id=done.app_id, token=done.token or "")
        with pytest.raises(SaleorNotAuthorisedError):
            await fetch_order_to_pay(client, store, (await running.saleor.create_order()).id)


async def test_the_order_of_a_transaction(client: SaleorClient, store: Row, saleor: FakeSaleor) -> None:
    order = await saleor.create_order()
    _, gateway = await fetch_order_to_pay(client, store, order.id)
    begun = await initialize_transaction(
        client, store, order_id=order.id, amount=Decimal("569.50"), gateway=gateway, key="the-only-one"
    )
    source = await fetch_source(client, store, begun.transaction_id)
    assert source is not None
    assert source.order == PlacedOrder(id=order.id, number="1")
    assert (source.is_open, source.excess) == (True, Decimal("-569.50"))
    await saleor.cancel_order(order.id)
    cancelled = await fetch_source(client, store, begun.transaction_id)
    assert cancelled is not None
    assert (cancelled.is_canceled, cancelled.is_open) == (True, False)


async def test_a_checkout_is_no_order_yet_and_a_stranger_has_none(
    client: SaleorClient, store: Row, saleor: FakeSaleor
) -> None:
    checkout = await saleor.create_checkout()
    session = await saleor.initialize(checkout.id)
    assert session.transaction is not None
    source = await fetch_source(client, store, session.transaction.id)
    assert source is not None
    assert (source.order, source.checkout_id, source.excess) == (None, checkout.id, Decimal("-569.50"))
    nobodys = base64.b64encode(b"TransactionItem:00000000-0000-4000-8000-000000000000").decode()
    assert await fetch_source(client, store, nobodys) is None
