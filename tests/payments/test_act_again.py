"""What staff ask is asked twice, at once, or not answered (laws of money, 2 to 4, 7, 9 to 11)."""

import asyncio

import pytest
from sqlmodel import func, select

from app.core.vocabulary import State
from app.flows.actions import answer_action_request
from app.flows.notifications import process
from app.rules.problems import problem_text
from app.store.tables import Notification, Operation
from integration_base_tests.loopback import Behaviour, HangUp, ReceivedRequest, Reply, Silence, json_reply
from saleor_app_sdk.responses import ActionResponse
from tests.payments.fake_gateway import BROKEN, action_of, operation, payment
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop, action_event, run_concurrently


@pytest.mark.fault("gateway-unknown")
@pytest.mark.law(2, 9, 11)
@pytest.mark.parametrize("trouble", [BROKEN, Reply(503), HangUp(), Silence()])
async def test_a_refund_of_which_nobody_knows_whether_it_was_made_is_pending(
    paid_shop: Shop, trouble: Behaviour
) -> None:
    """It keeps the reference that the answer gave, whatever the gateway calls it later."""
    paid_shop.gateway.will_answer(trouble)
    async with paid_shop.webhook_budget():
        answer = await paid_shop.request_action("REFUND", "100.00")
    assert answer.result is None
    assert list(answer.dump()) == ["pspReference"]
    assert paid_shop.amounts.refund_pending == 100
    paid_shop.record_refund("100.00", "refund-1")
    await paid_shop.pass_time(seconds=30)
    assert paid_shop.amounts == amounts(charged="469.50", refunded="100.00")
    [report] = paid_shop.saleor.reports
    assert (report.type.value, report.psp_reference) == ("REFUND_SUCCESS", answer.psp_reference)
    assert paid_shop.gateway.calls == ["refund"]  # never repeated


@pytest.mark.fault("gateway-unknown")
@pytest.mark.law(2)
async def test_a_refund_that_was_never_made_fails_only_after_the_settling_time(paid_shop: Shop) -> None:
    paid_shop.gateway.will_answer(HangUp())
    answer = await paid_shop.request_action("REFUND", "100.00")
    await paid_shop.pass_time(minutes=14)
    assert paid_shop.saleor.reports == []
    assert paid_shop.gateway.polls > 3
    await paid_shop.pass_time(minutes=20)
    [report] = paid_shop.saleor.reports
    assert (report.type.value, report.psp_reference) == ("REFUND_FAILURE", answer.psp_reference)
    assert paid_shop.amounts == amounts(charged=TOTAL)
    assert paid_shop.transaction.actions == ["REFUND"]
    assert paid_shop.gateway.calls == ["refund"]


@pytest.mark.fault("gateway-unknown")
@pytest.mark.law(2, 9)
async def test_a_refund_given_up_too_early_counts_when_the_gateway_shows_it(paid_shop: Shop) -> None:
    """Our conclusion from silence gives way to the gateway's word, under the same reference."""
    paid_shop.gateway.will_answer(HangUp())
    answer = await paid_shop.request_action("REFUND", "100.00")
    await paid_shop.pass_time(minutes=40)
    assert paid_shop.saleor.reported_types == ["REFUND_FAILURE"]
    await paid_shop.notify(operation("refund", paid_shop.order_id, "100.00", operation_id="late"))
    await paid_shop.work()
    assert paid_shop.saleor.reported_types == ["REFUND_FAILURE", "REFUND_SUCCESS"]
    assert paid_shop.saleor.reports[-1].psp_reference == answer.psp_reference
    assert paid_shop.amounts == amounts(charged="469.50", refunded="100.00")


