"""The gateway is asked about a payment whose shopper is back, but only so often, whoever opens the page how often."""

import asyncio
from datetime import timedelta

from sqlalchemy import or_, update
from sqlmodel import col

from app.db.aggregates import find_by_order
from app.db.tables import Flow, Operation, State
from app.outbound import Deadline
from app.payments.services import Services
from app.payments.sync.resolve import look
from app.saleor.attempts import Attempts

BETWEEN_LOOKS = timedelta(seconds=3)
AT_ONCE = 8
"""Look-ups of one process that shoppers wait for. Who comes when there are so many is shown what is known."""

OF_ALL = 30
"""Look-ups of one process in ``BETWEEN_LOOKS``."""

_LOOK_SECONDS = 4.0  # a page that a person waits for
_OPEN = (State.INIT, State.PENDING)


class LookUps:
    """Looks payments up for their shoppers.

    Of all processes together one looks, because it claims that in the database first. What this process has tried
    lately it does not even read again.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._lately = Attempts(of_one=1, of_all=OF_ALL, now=services.now, within=BETWEEN_LOOKS)
        self._places = asyncio.Semaphore(AT_ONCE)

    async def follow_up(self, order_id: str) -> None:
        """Ask the gateway about an open payment, unless it was asked a moment ago, or too much is asked already."""
        if self._places.locked() or not self._lately.allowed(order_id):
            return
        async with self._places:
            operation_id = await self._claimed(order_id)
            if operation_id is not None:
                await look(self._services, operation_id, Deadline(_LOOK_SECONDS))

    async def _claimed(self, order_id: str) -> int | None:
        """Return the creation to be looked up, which nobody else looks up from now on; None: there is none."""
        now = self._services.now()
        async with self._services.database.transaction() as session:
            aggregate = await find_by_order(session, order_id)
            if aggregate is None or aggregate.payment.flow is Flow.PAYOUT or aggregate.create.state not in _OPEN:
                return None
            polled_at = col(Operation.polled_at)
            # Far in the future: before the clock was put back.
            rested = or_(polled_at.is_(None), polled_at <= now - BETWEEN_LOOKS, polled_at > now + BETWEEN_LOOKS)
            this = (col(Operation.id) == aggregate.create.id, col(Operation.state).in_(_OPEN), rested)
            claimed = update(Operation).where(*this).values(polled_at=now).returning(col(Operation.id))
            row = (await session.exec(claimed)).first()
        return None if row is None else aggregate.create.id
