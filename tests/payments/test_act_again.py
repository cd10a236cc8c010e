"""What staff ask is asked twice, at once, or not answered (laws of money, 2 to 4, 7, 9 to 11)."""

import asyncio

import pytest
from sqlmodel import func, select

from app.db.tables import Notification, Operation, State
from app.payments.core.problems import problem_words
from app.payments.operations.actions import requested
from app.payments.sync.notifications import process
from app.saleor.answers import ActionAnswer
from tests.loopback import Behaviour, HangUp, Heard, Reply, Silence, said
from tests.payments.fake_gateway import BROKEN, action_of, operation, payment
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop, action_event, at_once


@pytest.mark.fault("gateway-unknown")
@pytest.mark.law(2, 9, 11)
@pytest.mark.parametrize("trouble", [BROKEN, Reply(503), HangUp(), Silence()])
async def test_a_refund_of_which_nobody_knows_whether_it_was_made_is_pending(paid: Shop, trouble: Behaviour) -> None:
    """It keeps the reference that the answer gave, whatever the gateway calls it later."""
    paid.gateway.will(trouble)
    async with paid.impatient():
        answer = await paid.staff("REFUND", "100.00")
    assert answer.result is None
    assert list(answer.dump()) == ["pspReference"]
    assert paid.amounts.refund_pending == 100
    paid.refunded("100.00", "refund-1")
    await paid.later(seconds=30)
    assert paid.amounts == amounts(charged="469.50", refunded="100.00")
    [report] = paid.saleor.reports
    assert (report.type.value, report.psp_reference) == ("REFUND_SUCCESS", answer.psp_reference)
    assert paid.gateway.calls == ["refund"]  # never repeated


@pytest.mark.fault("gateway-unknown")
@pytest.mark.law(2)
async def test_a_refund_that_was_never_made_fails_only_after_the_settling_time(paid: Shop) -> None:
    paid.gateway.will(HangUp())
    answer = await paid.staff("REFUND", "100.00")
    await paid.later(minutes=14)
    assert paid.saleor.reports == []
    assert paid.gateway.polls > 3
    await paid.later(minutes=20)
    [report] = paid.saleor.reports
    assert (report.type.value, report.psp_reference) == ("REFUND_FAILURE", answer.psp_reference)
    assert paid.amounts == amounts(charged=TOTAL)
    assert paid.transaction.actions == ["REFUND"]
    assert paid.gateway.calls == ["refund"]


@pytest.mark.fault("gateway-unknown")
@pytest.mark.law(2, 9)
async def test_a_refund_given_up_too_early_counts_when_the_gateway_shows_it(paid: Shop) -> None:
    """Our conclusion from silence gives way to the gateway's word, under the same reference."""
    paid.gateway.will(HangUp())
    answer = await paid.staff("REFUND", "100.00")
    await paid.later(minutes=40)
    assert paid.saleor.told == ["REFUND_FAILURE"]
    await paid.notify(operation("refund", paid.order_id, "100.00", named="late"))
    await paid.work()
    assert paid.saleor.told == ["REFUND_FAILURE", "REFUND_SUCCESS"]
    assert paid.saleor.reports[-1].psp_reference == answer.psp_reference
    assert paid.amounts == amounts(charged="469.50", refunded="100.00")


