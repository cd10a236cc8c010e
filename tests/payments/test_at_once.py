"""Two processes at the same moment, on connections of their own (laws of money, 1 to 7 and 9).

Nothing is left to luck. Either the gateway's answer is held back while something else happens, or the payment's lock is
held until everybody who wants it waits for it. On PostgreSQL the waiting is seen; on SQLite there is one queue.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import text
from sqlmodel import col, select

from app.core.vocabulary import Kind, State
from app.store.database import Database, create_engine, is_sqlite
from app.store.tables import Notification, Operation, Payment
from app.worker.loop import Worker
from integration_base_tests.loopback import HangUp, ReceivedRequest, json_reply
from integration_base_tests.waiting import unless_it_hangs
from tests.db.rows import load_by_transaction
from tests.payments.fake_gateway import action_of, operation, payment, refusal_reply
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop, work_at_once

ROUNDS = range(3)


@dataclass
class HeldCall:
    """A call of that kind to the gateway: it is heard, and answered when it is let go."""

    action: str
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    opened: asyncio.Event = field(default_factory=asyncio.Event)

    async def hold(self, request: ReceivedRequest) -> None:
        """Keep a caller waiting."""
        if action_of(request) == self.action:
            self.arrived.set()
            await self.opened.wait()


@asynccontextmanager
async def held_up(shop: Shop, action: str, job: Coroutine[Any, Any, Any]) -> AsyncIterator[asyncio.Task[Any]]:
    """Begin a job whose call arrives at the gateway, and is answered at the end of the block; then the job is over."""
    call = HeldCall(action)
    shop.gateway.on_request = call.hold
    task = asyncio.create_task(job)
    try:
        async with unless_it_hangs():
            await call.arrived.wait()
        yield task
    finally:
        call.opened.set()
        await asyncio.wait([task])
        shop.gateway.on_request = None


async def behind_the_lock(shop: Shop, database_url: str, jobs: Sequence[Coroutine[Any, Any, Any]]) -> list[Any]:
    """Let jobs queue for the payment's lock, in their order, before the first of them gets it; return what they do."""
    holder = Database(create_engine(database_url))
    tasks: list[asyncio.Task[Any]] = []
    try:
        async with holder.transaction() as session:
            assert await load_by_transaction(session, shop.installation.id, shop.transaction.id) is not None
            for job in jobs:
                tasks.append(asyncio.create_task(job))
                if not is_sqlite(database_url):
                    await queue_for_the_lock(holder, len(tasks))
    finally:
        await holder.close()
    return list(await asyncio.gather(*tasks))


async def queue_for_the_lock(database: Database, number: int) -> None:
    """Return when PostgreSQL says that so many connections wait for a lock."""
    waiting = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    async with unless_it_hangs(), database.engine.connect() as connection:
        while (await connection.execute(waiting)).scalar_one() < number:
            await connection.rollback()  # what a transaction has seen of others' activity it goes on seeing


class TestTwoRefunds:
    @pytest.mark.law(3)
    @pytest.mark.parametrize("here_first", [True, False])
    async def test_of_two_that_are_too_much_together_one_wins(
        self, paid_shop: Shop, second_process: Shop, database_url: str, *, here_first: bool
    ) -> None:
        paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "400.00")))
        first, second = (paid_shop, second_process) if here_first else (second_process, paid_shop)
        answers = await behind_the_lock(
            paid_shop,
            database_url,
            [first.request_action("REFUND", "400.00", "one"), second.request_action("REFUND", "400.00", "two")],
        )
        assert Counter(answer.result for answer in answers) == {"REFUND_SUCCESS": 1, "REFUND_FAILURE": 1}
        assert paid_shop.gateway.calls == ["refund"]
        await paid_shop.pass_time(minutes=1)
        assert paid_shop.amounts == amounts(charged="169.50", refunded="400.00")

    async def test_while_the_first_is_at_the_gateway_the_second_is_counted_against_what_is_left(
        self, paid_shop: Shop, second_process: Shop
    ) -> None:
        paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "400.00")))
        async with held_up(paid_shop, "refund", paid_shop.request_action("REFUND", "400.00", "one")) as first:
            too_much = await second_process.request_action("REFUND", "169.51", "two")
            waits = await second_process.request_action("REFUND", "169.50", "three")
            assert await Worker(second_process.saleor).work_once(second_process.services) == 0  # it is not its turn
        assert (first.result().result, too_much.result, waits.result) == ("REFUND_SUCCESS", "REFUND_FAILURE", None)
        paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "169.50")))
        await second_process.pass_time(minutes=1)
        assert paid_shop.gateway.calls == ["refund", "refund"]
        assert paid_shop.amounts == amounts(refunded=TOTAL)

    @pytest.mark.law(3)
    @pytest.mark.parametrize("share", ROUNDS)
    async def test_many_small_ones_from_both_sides_never_sum_to_more_than_was_paid(
        self, paid_shop: Shop, second_process: Shop, database_url: str, share: int
    ) -> None:
        """Six of 100.00 want 569.50; which of them, and in which order they go, is not for us to choose."""
        paid_shop.gateway.will_answer(
            *(json_reply(operation("refund", paid_shop.order_id, "100.00")) for _ in range(5))
        )
        sides = [paid_shop, second_process] * 3
        turned = sides[share % 2 :] + sides[: share % 2]
        await behind_the_lock(
            paid_shop,
            database_url,
            [side.request_action("REFUND", "100.00", f"key-{number}") for number, side in enumerate(turned)],
        )
        await paid_shop.pass_time(minutes=5)
        assert paid_shop.gateway.calls == ["refund"] * 5
        assert paid_shop.amounts == amounts(charged="69.50", refunded="500.00")

    async def test_the_same_one_delivered_twice_at_once_is_one(
        self, paid_shop: Shop, second_process: Shop, database_url: str
    ) -> None:
        paid_shop.gateway.will_answer(
            json_reply(operation("refund", paid_shop.order_id, "100.00", operation_id="refund-1"))
        )
        both = [side.request_action("REFUND", "100.00", "one", booked=False) for side in (paid_shop, second_process)]
        await behind_the_lock(paid_shop, database_url, both)
        assert paid_shop.gateway.calls == ["refund"]
        await paid_shop.pass_time(minutes=1)
        assert (
            len([operation for operation in (await paid_shop.aggregate()).operations if operation.kind is Kind.REFUND])
            == 1
        )


