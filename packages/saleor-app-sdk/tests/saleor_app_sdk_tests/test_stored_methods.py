"""Customers look at the cards that are kept for them, and have one deleted: what Saleor hears, and what it must not."""

from typing import Any

import pytest
from pydantic import ValidationError

from saleor_app_sdk.events import ListStoredPaymentMethods, StoredPaymentMethodDeleteRequested
from saleor_app_sdk.responses import GatewayConfigResponse, WebhookResponse
from saleor_app_sdk.stored_methods import MethodDeletedResponse, StoredCard, StoredMethodsResponse
from saleor_app_sdk.testing.rules.stored_methods import parse_deletion, parse_method_id, parse_methods
from saleor_app_sdk_tests.fake_saleor import Row, refund_body
from saleor_app_sdk_tests.served_app import CARD, AppClient

LIST, DELETE = "list_stored_payment_methods", "stored_payment_method_delete_requested"


def asked(typename: str, **more: Any) -> dict[str, Any]:
    """Return the body of an event about a customer's payment methods."""
    known = {name: value for name, value in refund_body().items() if name in {"issuedAt", "version", "recipient"}}
    return known | {"__typename": typename, "user": {"id": "VXNlcjox"}, "channel": {"slug": "uah"}} | more


LISTING, DELETION = (
    asked("ListStoredPaymentMethods"),
    asked("StoredPaymentMethodDeleteRequested", paymentMethodId="card-1"),
)


async def test_a_customer_is_shown_what_is_kept(app_client: AppClient, installed: Row) -> None:
    answer = await app_client.deliver(LISTING, LIST)
    assert (answer.status_code, answer.json()) == (200, {"paymentMethods": [CARD.dump()]})
    (event,) = app_client.handlers.events
    assert isinstance(event, ListStoredPaymentMethods)
    assert (event.user.id, event.channel.slug) == ("VXNlcjox", "uah")


async def test_a_customer_has_one_deleted(app_client: AppClient, installed: Row) -> None:
    answer = await app_client.deliver(DELETION, DELETE)
    assert (answer.status_code, answer.json()) == (200, {"result": "SUCCESSFULLY_DELETED"})
    (event,) = app_client.handlers.events
    assert isinstance(event, StoredPaymentMethodDeleteRequested)
    assert event.payment_method_id == "card-1"


def boom() -> WebhookResponse:
    raise RuntimeError("it broke")


async def test_of_a_list_that_could_not_be_made_saleor_keeps_nothing(app_client: AppClient, installed: Row) -> None:
    """It would show for five minutes that there is none; what is not answered with 200 it asks for again."""
    app_client.handlers.says = boom
    answer = await app_client.deliver(LISTING, LIST)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "APP_ERROR")


async def test_what_could_not_be_deleted_is_said_not_to_be(app_client: AppClient, installed: Row) -> None:
    app_client.handlers.says = boom
    answer = await app_client.deliver(DELETION, DELETE)
    assert answer.status_code == 200
    assert answer.json()["result"] == "FAILED_TO_DELETE"
    assert "it broke" not in answer.text


async def test_an_answer_to_another_event_is_a_mistake_of_ours(app_client: AppClient, installed: Row) -> None:
    app_client.handlers.says = lambda: GatewayConfigResponse(data={})
    assert (await app_client.deliver(LISTING, LIST)).status_code == 400
    assert (await app_client.deliver(DELETION, DELETE)).json()["result"] == "FAILED_TO_DELETE"


@pytest.mark.parametrize(
    "lacking", [{"user": None}, {"user": {}}, {"channel": None}, {"user": "VXNlcjox"}, {"user": [], "channel": 5}]
)
@pytest.mark.parametrize(("body", "event"), [(LISTING, LIST), (DELETION, DELETE)])
async def test_without_a_customer_nothing_is_done(
    app_client: AppClient, installed: Row, body: dict[str, Any], event: str, lacking: dict[str, Any]
) -> None:
    assert (await app_client.deliver(body | lacking, event)).status_code == 400
    assert app_client.handlers.events == []


@pytest.mark.parametrize("method_id", [None, 5, [], {"id": "card-1"}])
async def test_what_is_no_id_deletes_nothing(app_client: AppClient, installed: Row, method_id: Any) -> None:
    assert (await app_client.deliver(DELETION | {"paymentMethodId": method_id}, DELETE)).status_code == 400
    assert app_client.handlers.events == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": "card:1"},
        {"id": ""},
        {"name": ""},
        {"last_digits": "424242"},
        {"last_digits": "42"},
        {"expires": (29, 11)},
        {"expires": (2029, 13)},
    ],
    ids=repr,
)
def test_what_saleor_would_leave_out_cannot_be_said(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        StoredCard(**(CARD.model_dump() | wrong))


def test_saleor_reads_what_we_say() -> None:
    unknown_expiry = CARD.model_copy(update={"expires": None})
    shown = parse_methods(StoredMethodsResponse(cards=(CARD, unknown_expiry)).dump(), "gateway.payments.app")
    assert [method["credit_card_info"] and method["credit_card_info"]["exp_year"] for method in shown] == [2029, None]
    assert [method["flows"] for method in shown] == [["INTERACTIVE"]] * 2
    assert parse_method_id(shown[0]["id"]) == ("gateway.payments.app", "card-1")
    assert parse_deletion(MethodDeletedResponse.deleted().dump()) == ("SUCCESSFULLY_DELETED", None)
    assert parse_deletion(MethodDeletedResponse.failure("gone").dump()) == ("FAILED_TO_DELETE", "gone")