@pytest.mark.law(3)
class TestOneAtATime:
    async def test_a_second_refund_waits_until_the_first_is_settled(self, paid: Shop) -> None:
        paid.gateway.will(HangUp())
        first = await paid.staff("REFUND", "100.00", "first")
        second = await paid.staff("REFUND", "200.00", "second")
        assert second.result is None
        assert second.psp_reference != first.psp_reference
        assert paid.gateway.calls == ["refund"]
        await paid.later(minutes=2)
        assert paid.gateway.calls == ["refund"]
        paid.refunded("100.00", "refund-1")
        paid.gateway.will(said(operation("refund", paid.order_id, "200.00", named="refund-2")))
        await paid.later(minutes=5)
        assert paid.gateway.calls == ["refund", "refund"]
        assert [report.psp_reference for report in paid.saleor.reports] == [first.psp_reference, second.psp_reference]
        assert paid.saleor.told == ["REFUND_SUCCESS", "REFUND_SUCCESS"]
        assert paid.amounts == amounts(charged="269.50", refunded="300.00")

    async def test_what_is_in_flight_is_not_promised_twice(self, paid: Shop) -> None:
        paid.gateway.will(HangUp())
        await paid.staff("REFUND", "500.00", "first")
        assert (await paid.staff("REFUND", "69.50", "second")).result is None  # waits, and is promised too
        refusal = await paid.staff("REFUND", "0.01", "third")
        assert refusal.result == "REFUND_FAILURE"
        assert "569.50 UAH is being refunded: nothing is left to refund" in (refusal.message or "")

    async def test_those_that_wait_go_one_after_the_other_in_the_order_in_which_they_came(self, paid: Shop) -> None:
        paid.gateway.will(HangUp())
        for number in range(1, 4):
            await paid.staff("REFUND", f"{number}.00", f"key-{number}")
        in_flight: list[int] = []

        async def count(heard: Heard) -> None:
            if action_of(heard) == "refund":
                async with paid.services.database.transaction() as session:
                    states = (await session.exec(select(Operation.state))).all()
                in_flight.append(sum(state in {State.INTENT, State.UNKNOWN, State.PENDING} for state in states))

        paid.gateway.on_arrival = count
        paid.gateway.will(*(said(operation("refund", paid.order_id, f"{number}.00")) for number in (2, 3)))
        paid.refunded("1.00", "refund-1")
        await paid.later(minutes=1)
        assert [heard.json["refund_amount"] for heard in paid.gateway.heard if action_of(heard) == "refund"] == [
            1,
            2,
            3,
        ]
        assert in_flight == [1, 1]
        assert paid.amounts == amounts(charged="563.50", refunded="6.00")

    async def test_nobody_overtakes_one_that_waits(self, paid: Shop) -> None:
        """The one before it has ended, and the worker has not come yet."""
        paid.gateway.will(HangUp())
        await paid.staff("REFUND", "1.00", "key-1")
        await paid.staff("REFUND", "400.00", "key-2")
        await paid.notify(paid.refunded("1.00", "refund-1"))
        async with paid.services.database.transaction() as session:
            last = (await session.exec(select(func.max(Notification.id)))).one()
        assert await process(paid.services, last or 0)
        late = await paid.staff("REFUND", "10.00", "key-3")
        assert late.result is None
        paid.gateway.will(*(said(operation("refund", paid.order_id, amount)) for amount in ("400.00", "10.00")))
        await paid.later(minutes=1)
        assert [heard.json["refund_amount"] for heard in paid.gateway.heard if action_of(heard) == "refund"] == [
            1,
            400,
            10,
        ]
        assert paid.amounts == amounts(charged="158.50", refunded="411.00")

    async def test_many_requests_at_once_never_refund_more_than_was_paid(self, paid: Shop) -> None:
        paid.gateway.will(said(operation("refund", paid.order_id, "400.00", named="refund-1")))
        answers: list[ActionAnswer] = await at_once(
            *(paid.staff("REFUND", "400.00", f"key-{number}") for number in range(4))
        )
        outcomes = sorted(str(answer.result) for answer in answers)
        assert outcomes == ["REFUND_FAILURE"] * 3 + ["REFUND_SUCCESS"]
        assert paid.gateway.calls == ["refund"]
        assert paid.amounts == amounts(charged="169.50", refunded="400.00")


