"""What is asked for all the time is read once for all who ask."""

import asyncio

import pytest

from app.store.ttl_cache import TTL, TtlCache
from integration_base_tests.clock import Clock


class Shelf:
    """A slow place to read from."""

    def __init__(self) -> None:
        self.says = "first"
        self.reads = 0
        self.open = asyncio.Event()
        self.open.set()

    async def read(self) -> dict[str, str]:
        self.reads += 1
        found = self.says
        await self.open.wait()
        if found == "broken":
            raise OSError(found)
        return {"name": found, "other name": found} if found else {}


async def test_it_is_read_again_after_a_moment(clock: Clock) -> None:
    shelf, remembered = Shelf(), TtlCache[str, str](clock)
    assert await remembered.get("name", shelf.read) == "first"
    shelf.says = "second"
    assert await remembered.get("other name", shelf.read) == "first"
    clock.forward(seconds=TTL.total_seconds())
    assert await remembered.get("name", shelf.read) == "second"
    assert shelf.reads == 2


async def test_many_who_ask_at_once_read_once(clock: Clock) -> None:
    shelf, remembered = Shelf(), TtlCache[str, str](clock)
    shelf.open.clear()
    asking = [asyncio.create_task(remembered.get("name", shelf.read)) for _ in range(5)]
    await asyncio.sleep(0)
    asking[0].cancel()  # he who has begun to read stops waiting
    await asyncio.sleep(0)
    shelf.open.set()
    assert await asyncio.gather(*asking[1:]) == ["first"] * 4
    assert shelf.reads == 1


async def test_what_was_read_before_a_change_is_not_remembered_after_it(clock: Clock) -> None:
    shelf, remembered = Shelf(), TtlCache[str, str](clock)
    shelf.open.clear()
    early = asyncio.create_task(remembered.get("name", shelf.read))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    shelf.says = "changed"
    remembered.invalidate()
    shelf.open.set()
    assert await remembered.get("name", shelf.read) == "changed"
    assert await early == "first"
    assert await remembered.get("name", shelf.read) == "changed"


async def test_neither_a_failure_nor_nothing_is_remembered(clock: Clock) -> None:
    shelf, remembered = Shelf(), TtlCache[str, str](clock)
    shelf.says = "broken"
    with pytest.raises(OSError, match="broken"):
        await remembered.get("name", shelf.read)
    shelf.says = ""
    assert await remembered.get("name", shelf.read) is None
    shelf.says = "there"
    assert await remembered.get("name", shelf.read) == "there"


@pytest.mark.fault("clock-back")
async def test_a_clock_that_is_put_back_makes_nothing_young_again(clock: Clock) -> None:
    """Else an account that another process has switched off would be taken for good until that hour comes again."""
    shelf, remembered = Shelf(), TtlCache[str, str](clock)
    await remembered.get("name", shelf.read)
    clock.forward(hours=-1)
    shelf.says = "second"
    assert await remembered.get("name", shelf.read) == "second"
