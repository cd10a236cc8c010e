"""What became of an operation whose outcome nobody told us (laws of money, 2 and 10)."""

import asyncio
from decimal import Decimal

import pytest
from sqlalchemy import delete
from sqlmodel import col

from app.core.payment import Operation
from app.core.vocabulary import Kind, State
from app.flows.on_demand import fetch_records, look_up_now
from app.flows.resolve import resolve_operation
from app.reports.raw import raw_records
from app.rules.problems import problem_text
from app.store import tables
from app.store.aggregates import save_all
from gateway_client.models import Records
from integration_base.outbound import Deadline
from integration_base_tests.loopback import HangUp, ReceivedRequest, Silence, json_reply
from tests.db.rows import load_by_transaction
from tests.payments.fake_gateway import BROKEN, operation, payment, refusal_reply
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop, run_concurrently


@pytest.fixture
async def lost(shop: Shop) -> Shop:
    """A shop whose gateway hung up when a payment was to be created."""
    shop.gateway.will_answer(HangUp())
    await shop.begin()
    return shop


@pytest.fixture
async def waiting(shop: Shop) -> Shop:
    """A shop whose shopper was led to the payment page, which is in the gateway's book."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    shop.gateway.book[shop.order_id] = [payment(shop.order_id, "init")]
    await shop.work()
    return shop


class TestARefundOfWhichNobodyKnows:
    @pytest.mark.fault("gateway-down")
    @pytest.mark.law(2)
    async def test_as_long_as_look_ups_fail_nothing_is_concluded(self, shop: Shop) -> None:
        """Only a look-up that shows nothing says something; one that fails says nothing."""
        await shop.complete_payment()
        shop.saleor.order(shop.transaction)
        shop.gateway.will_answer(HangUp())
        await shop.request_action("REFUND", "10.00")
        shop.gateway.will_answer_look_ups(*[BROKEN] * 100)
        await shop.pass_time(hours=3)
        assert shop.gateway.polls > 3
        assert shop.saleor.reports == []
        assert (await shop.operation(Kind.REFUND)).state is State.UNKNOWN

    @pytest.mark.law(2)
    async def test_what_does_not_agree_about_another_one_keeps_it_from_nothing(self, shop: Shop) -> None:
        await shop.complete_payment()
        await shop.notify(operation("refund", shop.order_id, "30.00", operation_id="portal-1") | {"currency": "USD"})
        shop.gateway.will_answer(HangUp())
        await shop.request_action("REFUND", "10.00")
        await shop.pass_time(hours=1)
        assert (await shop.operation(Kind.REFUND)).state is State.FAILURE


class TestAPageOfWhichNobodyHasTheLink:
    @pytest.mark.law(2)
    async def test_its_page_is_found_without_its_link_and_closed(self, lost: Shop) -> None:
        lost.gateway.book[lost.order_id] = [payment(lost.order_id, "init")]
        lost.gateway.will_answer(json_reply([payment(lost.order_id, "failure", status_code="6007")]))
        await lost.pass_time(minutes=2)
        assert lost.gateway.calls == ["payment", "cancel"]
        assert lost.saleor.reported_types == ["CHARGE_FAILURE"]
        assert "was lost with the gateway's response" in (lost.saleor.reports[-1].message or "")
        assert lost.transaction.actions == []
        assert (await lost.operation(Kind.CANCEL)).state is State.SUCCESS

    async def test_a_success_after_we_had_given_up_still_counts(self, lost: Shop) -> None:
        await lost.pass_time(minutes=20)
        assert lost.saleor.reported_types == ["CHARGE_FAILURE"]
        await lost.notify(payment(lost.order_id))
        await lost.work()
        assert lost.saleor.reported_types == ["CHARGE_FAILURE", "CHARGE_SUCCESS"]
        assert lost.amounts == amounts(charged=TOTAL)
        assert (await lost.operation(Kind.CREATE)).inferred is False

    async def test_one_that_is_left_as_not_known_is_given_up_at_the_next_look(self, lost: Shop) -> None:
        """Staff looked it up while the gateway was being asked, and then the process died."""
        async with lost.services.database.transaction() as session:
            aggregate = await load_by_transaction(session, lost.installation.id, lost.transaction.id)
            assert aggregate is not None
            aggregate.create.state, aggregate.create.next_poll_at = State.UNKNOWN, lost.clock.now
            await save_all(session, [aggregate])
            await session.exec(delete(tables.SaleorEvent))
            await session.exec(delete(tables.Operation).where(col(tables.Operation.kind) == Kind.CANCEL))
        await lost.pass_time(minutes=2)
        assert lost.saleor.reported_types == ["CHARGE_FAILURE"]
        assert (await lost.operation(Kind.CREATE)).state is State.FAILURE


@pytest.mark.law(1)
class TestAnIntentWithoutAnEnd:
    """The process died around the call (law 1): what it meant to do stands in the row, and is looked up."""

    async def test_before_or_after_the_call(self, shop: Shop) -> None:
        await shop.complete_payment()
        refund = await self._died(shop)
        assert refund.state is State.INTENT
        assert await shop.work() == 0  # not while its own call may still be under way
        await shop.pass_time(seconds=16)
        assert (await shop.operation(Kind.REFUND)).state is State.UNKNOWN
        shop.record_refund("10.00", "refund-1")
        await shop.pass_time(minutes=1)
        assert shop.saleor.reported_types == ["REFUND_SUCCESS"]
        assert shop.amounts == amounts(charged="559.50", refunded="10.00")

    async def test_if_it_never_left_it_is_not_sent_later(self, shop: Shop) -> None:
        await shop.complete_payment()
        await self._died(shop)
        await shop.pass_time(hours=1)
        assert shop.gateway.calls == ["refund"]
        assert shop.saleor.reported_types == ["REFUND_FAILURE"]

    @staticmethod
    async def _died(shop: Shop) -> Operation:
        """Staff ask for a refund, and the process is stopped when the call has arrived at the gateway."""
        arrived = asyncio.Event()

        async def notice(_: ReceivedRequest) -> None:
            arrived.set()

        shop.gateway.on_request = notice
        shop.gateway.will_answer(Silence())
        webhook = asyncio.create_task(shop.request_action("REFUND", "10.00"))
        await arrived.wait()
        webhook.cancel()
        await asyncio.wait([webhook])
        # The connection breaks, and Saleor notes by itself that nothing was delivered (Saleor contract, A.5).
        request = next(event for event in shop.transaction.events if event.type.value == "REFUND_REQUEST")
        shop.saleor.book_action(shop.transaction, request, "REFUND", None)
        return await shop.operation(Kind.REFUND)


class TestAPageThatNobodyPaysOn:
    async def test_it_is_closed_when_its_time_is_over(self, waiting: Shop) -> None:
        await waiting.pass_time(minutes=61)
        assert waiting.gateway.calls == ["payment"]
        waiting.gateway.will_answer(json_reply([payment(waiting.order_id, "failure", status_code="6007")]))
        await waiting.pass_time(minutes=2)
        assert waiting.gateway.calls == ["payment", "cancel"]
        assert waiting.saleor.reported_types == ["INFO", "CHARGE_FAILURE"]
        assert waiting.saleor.reports[-1].message == "Nobody paid in time, and the payment page was closed [6007]"

    async def test_a_page_that_the_gateway_has_let_expire_by_itself(self, waiting: Shop) -> None:
        waiting.gateway.book[waiting.order_id] = [payment(waiting.order_id, "failure", status_code="4149")]
        await waiting.pass_time(minutes=63)
        assert waiting.gateway.calls == ["payment"]
        assert waiting.saleor.reported_types == ["INFO", "CHARGE_FAILURE"]
        assert waiting.saleor.reports[-1].message == "The payment session expired [4149]"

    async def test_that_the_gateway_did_not_close_it_earlier_does_not_mean_that_it_is_over(self, waiting: Shop) -> None:
        """Staff asked to cancel while the shopper paid. The page is closed at its end all the same."""
        waiting.gateway.will_answer(refusal_reply("Invalid operation", "4150"))
        await waiting.request_action("CANCEL")
        waiting.clock.forward(hours=2)  # the worker was away
        waiting.gateway.will_answer(json_reply([payment(waiting.order_id, "failure", status_code="6007")]))
        await waiting.pass_time(minutes=1)
        assert waiting.gateway.calls == ["payment", "cancel", "cancel"]
        assert not (await waiting.operation(Kind.CREATE)).inferred

    async def test_a_gateway_that_does_not_close_it_is_not_asked_for_ever(self, waiting: Shop) -> None:
        waiting.gateway.will_answer(*[refusal_reply("Invalid operation", "4150")] * 20)
        await waiting.pass_time(days=3)
        assert waiting.saleor.reported_types == ["INFO", "CHARGE_FAILURE"]
        assert len(waiting.gateway.calls) < 5
        assert (await waiting.operation(Kind.CREATE)).inferred

    async def test_whoever_pays_in_the_last_second_has_paid(self, waiting: Shop) -> None:
        waiting.gateway.will_answer(refusal_reply("Invalid operation", "4150"))
        await waiting.pass_time(minutes=63)
        waiting.gateway.book[waiting.order_id] = [payment(waiting.order_id)]
        await waiting.pass_time(hours=2)
        assert waiting.saleor.reported_types[-1] == "CHARGE_SUCCESS"
        assert waiting.amounts == amounts(charged=TOTAL)

    async def test_a_closing_whose_outcome_is_not_known_is_looked_up(self, waiting: Shop) -> None:
        waiting.gateway.will_answer(HangUp())
        await waiting.pass_time(minutes=62, seconds=1)
        waiting.gateway.book[waiting.order_id] = [payment(waiting.order_id, "failure", status_code="6007")]
        await waiting.pass_time(minutes=1)
        assert waiting.saleor.reported_types == ["INFO", "CHARGE_FAILURE"]
        assert waiting.gateway.calls == ["payment", "cancel"]

    @pytest.mark.law(2)
    async def test_whoever_pays_after_the_end_has_paid(self, waiting: Shop) -> None:
        """That it was over was our own conclusion."""
        waiting.gateway.will_answer(*[refusal_reply("Invalid operation", "4150")] * 20)
        await waiting.pass_time(hours=3)
        assert waiting.saleor.reported_types == ["INFO", "CHARGE_FAILURE"]
        await waiting.notify(payment(waiting.order_id))
        await waiting.work()
        assert waiting.saleor.reported_types == ["INFO", "CHARGE_FAILURE", "CHARGE_SUCCESS"]
        assert waiting.amounts == amounts(charged=TOTAL)

    async def test_a_page_that_the_gateway_has_forgotten(self, waiting: Shop) -> None:
        waiting.gateway.book.clear()
        waiting.gateway.will_answer(refusal_reply("Payment not found", "P-404", 404))
        await waiting.pass_time(hours=3)
        assert waiting.saleor.reported_types == ["INFO", "CHARGE_FAILURE"]

    async def test_the_gateways_own_reason_takes_the_place_of_our_conclusion(self, waiting: Shop) -> None:
        """The shopper who comes back was told of none before."""
        waiting.gateway.will_answer(*[refusal_reply("Invalid operation", "4150")] * 20)
        await waiting.pass_time(hours=3)
        assert (await waiting.operation(Kind.CREATE)).inferred
        await waiting.notify(payment(waiting.order_id, "failure", status_code="4149"))
        await waiting.work()
        [error] = (await waiting.process_session()).data["errors"]
        assert error["code"] == "4149"
        assert waiting.saleor.reported_types == ["INFO", "CHARGE_FAILURE"]


class TestPolling:
    async def test_a_payment_at_the_bank_is_looked_up_again_and_again(self, waiting: Shop) -> None:
        """The notification got lost; it is found all the same."""
        waiting.gateway.book[waiting.order_id] = [payment(waiting.order_id, "pending")]
        await waiting.pass_time(hours=30)
        assert set(waiting.saleor.reported_types) == {"INFO"}
        assert waiting.transaction.actions == []  # what is at the bank cannot be cancelled any more
        assert waiting.gateway.polls < 50
        waiting.gateway.book[waiting.order_id] = [payment(waiting.order_id)]
        await waiting.pass_time(hours=1)
        assert waiting.saleor.reported_types[-1] == "CHARGE_SUCCESS"

    async def test_a_concluded_payment_is_left_alone(self, shop: Shop) -> None:
        await shop.complete_payment()
        shop.saleor.order(shop.transaction)
        await shop.pass_time(days=7)
        assert shop.gateway.requests == []

    @pytest.mark.fault("gateway-keys")
    async def test_wrong_keys_met_while_looking_are_a_visible_problem(self, waiting: Shop) -> None:
        waiting.gateway.will_answer_look_ups(refusal_reply("Invalid pos_id field or credentials", "S-404", 401))
        await waiting.pass_time(minutes=2)
        assert "rejects the keys" in (problem_text((await waiting.aggregate()).payment) or "")
        assert waiting.saleor.reported_types == ["INFO", "INFO"]


@pytest.mark.law(10)
class TestOthersActToo:
    """The merchant portal, or an automatic capture."""

    async def test_a_refund_in_the_portal_is_found_and_told(self, shop: Shop) -> None:
        await shop.complete_payment()
        await shop.notify(operation("refund", shop.order_id, "69.50", operation_id="portal-1"))
        await shop.work()
        [report] = shop.saleor.reports
        assert (report.type.value, report.psp_reference) == ("REFUND_SUCCESS", "portal-1")
        assert shop.amounts == amounts(charged="500.00", refunded="69.50")
        found = await shop.operation(Kind.REFUND)
        assert not found.asked_by_saleor
        assert (await shop.request_action("REFUND", "500.01")).result == "REFUND_FAILURE"  # it counts

    async def test_an_automatic_capture_of_a_part(self, shop: Shop) -> None:
        await shop.complete_payment("AUTHORIZATION")
        await shop.notify(operation("capture", shop.order_id, "500.00", operation_id="auto-1"))
        await shop.work()
        assert shop.saleor.reported_types == ["CHARGE_SUCCESS", "CANCEL_SUCCESS"]
        assert shop.amounts == amounts(charged="500.00", canceled="69.50")
        assert shop.transaction.actions == ["REFUND"]

    async def test_a_void_in_the_portal(self, shop: Shop) -> None:
        await shop.complete_payment("AUTHORIZATION")
        await shop.notify(operation("void", shop.order_id, TOTAL, operation_id="portal-1"))
        await shop.work()
        assert shop.amounts == amounts(canceled=TOTAL)
        assert shop.transaction.actions == []

    @pytest.mark.law(9)
    async def test_a_capture_of_the_same_amount_as_ours_in_flight_is_ours(self, shop: Shop) -> None:
        """It is bound, not counted twice; and it keeps the reference that Saleor knows it by (law 9)."""
        await shop.complete_payment("AUTHORIZATION")
        shop.gateway.will_answer(HangUp())
        answer = await shop.request_action("CHARGE", TOTAL)
        await shop.notify(operation("capture", shop.order_id, TOTAL, operation_id="auto-1"))
        await shop.pass_time(seconds=1)  # by then Saleor has read the answer
        [report] = shop.saleor.reports
        assert (report.type.value, report.psp_reference) == ("CHARGE_SUCCESS", answer.psp_reference)
        assert (await shop.operation(Kind.CAPTURE)).operation_id == "auto-1"
        assert shop.amounts == amounts(charged=TOTAL)

    async def test_a_refund_of_another_amount_than_ours_in_flight_is_not_ours(self, shop: Shop) -> None:
        await shop.complete_payment()
        shop.gateway.will_answer(HangUp())
        await shop.request_action("REFUND", "100.00")
        await shop.notify(operation("refund", shop.order_id, "30.00", operation_id="portal-1"))
        await shop.pass_time(minutes=20)
        assert sorted(shop.saleor.reported_types) == ["REFUND_FAILURE", "REFUND_SUCCESS"]
        assert shop.amounts == amounts(charged="539.50", refunded="30.00")

    @pytest.mark.law(3)
    async def test_what_the_portal_has_in_flight_makes_ours_wait(self, shop: Shop) -> None:
        await shop.complete_payment()
        await shop.notify(operation("refund", shop.order_id, "30.00", "pending", operation_id="portal-1"))
        await shop.work()
        assert (await shop.request_action("REFUND", "100.00")).result is None
        assert shop.gateway.calls == []
        shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, "100.00")))
        await shop.notify(operation("refund", shop.order_id, "30.00", operation_id="portal-1"))
        await shop.pass_time(minutes=1)
        assert shop.gateway.calls == ["refund"]
        assert shop.amounts == amounts(charged="439.50", refunded="130.00")

    @pytest.mark.law(8)
    @pytest.mark.parametrize(
        "wrong", [{"amount": Decimal("1.005")}, {"amount": 0}, {"amount": -5}, {"currency": "USD"}, {"pos_id": "other"}]
    )
    async def test_what_cannot_be_right_is_a_problem_and_blocks_nothing(
        self, shop: Shop, wrong: dict[str, object]
    ) -> None:
        await shop.complete_payment()
        await shop.notify(operation("refund", shop.order_id, "30.00", operation_id="portal-1") | wrong)
        await shop.work()
        assert shop.saleor.reported_types == ["INFO"]
        assert problem_text((await shop.aggregate()).payment)
        shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, "100.00")))
        assert (await shop.request_action("REFUND", "100.00")).result == "REFUND_SUCCESS"
        assert shop.amounts == amounts(charged="469.50", refunded="100.00")


async def test_two_workers_that_find_the_same_tell_it_once(waiting: Shop) -> None:
    create = await waiting.operation(Kind.CREATE)
    assert create.id is not None
    waiting.gateway.book[waiting.order_id] = [payment(waiting.order_id)]
    await run_concurrently(*(resolve_operation(waiting.services, create.id, Deadline(5)) for _ in range(3)))
    await waiting.work()
    assert waiting.saleor.reported_types.count("CHARGE_SUCCESS") == 1


async def test_a_settled_operation_is_not_looked_up(waiting: Shop) -> None:
    create = await waiting.operation(Kind.CREATE)
    assert create.id is not None
    await waiting.notify(payment(waiting.order_id))
    await waiting.work()
    before = waiting.gateway.polls
    await resolve_operation(waiting.services, create.id, Deadline(5))
    assert waiting.gateway.polls == before


@pytest.mark.law(3)
async def test_an_operation_that_waits_is_not_sent_out_of_turn(shop: Shop) -> None:
    """However its look came to be due: as long as another one is in flight, it waits."""
    await shop.complete_payment()
    shop.gateway.will_answer(HangUp())
    await shop.request_action("REFUND", "1.00", "first")
    await shop.request_action("REFUND", "2.00", "second")
    second = await shop.operation(Kind.REFUND, 1)
    assert second.id is not None
    await resolve_operation(shop.services, second.id, Deadline(5))
    assert shop.gateway.calls == ["refund"]
    assert (await shop.operation(Kind.REFUND, 1)).state is State.WAITING
    shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, "2.00")))
    shop.record_refund("1.00", "refund-1")
    await shop.pass_time(seconds=10)
    assert shop.gateway.calls == ["refund", "refund"]


UNREADABLE = operation("refund", "order", "100.00") | {"amount": "a hundred"}


class TestRecordsThatCannotBeRead:
    """The operation that is looked for may be among them, so nothing is concluded from what is not shown."""

    @pytest.fixture
    async def hidden(self, paid_shop: Shop) -> Shop:
        """A shop whose refund was made, its answer lost, and its record written as nobody expects."""
        paid_shop.gateway.will_answer(HangUp())
        await paid_shop.request_action("REFUND", "100.00")
        paid_shop.gateway.book[paid_shop.order_id] = [
            payment(paid_shop.order_id),
            UNREADABLE | {"order_id": paid_shop.order_id},
        ]
        return paid_shop

    async def test_a_refund_is_not_given_up_because_nobody_can_read_it(self, hidden: Shop) -> None:
        await hidden.pass_time(hours=3)
        assert hidden.gateway.polls > 3
        assert (await hidden.operation(Kind.REFUND)).state is State.UNKNOWN
        assert "REFUND_FAILURE" not in hidden.saleor.reported_types
        assert "that the app cannot read" in (problem_text((await hidden.aggregate()).payment) or "")

    async def test_it_is_booked_and_the_problem_gone_when_it_can_be_read(self, hidden: Shop) -> None:
        hidden.saleor.order(hidden.transaction)
        await hidden.pass_time(hours=3)
        hidden.gateway.book[hidden.order_id] = [
            payment(hidden.order_id),
            operation("refund", hidden.order_id, "100.00"),
        ]
        await hidden.pass_time(hours=3)
        assert (await hidden.operation(Kind.REFUND)).state is State.SUCCESS
        assert problem_text((await hidden.aggregate()).payment) is None

    async def test_staff_are_told_of_it_when_they_ask(self, hidden: Shop) -> None:
        text = raw_records(await records(hidden))
        assert '"unreadable": "record 2 of 2 is not a OperationRecord: amount"' in text
        assert "a hundred" not in text

    async def test_a_payment_with_nothing_open_is_compared_too(self, paid_shop: Shop) -> None:
        paid_shop.gateway.book[paid_shop.order_id] = [payment(paid_shop.order_id), UNREADABLE]
        assert await look_up_now(paid_shop.services, paid_shop.order_id) is None
        assert "that the app cannot read" in (problem_text((await paid_shop.aggregate()).payment) or "")


async def records(shop: Shop) -> Records:
    found = await fetch_records(shop.services, shop.order_id)
    assert isinstance(found, Records)
    return found
