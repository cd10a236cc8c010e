"""What is written as claimed: its job begins with the commit, and nothing is lost when it does not."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.core.ids import PspReference
from app.core.notification import StoredNotification
from app.core.payment import PaymentAggregate
from app.core.vocabulary import EventState
from app.flows.notifications import process
from app.flows.reconciliation.run import schedule_comparison
from app.rules.decision_context import enqueue_note
from app.services import Services
from app.store.aggregates import ByOrder
from app.store.database import begin_in_background, in_background
from app.store.inbox import NOTIFICATIONS, _store_all
from app.store.job_queue import Claim
from app.store.outbox import EVENTS
from app.store.reconciliations import RECONCILIATIONS
from app.store.tables import Notification, SaleorEvent
from app.worker.loop import Worker
from integration_base_tests.waiting import eventually
from saleor_app_sdk.errors import SaleorUnreachableError
from tests.payments.changes import Change
from tests.payments.fake_gateway import operation, payment
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop, source_object
from tests.statements import count_queries, record_statements
from tests.worker.running_worker import SlowSaleor, run_worker, wait_until_reported


@pytest.fixture(autouse=True)
def no_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing but commits move the worker."""
    monkeypatch.setattr("app.worker.loop._TICK_SECONDS", 3600)


async def notifications(shop: Shop) -> Sequence[Notification]:
    async with shop.services.database.transaction() as session:
        return (await session.exec(select(Notification).order_by(col(Notification.id)))).all()


async def charge_events(shop: Shop) -> list[SaleorEvent]:
    async with shop.services.database.transaction() as session:
        found = await session.exec(select(SaleorEvent).where(SaleorEvent.type == "CHARGE_SUCCESS"))
        return list(found)


async def settled(worker: Worker) -> None:
    """Wait until the worker has done what was begun."""

    async def is_idle() -> bool:
        return all(consumer.is_idle for consumer in worker._consumers)

    await eventually(is_idle)


@asynccontextmanager
async def first_round_done(shop: Shop) -> AsyncIterator[Worker]:
    """Let a worker run that has looked once for what is due."""
    with record_statements(shop.services.database) as asked:
        async with run_worker(shop) as worker:

            async def has_looked() -> bool:
                looked = any("UNION ALL" in statement for statement, _ in asked)
                return looked and not shop.services.database._open_transactions

            await eventually(has_looked)
            yield worker


async def test_a_payment_takes_five_transactions_from_its_beginning_to_saleors_books(shop: Shop) -> None:
    """The intent, the outcome, the notification, what it says, and that Saleor knows."""
    await shop.complete_payment()  # what is done only once is done
    shop.transaction = shop.saleor.new_transaction()
    shop.gateway.will_answer(shop.gateway.page("page-2"))
    async with first_round_done(shop) as worker:
        with count_queries(shop.services.database) as counted:
            await shop.begin(sourceObject=source_object(id="another checkout"))
            await shop.notify(payment(shop.order_id))
            await wait_until_reported(shop, "CHARGE_SUCCESS")
            await settled(worker)
    assert shop.amounts == amounts(charged=TOTAL)
    assert counted.transactions == 5
    assert counted.statements == 20


