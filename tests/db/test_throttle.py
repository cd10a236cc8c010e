"""Work is started once in an interval, shared by all who wait for it, and never older than a request for it."""

import asyncio
import gc
from datetime import timedelta
from itertools import count

import pytest

from app.store.throttle import Throttle
from integration_base_tests.waiting import LONGEST_WAIT

SOON, NEVER = timedelta(milliseconds=50), timedelta(hours=1)


async def test_all_who_wait_share_one_start() -> None:
    throttle, started = Throttle[str](), count()

    async def work() -> None:
        next(started)

    await asyncio.gather(*(throttle.do("a", work, interval=SOON, timeout=LONGEST_WAIT) for _ in range(10)))
    await asyncio.gather(*(throttle.do("a", work, interval=SOON, timeout=LONGEST_WAIT) for _ in range(10)))
    assert next(started) == 2


async def test_names_do_not_wait_for_each_other() -> None:
    throttle, done = Throttle[int](most=2), []

    async def work() -> None:
        done.append(1)

    for name in range(5):
        await throttle.do(name, work, interval=NEVER, timeout=LONGEST_WAIT)
    await throttle.do(0, work, interval=NEVER, timeout=LONGEST_WAIT)  # forgotten meanwhile
    assert len(done) == 6


async def test_whoever_comes_while_it_runs_waits_for_the_next_start() -> None:
    throttle, seen, begun, release = Throttle[str](), [], asyncio.Event(), asyncio.Event()

    async def first() -> None:
        begun.set()
        await release.wait()
        seen.append("first")

    async def second() -> None:
        seen.append("second")

    running = asyncio.create_task(throttle.do("a", first, interval=SOON, timeout=LONGEST_WAIT))
    await begun.wait()
    await throttle.do("a", second, interval=SOON, timeout=LONGEST_WAIT)  # a slow answer keeps nobody else
    release.set()
    await running
    assert seen == ["second", "first"]


async def test_nobody_waits_longer_than_they_have_time() -> None:
    throttle = Throttle[str]()
    started = count()

    async def work() -> None:
        next(started)

    await throttle.do("a", work, interval=NEVER, timeout=LONGEST_WAIT)
    await throttle.do("a", work, interval=NEVER, timeout=0.01)
    assert next(started) == 1


async def test_an_error_reaches_all_who_wait_and_the_next_start_is_made() -> None:
    throttle = Throttle[str]()

    async def fail() -> None:
        raise LookupError

    for _ in range(2):
        found = await asyncio.gather(
            *(throttle.do("a", fail, interval=SOON, timeout=LONGEST_WAIT) for _ in range(3)), return_exceptions=True
        )
        assert [type(error) for error in found] == [LookupError] * 3
    with pytest.raises(LookupError):
        await throttle.do("b", fail, interval=SOON, timeout=LONGEST_WAIT)


async def test_an_error_for_which_nobody_waits_is_not_printed(caplog: pytest.LogCaptureFixture) -> None:
    throttle, failed = Throttle[str](), asyncio.Event()

    async def fail() -> None:
        await asyncio.sleep(0.01)
        failed.set()
        raise LookupError

    await throttle.do("a", fail, interval=SOON, timeout=0)
    await failed.wait()
    await asyncio.sleep(0)
    gc.collect()
    assert "never retrieved" not in caplog.text
