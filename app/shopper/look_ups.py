"""Looks up payments at the gateway when their shoppers return, at a limited rate however often the pages are opened."""

import asyncio
from datetime import timedelta

from sqlalchemy import or_, update
from sqlmodel import col

from app.db.aggregates import find_by_order
from app.db.tables import Flow, Operation, State
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
        async with self._services.database.transaction() as session:
            aggregate = await find_by_order(session, order_id)
            if aggregate is None or aggregate.payment.flow is Flow.PAYOUT or aggregate.create.state not in _OPEN:
                return None
            polled_at = col(Operation.polled_at)
            # A time far in the future is from before the clock was put back.
            is_due = or_(polled_at.is_(None), polled_at <= now - LOOK_UP_INTERVAL, polled_at > now + LOOK_UP_INTERVAL)
            conditions = (col(Operation.id) == aggregate.create.id, col(Operation.state).in_(_OPEN), is_due)
            claim = update(Operation).where(*conditions).values(polled_at=now).returning(col(Operation.id))
            row = (await session.exec(claim)).first()
        return None if row is None else aggregate.create.id
