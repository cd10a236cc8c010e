"""Work is started once in an interval, shared by all who wait for it, and never older than a request for it."""

import asyncio
import gc
from datetime import timedelta
from itertools import count

import pytest

from app.store.paced_work import PacedWork

SOON, NEVER = timedelta(milliseconds=50), timedelta(hours=1)


async def test_all_who_wait_share_one_start() -> None:
    paced, started = PacedWork[str](), count()

    async def work() -> None:
        next(started)

    await asyncio.gather(*(paced.do("a", work, interval=SOON, timeout=5) for _ in range(10)))
    await asyncio.gather(*(paced.do("a", work, interval=SOON, timeout=5) for _ in range(10)))
    assert next(started) == 2


async def test_names_do_not_wait_for_each_other() -> None:
    paced, done = PacedWork[int](most=2), []

    async def work() -> None:
        done.append(1)

    for name in range(5):
        await paced.do(name, work, interval=NEVER, timeout=5)
    await paced.do(0, work, interval=NEVER, timeout=5)  # forgotten meanwhile
    assert len(done) == 6


async def test_whoever_comes_while_it_runs_waits_for_the_next_start() -> None:
    paced, seen, release = PacedWork[str](), [], asyncio.Event()

    async def first() -> None:
        await release.wait()
        seen.append("first")

    async def second() -> None:
        seen.append("second")

    running = asyncio.create_task(paced.do("a", first, interval=SOON, timeout=5))
    await asyncio.sleep(0.01)
    await paced.do("a", second, interval=SOON, timeout=5)  # a slow answer keeps nobody else
    release.set()
    await running
    assert seen == ["second", "first"]


async def test_nobody_waits_longer_than_they_have_time() -> None:
    paced = PacedWork[str]()
    started = count()

    async def work() -> None:
        next(started)

    await paced.do("a", work, interval=NEVER, timeout=5)
    await paced.do("a", work, interval=NEVER, timeout=0.01)
    assert next(started) == 1


async def test_an_error_reaches_all_who_wait_and_the_next_start_is_made() -> None:
    paced = PacedWork[str]()

    async def fail() -> None:
        raise LookupError

    for _ in range(2):
        found = await asyncio.gather(
            *(paced.do("a", fail, interval=SOON, timeout=5) for _ in range(3)), return_exceptions=True
        )
        assert [type(error) for error in found] == [LookupError] * 3
    with pytest.raises(LookupError):
        await paced.do("b", fail, interval=SOON, timeout=5)


async def test_an_error_for_which_nobody_waits_is_not_printed(caplog: pytest.LogCaptureFixture) -> None:
    paced, failed = PacedWork[str](), asyncio.Event()

    async def fail() -> None:
        await asyncio.sleep(0.01)
        failed.set()
        raise LookupError

    await paced.do("a", fail, interval=SOON, timeout=0)
    await failed.wait()
    await asyncio.sleep(0)
    gc.collect()
    assert "never retrieved" not in caplog.text
