"""What another server's clock shows, however it writes the time."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import httpx2
import pytest

from integration_base.server_clock import compare_clock
from integration_base_tests.loopback import ReceivedRequest, Reply, serve_replies
from integration_base_tests.waiting import LONGEST_WAIT

NOW = datetime(2026, 11, 28, 15, 0, 0, 500_000, tzinfo=UTC)


@pytest.fixture(autouse=True)
def zone_of_kyiv(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Kyiv")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


async def shown(date: str) -> timedelta | None:
    async def answer(_heard: ReceivedRequest) -> Reply:
        return Reply(headers={"Date": date})

    async with serve_replies(answer) as address, httpx2.AsyncClient(trust_env=False) as http:
        difference = await compare_clock(http, address, lambda: NOW, within=LONGEST_WAIT)
    return None if difference is None else difference.ahead


@pytest.mark.parametrize(
    "date",
    [
        "Sat, 28 Nov 2026 15:00:00 GMT",
        "Sat, 28 Nov 2026 15:00:00 -0000",
        "Sat, 28 Nov 2026 17:00:00 +0200",
        "Sat, 28 Nov 2026 15:00:00",
    ],
)
async def test_the_same_moment_is_no_difference_whatever_its_zone_and_ours(date: str) -> None:
    assert await shown(date) == timedelta()


@pytest.mark.parametrize(
    "date", ["", "soon", "Sat, 28 Nov 99999999999999999999 15:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 -2359"]
)
async def test_what_is_no_time_is_no_answer(date: str) -> None:
    assert await shown(date) is None
