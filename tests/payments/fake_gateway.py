"""A scripted gateway: real HTTP over loopback, with the answers that a test sets.

Calls that move money are answered from a script, one answer each; look-ups from a book of records.
"""

import re
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import uuid4

from integration_base import exact_json
from integration_base_tests.loopback import Behaviour, ReceivedRequest, Reply, json_reply, serve_replies

T = TypeVar("T", bound="FakeGateway")
POS_ID = "b28c8a4e-7c6f-4f6f-9c2c-1f6f0f1d3a11"
BROKEN = Reply(500, b"<html>oops</html>")
NO_SUCH_ORDER = json_reply({"message": "Payment not found", "args": {"code": "P-404"}}, 404)


def action_of(request: ReceivedRequest) -> str:
    """Return the action: ``payment``, ``capture``, ``void``, ``refund``, ``cancel``, or ``look`` for a look-up."""
    return "look" if request.method == "GET" else request.path.rpartition("/")[2]


def refusal_reply(message: str, code: str, status: int = 400) -> Reply:
    """Return a refusal in the gateway's form."""
    return json_reply({"message": message, "args": {"code": code}}, status)


@dataclass
class FakeGateway:
    """A gateway. ``book`` holds the records of each order; ``script`` and ``look_ups`` the next answers."""

    requests: list[ReceivedRequest] = field(default_factory=list)
    book: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    script: deque[Behaviour] = field(default_factory=deque)
    look_ups: deque[Behaviour] = field(default_factory=deque)
    on_request: Callable[[ReceivedRequest], Awaitable[None]] | None = None
    unexpected: list[ReceivedRequest] = field(default_factory=list)
    callback_errors: list[Exception] = field(default_factory=list)
    url: str = ""

    @property
    def calls(self) -> list[str]:
        """The requested actions, except for look-ups."""
        return [action for request in self.requests if (action := action_of(request)) != "look"]

    @property
    def polls(self) -> int:
        """The number of look-ups."""
        return sum(action_of(request) == "look" for request in self.requests)

    def will_answer(self, *answers: Behaviour) -> None:
        """Answer the next calls with these."""
        self.script.extend(answers)

    def will_answer_look_ups(self, *answers: Behaviour) -> None:
        """Answer the next look-ups with these, before the book is used again."""
        self.look_ups.extend(answers)

    def page(self, checkout: str = "c0ffee") -> Reply:
        """Return the answer that leads a shopper to the payment page."""
        return Reply(303, headers={"Location": f"{self.url}/api/v1/checkout/{checkout}/form"})

    def answer(self, request: ReceivedRequest) -> Behaviour:
        """Return the next answer."""
        if request.method == "GET":
            if self.look_ups:
                return self.look_ups.popleft()
            records = self.book.get(request.path.rpartition("/")[2])
            return json_reply(records) if records else NO_SUCH_ORDER
        if self.script:
            return self._next_in_script(request)
        self.unexpected.append(request)
        return json_reply({"message": "nobody expected this call"}, 400)

    def _next_in_script(self, request: ReceivedRequest) -> Behaviour:
        """Return the next answer for the call's order: calls for several orders may arrive in any order."""
        fitting = (answer for answer in self.script if not _names_another_order(answer, request))
        chosen = next(fitting, self.script[0])
        self.script.remove(chosen)
        return chosen

    async def receive(self, request: ReceivedRequest) -> Behaviour:
        """Record a request, and run the test's callback for its arrival."""
        self.requests.append(request)
        if self.on_request is not None:
            try:
                await self.on_request(request)
            except Exception as mistake:  # noqa: BLE001 - of the test; raised at its end
                self.callback_errors.append(mistake)
        return self.answer(request)


def _names_another_order(answer: Behaviour, request: ReceivedRequest) -> bool:
    if not isinstance(answer, Reply) or isinstance(answer.body, tuple):
        return False
    named = re.findall(rb'"order_id": ?"(.+?)"', answer.body)
    asked = request.path.encode() + request.body
    return bool(named) and not any(order_id in asked for order_id in named)


@asynccontextmanager
async def open_fake_gateway(gateway: T) -> AsyncIterator[T]:
    """Open a gateway on a free port.

    At its end it fails if there were unexpected calls, or if a callback raised an exception.
    """
    async with serve_replies(gateway.receive) as gateway.url:
        yield gateway
    if gateway.callback_errors:
        raise gateway.callback_errors[0]
    assert not gateway.unexpected, f"calls that nobody foresaw: {[request.path for request in gateway.unexpected]}"


def payment(order_id: str, status: str = "success", amount: object = "569.50", **more: Any) -> dict[str, Any]:
    """Return the gateway's record of a payment."""
    record: dict[str, Any] = {
        "payment_id": f"payment-of-{order_id}",
        "order_id": order_id,
        "pos_id": POS_ID,
        "mode": "hosted",
        "method": "purchase",
        "amount": exact_json.loads(str(amount)),
        "currency": "UAH",
        "status": status,
        "status_code": {"success": "1000", "failure": "4009", "pending": "2001"}.get(status),
        "created_at": "2026-11-21T12:00:00.000",
        "processed_at": "2026-11-21T12:01:00.000",
    }
    return record | more


def operation(
    method: str, order_id: str, amount: object, status: str = "success", *, operation_id: str | None = None, **more: Any
) -> dict[str, Any]:
    """Return the gateway's record of a capture, void or refund; ``named`` is its ``operation_id``."""
    codes = {"capture": "1000", "void": "1009", "refund": "1004"}
    record: dict[str, Any] = {
        "operation_id": operation_id or str(uuid4()),
        "payment_id": f"payment-of-{order_id}",
        "order_id": order_id,
        "pos_id": POS_ID,
        "mode": "direct",
        "method": method,
        "amount": exact_json.loads(str(amount)),
        "currency": "UAH",
        "status": status,
        "status_code": codes[method] if status == "success" else {"failure": "4150"}.get(status, "2001"),
        "created_at": "2026-11-21T12:00:00.000",
    }
    return record | more
