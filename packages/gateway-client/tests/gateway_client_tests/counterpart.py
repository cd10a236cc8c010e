"""A gateway whose next answers a test lays down, down to the byte."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from integration_base import exact_json
from integration_base_tests.loopback import Behaviour, ReceivedRequest, Reply, serve_replies


def lines(*documents: object) -> Reply:
    """A list, one JSON object per line."""
    return Reply(body=tuple(exact_json.dumps(document).encode() + b"\n" for document in documents))


class ScriptedServer:
    """A server whose next answers a test lays down with ``will``; ``heard`` is what it was asked."""

    url = ""

    def __init__(self) -> None:
        self.requests: list[ReceivedRequest] = []
        self.arrived = asyncio.Event()
        self._plan: deque[Behaviour] = deque()

    def will_answer(self, *behaviours: Behaviour) -> None:
        self._plan.extend(behaviours)

    @property
    def last(self) -> ReceivedRequest:
        return self.requests[-1]

    async def answer(self, request: ReceivedRequest) -> Behaviour:
        self.requests.append(request)
        self.arrived.set()
        return self._plan.popleft()


@asynccontextmanager
async def open_scripted_server() -> AsyncIterator[ScriptedServer]:
    other = ScriptedServer()
    async with serve_replies(other.answer) as other.url:
        yield other


PAYMENT: Mapping[str, Any] = {
    "payment_id": "0b3a3b4e-8f5e-4f6f-9d5b-1f4f0f6d2f01",
    "order_id": "order1",
    "transaction_id": "5d4a4c9e-1111-4f6f-9d5b-1f4f0f6d2f01",
    "pos_id": "5b3c1c6d-7a7e-4f0d-b8ad-3f6b6d0b2a11",
    "mode": "hosted",
    "method": "purchase",
    "amount": 100,
    "currency": "UAH",
    "status": "success",
    "status_code": "1000",
    "status_description": "OK",
    "created_at": "2026-11-21T10:00:00.000",
    "processed_at": "2026-11-21T10:00:05.120",
}
REFUND: Mapping[str, Any] = {
    "operation_id": "7f0f2f55-2222-4f6f-9d5b-1f4f0f6d2f01",
    "payment_id": PAYMENT["payment_id"],
    "order_id": "order1",
    "transaction_id": "5d4a4c9e-3333-4f6f-9d5b-1f4f0f6d2f01",
    "pos_id": PAYMENT["pos_id"],
    "mode": "direct",
    "method": "refund",
    "amount": 10,
    "currency": "UAH",
    "status": "success",
    "status_code": "1004",
    "created_at": "2026-11-21T11:00:00.000",
    "processed_at": "2026-11-21T11:00:00.500",
    "fee": None,
}
