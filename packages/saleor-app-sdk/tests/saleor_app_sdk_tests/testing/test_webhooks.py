"""What goes over the wire: headers, signature and body as recorded."""

import json
from typing import Any

import httpx2
import pytest
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from integration_base_tests.loopback import ReceivedRequest, json_reply
from saleor_app_sdk.testing import FakeSaleor, Flow, NewCheckout
from saleor_app_sdk.testing.vocabulary import WebhookEvent
from saleor_app_sdk_tests.testing.recordings import recording
from saleor_app_sdk_tests.testing.stub import Stub

REQUIRED = json_reply(
    {"result": "CHARGE_ACTION_REQUIRED", "pspReference": "p-1", "data": {"redirectUrl": "https://pay.test"}}
)
AUTHORIZED = json_reply({"result": "AUTHORIZATION_SUCCESS", "pspReference": "a-1", "actions": ["CHARGE", "CANCEL"]})


async def the_keys(saleor: FakeSaleor) -> Any:
    async with httpx2.AsyncClient() as http:
        return (await http.get(f"{saleor.url}/.well-known/jwks.json")).json()


def verify(keys: Any, asked: ReceivedRequest) -> dict[str, Any]:
    """Check a detached signature with a library that did not make it; return its header."""
    registry = jws.JWSRegistry(algorithms=["RS256"])
    signature = asked.header("Saleor-Signature")
    token = jws.deserialize_compact(signature, KeySet.import_key_set(keys), payload=asked.body, registry=registry)
    return dict(token.headers())


def shape(value: Any) -> Any:
    """Return names (in order) and kinds of values: what two bodies of different payments have in common."""
    if isinstance(value, dict):
        return [(name, shape(item)) for name, item in value.items()]
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return "text or null" if value is None or isinstance(value, str) else type(value).__name__


async def test_keys_look_as_recorded(saleor: FakeSaleor) -> None:
    [ours], [theirs] = (await the_keys(saleor))["keys"], recording("jwks")["keys"]

    assert list(ours) == list(theirs)
    assert {name: ours[name] for name in ("kty", "key_ops", "e", "use", "alg")} == {
        name: theirs[name] for name in ("kty", "key_ops", "e", "use", "alg")
    }
    assert KeySet.import_key_set({"keys": [ours]}).keys[0].thumbprint() == ours["kid"]


async def test_headers_are_those_of_saleor_in_its_order(saleor: FakeSaleor, installed: Stub) -> None:
    installed.answer(WebhookEvent.TRANSACTION_INITIALIZE_SESSION, REQUIRED)
    checkout = await saleor.create_checkout()
    await saleor.initialize(checkout.id)

    [asked] = installed.asked_for("transaction_initialize_session")
    real = recording("transaction_initialize_session_CHARGE")["request"][0]
    assert [name for name, _ in asked.headers] == [name for name, _ in real["headers"]]
    theirs = dict(real["headers"])
    for name in ("User-Agent", "Accept-Encoding", "Accept", "Connection", "Content-Type", "Saleor-Event"):
        assert asked.header(name) == theirs[name]
    assert asked.header("X-Saleor-Signature") == asked.header("Saleor-Signature")
    header = verify(await the_keys(saleor), asked)
    assert {**header, "kid": ""} == {"alg": "RS256", "b64": False, "crit": ["b64"], "kid": "", "typ": "JWT"}


async def test_rotated_key_signs_at_once(saleor: FakeSaleor, installed: Stub) -> None:
    before = await the_keys(saleor)
    await saleor.rotate_key()
    checkout = await saleor.create_checkout()
    await saleor.initialize(checkout.id)

    [asked] = installed.asked_for("transaction_initialize_session")
    verify(await the_keys(saleor), asked)
    with pytest.raises((JoseError, ValueError)):
        verify(before, asked)


async def test_forged_signature_does_not_verify(saleor: FakeSaleor, installed: Stub) -> None:
    await saleor.set_faults(unsigned=True)
    checkout = await saleor.create_checkout()
    await saleor.initialize(checkout.id)

    [asked] = installed.asked_for("transaction_initialize_session")
    with pytest.raises((JoseError, ValueError)):
        verify(await the_keys(saleor), asked)


