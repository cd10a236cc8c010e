"""The gateway's end of the line: real HTTP over loopback, which says what a test tells it to say.

Calls that move money are answered from a script, one answer each; look-ups from a book of records.
"""

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import uuid4

from app import exact_json
from tests.loopback import Behaviour, Heard, Reply, answering, said

T = TypeVar("T", bound="FakeGateway")
POS_ID = "b28c8a4e-7c6f-4f6f-9c2c-1f6f0f1d3a11"
BROKEN = Reply(500, b"<html>oops</html>")
NO_SUCH_ORDER = said({"message": "Payment not found", "args": {"code": "P-404"}}, 404)


def action_of(heard: Heard) -> str:
    """Return what is asked: ``payment``, ``capture``, ``void``, ``refund``, ``cancel``, or ``look`` for a look-up."""
    return "look" if heard.method == "GET" else heard.path.rpartition("/")[2]


def refused(message: str, code: str, status: int = 400) -> Reply:
    """Return a refusal in the gateway's form."""
    return said({"message": message, "args": {"code": code}}, status)


@dataclass
class FakeGateway:
    """A gateway. ``book`` holds the records of each order; ``script`` the answers to come, ``look_ups`` too."""

    heard: list[Heard] = field(default_factory=list)
    book: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    script: deque[Behaviour] = field(default_factory=deque)
    look_ups: deque[Behaviour] = field(default_factory=deque)
    on_arrival: Callable[[Heard], Awaitable[None]] | None = None
    unexpected: list[Heard] = field(default_factory=list)
    mistakes: list[Exception] = field(default_factory=list)
    url: str = ""

    @property
    def calls(self) -> list[str]:
        """What was asked, except for look-ups."""
        return [action for each in self.heard if (action := action_of(each)) != "look"]

    @property
    def polls(self) -> int:
        """How often an order was looked up."""
        return sum(action_of(each) == "look" for each in self.heard)

    def will(self, *answers: Behaviour) -> None:
        """Answer the next calls so."""
        self.script.extend(answers)

    def will_look(self, *answers: Behaviour) -> None:
        """Answer the next look-ups so, before the book is asked again."""
        self.look_ups.extend(answers)

    def page(self, checkout: str = "c0ffee") -> Reply:
        """Return the answer that leads a shopper to the payment page."""
        return Reply(303, headers={"Location": f"{self.url}/api/v1/checkout/{checkout}/form"})

    def answer(self, heard: Heard) -> Behaviour:
        """Return what to say now."""
        if heard.method == "GET":
            if self.look_ups:
                return self.look_ups.popleft()
            records = self.book.get(heard.path.rpartition("/")[2])
            return said(records) if records else NO_SUCH_ORDER
        if self.script:
            return self.script.popleft()
        self.unexpected.append(heard)
        return said({"message": "nobody expected this call"}, 400)

    async def hear(self, heard: Heard) -> Behaviour:
        """Note a request down, and let the test do what it wants to do just then."""
        self.heard.append(heard)
        if self.on_arrival is not None:
            try:
                await self.on_arrival(heard)
            except Exception as mistake:  # noqa: BLE001 - of the test; told at its end
                self.mistakes.append(mistake)
        return self.answer(heard)


@asynccontextmanager
async def open_fake_gateway(gateway: T) -> AsyncIterator[T]:
    """Open a gateway on a free port.

    At its end a call that no test has foreseen is a failure; so is whatever went wrong when a call arrived.
    """
    async with answering(gateway.hear) as gateway.url:
        yield gateway
    if gateway.mistakes:
        raise gateway.mistakes[0]
    assert not gateway.unexpected, f"calls that nobody foresaw: {[each.path for each in gateway.unexpected]}"


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
    method: str, order_id: str, amount: object, status: str = "success", *, named: str | None = None, **more: Any
) -> dict[str, Any]:
    """Return the gateway's record of a capture, void or refund; ``named`` is its ``operation_id``."""
    codes = {"capture": "1000", "void": "1009", "refund": "1004"}
    record: dict[str, Any] = {
        "operation_id": named or str(uuid4()),
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