class TestARefundAndTheNotificationOfTheCapture:
    async def test_the_capture_is_known_by_its_notification_before_its_answer(
        self, reserved_shop: Shop, second_process: Shop
    ) -> None:
        """It has ended then, whatever its answer is doing: the refund goes at once, and the answer changes nothing."""
        captured = operation("capture", reserved_shop.order_id, TOTAL, operation_id="capture-1")
        reserved_shop.gateway.will_answer(
            json_reply(operation("refund", reserved_shop.order_id, "100.00")), json_reply(captured)
        )
        async with held_up(reserved_shop, "capture", reserved_shop.request_action("CHARGE", TOTAL, "take")) as taking:
            early = await second_process.request_action("REFUND", "100.00", "too early")
            await second_process.notify(captured)
            await second_process.work()
            refund = await second_process.request_action("REFUND", "100.00", "in time")
        assert (early.result, refund.result) == ("REFUND_FAILURE", "REFUND_SUCCESS")
        assert (taking.result().result, taking.result().psp_reference) == ("CHARGE_SUCCESS", "capture-1")
        await reserved_shop.pass_time(minutes=1)
        assert reserved_shop.amounts == amounts(charged="469.50", refunded="100.00")
        assert reserved_shop.gateway.calls == ["capture", "refund"]

    @pytest.mark.fault("two-workers")
    @pytest.mark.parametrize("refund_first", [True, False])
    async def test_both_want_the_payment_at_once(
        self, reserved_shop: Shop, second_process: Shop, database_url: str, *, refund_first: bool
    ) -> None:
        """Somebody has captured in the portal: whoever comes first, what was not captured yet is not refunded."""
        await second_process.notify(operation("capture", reserved_shop.order_id, TOTAL, operation_id="portal"))
        reserved_shop.gateway.will_answer(json_reply(operation("refund", reserved_shop.order_id, "100.00")))
        refund = reserved_shop.request_action("REFUND", "100.00", "one")
        work = Worker(second_process.saleor).work_once(second_process.services)
        if not refund_first:
            await work
            await refund
        else:
            await behind_the_lock(reserved_shop, database_url, [refund, work])
        await reserved_shop.pass_time(minutes=1)
        refunded = Decimal("100.00") * len(reserved_shop.gateway.calls)
        assert reserved_shop.amounts == amounts(charged=str(Decimal(TOTAL) - refunded), refunded=str(refunded))
        if not is_sqlite(database_url):
            assert bool(refunded) is not refund_first


class TestInitialize:
    @pytest.mark.fault("notification-out-of-order")
    async def test_the_notification_comes_to_another_process_before_the_answer(
        self, shop: Shop, second_process: Shop
    ) -> None:
        shop.gateway.will_answer(shop.gateway.page())
        async with held_up(shop, "payment", shop.begin()) as beginning:
            await second_process.notify(payment(shop.order_id))
            await second_process.work()
        assert beginning.result().result == "CHARGE_SUCCESS"
        await shop.pass_time(minutes=1)
        assert shop.amounts == amounts(charged=TOTAL)
        assert shop.saleor.reported_types.count("CHARGE_SUCCESS") == 1

    @pytest.mark.fault("two-workers", "webhook-repeated")
    async def test_the_same_webhook_comes_to_two_processes_at_once(self, shop: Shop, second_process: Shop) -> None:
        shop.gateway.will_answer(shop.gateway.page())
        async with held_up(shop, "payment", shop.begin()) as beginning:
            second = await second_process.begin()
            assert second.data["errors"][0]["code"] == "CREATION_UNKNOWN"
            assert second.psp_reference == shop.order_id
        assert beginning.result().psp_reference == shop.order_id
        assert "checkoutUrl" in beginning.result().data
        assert await second_process.begin() == beginning.result()
        assert shop.gateway.calls == ["payment"]

    @pytest.mark.parametrize("number", ROUNDS)
    async def test_whoever_is_first_there_is_one_payment(self, shop: Shop, second_process: Shop, number: int) -> None:
        """Neither has found it when it looked; the database lets only one write it down."""
        shop.gateway.will_answer(shop.gateway.page())
        answers = await asyncio.gather(*(side.begin() for side in [shop, second_process] * (number + 1)))
        told = {(answer.psp_reference, "checkoutUrl" in answer.data) for answer in answers}
        assert told | {(shop.order_id, False)} == {(shop.order_id, True), (shop.order_id, False)}
        assert shop.gateway.calls == ["payment"]
        async with shop.services.database.transaction() as session:
            assert len((await session.exec(select(Payment))).all()) == 1


