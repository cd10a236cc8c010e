"""Watches what the processes say to each other, in the order in which it was begun, and has it told.

Saleor and the gateway keep records of every call; what happens in this process is noted by whoever does it. Something
may be told only when everything that was begun before it is over, or it would stand in the wrong place.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from app.saleor.testing.client import FakeSaleor
from app.sandbox.control.client import SandboxControl
from app.sandbox.demo import wording
from app.sandbox.demo.telling import Exchange, Party, Teller

_BETWEEN_LOOKS = 0.1

Key = tuple[str, object]


@dataclass(slots=True)
class _Noticed:
    """Something that was begun at ``at``; ``exchange`` is None as long as it is not over.

    A ``page`` may load itself anew every few seconds: only the first look at it is told.
    """

    key: Key
    at: datetime
    over: bool
    exchange: Exchange | None = None
    page: Key | None = None


class Watcher:
    """Reads the records of a Saleor and of a gateway, and tells what is new."""

    def __init__(self, saleor: FakeSaleor, gateway: SandboxControl, teller: Teller) -> None:
        self._saleor = saleor
        self._gateway = gateway
        self._teller = teller
        self._noted: list[_Noticed] = []
        self._told: set[Key] = set()
        self._one_at_a_time = asyncio.Lock()

    @asynccontextmanager
    async def exchange(self, speaker: Party, hearer: Party, said: str) -> AsyncIterator[Exchange]:
        """Note an exchange that goes on while the context is open; whoever opened it fills the answer in."""
        noted = Exchange(datetime.now(UTC), speaker, hearer, said)
        noticed = _Noticed(("here", object()), noted.at, over=False, exchange=noted)
        self._noted.append(noticed)
        try:
            yield noted
        finally:
            if noted.seconds is None:
                noted.seconds = (datetime.now(UTC) - noted.at).total_seconds()
            noticed.over = True

    async def follow(self) -> None:
        """Tell everything as it comes, for ever."""
        while True:
            await self.tell_what_is_over()
            await asyncio.sleep(_BETWEEN_LOOKS)

    async def catch_up(self) -> None:
        """Return when everything that was begun before this call is told."""
        while True:
            if await self.tell_what_is_over():
                return
            await asyncio.sleep(_BETWEEN_LOOKS)

    async def tell_what_is_over(self) -> bool:
        """Whether nothing is left that was begun before this call."""
        async with self._one_at_a_time:
            # The records are read one after the other. What begins meanwhile may be in the second and not be in the
            # first yet, so it has to wait for the next time.
            began = datetime.now(UTC)
            noticed = [each async for each in self._notice(began) if each.at <= began]
            for each in sorted(noticed, key=lambda each: each.at):
                if not each.over:
                    return False
                if each.exchange is not None and each.page not in self._told:
                    self._teller.exchange(each.exchange)
                self._told |= {each.key} | ({each.page} if each.page else set())
            self._noted = [each for each in self._noted if each.key not in self._told]
            return True

    async def _notice(self, now: datetime) -> AsyncIterator[_Noticed]:
        for noted in self._noted:
            if noted.key not in self._told:
                yield noted
        for delivery in await self._saleor.deliveries():
            if (key := ("delivery", delivery.number)) not in self._told:
                over = delivery.status is not None or delivery.error is not None
                yield _Noticed(key, delivery.at, over, wording.saleor_asks(delivery) if over else None)
        for report in await self._saleor.reports():
            if (key := ("report", report.number)) not in self._told:
                yield _Noticed(key, report.at, over=True, exchange=wording.app_reports(report))
        for call in await self._gateway.calls():
            if (key := ("call", call.number)) not in self._told:
                over = call.seconds is not None
                exchange = wording.gateway_is_called(call) if over else None
                page = ("page", call.path) if wording.is_page(call) else None
                yield _Noticed(key, min(call.at, now), over, exchange, page)
        for noticed in await self._notified(now):
            yield noticed

    async def _notified(self, now: datetime) -> list[_Noticed]:
        found = []
        for delivery in await self._gateway.webhooks():
            # The sandbox's clock can be moved; what it dates into the future has happened by now all the same.
            created = min(delivery.created_at, now)
            if not delivery.tries and delivery.state == "waiting" and not delivery.delay:
                found.append(_Noticed(("try", (delivery.delivery_id, 0)), created, over=False))
            for number, attempt in enumerate(delivery.tries):
                if (key := ("try", (delivery.delivery_id, number))) not in self._told:
                    at = created if number == 0 else min(attempt.at, now)
                    exchange = wording.gateway_notifies(delivery, attempt, at)
                    found.append(_Noticed(key, at, over=True, exchange=exchange))
        return found
