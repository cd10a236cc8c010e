"""Looks up payments at the gateway when their shoppers return, at a limited rate however often the pages are opened."""

import asyncio
from datetime import timedelta

from app.core.ids import OperationRowId
from app.flows.resolve import resolve_operation
from app.rules.decisions.look_up import ShopperReturned
from app.services import Services
from app.store.aggregates import ByOrder
from app.store.repository import PaymentNotFoundError
from integration_base.outbound import Deadline
from saleor_app_sdk.request_limits import AttemptLimiter

LOOK_UP_INTERVAL = timedelta(seconds=3)
MAX_CONCURRENT = 8
"""Look-ups of one process that shoppers wait for. At the limit, further pages show the stored state."""

MAX_PER_INTERVAL = 30
"""Look-ups of one process in ``LOOK_UP_INTERVAL``."""

_LOOK_UP_TIMEOUT = 4.0  # seconds: a person waits for the page


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

    async def _claim(self, order_id: str) -> OperationRowId | None:
        """Claim the payment's creation, so that no other process looks it up now, and return its id.

        Returns None if there is nothing to look up, or it was claimed less than ``LOOK_UP_INTERVAL`` ago.
        """
        returned = ShopperReturned(self._services.now(), LOOK_UP_INTERVAL)
        try:
            return await self._services.payments.record(ByOrder(order_id), returned)
        except PaymentNotFoundError:
            return None
