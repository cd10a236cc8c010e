"""While nobody receives notifications, a gap arises: one of the processes that start finds it, and it is compared."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlmodel import col, select, update

from app.store.attention import count_failed_comparisons, failed_comparisons
from app.store.database import Database, is_sqlite
from app.store.processes import (
    SILENT_AFTER,
    RunningProcess,
    all_processes,
    find_gap,
    record_heartbeat,
    remove_process,
)
from app.store.reconciliations import (
    FIRST_RUN_REACH,
    GAP_INTERVAL,
    SETTLING_TIME,
    begin_comparison,
    compare_gap,
    update_run,
)
from app.store.tables import MerchantAccount, ReconciliationRun, RunState
from integration_base_tests.waiting import unless_it_hangs
from tests.db.rows import NOON
from tests.payments.test_at_once import queue_for_the_lock

pytestmark = pytest.mark.law(13)
WEB = RunningProcess("1.0", serves=True, works=True, id="web")
WORKER = RunningProcess("1.0", serves=False, works=True, id="worker")
LATER = NOON + SILENT_AFTER + timedelta(seconds=1)


@pytest.fixture(autouse=True)
async def night(database: Database, account: MerchantAccount) -> None:
    """No night comes in these stories, though days pass: its comparison would read some of the gap."""
    far = account.created_at + 10 * FIRST_RUN_REACH
    planned = update(ReconciliationRun).where(col(ReconciliationRun.state) == RunState.PLANNED)
    async with database.transaction() as session:
        await session.exec(planned.values(created_at=far, due_at=far))


async def beat(database: Database, process: RunningProcess, at: datetime) -> datetime | None:
    """Record a heartbeat; return since when nobody had served."""
    async with database.transaction() as session:
        gap = await find_gap(session, at)
        await record_heartbeat(session, process, at)
        if gap is not None:
            await compare_gap(session, gap, at)
    return gap


async def end(database: Database, process: RunningProcess, at: datetime) -> None:
    async with database.transaction() as session:
        await remove_process(session, process, at)


async def compared(database: Database) -> Sequence[ReconciliationRun]:
    """Return the comparisons that were not planned for the night."""
    query = select(ReconciliationRun).where(ReconciliationRun.state != RunState.PLANNED)
    async with database.transaction() as session:
        return (await session.exec(query.order_by(col(ReconciliationRun.id)))).all()


async def test_the_first_start_ever_ends_no_gap(database: Database, account: MerchantAccount) -> None:
    assert await beat(database, WEB, NOON) is None
    assert await compared(database) == []


async def test_a_gap_is_longer_than_missing_heartbeats(database: Database) -> None:
    await beat(database, WEB, NOON)
    assert await beat(database, WEB, NOON + SILENT_AFTER) is None
    assert await beat(database, WEB, NOON + 2 * SILENT_AFTER + timedelta(seconds=1)) == NOON + SILENT_AFTER


async def test_after_a_kill_the_gap_is_compared_at_once_and_once(database: Database, account: MerchantAccount) -> None:
    begun = account.created_at + timedelta(days=3)
    await beat(database, WEB, begun)
    back = begun + timedelta(hours=2)
    assert await beat(database, replace(WEB, id="next"), back) == begun
    assert await beat(database, replace(WEB, id="and another"), back) is None
    [run] = await compared(database)
    assert (run.account_id, run.state, run.due_at) == (account.id, RunState.RUNNING, back)
    assert (run.starts_at, run.ends_at) == (begun - SETTLING_TIME, back)
    assert run.chosen, "the next night begins where the last one ended"


async def test_an_account_is_not_compared_from_before_it_was_added(
    database: Database, account: MerchantAccount
) -> None:
    await beat(database, WEB, account.created_at)
    await beat(database, WEB, account.created_at + timedelta(hours=1))
    [run] = await compared(database)
    assert run.starts_at == account.created_at


async def test_an_orderly_end_begins_a_gap_as_well(database: Database) -> None:
    await beat(database, WEB, NOON)
    await end(database, WEB, NOON + timedelta(seconds=10))
    async with database.transaction() as session:
        assert await all_processes(session) == []
    assert await beat(database, replace(WEB, id="next"), LATER) is None
    await end(database, replace(WEB, id="next"), LATER)
    assert await beat(database, replace(WEB, id="later"), LATER + timedelta(hours=1)) == LATER


async def test_where_another_process_goes_on_serving_there_is_no_gap(database: Database) -> None:
    await beat(database, WEB, NOON)
    other = replace(WEB, id="other")
    await beat(database, other, NOON + timedelta(minutes=1))
    assert await beat(database, WEB, NOON + timedelta(minutes=2)) is None


async def test_a_worker_alone_receives_nothing(database: Database) -> None:
    await beat(database, WEB, NOON)
    await beat(database, WORKER, NOON + timedelta(minutes=1))
    await end(database, WORKER, NOON + timedelta(minutes=1))
    assert await beat(database, WEB, LATER) == NOON


async def test_of_processes_that_start_together_one_compares(
    database: Database, database_url: str, account: MerchantAccount
) -> None:
    """The second one looks when the first has not committed yet: on SQLite it waits for it anyway."""
    await beat(database, WEB, account.created_at)
    back = account.created_at + timedelta(hours=1)
    async with unless_it_hangs():
        async with database.transaction() as session:
            assert await find_gap(session, back) == account.created_at
            await record_heartbeat(session, replace(WEB, id="first"), back)
            second = asyncio.create_task(beat(database, replace(WEB, id="second"), back))
            if not is_sqlite(database_url):
                await queue_for_the_lock(database, 1)
        assert await second is None
    assert await compared(database) == []


async def test_a_crash_loop_has_an_account_compared_once_an_hour(database: Database, account: MerchantAccount) -> None:
    """A process that is killed soon after each start: its gaps are short and many, and the gateway is asked by each."""
    begun = account.created_at + timedelta(days=3)
    await beat(database, WEB, begun)
    starts = [begun + timedelta(minutes=2 * number) for number in range(1, 31)]
    for number, at in enumerate(starts):
        await beat(database, replace(WEB, id=f"start {number}"), at)
        await compare_due(database, at)
    first, second = await compared(database)
    assert (first.starts_at, first.ends_at) == (begun - SETTLING_TIME, starts[0])
    assert (second.starts_at, second.ends_at, second.due_at) == (
        starts[0] - SETTLING_TIME,
        starts[-1],
        starts[0] + GAP_INTERVAL,
    )
    assert second.started_at is None, "it waits for its hour"


async def compare_due(database: Database, now: datetime) -> None:
    """Let a worker do the comparisons that are due."""
    for run in await compared(database):
        if run.due_at is not None and run.due_at <= now:
            async with database.transaction() as session:
                await update_run(session, run.id or 0, state=RunState.DONE, started_at=now, due_at=None)


async def test_a_comparison_that_has_begun_is_not_extended(database: Database, account: MerchantAccount) -> None:
    """Its worker would not read the rest."""
    begun = account.created_at + timedelta(days=3)
    await beat(database, WEB, begun)
    first, later = (begun + timedelta(minutes=minutes) for minutes in (10, 20))
    await beat(database, replace(WEB, id="next"), first)
    [run] = await compared(database)
    async with database.transaction() as session:
        await begin_comparison(session, run.id or 0, first)
    await beat(database, replace(WEB, id="later"), later)
    begun_run, waiting = await compared(database)
    assert (begun_run.started_at, begun_run.ends_at) == (first, first)
    assert (waiting.starts_at, waiting.ends_at, waiting.due_at) == (
        first - SETTLING_TIME,
        later,
        first + GAP_INTERVAL,
    )


async def test_a_period_that_a_person_chose_does_not_delay_a_gap(database: Database, account: MerchantAccount) -> None:
    begun = account.created_at + timedelta(days=3)
    await beat(database, WEB, begun)
    chosen: dict[str, Any] = {"installation_id": account.installation_id, "account_id": account.id, "chosen": True}
    async with database.transaction() as session:
        session.add(
            ReconciliationRun(
                **chosen, state=RunState.DONE, starts_at=begun, ends_at=begun, created_at=begun + timedelta(seconds=1)
            )
        )
    back = begun + timedelta(minutes=10)
    await beat(database, replace(WEB, id="next"), back)
    assert [run.due_at for run in await compared(database)] == [None, back]


async def test_no_more_of_a_long_gap_is_compared_than_a_first_night_does(
    database: Database, account: MerchantAccount
) -> None:
    begun = account.created_at + timedelta(days=3)
    await beat(database, WEB, begun)
    back = begun + 3 * FIRST_RUN_REACH
    await beat(database, replace(WEB, id="next"), back)
    [run] = await compared(database)
    assert run.starts_at == back - FIRST_RUN_REACH


@pytest.mark.parametrize("orderly", [True, False])
async def test_a_process_whose_clock_was_ahead_hides_no_gap(database: Database, *, orderly: bool) -> None:
    """What it says of its last moment is still to come."""
    ahead = timedelta(hours=1)
    await beat(database, WEB, NOON)
    await beat(database, WEB, NOON + ahead)
    if orderly:
        await end(database, WEB, NOON + ahead)
    assert await beat(database, replace(WEB, id="next"), NOON + timedelta(minutes=40)) == NOON


async def test_a_process_whose_clock_is_a_little_ahead_serves(database: Database) -> None:
    await beat(database, WEB, NOON)
    await beat(database, WEB, LATER + SILENT_AFTER)
    assert await beat(database, replace(WEB, id="other"), LATER) is None


async def test_a_gap_that_began_before_one_that_waits_is_compared_with_it(
    database: Database, account: MerchantAccount
) -> None:
    """The last moment before it is not known any more: the clock of the process in between was ahead."""
    begun = account.created_at + timedelta(days=3)
    first, second, third = (begun + timedelta(minutes=minutes) for minutes in (5, 10, 15))
    async with database.transaction() as session:
        await compare_gap(session, begun, first)
        await begin_comparison(session, 2, first)
        await compare_gap(session, first, second)
        await compare_gap(session, begun - timedelta(days=1), third)
    waiting = (await compared(database))[-1]
    assert (waiting.starts_at, waiting.ends_at) == (begun - timedelta(days=1) - SETTLING_TIME, third)


async def not_compared(database: Database, account: MerchantAccount) -> list[datetime | None]:
    """Return the beginnings of the comparisons that an alert is about; operators see as many accounts."""
    async with database.transaction() as session:
        runs = (await session.exec(failed_comparisons([account.id]))).all()
        assert await count_failed_comparisons(session) == bool(runs)
        return sorted(run.starts_at for run in runs)


async def test_a_gap_that_could_not_be_compared_is_an_alert_until_a_night_has_covered_it(
    database: Database, account: MerchantAccount
) -> None:
    begun = account.created_at + timedelta(days=3)
    back, ended = begun + timedelta(hours=2), begun + timedelta(hours=8)
    await beat(database, WEB, begun)
    await beat(database, replace(WEB, id="next"), back)
    [gap] = await compared(database)
    assert await not_compared(database, account) == []
    async with database.transaction() as session:
        await update_run(session, gap.id or 0, state=RunState.FAILED, due_at=None, finished_at=ended)
    assert await not_compared(database, account) == [gap.starts_at]
    own: dict[str, Any] = {"installation_id": account.installation_id, "account_id": account.id, "created_at": ended}
    for chosen, covered, is_open in [(False, begun, True), (True, ended, True), (False, back, False)]:
        run = ReconciliationRun(**own, chosen=chosen, state=RunState.DONE, covered_until=covered, ends_at=covered)
        async with database.transaction() as session:
            session.add(run)
        assert bool(await not_compared(database, account)) is is_open, (chosen, covered)


async def test_a_period_that_a_person_chose_is_no_alert_when_it_fails(
    database: Database, account: MerchantAccount
) -> None:
    """Whoever chose it has read why."""
    run = ReconciliationRun(
        installation_id=account.installation_id, account_id=account.id, chosen=True, state=RunState.FAILED,
        starts_at=NOON, ends_at=NOON, created_at=NOON + timedelta(seconds=1), finished_at=NOON,
    )  # fmt: skip
    async with database.transaction() as session:
        session.add(run)
    assert await not_compared(database, account) == []


@pytest.mark.parametrize(
    ("hours", "hour", "is_overdue"), [(20, 2, True), (20, 9, False), (4, 2, False)], ids=["overdue", "moved", "later"]
)
async def test_what_the_overdue_comparison_of_the_night_reads_is_not_read_twice(
    database: Database, account: MerchantAccount, *, hours: int, hour: int, is_overdue: bool
) -> None:
    """It begins now as well; if the owner has chosen a later hour meanwhile, it waits for that."""
    begun = NOON + timedelta(days=30)
    async with database.transaction() as session:
        row = await session.get_one(MerchantAccount, account.id)
        row.reconcile_at = hour
        planned = await session.exec(select(ReconciliationRun).where(ReconciliationRun.state == RunState.PLANNED))
        [night] = planned.all()
        night.created_at, night.due_at = begun, begun.replace(hour=2) + timedelta(days=1)
    await beat(database, WEB, begun)
    back = begun + timedelta(hours=hours)
    await beat(database, replace(WEB, id="next"), back)
    [run] = await compared(database)
    assert (run.starts_at, run.ends_at) == ((back if is_overdue else begun) - SETTLING_TIME, back)