@pytest.mark.fault("two-workers")
async def test_two_workers_do_each_job_once(paid_shop: Shop, second_process: Shop) -> None:
    """Look-ups, notifications and events, all due in the same moment."""
    payments = [paid_shop.transaction.id]
    for number in range(6):
        paid_shop.transaction = second_process.transaction = paid_shop.saleor.new_transaction()
        paid_shop.gateway.will_answer(paid_shop.gateway.page())
        await paid_shop.begin()
        payments.append(paid_shop.transaction.id)
        await paid_shop.notify(payment(paid_shop.order_id, "pending" if number % 2 else "success"))
    paid_shop.clock.forward(minutes=2)
    paid_shop.gateway.requests.clear()
    await work_at_once(paid_shop, second_process)
    async with paid_shop.services.database.transaction() as session:
        notifications = (await session.exec(select(Notification))).all()
        polled_at = (await session.exec(select(Operation).where(col(Operation.polls) > 0))).all()
    assert {(notification.attempts, notification.next_attempt_at) for notification in notifications} == {(1, None)}
    assert {operation.polls for operation in polled_at} == {1}
    assert paid_shop.gateway.polls == len(polled_at)
    told = Counter(
        (report.transaction_id, report.type.value, report.psp_reference) for report in paid_shop.saleor.reports
    )
    assert set(told.values()) == {1}
    assert sum(kind == "CHARGE_SUCCESS" for _, kind, _ in told) == 3


async def test_a_look_up_and_a_notification_of_the_same(paid_shop: Shop, second_process: Shop) -> None:
    """What the look-up was told before the notification came changes nothing after it."""
    paid_shop.gateway.will_answer(HangUp())
    answer = await paid_shop.request_action("REFUND", "100.00")
    paid_shop.clock.forward(seconds=5)
    async with held_up(paid_shop, "look", Worker(paid_shop.saleor).work_once(paid_shop.services)):
        await second_process.notify(operation("refund", paid_shop.order_id, "100.00", operation_id="refund-1"))
        await second_process.work()
        assert (await paid_shop.operation(Kind.REFUND)).state is State.SUCCESS
    await paid_shop.pass_time(minutes=30)
    assert paid_shop.saleor.reported_types == ["REFUND_SUCCESS"]
    assert paid_shop.saleor.reports[0].psp_reference == answer.psp_reference
    assert paid_shop.amounts == amounts(charged="469.50", refunded="100.00")


class TestCancelAndPayment:
    @pytest.fixture
    async def waiting(self, shop: Shop) -> Shop:
        """A shopper is on the payment page."""
        shop.gateway.will_answer(shop.gateway.page())
        await shop.begin()
        await shop.work()
        shop.saleor.reports.clear()
        return shop

    async def test_the_shopper_is_faster(self, waiting: Shop, second_process: Shop) -> None:
        waiting.gateway.will_answer(refusal_reply("Only an unpaid payment can be cancelled", "P-4150"))
        async with held_up(waiting, "cancel", waiting.request_action("CANCEL")) as cancelling:
            await second_process.notify(payment(waiting.order_id))
            await second_process.work()
        assert cancelling.result().result == "CANCEL_FAILURE"
        await waiting.pass_time(minutes=1)
        assert waiting.amounts == amounts(charged=TOTAL)
        assert sorted(waiting.saleor.reported_types) == ["CANCEL_FAILURE", "CHARGE_SUCCESS"]

    async def test_staff_are_faster(self, waiting: Shop, second_process: Shop) -> None:
        cancelled = payment(waiting.order_id, "failure", status_code="6007")
        waiting.gateway.will_answer(json_reply([cancelled]))
        async with held_up(waiting, "cancel", waiting.request_action("CANCEL")) as cancelling:
            await second_process.notify(cancelled)
            await second_process.work()
        assert cancelling.result().result == "CANCEL_SUCCESS"
        await waiting.pass_time(minutes=1)
        assert waiting.amounts == amounts()
        assert sorted(waiting.saleor.reported_types) == ["CANCEL_SUCCESS", "CHARGE_FAILURE"]
