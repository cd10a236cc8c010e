"""What this Saleor makes of the payment methods that apps keep for customers, by the rules of the real one."""

from typing import Any

import httpx2
import pytest

from integration_base_tests.loopback import Reply, json_reply
from saleor_app_sdk.testing.client import FakeSaleor
from saleor_app_sdk.testing.rules.stored_methods import parse_deletion, parse_method_id, parse_methods
from saleor_app_sdk.testing.vocabulary import WebhookEvent
from saleor_app_sdk_tests.testing.stub import Stub

CARD = {"id": "card-1", "type": "CARD", "supportedPaymentFlows": ["INTERACTIVE"], "name": "Visa ****4242"}
INFO = {"brand": "Visa", "lastDigits": "4242", "expYear": 2029, "expMonth": 11}
OLENA = "VXNlcjox"
LIST, DELETE = WebhookEvent.LIST_STORED_PAYMENT_METHODS, WebhookEvent.STORED_PAYMENT_METHOD_DELETE_REQUESTED


@pytest.fixture
async def keeping(saleor: FakeSaleor, stub: Stub) -> Stub:
    """An app that keeps payment methods."""
    fields = {LIST: "user { id } channel { slug }", DELETE: "user { id } paymentMethodId channel { slug }"}
    stub.manifest["webhooks"] += [
        {
            "name": event.value,
            "targetUrl": f"{stub.url}/{event.value}",
            "query": f"subscription {{ event {{ ... on {event.typename} {{ {selected} }} }} }}",
            "syncEvents": [event.enum_name],
        }
        for event, selected in fields.items()
    ]
    done = await saleor.install(stub.manifest_url)
    assert done.status == "INSTALLED", done.message
    return stub


async def test_a_list_is_asked_for_once_until_something_of_it_is_deleted(saleor: FakeSaleor, keeping: Stub) -> None:
    keeping.answer(LIST, json_reply({"paymentMethods": [CARD | {"creditCardInfo": INFO}]}))
    [shown] = await saleor.stored_methods(OLENA)
    assert (await saleor.stored_methods(OLENA))[0].payment_method_id == "card-1"
    assert len(keeping.asked_for(LIST.value)) == 1
    await saleor.stored_methods("VXNlcjoy")
    assert [request.json["user"]["id"] for request in keeping.asked_for(LIST.value)] == [OLENA, "VXNlcjoy"]

    keeping.answer(DELETE, json_reply({"result": "SUCCESSFULLY_DELETED"}))
    assert (await saleor.delete_method(OLENA, shown.id)).result == "SUCCESSFULLY_DELETED"
    assert [request.json["paymentMethodId"] for request in keeping.asked_for(DELETE.value)] == ["card-1"]
    await saleor.stored_methods(OLENA)
    assert len(keeping.asked_for(LIST.value)) == 3


async def test_a_failure_is_no_list(saleor: FakeSaleor, keeping: Stub) -> None:
    keeping.answer(LIST, json_reply({"error": "no"}, 400))
    assert await saleor.stored_methods(OLENA) == []
    keeping.answer(LIST, json_reply({"paymentMethods": [CARD]}))
    assert len(await saleor.stored_methods(OLENA)) == 1


@pytest.mark.parametrize("shown", ["card-1", "app:another.app:card-1", "app::card-1", "app:gateway.payments.app:a:b"])
async def test_what_no_app_keeps_is_asked_of_none(saleor: FakeSaleor, keeping: Stub, shown: str) -> None:
    failed = await saleor.delete_method(OLENA, shown)
    assert (failed.result, [error.code for error in failed.errors]) == ("FAILED_TO_DELIVER", ["GATEWAY_ERROR"])
    assert keeping.asked_for(DELETE.value) == []


async def test_a_deletion_that_was_not_delivered(saleor: FakeSaleor, keeping: Stub) -> None:
    keeping.answer(LIST, json_reply({"paymentMethods": [CARD]}))
    [shown] = await saleor.stored_methods(OLENA)
    keeping.answer(DELETE, Reply(500))
    assert (await saleor.delete_method(OLENA, shown.id)).result == "FAILED_TO_DELIVER"


@pytest.mark.parametrize(
    ("listed", "read"),
    [
        (None, 0),
        ("cards", 0),
        ([CARD, "card", {"id": 5}], 1),
        ([CARD | {"supportedPaymentFlows": ["OFFLINE"]}], 0),
        ([CARD | {"creditCardInfo": {"brand": "Visa"}}], 1),
    ],
)
def test_what_cannot_be_read_is_left_out(listed: Any, read: int) -> None:
    shown = parse_methods({"paymentMethods": listed}, "app")
    assert len(shown) == read
    assert all(method["credit_card_info"] is None for method in shown)
    assert parse_methods([], "app") == []


def test_ids_and_results() -> None:
    assert parse_method_id("app:gateway.payments.app:card-1") == ("gateway.payments.app", "card-1")
    assert parse_deletion(None)[0] == "FAILED_TO_DELIVER"
    assert parse_deletion({})[0] == parse_deletion({"result": "GONE"})[0] == "FAILED_TO_DELETE"


async def test_a_storefront_lists_and_deletes_with_the_customers_token(saleor: FakeSaleor, keeping: Stub) -> None:
    keeping.answer(LIST, json_reply({"paymentMethods": [CARD | {"creditCardInfo": INFO}]}))
    keeping.answer(DELETE, json_reply({"result": "SUCCESSFULLY_DELETED"}))
    listing = """query ($channel: String!) { me { storedPaymentMethods(channel: $channel) {
      id paymentMethodId name creditCardInfo { brand lastDigits expMonth expYear } } } }"""
    deletion = """mutation ($id: ID!, $channel: String!) {
      storedPaymentMethodRequestDelete(id: $id, channel: $channel) { result errors { code message } } }"""

    async def ask(query: str, token: str | None, **variables: str) -> Any:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        body = {"query": query, "variables": {"channel": "uah", **variables}}
        async with httpx2.AsyncClient(trust_env=False) as http:
            return (await http.post(saleor.api_url, json=body, headers=headers)).json()

    token = await saleor.customer_token(OLENA)
    [method] = (await ask(listing, token))["data"]["me"]["storedPaymentMethods"]
    assert method.pop("id").endswith(":card-1")
    assert method == {"paymentMethodId": "card-1", "name": CARD["name"], "creditCardInfo": INFO}
    [shown] = await saleor.stored_methods(OLENA)
    deleted = (await ask(deletion, token, id=shown.id))["data"]["storedPaymentMethodRequestDelete"]
    assert deleted == {"result": "SUCCESSFULLY_DELETED", "errors": []}
    assert (await ask(listing, None))["data"] == {"me": None}
    assert "AUTHENTICATED_USER" in (await ask(deletion, None, id=shown.id))["errors"][0]["message"]
