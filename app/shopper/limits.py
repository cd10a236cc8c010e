"""What strangers can cause at the shopper's pages is bounded: anybody can open them, as often as they like.

Pages are made a few at a time, so that webhooks wait behind a few of them and not behind hundreds. Whoever comes when
too many wait hears at once that they should come again. Where a proxy of ours tells from which address a request comes,
one address gets only so many pages; what callers say of themselves is not believed.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from ipaddress import ip_address, ip_network

from fastapi import HTTPException, Request

from app.saleor.attempts import Attempts

AT_ONCE = 16
MOST_WAITING = 200
OF_ONE_ADDRESS = 240
"""Pages in a minute. A page that waits looks again every two seconds, and a whole office can share an address."""

_MOST_REMEMBERED = 100_000
_BUSY = (
    "Too many visitors at this moment. Please try again in a few seconds. / "
    "Зараз забагато відвідувачів. Будь ласка, спробуйте за кілька секунд."
)


class PageLimits:
    """Lets requests in. ``address_header``: the header in which a trusted proxy tells the caller's address."""

    def __init__(self, now: Callable[[], datetime], address_header: str | None = None) -> None:
        self._address_header = address_header
        self._places = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0
        self._addresses = Attempts(of_one=OF_ONE_ADDRESS, of_all=_MOST_REMEMBERED, now=now)

    async def __call__(self, request: Request) -> AsyncIterator[None]:
        """Give a request its place, and take it back afterwards. Raises HTTPException 429 or 503."""
        address = self._address(request)
        if address is not None and not self._addresses.allowed(address):
            raise HTTPException(429, _BUSY, {"Retry-After": "10"})
        if self._waiting >= MOST_WAITING:
            raise HTTPException(503, _BUSY, {"Retry-After": "2"})
        self._waiting += 1
        try:
            await self._places.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._places.release()

    def _address(self, request: Request) -> str | None:
        """Return the address that our proxy tells, of IPv6 the network: one customer has all of it."""
        if self._address_header is None:
            return None
        # A proxy adds the address that it sees to what the caller claims: only the last one is its word.
        told = ",".join(request.headers.getlist(self._address_header)).rpartition(",")[2].strip()
        try:
            address = ip_address(told)
        except ValueError:
            return "nobody"
        return str(ip_network((address, 64), strict=False)) if address.version == 6 else str(address)