async def test_a_job_that_a_request_has_claimed_is_done_in_the_background(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What people wait for goes first at the database, and the rest shares no transaction with it."""
    seen: list[bool] = []

    async def looks(services: Services, notification_id: int, known: StoredNotification | None) -> None:
        assert known is not None
        seen.append(in_background())
        await process(services, notification_id, known)

    monkeypatch.setattr("app.worker.loop.process", looks)
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    worker = Worker(shop.saleor)
    running = begin_in_background(worker.run(shop.services))
    await asyncio.sleep(0)
    await shop.notify(payment(shop.order_id))
    await wait_until_reported(shop, "CHARGE_SUCCESS")
    worker.stop()
    await running
    assert seen == [True]
    assert not in_background()


@pytest.mark.law(6, 13)
@pytest.mark.fault("process-killed")
async def test_a_worker_that_dies_with_what_was_written_for_it_is_followed_by_another(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the notification is done by the one that had claimed it; the other waits for the end of the claim."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    forever = asyncio.Event()

    async def hangs(*_: object) -> None:
        await forever.wait()

    with monkeypatch.context() as patched:
        patched.setattr("app.worker.consumer.Consumer._run", hangs)
        async with run_worker(shop):
            await shop.notify(payment(shop.order_id))
    [kept] = await notifications(shop)
    assert (kept.attempts, kept.processed_at) == (1, None)
    assert kept.next_attempt_at == shop.clock.now + shop.services.schedule.lease
    await shop.work()
    assert shop.amounts == amounts()
    await shop.pass_time(seconds=61)
    assert shop.amounts == amounts(charged=TOTAL)


@pytest.mark.law(5)
async def test_an_event_that_was_written_as_claimed_is_told_once_by_many_workers(paid_shop: Shop) -> None:
    """While its report is on the way, another worker finds nothing to do."""
    saleor = SlowSaleor(paid_shop)
    async with run_worker(paid_shop) as worker:
        await paid_shop.notify(operation("refund", paid_shop.order_id, "69.50", operation_id="portal-1"))
        await saleor.arrived.wait()
        assert await Worker(paid_shop.saleor).work_once(paid_shop.services) == 0
        saleor.let_go.set()
        await settled(worker)
    assert paid_shop.saleor.reported_types == ["REFUND_SUCCESS"]
    assert paid_shop.amounts == amounts(charged="500.00", refunded="69.50")


@pytest.mark.law(5)
async def test_the_next_event_of_a_payment_is_claimed_with_the_outcome_of_the_one_before(reserved_shop: Shop) -> None:
    """A charge of a part, and the release of the rest: nobody looks for what is due meanwhile."""
    async with first_round_done(reserved_shop) as worker:
        await reserved_shop.notify(operation("capture", reserved_shop.order_id, "300.00", operation_id="portal"))
        await wait_until_reported(reserved_shop, "CANCEL_SUCCESS")
        await settled(worker)
    assert reserved_shop.saleor.reported_types[-2:] == ["CHARGE_SUCCESS", "CANCEL_SUCCESS"]
    assert [event.attempts for event in (await reserved_shop.aggregate()).events[-2:]] == [1, 1]


@pytest.mark.law(5, 6)
async def test_nothing_begins_that_was_not_committed(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """The room is given back: as much as there is can be reserved again."""
    async with first_round_done(shop) as worker:

        async def fails(session: AsyncSession, rows: Any) -> None:
            await _store_all(session, rows)
            raise RuntimeError("the disk is full")

        with monkeypatch.context() as patched:
            patched.setattr("app.store.inbox._store_all", fails)
            with pytest.raises(RuntimeError):
                await shop.notify(payment("an-order", amount="1.00"))
        assert await notifications(shop) == []
        assert_all_room_is_free(shop, worker)
    assert worker._begun_jobs == 0


@pytest.mark.law(6)
async def test_a_notification_that_is_repeated_is_done_once_and_takes_no_room(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    async with first_round_done(shop) as worker:
        for _ in range(2):
            await shop.notify(payment(shop.order_id))
            await settled(worker)
        assert_all_room_is_free(shop, worker)
    assert worker._begun_jobs == 2  # it, and its event
    assert [kept.deliveries for kept in await notifications(shop)] == [2]


def assert_all_room_is_free(shop: Shop, worker: Worker) -> None:
    """Assert that the account's share of notifications, which is fifty at once, can be reserved."""
    places = [worker.reserve(shop.services, NOTIFICATIONS, shop.account.id) for _ in range(51)]
    assert [place is not None for place in places] == [True] * 50 + [False]
    for place in places[:50]:
        assert place is not None
        place.release()


@pytest.mark.fault("process-stopped")
async def test_what_is_committed_when_the_jobs_are_abandoned_is_left_to_others(shop: Shop) -> None:
    """Its claim expires as theirs do."""
    async with first_round_done(shop) as worker:
        place = worker.reserve(shop.services, NOTIFICATIONS, shop.account.id)
        assert place is not None
    place.begin(Claim(1, shop.account.id, place.until))
    assert worker._begun_jobs == 0
    assert all(consumer.is_idle for consumer in worker._consumers)


async def test_what_there_is_no_room_for_is_written_unclaimed_and_claimed_as_soon_as_there_is(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    async with first_round_done(shop) as worker:
        places = [worker.reserve(shop.services, NOTIFICATIONS, shop.account.id) for _ in range(50)]
        await shop.notify(payment(shop.order_id))
        [kept] = await notifications(shop)
        assert (kept.attempts, kept.next_attempt_at) == (0, shop.clock.now)
        for place in places:
            assert place is not None
            place.release()
        await shop.notify(payment(shop.order_id, extra="again"))
        await wait_until_reported(shop, "CHARGE_SUCCESS")
        await settled(worker)
    assert {kept.processed_at is None for kept in await notifications(shop)} == {False}


async def test_what_the_first_of_several_notifications_in_a_transaction_makes_due_is_claimed(shop: Shop) -> None:
    """The event is written before the second notification is looked at, and claimed as if it were alone."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    async with first_round_done(shop) as worker:
        places = [worker.reserve(shop.services, NOTIFICATIONS, shop.account.id) for _ in range(50)]
        await shop.notify(payment(shop.order_id))
        await shop.notify(payment(shop.order_id, extra="again"))
        for place in places:
            assert place is not None
            place.release()
        worker.wake(NOTIFICATIONS)
        await wait_until_reported(shop, "CHARGE_SUCCESS")
        await settled(worker)
    assert [kept.processed_at for kept in await notifications(shop)] == [shop.clock.now] * 2
    assert [event.attempts for event in await charge_events(shop)] == [1]


@pytest.mark.fault("process-stopped")
async def test_a_worker_that_is_stopping_claims_nothing_that_is_written(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    async with run_worker(shop) as worker:
        worker.stop()
        await shop.notify(payment(shop.order_id))
    [kept] = await notifications(shop)
    assert (kept.attempts, kept.next_attempt_at) == (0, shop.clock.now)
    await shop.work()
    assert shop.amounts == amounts(charged=TOTAL)


@pytest.mark.law(5)
@pytest.mark.fault("two-workers")
async def test_an_event_that_others_may_claim_already_is_left_to_them(paid_shop: Shop) -> None:
    """Another worker may be claiming it at this moment, without the payment's lock: it would be told twice."""
    services = paid_shop.services

    def add_note(aggregate: PaymentAggregate) -> None:
        enqueue_note(
            aggregate, "a note", services.decision_context(), reference=PspReference(f"note-{len(aggregate.events)}")
        )

    await services.payments.record(ByOrder(paid_shop.order_id), Change(add_note))  # nobody works here
    worker = Worker(paid_shop.saleor)
    with services.database.worked_by(_Greedy(worker, paid_shop)):
        await services.payments.record(ByOrder(paid_shop.order_id), Change(_touch))
    events = (await paid_shop.aggregate()).events
    assert [event.attempts for event in events if event.state is EventState.WAITING] == [0]


@pytest.mark.fault("saleor-down")
async def test_a_saleor_that_did_not_respond_gets_one_event_at_a_time(paid_shop: Shop) -> None:
    paid_shop.saleor.failures.append(SaleorUnreachableError("down"))
    async with run_worker(paid_shop) as worker:
        await paid_shop.notify(operation("refund", paid_shop.order_id, "1.00", operation_id="portal-1"))
        await settled(worker)
        tenant = (await paid_shop.aggregate()).payment.installation_id
        first, second = (worker.reserve(paid_shop.services, EVENTS, tenant) for _ in range(2))
        assert first is not None
        assert second is None
        first.release()


def _touch(aggregate: PaymentAggregate) -> None:
    aggregate.payment.updated_at += timedelta(seconds=1)


class _Greedy:
    """Room for everything."""

    def __init__(self, worker: Worker, shop: Shop) -> None:
        self._worker, self._shop = worker, shop

    def now(self) -> datetime:
        return self._shop.clock.now

    def reserve(self, queue: object, tenant: object) -> None:
        pytest.fail(f"{queue} of {tenant} was claimed")

    def wake(self, *queues: object) -> None:
        """Nobody rests."""


async def test_a_comparison_that_staff_ask_for_begins_at_once(shop: Shop) -> None:
    """The worker of this process is woken, for nothing else; it would look at its next tick only."""
    worker = Worker(shop.saleor)
    for consumer in worker._consumers:
        consumer.woken.clear()
    with worker.attached_to(shop.services):
        assert await schedule_comparison(shop.services, shop.account)
    assert [consumer.queue for consumer in worker._consumers if consumer.woken.is_set()] == [RECONCILIATIONS]
