"""Staff charge, refund and cancel: the app is called in the background."""

import asyncio
import json
from decimal import Decimal
from typing import Any

import pytest

from integration_base_tests.loopback import Behaviour, HangUp, ReceivedRequest, Silence, json_reply, text_reply
from saleor_app_sdk.testing import FakeSaleor, GrantedLine
from saleor_app_sdk.testing.vocabulary import WebhookEvent
from saleor_app_sdk_tests.testing.conftest import SHORT
from saleor_app_sdk_tests.testing.orders import an_order
from saleor_app_sdk_tests.testing.recordings import recording
from saleor_app_sdk_tests.testing.stub import Stub

CHARGE = WebhookEvent.TRANSACTION_CHARGE_REQUESTED
REFUND = WebhookEvent.TRANSACTION_REFUND_REQUESTED
CANCEL = WebhookEvent.TRANSACTION_CANCELATION_REQUESTED


async def test_mutation_answers_at_once_and_the_event_comes_later(saleor: FakeSaleor, installed: Stub) -> None:
    seen = asyncio.Event()

    async def later(_asked: ReceivedRequest) -> Behaviour:
        await seen.wait()
        return json_reply({"result": "CHARGE_SUCCESS", "pspReference": "c-1"})

    installed.answer(CHARGE, later)
    _, transaction = await an_order(saleor, installed, "AUTHORIZATION_SUCCESS")

    assert (await saleor.charge(transaction.id, Decimal(100))).errors == []
    asked_only = await saleor.transaction(transaction.id)
    seen.set()
    await saleor.wait_for_background()
    charged = await saleor.transaction(transaction.id)

    assert asked_only.event_types()[-1] == "CHARGE_REQUEST"
    assert asked_only.amounts.charge_pending == 0
    assert charged.event_types()[-2:] == ["CHARGE_REQUEST", "CHARGE_SUCCESS"]
    assert (charged.amounts.charged, charged.amounts.authorized) == (Decimal(100), Decimal("469.50"))


async def test_request_names_its_key_only_in_the_events(saleor: FakeSaleor, installed: Stub) -> None:
    installed.answer(REFUND, json_reply({"pspReference": "r-1"}))
    _, transaction = await an_order(saleor, installed, "CHARGE_SUCCESS")

    await saleor.refund(transaction.id, Decimal(10))
    await saleor.wait_for_background()

    [asked] = installed.asked_for(REFUND.value)
    newest = asked.json["transaction"]["events"][0]
    event = (await saleor.transaction(transaction.id)).event("REFUND_REQUEST")
    assert (newest["type"], newest["pspReference"]) == ("REFUND_REQUEST", "")
    assert newest["idempotencyKey"] == event.idempotency_key
    assert event.psp_reference == "r-1"


async def test_why_it_is_refunded_stands_in_the_request(saleor: FakeSaleor, installed: Stub) -> None:
    installed.answer(REFUND, json_reply({"pspReference": "r-1"}))
    _, transaction = await an_order(saleor, installed, "CHARGE_SUCCESS")

    await saleor.refund(transaction.id, Decimal(10), "broken")
    await saleor.wait_for_background()

    [asked] = installed.asked_for(REFUND.value)
    assert asked.json["transaction"]["events"][0]["message"] == "broken"
    assert (await saleor.transaction(transaction.id)).event("REFUND_REQUEST").message == "broken"


@pytest.mark.parametrize(
    ("asked_for", "expected"), [(None, "569.5"), (Decimal(1000), "569.5"), (Decimal("0.01"), "0.01")]
)
async def test_amount_is_clipped_to_what_is_charged(
    asked_for: Decimal | None, expected: str, saleor: FakeSaleor, installed: Stub
) -> None:
    installed.answer(REFUND, json_reply({"result": "REFUND_SUCCESS", "pspReference": "r-1"}))
    _, transaction = await an_order(saleor, installed, "CHARGE_SUCCESS")

    await saleor.refund(transaction.id, asked_for)
    await saleor.wait_for_background()

    assert installed.asked_for(REFUND.value)[0].json["action"]["amount"] == Decimal(expected)


async def test_nothing_left_is_asked_for_as_nothing(saleor: FakeSaleor, installed: Stub) -> None:
    installed.answer(CANCEL, json_reply({"result": "CANCEL_SUCCESS", "pspReference": "x-1"}))
    _, transaction = await an_order(saleor, installed, "CHARGE_SUCCESS")

    await saleor.cancel(transaction.id)
    await saleor.wait_for_background()

    assert installed.asked_for(CANCEL.value)[0].json["action"]["amount"] == 0.0
    after = await saleor.transaction(transaction.id)
    assert after.event("CANCEL_SUCCESS").amount == after.amounts.canceled == 0


