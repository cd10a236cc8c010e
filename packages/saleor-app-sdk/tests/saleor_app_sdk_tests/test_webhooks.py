"""A webhook that is in order: what the handler sees, and what Saleor hears, whatever the handler does."""

import json
from decimal import Decimal

import pytest
from structlog.testing import capture_logs

from integration_base_tests.clock import Clock
from saleor_app_sdk.events import TransactionInitializeSession, TransactionRefundRequested
from saleor_app_sdk.responses import (
    ActionResponse,
    AvailableAction,
    CardDetails,
    GatewayConfigResponse,
    SessionResponse,
    TransactionFlow,
    WebhookResponse,
)
from saleor_app_sdk_tests.fake_saleor import InMemoryStore, Row, initialize_body, refund_body
from saleor_app_sdk_tests.served_app import AppClient, ScriptedHandlers


async def test_a_refund_reaches_its_handler_and_is_answered(
    app_client: AppClient, installed: Row, clock: Clock
) -> None:
    answer = await app_client.deliver(refund_body())

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.content == b'{"pspReference":"refund-1","result":"REFUND_SUCCESS","amount":100.10,"actions":[]}'
    (event,) = app_client.handlers.events
    assert isinstance(event, TransactionRefundRequested)
    assert event.action.amount == Decimal("100.1")
    assert event.request_key == "key-of-this-refund"
    assert event.source is not None
    assert event.source.number == "23"
    (context,) = app_client.handlers.contexts
    assert context.installation == installed
    assert context.received_at == clock()
    assert context.saleor_version == "3.23.28"
    assert context.schema_version == (3, 23)


async def test_a_payment_starts(app_client: AppClient, installed: Row) -> None:
    answer = await app_client.deliver(initialize_body(), "transaction_initialize_session")

    assert answer.status_code == 200
    assert answer.json() == {
        "pspReference": "pay-1",
        "result": "CHARGE_ACTION_REQUIRED",
        "amount": 569.5,
        "data": {"checkoutUrl": "https://x.test"},
    }
    (event,) = app_client.handlers.events
    assert isinstance(event, TransactionInitializeSession)
    assert event.data == {"returnUrl": "https://shop.example.com/back"}


async def test_a_field_that_saleor_could_not_resolve_is_no_reason_to_refuse(
    app_client: AppClient, installed: Row
) -> None:
    said = refund_body(grantedRefund=None, errors=[{"message": "no", "path": ["event", "grantedRefund"]}])
    answer = await app_client.deliver(said)
    assert answer.json()["result"] == "REFUND_SUCCESS"


async def test_nobody_but_the_installation_is_asked_anything(app_client: AppClient, installed: Row) -> None:
    """A webhook that is in order costs no request to Saleor."""
    await app_client.deliver(refund_body())
    assert app_client.saleor.asked == []


class BoomError(Exception):
    """With something in it that must not leave the house."""

    def __str__(self) -> str:
        return "card 4111111111111111"


def boom() -> WebhookResponse:
    raise BoomError


async def test_a_handler_that_breaks_is_answered_for(app_client: AppClient, installed: Row) -> None:
    app_client.handlers.says = boom
    first, second = [await app_client.deliver(refund_body()) for _ in range(2)]

    assert first.status_code == 200
    assert first.json()["result"] == "REFUND_FAILURE"
    assert "411111" not in first.text
    assert first.json()["pspReference"] != second.json()["pspReference"], "or Saleor would swallow the second failure"


@pytest.mark.threat("secrets-in-logs", "words-in-errors")
async def test_the_log_says_where_it_broke_but_not_what_was_in_it(app_client: AppClient, installed: Row) -> None:
    app_client.handlers.says = boom
    with capture_logs() as logs:
        await app_client.deliver(refund_body())
    log = logs[0]
    assert (log["event"], log["log_level"], log["error"]) == ("webhook.failed", "error", "BoomError")
    assert log["where"][-1].endswith(" boom")
    assert "411111" not in str(logs)


async def test_in_a_session_the_failure_follows_what_was_asked(app_client: AppClient, installed: Row) -> None:
    app_client.handlers.says = boom
    said = initialize_body(action={"actionType": "AUTHORIZATION", "amount": 569.5, "currency": "UAH"})
    answer = await app_client.deliver(said, "transaction_initialize_session")

    assert answer.status_code == 200
    assert answer.json()["result"] == "AUTHORIZATION_FAILURE"
    assert answer.json()["pspReference"]
    assert answer.json()["data"]["errors"][0]["code"] == "APP_ERROR"


