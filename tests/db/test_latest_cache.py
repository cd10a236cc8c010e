"""What was said last, with its age: asked once for all who want it, and kept when nobody answers."""

import asyncio

import pytest

from app.store.latest_cache import Latest, LatestCache
from integration_base_tests.clock import Clock


class AwayError(Exception):
    """Nobody answers."""


class Teller:
    """Says a number that grows each time, or nothing; ``gate`` lets it answer."""

    def __init__(self) -> None:
        self.asked = 0
        self.away = False
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self) -> int:
        self.asked += 1
        number = self.asked
        await self.gate.wait()
        if self.away:
            raise AwayError
        return number


class Wanted:
    """Somebody who looks at one name."""

    def __init__(self, clock: Clock, most: int = 1000) -> None:
        self.cache: LatestCache[str, int, AwayError] = LatestCache(most=most)
        self.clock = clock
        self.teller = Teller()

    async def __call__(self, name: str = "a", *, anew: bool = False, within: float = 5) -> Latest[int, AwayError]:
        return await self.cache.get(
            name, self.teller, now=self.clock, timeout=within, expected_error=AwayError, force=anew
        )


@pytest.fixture
def wanted(clock: Clock) -> Wanted:
    return Wanted(clock)


async def test_nobody_asks_again_for_a_minute(wanted: Wanted, clock: Clock) -> None:
    begun = clock()
    assert wanted.cache.peek("a") == Latest()
    assert await wanted() == Latest(1, begun)
    clock.forward(seconds=59)
    assert await wanted() == Latest(1, begun)
    clock.forward(seconds=1)
    assert await wanted() == Latest(2, clock())
    assert wanted.cache.peek("a") == Latest(2, clock())


async def test_whoever_wants_it_anew_gets_it(wanted: Wanted) -> None:
    await wanted()
    assert (await wanted(anew=True)).value == 2


async def test_those_who_ask_at_once_share_one_question(wanted: Wanted) -> None:
    wanted.teller.gate.clear()
    askers = [asyncio.create_task(wanted(anew=True)) for _ in range(20)]
    await asyncio.sleep(0)
    askers[0].cancel()  # whoever leaves does not spoil it for the others
    wanted.teller.gate.set()
    await asyncio.gather(*askers, return_exceptions=True)
    assert wanted.teller.asked == 1
    assert {asker.result().value for asker in askers[1:]} == {1}


async def test_what_is_old_is_told_when_nobody_answers(wanted: Wanted, clock: Clock) -> None:
    begun = clock()
    await wanted()
    clock.forward(hours=3)
    wanted.teller.away = True
    failed = await wanted()
    assert (failed.value, failed.received_at, type(failed.error)) == (1, begun, AwayError)
    assert failed.error is not None
    assert failed.error.__traceback__ is None
    clock.forward(seconds=59)
    assert await wanted() == failed, "nor is somebody who does not answer asked more than once a minute"
    assert wanted.teller.asked == 2
    wanted.teller.away = False
    clock.forward(seconds=1)
    assert await wanted() == Latest(3, clock())


async def test_nobody_waits_longer_than_they_want(wanted: Wanted, clock: Clock) -> None:
    wanted.teller.gate.clear()
    assert await wanted(within=0) == Latest(late=True)
    assert await wanted(within=0) == Latest(late=True)
    wanted.teller.gate.set()
    assert await wanted() == Latest(1, clock())
    assert wanted.teller.asked == 1


async def test_it_is_bounded(clock: Clock) -> None:
    wanted = Wanted(clock, most=2)
    for name in ("a", "b", "a", "c"):
        await wanted(name)
    assert len(wanted.cache) == 2
    assert [wanted.cache.peek(name).value for name in "abc"] == [1, None, 3]


async def test_a_mistake_of_ours_is_not_taken_for_silence(wanted: Wanted) -> None:
    async def broken() -> int:
        raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            await wanted.cache.get("a", broken, now=wanted.clock, timeout=5, expected_error=AwayError)
    assert (await wanted()).value == 1


async def test_a_clock_that_was_put_back_does_not_keep_it_for_ever(wanted: Wanted, clock: Clock) -> None:
    await wanted()
    clock.forward(hours=-2)
    assert (await wanted()).value == 2