async def test_5xx_is_retried_five_times_with_an_empty_body(saleor: FakeSaleor, installed: Stub) -> None:
    installed.answer(CHARGE, json_reply({"error": "boom"}, status=503))
    _, transaction = await an_order(saleor, installed, "AUTHORIZATION_SUCCESS")

    await saleor.charge(transaction.id, Decimal(5))
    await saleor.wait_for_background()

    real = recording("scenarios/retries_exhausted")
    deliveries = await saleor.deliveries(CHARGE.value)
    assert [delivery.attempt for delivery in deliveries] == [1, 2, 3, 4, 5, 6]
    assert [bool(delivery.body) for delivery in deliveries] == [bool(size) for _, size in real["calls"]]
    events = [(event.type, event.message) for event in (await saleor.transaction(transaction.id)).events]
    assert events[0] == tuple(real["events"][0][i] for i in (0, 3))


async def test_retry_that_is_answered_counts(saleor: FakeSaleor, installed: Stub) -> None:
    success = {"result": "CHARGE_SUCCESS", "pspReference": "c-1"}
    installed.answer(CHARGE, json_reply({}, status=500), json_reply({}, status=503), json_reply(success))
    _, transaction = await an_order(saleor, installed, "AUTHORIZATION_SUCCESS")

    await saleor.charge(transaction.id, Decimal(70))
    await saleor.wait_for_background()

    assert [asked.body == b"" for asked in installed.asked_for(CHARGE.value)] == [False, True, True]
    assert (await saleor.transaction(transaction.id)).amounts.charged == 70


@pytest.mark.parametrize("told", [Silence(), HangUp(), text_reply("oops")], ids=["slow", "cut", "text"])
async def test_lost_answer_is_a_failure_and_is_not_retried(
    told: Behaviour, saleor: FakeSaleor, installed: Stub
) -> None:
    installed.answer(CHARGE, told)
    _, transaction = await an_order(saleor, installed, "AUTHORIZATION_SUCCESS")

    await saleor.set_faults(**SHORT if told == Silence() else {})
    await saleor.charge(transaction.id, Decimal(33))
    await saleor.wait_for_background()

    after = await saleor.transaction(transaction.id)
    assert after.event("CHARGE_FAILURE").message == "Failed to delivery request."
    assert after.amounts.authorized == Decimal("569.50")
    assert len(installed.asked_for(CHARGE.value)) == 1


async def test_success_in_the_body_of_a_400_is_a_success(saleor: FakeSaleor, installed: Stub) -> None:
    installed.answer(CHARGE, json_reply({"result": "CHARGE_SUCCESS", "pspReference": "c-1"}, status=400))
    _, transaction = await an_order(saleor, installed, "AUTHORIZATION_SUCCESS")

    await saleor.charge(transaction.id, Decimal(50))
    await saleor.wait_for_background()

    assert (await saleor.transaction(transaction.id)).amounts.charged == 50


async def test_list_kills_the_task_and_the_request_hangs(saleor: FakeSaleor, installed: Stub) -> None:
    installed.answer(CHARGE, json_reply([1]))
    _, transaction = await an_order(saleor, installed, "AUTHORIZATION_SUCCESS")

    await saleor.charge(transaction.id, Decimal(50))
    await saleor.wait_for_background()

    assert (await saleor.transaction(transaction.id)).event_types()[-1] == "CHARGE_REQUEST"
    [delivery] = await saleor.deliveries(CHARGE.value)
    assert delivery.error == "Internal Server Error (AttributeError)"


async def test_poisoned_transaction_is_null_for_the_app(saleor: FakeSaleor, installed: Stub) -> None:
    poison = json_reply({"pspReference": "c-1", "actions": ["CHARGE"]})
    installed.answer(CHARGE, poison, json_reply({"result": "CHARGE_SUCCESS", "pspReference": "c-2"}))
    _, transaction = await an_order(saleor, installed, "AUTHORIZATION_SUCCESS")
    for amount in (Decimal(50), Decimal(5)):
        await saleor.charge(transaction.id, amount)
        await saleor.wait_for_background()

    real = recording("scenarios/async_answer_with_actions_poisons_transaction")["webhook_calls_while_poisoned"][0]
    theirs = json.loads(real["body_raw"])
    ours = installed.asked_for(CHARGE.value)[1].json
    assert ours["transaction"] is None
    assert ours["errors"] == theirs["errors"]
    assert list(ours) == list(theirs)
    assert not (await saleor.transaction(transaction.id)).readable


