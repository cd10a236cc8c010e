"""The time of another server's clock, which every HTTP response states in its ``Date`` header."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import httpx2

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
            date = response.headers.get("date", "")
    except (httpx2.HTTPError, TimeoutError):
        return None
    after = now()
    try:
        theirs = parsedate_to_datetime(date).astimezone(UTC) + _HALF_A_SECOND
    except ValueError:
        return None
    latency = (after - before) / 2
    ahead = theirs - (before + latency)
    certain = max(abs(ahead) - latency - _HALF_A_SECOND, timedelta())
    return ClockDifference(certain if ahead > timedelta() else -certain)