@pytest.mark.law(3)
class TestOneAtATime:
    async def test_a_second_refund_waits_until_the_first_is_settled(self, paid_shop: Shop) -> None:
        paid_shop.gateway.will_answer(HangUp())
        first = await paid_shop.request_action("REFUND", "100.00", "first")
        second = await paid_shop.request_action("REFUND", "200.00", "second")
        assert second.result is None
        assert second.psp_reference != first.psp_reference
        assert paid_shop.gateway.calls == ["refund"]
        await paid_shop.pass_time(minutes=2)
        assert paid_shop.gateway.calls == ["refund"]
        paid_shop.record_refund("100.00", "refund-1")
        paid_shop.gateway.will_answer(
            json_reply(operation("refund", paid_shop.order_id, "200.00", operation_id="refund-2"))
        )
        await paid_shop.pass_time(minutes=5)
        assert paid_shop.gateway.calls == ["refund", "refund"]
        assert [report.psp_reference for report in paid_shop.saleor.reports] == [
            first.psp_reference,
            second.psp_reference,
        ]
        assert paid_shop.saleor.reported_types == ["REFUND_SUCCESS", "REFUND_SUCCESS"]
        assert paid_shop.amounts == amounts(charged="269.50", refunded="300.00")

    async def test_what_is_in_flight_is_not_promised_twice(self, paid_shop: Shop) -> None:
        paid_shop.gateway.will_answer(HangUp())
        await paid_shop.request_action("REFUND", "500.00", "first")
        assert (
            await paid_shop.request_action("REFUND", "69.50", "second")
        ).result is None  # waits, and is promised too
        refusal = await paid_shop.request_action("REFUND", "0.01", "third")
        assert refusal.result == "REFUND_FAILURE"
        assert "569.50 UAH is being refunded: nothing is left to refund" in (refusal.message or "")

    async def test_those_that_wait_go_one_after_the_other_in_the_order_in_which_they_came(
        self, paid_shop: Shop
    ) -> None:
        paid_shop.gateway.will_answer(HangUp())
        for number in range(1, 4):
            await paid_shop.request_action("REFUND", f"{number}.00", f"key-{number}")
        in_flight: list[int] = []

        async def count(request: ReceivedRequest) -> None:
            if action_of(request) == "refund":
                async with paid_shop.services.database.transaction() as session:
                    states = (await session.exec(select(Operation.state))).all()
                in_flight.append(sum(state in {State.INTENT, State.UNKNOWN, State.PENDING} for state in states))

        paid_shop.gateway.on_request = count
        paid_shop.gateway.will_answer(
            *(json_reply(operation("refund", paid_shop.order_id, f"{number}.00")) for number in (2, 3))
        )
        paid_shop.record_refund("1.00", "refund-1")
        await paid_shop.pass_time(minutes=1)
        assert [
            request.json["refund_amount"] for request in paid_shop.gateway.requests if action_of(request) == "refund"
        ] == [
            1,
            2,
            3,
        ]
        assert in_flight == [1, 1]
        assert paid_shop.amounts == amounts(charged="563.50", refunded="6.00")

    async def test_nobody_overtakes_one_that_waits(self, paid_shop: Shop) -> None:
        """The one before it has ended, and the worker has not come yet."""
        paid_shop.gateway.will_answer(HangUp())
        await paid_shop.request_action("REFUND", "1.00", "key-1")
        await paid_shop.request_action("REFUND", "400.00", "key-2")
        await paid_shop.notify(paid_shop.record_refund("1.00", "refund-1"))
        async with paid_shop.services.database.transaction() as session:
            last = (await session.exec(select(func.max(Notification.id)))).one()
        assert await process(paid_shop.services, last or 0)
        late = await paid_shop.request_action("REFUND", "10.00", "key-3")
        assert late.result is None
        paid_shop.gateway.will_answer(
            *(json_reply(operation("refund", paid_shop.order_id, amount)) for amount in ("400.00", "10.00"))
        )
        await paid_shop.pass_time(minutes=1)
        assert [
            request.json["refund_amount"] for request in paid_shop.gateway.requests if action_of(request) == "refund"
        ] == [
            1,
            400,
            10,
        ]
        assert paid_shop.amounts == amounts(charged="158.50", refunded="411.00")

    async def test_many_requests_at_once_never_refund_more_than_was_paid(self, paid_shop: Shop) -> None:
        paid_shop.gateway.will_answer(
            json_reply(operation("refund", paid_shop.order_id, "400.00", operation_id="refund-1"))
        )
        answers: list[ActionResponse] = await run_concurrently(
            *(paid_shop.request_action("REFUND", "400.00", f"key-{number}") for number in range(4))
        )
        outcomes = sorted(str(answer.result) for answer in answers)
        assert outcomes == ["REFUND_FAILURE"] * 3 + ["REFUND_SUCCESS"]
        assert paid_shop.gateway.calls == ["refund"]
        assert paid_shop.amounts == amounts(charged="169.50", refunded="400.00")


