"""Delivery of webhooks: each is signed once, stored, and posted in the background until the merchant responds 2xx.

The first attempts for one order are made in the order of its events; a retry or a delay blocks no other webhook.
Source: gateway interface, Events. It does not show the retry schedule; ours is short, and configurable.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Literal
from uuid import UUID

import httpx2
import structlog
from pydantic import BaseModel, Field

from gateway_client.sandbox.core.fields import is_loopback

DeliveryState = Literal["waiting", "held", "delivered", "failed", "refused", "dropped"]

log = structlog.get_logger(__name__)


class DeliveryAttempt(BaseModel):
    """One attempt to post a webhook: the HTTP status of the response, or the problem."""

    at: datetime
    http_status: int | None = None
    problem: str | None = None


class Delivery(BaseModel):
    """One webhook to one address."""

    delivery_id: UUID
    pos_id: UUID
    order_id: str
    payment_id: UUID
    operation_id: UUID | None = None
    method: str
    status: str
    status_code: str | None = None
    url: str
    data: str
    signature: str
    created_at: datetime
    delay: float = 0.0
    state: DeliveryState = "waiting"
    tries: list[DeliveryAttempt] = Field(default_factory=list)


class WebhookSender:
    """Posts deliveries in the background, tracks those in flight, and can wait for them."""

    def __init__(
        self,
        http: httpx2.AsyncClient,
        clock: Callable[[], datetime],
        *,
        retries: tuple[float, ...],
        allow_remote: bool,
        on_change: Callable[[], None],
    ) -> None:
        self._http = http
        self._clock = clock
        self._retries = retries
        self._allow_remote = allow_remote
        self._on_change = on_change
        self._in_flight: set[asyncio.Task[None]] = set()
        self._latest_start_by_order: dict[tuple[UUID, str], asyncio.Event] = {}

    def enqueue(self, delivery: Delivery) -> None:
        """Start to post a delivery, after those of the same order that were enqueued before."""
        delivery.state = "waiting"
        if not self._allow_remote and not is_loopback(delivery.url):
            delivery.state = "refused"
            problem = "not on this machine; start the sandbox with --allow-remote-webhooks"
            delivery.tries.append(DeliveryAttempt(at=self._clock(), problem=problem))
            return
        key = (delivery.pos_id, delivery.order_id)
        previous_started, started = self._latest_start_by_order.get(key), asyncio.Event()
        if not delivery.delay:
            self._latest_start_by_order[key] = started
        task = asyncio.create_task(self._deliver(delivery, previous_started, started))
        self._in_flight.add(task)
        task.add_done_callback(self._in_flight.discard)

    async def wait_until_idle(self) -> None:
        """Wait until nothing is in flight. Cancelling the wait does not cancel a delivery."""
        while self._in_flight:
            await asyncio.wait(self._in_flight)

    async def stop(self) -> None:
        """Cancel the deliveries in flight. Their state stays `waiting`."""
        for task in self._in_flight:
            task.cancel()
        await asyncio.gather(*self._in_flight, return_exceptions=True)

    async def _deliver(
        self, delivery: Delivery, previous_started: asyncio.Event | None, started: asyncio.Event
    ) -> None:
        try:
            await asyncio.sleep(delivery.delay)
            if previous_started is not None:
                await previous_started.wait()
            delivered = await self._post(delivery)
        finally:
            started.set()
            key = (delivery.pos_id, delivery.order_id)
            if self._latest_start_by_order.get(key) is started:
                del self._latest_start_by_order[key]
        for pause in self._retries:
            if delivered:
                break
            await asyncio.sleep(pause)
            delivered = await self._post(delivery)
        delivery.state = "delivered" if delivered else "failed"
        self._on_change()

    async def _post(self, delivery: Delivery) -> bool:
        form = {"data": delivery.data, "signature": delivery.signature}
        try:
            response = await self._http.post(delivery.url, data=form)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            log.warning("notification.not_delivered", order_id=delivery.order_id, problem=type(error).__name__)
            delivery.tries.append(DeliveryAttempt(at=self._clock(), problem=type(error).__name__))
            return False
        delivery.tries.append(DeliveryAttempt(at=self._clock(), http_status=response.status_code))
        return response.is_success
