"""What the clock of another server shows: every answer over HTTP says it, whatever else it says."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import httpx2

_HALF_A_SECOND = timedelta(seconds=0.5)  # the header names whole seconds


@dataclass(frozen=True, slots=True)
class Difference:
    """How far a server's clock is ahead of ours, at least; negative: behind. Nothing is said of less than is known."""

    ahead: timedelta

    @property
    def size(self) -> timedelta:
        """How far they differ, whichever is ahead."""
        return abs(self.ahead)


async def compare_clock(
    http: httpx2.AsyncClient, address: str, now: Callable[[], datetime], *, within: float
) -> Difference | None:
    """Ask for ``address``, without any key or token, and compare the ``Date`` of the answer with our clock.

    None where nobody answers ``within`` so many seconds, or the answer has no such header.
    """
    before = now()
    try:
        async with (
            asyncio.timeout(within),
            http.stream("GET", address, follow_redirects=False) as response,
        ):
            said = response.headers.get("date", "")
    except (httpx2.HTTPError, TimeoutError):
        return None
    after = now()
    try:
        theirs = parsedate_to_datetime(said).astimezone(UTC) + _HALF_A_SECOND
    except ValueError:
        return None
    way = (after - before) / 2
    ahead = theirs - (before + way)
    known = max(abs(ahead) - way - _HALF_A_SECOND, timedelta())
    return Difference(known if ahead > timedelta() else -known)