@pytest.mark.law(4)
class TestSameQuestion:
    @pytest.mark.threat("replayed-webhook")
    async def test_asked_twice(self, paid: Shop) -> None:
        paid.gateway.will(said(operation("refund", paid.order_id, "100.00")))
        first = await paid.staff("REFUND", "100.00")
        assert await paid.staff("REFUND", "100.00", booked=False) == first
        assert paid.gateway.calls == ["refund"]

    async def test_asked_again_while_the_first_is_on_its_way(self, paid: Shop) -> None:
        paid.gateway.will(said(operation("refund", paid.order_id, "100.00")))
        event = action_event(paid.transaction.id, "REFUND", "100.00", "key-1")
        answers = await at_once(*(requested(paid.services, event, paid.installation) for _ in range(4)))
        assert len({answer.psp_reference for answer in answers}) == 1
        results = {str(answer.result) for answer in answers}
        assert "REFUND_SUCCESS" in results
        assert results <= {"REFUND_SUCCESS", "None"}  # who asks while it is under way hears "pending"
        assert paid.gateway.calls == ["refund"]
        again = await requested(paid.services, event, paid.installation)
        assert again.result == "REFUND_SUCCESS"
        await paid.later(minutes=1)
        assert paid.saleor.told == ["REFUND_SUCCESS"]
        assert paid.saleor.reports[0].psp_reference == answers[0].psp_reference

    async def test_asked_again_while_its_outcome_is_not_known(self, paid: Shop) -> None:
        paid.gateway.will(HangUp())
        first = await paid.staff("REFUND", "100.00")
        assert await paid.staff("REFUND", "100.00", booked=False) == first
        assert paid.gateway.calls == ["refund"]

    async def test_what_was_refused_once_is_refused_for_ever(self, shop: Shop) -> None:
        """Saleor has booked the failure: if the payment stands otherwise later, the old question must move nothing."""
        shop.gateway.will(shop.gateway.page())
        await shop.begin(flow="AUTHORIZATION")
        first = await shop.staff("CHARGE", TOTAL)
        assert first.result == "CHARGE_FAILURE"
        await shop.notify(payment(shop.order_id, method="auth"))
        await shop.work()
        again = await shop.staff("CHARGE", TOTAL, booked=False)
        assert (again.result, again.psp_reference, again.message) == (first.result, first.psp_reference, first.message)
        assert shop.gateway.calls == ["payment"]
        shop.gateway.will(said(operation("capture", shop.order_id, TOTAL)))
        assert (await shop.staff("CHARGE", TOTAL, "another question")).result == "CHARGE_SUCCESS"


@pytest.mark.law(7, 9, 10)
async def test_a_notification_that_overtakes_its_answer_tells_the_same_story(paid: Shop) -> None:
    """It is bound to the operation in flight, and the answer finds it there."""
    record = operation("refund", paid.order_id, "100.00", named="refund-1")

    async def notify_first(heard: Heard) -> None:
        paid.gateway.on_arrival = None
        await paid.notify(record)
        await paid.work()

    paid.gateway.on_arrival = notify_first
    paid.gateway.will(said(record))
    answer = await paid.staff("REFUND", "100.00")
    assert answer.result == "REFUND_SUCCESS"
    assert answer.psp_reference == "refund-1"
    await paid.later(minutes=1)
    assert paid.saleor.told == ["REFUND_SUCCESS"]
    assert paid.amounts == amounts(charged="469.50", refunded="100.00")


@pytest.mark.law(9)
async def test_a_strange_notification_that_overtakes_its_answer_takes_no_reference_away(paid: Shop) -> None:
    """It names the answer's id with another amount: then it is somebody else's refund, and ours is looked up."""

    async def notify_first(heard: Heard) -> None:
        paid.gateway.on_arrival = None
        await paid.notify(operation("refund", paid.order_id, "99.00", named="refund-1"))
        await paid.work()

    paid.gateway.on_arrival = notify_first
    paid.gateway.will(said(operation("refund", paid.order_id, "100.00", named="refund-1")))
    answer = await paid.staff("REFUND", "100.00")
    assert answer.result is None
    assert answer.psp_reference != "refund-1"
    assert problem_words((await paid.aggregate()).payment)


@pytest.mark.law(10)
async def test_of_two_candidates_the_one_in_flight_is_meant(paid: Shop) -> None:
    """A refund was given up for silence; staff ask again, and the new one's notification comes first."""
    paid.gateway.will(HangUp())
    given_up = await paid.staff("REFUND", "100.00", "first")
    await paid.later(minutes=40)
    record = operation("refund", paid.order_id, "100.00", named="refund-2")

    async def notify_first(heard: Heard) -> None:
        paid.gateway.on_arrival = None
        await paid.notify(record)
        await paid.work()

    paid.gateway.on_arrival = notify_first
    paid.gateway.will(said(record))
    again = await paid.staff("REFUND", "100.00", "second")
    assert (again.result, again.psp_reference) == ("REFUND_SUCCESS", "refund-2")
    await paid.later(minutes=1)
    told = [(report.type.value, report.psp_reference) for report in paid.saleor.reports]
    assert told == [("REFUND_FAILURE", given_up.psp_reference), ("REFUND_SUCCESS", "refund-2")]
    assert paid.amounts == amounts(charged="469.50", refunded="100.00")


@pytest.mark.law(11)
async def test_a_webhook_never_waits_longer_than_its_budget(paid: Shop) -> None:
    """Measured: a gateway that never answers holds nobody up for more than the budget and a little."""
    paid.gateway.will(Silence())
    async with paid.impatient(), asyncio.timeout(8):
        answer = await paid.staff("REFUND", "100.00")
    assert answer.result is None