async def test_the_storefront_hears_of_a_broken_gateway_config(app_client: AppClient, installed: Row) -> None:
    app_client.handlers.says = boom
    said = {**initialize_body(__typename="PaymentGatewayInitializeSession"), "amount": 10}
    answer = await app_client.deliver(said, "payment_gateway_initialize_session")

    assert answer.status_code == 200
    assert answer.json()["data"]["errors"][0]["code"] == "APP_ERROR"


async def test_whoever_knows_better_is_asked_what_to_say_then(app_client: AppClient, installed: Row) -> None:
    """Money may have moved before it broke: then the truth is "pending", not "failed"."""
    heard: list[Exception] = []

    def pending(error: Exception) -> WebhookResponse:
        heard.append(error)
        return ActionResponse.pending(AvailableAction.REFUND, psp_reference="ours-1")

    app_client.handlers.says, app_client.handlers.failure_answer = boom, pending
    answer = await app_client.deliver(refund_body())

    assert answer.content == b'{"pspReference":"ours-1"}'
    assert [type(error) for error in heard] == [BoomError]


async def test_even_then_saleor_hears_something_when_that_breaks_too(app_client: AppClient, installed: Row) -> None:
    def worse(error: Exception) -> WebhookResponse:
        raise error

    app_client.handlers.says, app_client.handlers.failure_answer = boom, worse
    answer = await app_client.deliver(refund_body())
    assert (answer.status_code, answer.json()["result"]) == (200, "REFUND_FAILURE")


@pytest.mark.parametrize(
    "wrong",
    [
        ActionResponse.success(AvailableAction.CHARGE, psp_reference="x", amount=Decimal(1)),
        SessionResponse.success(TransactionFlow.CHARGE, psp_reference="x", amount=Decimal(1)),
        GatewayConfigResponse(data=None),
        None,
    ],
)
async def test_an_answer_to_another_question_never_leaves_the_house(
    app_client: AppClient, installed: Row, wrong: WebhookResponse | None
) -> None:
    app_client.handlers.says = lambda: wrong  # type: ignore[assignment] # None: a handler that forgot to answer
    answer = await app_client.deliver(refund_body())
    assert (answer.status_code, answer.json()["result"]) == (200, "REFUND_FAILURE")


@pytest.mark.parametrize(("version", "told"), [("3.21.69", False), ("3.22.0", True), ("3.24.1", True)])
async def test_how_it_was_paid_is_told_to_whoever_understands_it(
    app_client: AppClient, installed: Row, version: str, *, told: bool
) -> None:
    card = CardDetails(name="Visa", brand="visa", first_digits="4242", last_digits="4242")
    app_client.handlers.says = lambda: SessionResponse.success(
        TransactionFlow.CHARGE, psp_reference="x", amount=Decimal(1), card=card
    )
    answer = await app_client.deliver(initialize_body(version=version), "transaction_initialize_session")
    assert answer.json()["result"] == "CHARGE_SUCCESS"
    assert ("paymentMethodDetails" in answer.json()) is told


async def test_amounts_stay_exact_on_their_way_through(app_client: AppClient, installed: Row) -> None:
    """0.1 + 0.2 is 0.3 here; and what the storefront sends comes back digit by digit."""
    body = json.dumps(initialize_body()).replace('"CHARGE", "amount": 569.5', '"CHARGE", "amount": 0.30')
    app_client.handlers.says = lambda: SessionResponse.failure(
        TransactionFlow.CHARGE, psp_reference="x", amount=Decimal("0.1") + Decimal("0.2"), data=[Decimal("1.10")]
    )
    answer = await app_client.deliver(body.encode(), "transaction_initialize_session")
    (event,) = app_client.handlers.events
    assert isinstance(event, TransactionInitializeSession)
    assert event.action.amount == Decimal("0.3")
    assert b'"amount":0.30,"data":[1.10]' in answer.content


@pytest.mark.fault("clock-differs")
@pytest.mark.parametrize("seconds", [0, 3600, -300])
async def test_up_to_an_hour_old_and_five_minutes_ahead_is_in_order(
    app_client: AppClient, installed: Row, clock: Clock, seconds: int
) -> None:
    clock.forward(seconds=seconds)
    answer = await app_client.deliver(refund_body())
    assert answer.json()["result"] == "REFUND_SUCCESS"


async def test_a_handler_may_be_used_again(
    handlers: ScriptedHandlers, app_client: AppClient, installed: Row, store: InMemoryStore
) -> None:
    for _ in range(3):
        await app_client.deliver(refund_body())
    assert len(handlers.events) == 3
