"""Each process says that it is there, and takes that back when it ends: nobody has to guess whether a worker works."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

import pytest

from app.store.database import Database
from app.store.errors import DatabaseUnavailableError
from app.store.processes import (
    DELETED_AFTER,
    HEARTBEAT_INTERVAL,
    SILENT_AFTER,
    RunningProcess,
    all_processes,
    has_worker_on,
    record_heartbeat,
)
from app.store.reconciliations import list_runs, plan_run
from app.store.tables import Process
from app.worker.heartbeat import Heartbeat
from app.worker.loop import LONGEST_ROUND_SECONDS, Worker
from integration_base_tests.waiting import LONGEST_WAIT, eventually
from tests.payments.shop import Shop

WORKER = RunningProcess("1.0", serves=False, works=True)


async def known(shop: Shop) -> Sequence[Process]:
    async with shop.services.database.transaction() as session:
        return await all_processes(session)


async def works(shop: Shop, host: str = WORKER.host) -> bool:
    async with shop.services.database.transaction() as session:
        return await has_worker_on(session, host, shop.clock.now)


async def test_a_worker_that_works_is_seen_and_signs_off_when_it_stops(shop: Shop) -> None:
    assert not await works(shop)
    worker = Worker(shop.saleor, Heartbeat(WORKER))
    task = asyncio.create_task(worker.run(shop.services))
    await eventually(partial(works, shop))
    [row] = await known(shop)
    assert (row.id, row.host, row.version, row.serves, row.works) == (WORKER.id, WORKER.host, "1.0", False, True)
    assert not await works(shop, "another-machine")
    worker.stop()
    await task
    assert await known(shop) == []


@pytest.mark.fault("no-worker")
async def test_one_that_gives_no_sign_any_more_does_not_count(shop: Shop) -> None:
    await Heartbeat(WORKER).beat(shop.services)
    shop.clock.now += SILENT_AFTER
    assert await works(shop)
    shop.clock.now += timedelta(seconds=1)
    assert not await works(shop)


@pytest.mark.fault("no-worker")
async def test_a_worker_whose_rounds_fail_gives_no_sign(shop: Shop) -> None:
    """It is there, and does nothing: that is what must be noticed."""

    class Silent(Worker):
        async def _get_due_queues(self, _services: object) -> list[object]:  # type: ignore[override] # it never answers
            tried.set()
            raise RuntimeError

    tried = asyncio.Event()
    task = asyncio.create_task(Silent(shop.saleor, Heartbeat(WORKER)).run(shop.services))
    await asyncio.wait_for(tried.wait(), LONGEST_WAIT)
    await asyncio.sleep(0)
    assert not await works(shop)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


@pytest.mark.fault("no-worker")
async def test_a_worker_whose_round_does_not_end_is_hung(shop: Shop) -> None:
    class Stuck(Worker):
        async def _get_due_queues(self, _services: object) -> list[object]:  # type: ignore[override] # it never ends
            begun.set()
            await released.wait()
            return []

    begun, released, seconds = asyncio.Event(), asyncio.Event(), [0.0]
    worker = Stuck(shop.saleor, clock=lambda: seconds[0])
    seconds[0] += LONGEST_ROUND_SECONDS + 1
    assert not worker.is_hung(), "it has not begun"
    task = asyncio.create_task(worker.run(shop.services))
    await asyncio.wait_for(begun.wait(), LONGEST_WAIT)
    seconds[0] += LONGEST_ROUND_SECONDS
    assert not worker.is_hung()
    seconds[0] += 1
    assert worker.is_hung()
    worker.stop()
    assert not worker.is_hung(), "it has been asked to stop: who asks sets a time limit"
    released.set()
    await task


@pytest.mark.fault("database-away")
async def test_a_worker_whose_database_is_away_is_not_hung(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting it again would not bring the database back."""

    class Away(Worker):
        async def _get_due_queues(self, _services: object) -> list[object]:  # type: ignore[override] # nobody answers
            seconds[0] += LONGEST_ROUND_SECONDS
            rounds.append(self.is_hung())
            if len(rounds) >= 3:
                three.set()
            raise DatabaseUnavailableError("nobody answers")

    monkeypatch.setattr("app.worker.loop._TICK_SECONDS", 0.001)
    rounds: list[bool] = []
    three, seconds = asyncio.Event(), [0.0]
    worker = Away(shop.saleor, clock=lambda: seconds[0])
    task = asyncio.create_task(worker.run(shop.services))
    await asyncio.wait_for(three.wait(), LONGEST_WAIT)
    assert not any(rounds)
    assert not worker.is_hung()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_signs_are_far_between(shop: Shop) -> None:
    heartbeat = Heartbeat(WORKER)
    await heartbeat.beat(shop.services)
    begun = shop.clock.now
    shop.clock.now += HEARTBEAT_INTERVAL - timedelta(seconds=1)
    await heartbeat.beat(shop.services)
    assert [process.seen_at for process in await known(shop)] == [begun]
    shop.clock.now += timedelta(seconds=1)
    await heartbeat.beat(shop.services)
    assert [(process.started_at, process.seen_at) for process in await known(shop)] == [(begun, shop.clock.now)]


async def test_what_only_serves_is_no_worker(shop: Shop) -> None:
    heartbeat = Heartbeat(replace(WORKER, serves=True, works=False))
    async with heartbeat.beating(shop.services):
        await eventually(partial(known, shop))
        assert not await works(shop)
    assert await known(shop) == []


@pytest.mark.law(13)
@pytest.mark.fault("notification-lost")
async def test_what_serves_again_has_the_time_compared_in_which_nobody_did(shop: Shop) -> None:
    async with shop.services.database.transaction() as session:
        await plan_run(session, shop.account, shop.clock.now)
    web = replace(WORKER, serves=True)
    before = Heartbeat(web)
    await before.beat(shop.services)
    await before.end(shop.services)
    shop.clock.now += timedelta(hours=1)
    await Heartbeat(replace(WORKER, id="beside it")).beat(shop.services)
    assert await comparisons(shop) == []
    again = Heartbeat(replace(web, id="again"))
    await again.beat(shop.services)
    assert await comparisons(shop) == [(shop.clock.now, shop.clock.now)]
    shop.clock.now += HEARTBEAT_INTERVAL
    await again.beat(shop.services)
    assert len(await comparisons(shop)) == 1


async def comparisons(shop: Shop) -> list[tuple[datetime | None, datetime | None]]:
    async with shop.services.database.transaction() as session:
        return [(run.ends_at, run.due_at) for run in await list_runs(session, most=10)]


async def test_those_that_were_killed_are_forgotten_in_the_end(shop: Shop) -> None:
    async with shop.services.database.transaction() as session:
        await record_heartbeat(
            session, replace(WORKER, id="killed"), shop.clock.now - DELETED_AFTER - timedelta(seconds=1)
        )
        await record_heartbeat(session, replace(WORKER, id="silent"), shop.clock.now - DELETED_AFTER)
        await record_heartbeat(session, WORKER, shop.clock.now)
    assert [process.id for process in await known(shop)] == [WORKER.id, "silent"]


@pytest.mark.fault("database-away")
async def test_a_process_ends_also_when_the_database_is_away(shop: Shop) -> None:
    heartbeat = Heartbeat(WORKER)
    await heartbeat.beat(shop.services)

    class Away(Database):
        def transaction(self) -> None:  # type: ignore[override] # nobody answers
            raise OSError

    await heartbeat.end(replace(shop.services, database=Away(shop.services.database.engine)))
