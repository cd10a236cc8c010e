"""Limits of the load on the shopper's pages, which anyone can open at any rate.

Only a few pages are rendered at a time, so that webhooks wait behind a few of them and not behind hundreds. When too
many requests wait, further ones are rejected at once with ``Retry-After``. Where a trusted proxy states a request's
address, each address gets a limited number of pages; an address that the caller claims is not trusted.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from ipaddress import ip_network

from fastapi import HTTPException, Request

from app.web.client_address import forwarded_address
from saleor_app_sdk.request_limits import AttemptLimiter

MAX_CONCURRENT = 16
MAX_WAITING = 200
MAX_PER_ADDRESS = 240
"""Pages in a minute. An open page polls every two seconds, and a whole office can share an address."""

_MAX_TRACKED_ADDRESSES = 100_000
_BUSY = (
    "Too many visitors at this moment. Please try again in a few seconds. / "
    "Зараз забагато відвідувачів. Будь ласка, спробуйте за кілька секунд."
)


class TooManyVisitors(HTTPException):
    """A request that is not admitted now. ``retry_after``: seconds after which it may be."""

    def __init__(self, status_code: int, retry_after: int) -> None:
        super().__init__(status_code, _BUSY, {"Retry-After": str(retry_after)})
        self.retry_after = retry_after


class PageLimits:
    """Admits requests. ``address_header``: the header in which a trusted proxy sends the caller's address."""

    def __init__(self, now: Callable[[], datetime], address_header: str | None = None) -> None:
        self._address_header = address_header
        self._places = asyncio.Semaphore(MAX_CONCURRENT)
        self._waiting = 0
        self._addresses = AttemptLimiter(per_name=MAX_PER_ADDRESS, in_total=_MAX_TRACKED_ADDRESSES, now=now)

    async def __call__(self, request: Request) -> AsyncIterator[None]:
        """Reserve a place for a request, and release it afterwards. Raises TooManyVisitors, with 429 or 503."""
        address = self._address(request)
        if address is not None and not self._addresses.try_acquire(address):
            raise TooManyVisitors(429, retry_after=10)
        if self._waiting >= MAX_WAITING:
            raise TooManyVisitors(503, retry_after=2)
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
        """Return the caller's address from our proxy; for IPv6 the /64 network, which a single customer has."""
        if self._address_header is None:
            return None
        address = forwarded_address(request, self._address_header)
        if address is None:
            return "nobody"
        return str(ip_network((address, 64), strict=False)) if ":" in address else address
