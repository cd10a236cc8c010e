"""The time of another server's clock, which every HTTP response states in its ``Date`` header."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import httpx2

from integration_base.date_header import read_date

_HALF_A_SECOND = timedelta(seconds=0.5)  # the header has whole seconds


@dataclass(frozen=True, slots=True)
class ClockDifference:
    """The time by which a server's clock is at least ahead of ours; negative: behind. A difference within the error of
    the measurement is zero.
    """

    ahead: timedelta

    @property
    def size(self) -> timedelta:
        """The absolute difference."""
        return abs(self.ahead)


async def compare_clock(
    http: httpx2.AsyncClient, address: str, now: Callable[[], datetime], *, within: float
) -> ClockDifference | None:
    """Request ``address``, without any key or token, and compare the ``Date`` of the response with our clock.

    Returns None if there is no response ``within`` so many seconds, or it has no such header.
    """
    before = now()
    try:
        async with (
            asyncio.timeout(within),
            http.stream("GET", address, follow_redirects=False) as response,
        ):
            stated = read_date(response.headers.get("date", ""))
    except (httpx2.HTTPError, TimeoutError):
        return None
    if stated is None:
        return None
    latency = (now() - before) / 2
    ahead = stated - (before + latency) + _HALF_A_SECOND
    certain = max(abs(ahead) - latency - _HALF_A_SECOND, timedelta())
    return ClockDifference(certain if ahead > timedelta() else -certain)
