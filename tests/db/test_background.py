"""What somebody waits for goes before what is done in the background, in the same process."""

import asyncio
from collections.abc import Sequence

from sqlmodel.ext.asyncio.session import AsyncSession

from app.store.database import Database, begin_in_background, in_background, is_sqlite
from integration_base_tests.waiting import unless_it_hangs

MANY = 60


async def test_a_request_waits_for_what_is_open_and_for_nothing_that_waits(
    database: Database, database_url: str
) -> None:
    """A worker's jobs take all connections that there are, if one lets them."""
    order: list[str] = []
    begun, end = {"job": asyncio.Event(), "request": asyncio.Event()}, asyncio.Event()

    async def work(name: str) -> None:
        async with database.transaction() as session:
            await session.connection()
            begun[name].set()
            await end.wait()
            order.append(name)

    async with unless_it_hangs():
        jobs = [begin_in_background(work("job")) for _ in range(MANY)]
        await begun["job"].wait()
        request = asyncio.create_task(work("request"))
        if is_sqlite(database_url):
            for _ in range(50):  # steps of the loop, not time: then it stands in line for the one connection
                await asyncio.sleep(0)
        else:
            await begun["request"].wait()
        end.set()
        await asyncio.gather(request, *jobs)
    assert order.index("request") <= (1 if is_sqlite(database_url) else 6)
    assert len(order) == MANY + 1


async def test_a_request_is_not_committed_with_jobs(database: Database) -> None:
    """It would wait until all of theirs is written."""
    batches: list[list[str]] = []
    free, begun = asyncio.Event(), asyncio.Event()

    async def write(_session: AsyncSession, names: Sequence[str]) -> Sequence[bool]:
        batches.append([*names])
        begun.set()
        await free.wait()
        return [in_background()] * len(names)

    async with unless_it_hangs():
        jobs = [begin_in_background(database.group_commit(write, "job")) for _ in range(3)]
        await begun.wait()
        request = asyncio.create_task(database.group_commit(write, "request"))
        await asyncio.sleep(0)
        free.set()
        assert await asyncio.gather(request, *jobs) == [False, True, True, True]
    assert ["request"] in batches