@pytest.mark.law(4)
class TestSameQuestion:
    @pytest.mark.threat("replayed-webhook")
    async def test_asked_twice(self, paid_shop: Shop) -> None:
        paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "100.00")))
        first = await paid_shop.request_action("REFUND", "100.00")
        assert await paid_shop.request_action("REFUND", "100.00", booked=False) == first
        assert paid_shop.gateway.calls == ["refund"]

    async def test_asked_again_while_the_first_is_on_its_way(self, paid_shop: Shop) -> None:
        paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "100.00")))
        event = action_event(paid_shop.transaction.id, "REFUND", "100.00", "key-1")
        answers = await run_concurrently(
            *(answer_action_request(paid_shop.services, event, paid_shop.installation) for _ in range(4))
        )
        assert len({answer.psp_reference for answer in answers}) == 1
        results = {str(answer.result) for answer in answers}
        assert "REFUND_SUCCESS" in results
        assert results <= {"REFUND_SUCCESS", "None"}  # who asks while it is under way hears "pending"
        assert paid_shop.gateway.calls == ["refund"]
        again = await answer_action_request(paid_shop.services, event, paid_shop.installation)
        assert again.result == "REFUND_SUCCESS"
        await paid_shop.pass_time(minutes=1)
        assert paid_shop.saleor.reported_types == ["REFUND_SUCCESS"]
        assert paid_shop.saleor.reports[0].psp_reference == answers[0].psp_reference

    async def test_asked_again_while_its_outcome_is_not_known(self, paid_shop: Shop) -> None:
        paid_shop.gateway.will_answer(HangUp())
        first = await paid_shop.request_action("REFUND", "100.00")
        assert await paid_shop.request_action("REFUND", "100.00", booked=False) == first
        assert paid_shop.gateway.calls == ["refund"]

    async def test_what_was_refused_once_is_refused_for_ever(self, shop: Shop) -> None:
        """Saleor has booked the failure: if the payment stands otherwise later, the old question must move nothing."""
        shop.gateway.will_answer(shop.gateway.page())
        await shop.begin(flow="AUTHORIZATION")
        first = await shop.request_action("CHARGE", TOTAL)
        assert first.result == "CHARGE_FAILURE"
        await shop.notify(payment(shop.order_id, method="auth"))
        await shop.work()
        again = await shop.request_action("CHARGE", TOTAL, booked=False)
        assert (again.result, again.psp_reference, again.message) == (first.result, first.psp_reference, first.message)
        assert shop.gateway.calls == ["payment"]
        shop.gateway.will_answer(json_reply(operation("capture", shop.order_id, TOTAL)))
        assert (await shop.request_action("CHARGE", TOTAL, "another question")).result == "CHARGE_SUCCESS"


@pytest.mark.law(7, 9, 10)
async def test_a_notification_that_overtakes_its_answer_tells_the_same_story(paid_shop: Shop) -> None:
    """It is bound to the operation in flight, and the answer finds it there."""
    record = operation("refund", paid_shop.order_id, "100.00", operation_id="refund-1")

    async def notify_first(request: ReceivedRequest) -> None:
        paid_shop.gateway.on_request = None
        await paid_shop.notify(record)
        await paid_shop.work()

    paid_shop.gateway.on_request = notify_first
    paid_shop.gateway.will_answer(json_reply(record))
    answer = await paid_shop.request_action("REFUND", "100.00")
    assert answer.result == "REFUND_SUCCESS"
    assert answer.psp_reference == "refund-1"
    await paid_shop.pass_time(minutes=1)
    assert paid_shop.saleor.reported_types == ["REFUND_SUCCESS"]
    assert paid_shop.amounts == amounts(charged="469.50", refunded="100.00")


@pytest.mark.law(9)
async def test_a_strange_notification_that_overtakes_its_answer_takes_no_reference_away(paid_shop: Shop) -> None:
    """It names the answer's id with another amount: then it is somebody else's refund, and ours is looked up."""

    async def notify_first(request: ReceivedRequest) -> None:
        paid_shop.gateway.on_request = None
        await paid_shop.notify(operation("refund", paid_shop.order_id, "99.00", operation_id="refund-1"))
        await paid_shop.work()

    paid_shop.gateway.on_request = notify_first
    paid_shop.gateway.will_answer(
        json_reply(operation("refund", paid_shop.order_id, "100.00", operation_id="refund-1"))
    )
    answer = await paid_shop.request_action("REFUND", "100.00")
    assert answer.result is None
    assert answer.psp_reference != "refund-1"
    assert problem_text((await paid_shop.aggregate()).payment)


@pytest.mark.law(10)
async def test_of_two_candidates_the_one_in_flight_is_meant(paid_shop: Shop) -> None:
    """A refund was given up for silence; staff ask again, and the new one's notification comes first."""
    paid_shop.gateway.will_answer(HangUp())
    given_up = await paid_shop.request_action("REFUND", "100.00", "first")
    await paid_shop.pass_time(minutes=40)
    record = operation("refund", paid_shop.order_id, "100.00", operation_id="refund-2")

    async def notify_first(request: ReceivedRequest) -> None:
        paid_shop.gateway.on_request = None
        await paid_shop.notify(record)
        await paid_shop.work()

    paid_shop.gateway.on_request = notify_first
    paid_shop.gateway.will_answer(json_reply(record))
    again = await paid_shop.request_action("REFUND", "100.00", "second")
    assert (again.result, again.psp_reference) == ("REFUND_SUCCESS", "refund-2")
    await paid_shop.pass_time(minutes=1)
    told = [(report.type.value, report.psp_reference) for report in paid_shop.saleor.reports]
    assert told == [("REFUND_FAILURE", given_up.psp_reference), ("REFUND_SUCCESS", "refund-2")]
    assert paid_shop.amounts == amounts(charged="469.50", refunded="100.00")


@pytest.mark.law(11)
async def test_a_webhook_never_waits_longer_than_its_budget(paid_shop: Shop) -> None:
    """Measured: a gateway that never answers holds nobody up for more than the budget and a little."""
    paid_shop.gateway.will_answer(Silence())
    async with paid_shop.webhook_budget(), asyncio.timeout(8):
        answer = await paid_shop.request_action("REFUND", "100.00")
    assert answer.result is None
