"""While nobody receives notifications, a gap arises: one of the processes that start finds it, and it is compared."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from sqlmodel import col, select

from app.store.database import Database, is_sqlite
from app.store.processes import (
    SILENT_AFTER,
    RunningProcess,
    all_processes,
    find_gap,
    record_heartbeat,
    remove_process,
)
from app.store.reconciliations import SETTLING_TIME, compare_gap
from app.store.tables import MerchantAccount, ReconciliationRun, RunState
from integration_base_tests.waiting import unless_it_hangs
from tests.db.rows import NOON
from tests.payments.test_at_once import queue_for_the_lock

pytestmark = pytest.mark.law(13)
WEB = RunningProcess("1.0", serves=True, works=True, id="web")
WORKER = RunningProcess("1.0", serves=False, works=True, id="worker")
LATER = NOON + SILENT_AFTER + timedelta(seconds=1)


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