async def test_bodies_have_the_shape_of_the_recorded_ones(saleor: FakeSaleor, installed: Stub) -> None:
    """The recorded manifest's own subscriptions, laid over our payload, give what Saleor gave."""
    authorized = {"result": "AUTHORIZATION_SUCCESS", "pspReference": "a-1", "actions": ["CHARGE", "CANCEL"]}
    needs = {"result": "AUTHORIZATION_ACTION_REQUIRED", "pspReference": "a-1", "data": {}}
    installed.answer(WebhookEvent.PAYMENT_GATEWAY_INITIALIZE_SESSION, json_reply({"data": {}}))
    installed.answer(WebhookEvent.TRANSACTION_INITIALIZE_SESSION, json_reply(needs))
    installed.answer(WebhookEvent.TRANSACTION_PROCESS_SESSION, json_reply(authorized))
    installed.answer(
        WebhookEvent.TRANSACTION_CHARGE_REQUESTED, json_reply({"result": "CHARGE_SUCCESS", "pspReference": "c"})
    )
    installed.answer(WebhookEvent.TRANSACTION_CANCELATION_REQUESTED, json_reply({"result": "CANCEL_FAILURE"}))

    checkout = await saleor.create_checkout()
    await saleor.gateway_initialize(checkout.id, data={"hello": 1})
    opened = await saleor.initialize(checkout.id, action=Flow.AUTHORIZATION, data={"returnUrl": "https://shop.test"})
    paid = await saleor.process(opened.required_transaction.id, data={"threeDs": "ok"})
    await saleor.complete(checkout.id)
    await saleor.charge(paid.required_transaction.id)
    await saleor.wait_for_background()
    await saleor.cancel(paid.required_transaction.id)
    await saleor.wait_for_background()

    for event, name in {
        "payment_gateway_initialize_session": "payment_gateway_initialize_session",
        "transaction_initialize_session": "transaction_initialize_session_CHARGE",
        "transaction_process_session": "transaction_process_session_CHARGE",
        "transaction_charge_requested": "transaction_charge_requested",
        "transaction_cancelation_requested": "transaction_cancelation_requested",
    }.items():
        [asked] = installed.asked_for(event)
        real = recording(name)["request"][-1]
        ours, theirs = json.loads(asked.body), json.loads(real["body_raw"])
        assert shape(ours) == shape(theirs), event
        assert asked.body == json.dumps(ours).encode(), "Saleor's spacing and escapes"
    assert all(delivery.unplayed == [] for delivery in await saleor.deliveries())


async def test_order_is_paid_for_as_recorded(saleor: FakeSaleor, installed: Stub) -> None:
    pending = json_reply({"result": "CHARGE_REQUEST", "pspReference": "p-1"})
    installed.answer(WebhookEvent.TRANSACTION_INITIALIZE_SESSION, pending, REQUIRED)
    checkout = await saleor.create_checkout()
    await saleor.initialize(checkout.id)
    done = await saleor.complete(checkout.id)
    assert done.order is not None

    await saleor.initialize(done.order.id, amount=done.order.total)

    body = json.loads(installed.asked_for("transaction_initialize_session")[1].body)
    real = json.loads(recording("transaction_initialize_session_for_ORDER")["request"][-1]["body_raw"])
    assert shape(body) == shape(real)
    assert body["sourceObject"]["total"] == real["sourceObject"]["total"]


async def test_what_is_not_selected_is_not_sent(saleor: FakeSaleor, stub: Stub) -> None:
    stub.manifest["webhooks"][1]["query"] = """
        subscription { event { ...Payment } }
        fragment Payment on TransactionInitializeSession {
          action { sum: amount }
          sourceObject { ... on Checkout { id lines { variant { product { metafield(key: "merchant") } } } } }
        }
    """
    await saleor.install(stub.manifest_url)
    wanted = NewCheckout.model_validate({"lines": [{"product_metadata": {"merchant": "m-1"}}]})
    checkout = await saleor.create_checkout(wanted)
    await saleor.initialize(checkout.id)

    [asked] = stub.asked_for("transaction_initialize_session")
    lines = [{"variant": {"product": {"metafield": "m-1"}}}]
    assert asked.json == {"action": {"sum": 569.5}, "sourceObject": {"id": checkout.id, "lines": lines}}


async def test_field_that_this_saleor_cannot_fill_is_null_and_named(saleor: FakeSaleor, stub: Stub) -> None:
    stub.manifest["webhooks"][1]["query"] = (
        "subscription { event { ... on TransactionInitializeSession { transaction { order { voucherCode } hue } } } }"
    )
    await saleor.install(stub.manifest_url)
    checkout = await saleor.create_checkout()
    await saleor.initialize(checkout.id)

    [delivery] = await saleor.deliveries("transaction_initialize_session")
    assert delivery.unplayed == ["event.transaction.hue"]
    assert json.loads(delivery.body) == {"transaction": {"order": None, "hue": None}}