async def test_action_delivered_twice_is_recorded_once(saleor: FakeSaleor, installed: Stub) -> None:
    installed.answer(REFUND, json_reply({"result": "REFUND_SUCCESS", "pspReference": "r-1"}))
    _, transaction = await an_order(saleor, installed, "CHARGE_SUCCESS")
    await saleor.set_faults(webhooks_twice=True)

    await saleor.refund(transaction.id, Decimal(10))
    await saleor.wait_for_background()

    assert len(installed.asked_for(REFUND.value)) == 2
    assert (await saleor.transaction(transaction.id)).amounts.refunded == 10


async def test_nobody_is_there_after_uninstallation(saleor: FakeSaleor, installed: Stub) -> None:
    _, transaction = await an_order(saleor, installed, "CHARGE_SUCCESS")
    await saleor.uninstall()

    refused = await saleor.refund(transaction.id)

    assert [error.code for error in refused.errors] == ["MISSING_TRANSACTION_ACTION_REQUEST_WEBHOOK"]


async def test_transaction_outlives_the_app_that_made_it(saleor: FakeSaleor, installed: Stub) -> None:
    installed.answer(REFUND, json_reply({"result": "REFUND_SUCCESS", "pspReference": "r-1"}))
    _, transaction = await an_order(saleor, installed, "CHARGE_SUCCESS")
    await saleor.uninstall()
    await saleor.install(installed.manifest_url)

    await saleor.refund(transaction.id, Decimal(10))
    await saleor.wait_for_background()

    assert (await saleor.transaction(transaction.id)).amounts.refunded == 10


GRANTED: dict[str, Any] = recording("scenarios/granted_refunds")


async def test_granted_refunds_go_as_recorded(saleor: FakeSaleor, installed: Stub) -> None:
    recorded = [case["answer"] for case in GRANTED.values()]
    answers = [text_reply(answer) if isinstance(answer, str) else json_reply(answer) for answer in recorded]
    installed.answer(REFUND, *answers)
    order, transaction = await an_order(saleor, installed, "CHARGE_SUCCESS")
    for number, (name, case) in enumerate(GRANTED.items()):
        [asked] = case["request"]
        wanted = asked["body_json"]["grantedRefund"]
        granted = await saleor.grant_refund(order.id, wanted["amount"]["amount"], reason=wanted["reason"])
        assert granted.granted_refund is not None

        assert (await saleor.request_refund_for_granted_refund(granted.granted_refund.id)).errors == []
        await saleor.wait_for_background()

        sent = installed.asked_for(REFUND.value)[number].json
        assert sent["grantedRefund"]["status"] == wanted["status"] == "NONE"
        assert sent["action"]["amount"] == Decimal(str(asked["body_json"]["action"]["amount"]))
        now = await saleor.order(order.id)
        assert now.granted_refunds[-1].status == case["status"], name
        after = await saleor.transaction(transaction.id)
        newest = max(event["createdAt"] for event in case["tx"]["events"])
        last = next(event for event in case["tx"]["events"] if event["createdAt"] == newest)
        assert (after.events[0].type, after.events[0].message) == (last["type"], last["message"]), name

    # The asynchronous ones were reported between the recorded cases; here they are still on their way.
    assert after.amounts.refunded == 10 + 11
    assert after.amounts.refund_pending == 13 + 14


async def test_granted_refund_is_asked_for_once(saleor: FakeSaleor, installed: Stub) -> None:
    installed.answer(
        REFUND, json_reply({"pspReference": "r-1"}), json_reply({"result": "REFUND_SUCCESS", "pspReference": "r-2"})
    )
    order, _ = await an_order(saleor, installed, "CHARGE_SUCCESS")
    codes = []
    for _ in range(2):
        granted = (await saleor.grant_refund(order.id, Decimal(10))).granted_refund
        assert granted is not None
        await saleor.request_refund_for_granted_refund(granted.id)
        await saleor.wait_for_background()
        codes += [error.code for error in (await saleor.request_refund_for_granted_refund(granted.id)).errors]

    assert codes == ["REFUND_IS_PENDING", "REFUND_ALREADY_PROCESSED"]


async def test_granted_refund_names_its_lines(saleor: FakeSaleor, installed: Stub) -> None:
    seen: list[Any] = []

    def look(asked: ReceivedRequest) -> Behaviour:
        seen.extend(asked.json["grantedRefund"]["lines"])
        return json_reply({"result": "REFUND_SUCCESS", "pspReference": "r-1"})

    installed.answer(REFUND, look)
    order, _ = await an_order(saleor, installed, "CHARGE_SUCCESS")
    [line] = order.lines
    lines = [GrantedLine(line_id=line.id, quantity=1, reason="broken")]
    granted = (await saleor.grant_refund(order.id, line.total, lines=lines)).granted_refund
    assert granted is not None
    await saleor.request_refund_for_granted_refund(granted.id)
    await saleor.wait_for_background()

    assert [(item["quantity"], item["reason"], item["orderLine"]["id"]) for item in seen] == [(1, "broken", line.id)]
