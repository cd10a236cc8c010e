"""Webhooks on their way: each is signed once, kept, and posted in the background until the merchant answers 2xx.

Webhooks of one order set out in the order in which things happened; a repetition or a delay holds up no other.
Source: gateway interface, Events. The retry schedule is not shown there; ours is short, and can be set.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Literal
from uuid import UUID

import httpx2
import structlog
from pydantic import BaseModel, Field

from app.sandbox.core.fields import is_loopback

DeliveryState = Literal["waiting", "held", "delivered", "failed", "refused", "dropped"]

log = structlog.get_logger(__name__)


class Try(BaseModel):
    """One posting of a webhook, and what came back."""

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
    tries: list[Try] = Field(default_factory=list)


class WebhookSender:
    """Posts deliveries. Knows which are under way, and can be waited for."""

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
        self._under_way: set[asyncio.Task[None]] = set()
        self._last_of_order: dict[tuple[UUID, str], asyncio.Event] = {}

    def take(self, delivery: Delivery) -> None:
        """Begin to post a delivery, behind those of the same order that were taken before."""
        delivery.state = "waiting"
        if not self._allow_remote and not is_loopback(delivery.url):
            delivery.state = "refused"
            problem = "not on this machine; start the sandbox with --allow-remote-webhooks"
            delivery.tries.append(Try(at=self._clock(), problem=problem))
            return
        key = (delivery.pos_id, delivery.order_id)
        before, started = self._last_of_order.get(key), asyncio.Event()
        if not delivery.delay:
            self._last_of_order[key] = started
        task = asyncio.create_task(self._deliver(delivery, before, started))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def idle(self) -> None:
        """Wait until nothing is under way. Whoever stops waiting stops no delivery."""
        while self._under_way:
            await asyncio.wait(self._under_way)

    async def stop(self) -> None:
        """Stop what is under way. It stays `waiting`."""
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    async def _deliver(self, delivery: Delivery, before: asyncio.Event | None, started: asyncio.Event) -> None:
        try:
            await asyncio.sleep(delivery.delay)
            if before is not None:
                await before.wait()
            delivered = await self._post(delivery)
        finally:
            started.set()
            key = (delivery.pos_id, delivery.order_id)
            if self._last_of_order.get(key) is started:
                del self._last_of_order[key]
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
            answer = await self._http.post(delivery.url, data=form)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            log.warning("webhook not delivered", order_id=delivery.order_id, problem=type(error).__name__)
            delivery.tries.append(Try(at=self._clock(), problem=type(error).__name__))
            return False
        delivery.tries.append(Try(at=self._clock(), http_status=answer.status_code))
        return answer.is_success
