"""Looks up payments at the gateway when their shoppers return, at a limited rate however often the pages are opened."""

import asyncio
from datetime import datetime, timedelta
from functools import partial

from app.core.payment import PaymentAggregate
from app.core.vocabulary import Flow, State
from app.db.aggregates import ByOrder
from app.db.repository import PaymentNotFoundError
from app.outbound import Deadline
from app.payments.services import Services
from app.payments.sync.resolve import resolve_operation
from app.saleor.request_limits import AttemptLimiter

LOOK_UP_INTERVAL = timedelta(seconds=3)
MAX_CONCURRENT = 8
"""Look-ups of one process that shoppers wait for. At the limit, further pages show the stored state."""

MAX_PER_INTERVAL = 30
"""Look-ups of one process in ``LOOK_UP_INTERVAL``."""

_LOOK_UP_TIMEOUT = 4.0  # seconds: a person waits for the page
_OPEN = (State.INIT, State.PENDING)


class LookUps:
    """Looks payments up for their shoppers.

    Only one of all processes looks a payment up, because it claims it in the database first. A payment that this
    process has tried recently is not even read again.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._recent = AttemptLimiter(per_name=1, in_total=MAX_PER_INTERVAL, now=services.now, within=LOOK_UP_INTERVAL)
        self._places = asyncio.Semaphore(MAX_CONCURRENT)

    async def follow_up(self, order_id: str) -> None:
        """Look an open payment up at the gateway, unless that was done recently, or too many look-ups are running."""
        if self._places.locked() or not self._recent.try_acquire(order_id):
            return
        async with self._places:
            operation_id = await self._claim(order_id)
            if operation_id is not None:
                await resolve_operation(self._services, operation_id, Deadline(_LOOK_UP_TIMEOUT))

    async def _claim(self, order_id: str) -> int | None:
        """Claim the payment's creation, so that no other process looks it up now, and return its id.

        Returns None if there is nothing to look up, or it was claimed less than ``LOOK_UP_INTERVAL`` ago.
        """
        now = self._services.now()
        try:
            return await self._services.payments.update(ByOrder(order_id), partial(_claim, now=now))
        except PaymentNotFoundError:
            return None


def _claim(aggregate: PaymentAggregate, now: datetime) -> int | None:
    create = aggregate.create
    if aggregate.payment.flow is Flow.PAYOUT or create.state not in _OPEN:
        return None
    # A time far in the future is from before the clock was put back.
    if create.polled_at is not None and abs(now - create.polled_at) < LOOK_UP_INTERVAL:
        return None
    create.polled_at = now
    return create.id
