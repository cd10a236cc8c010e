"""The gateway's end of the line: real HTTP over loopback, which says what a test tells it to say.

Calls that move money are answered from a script, one answer each; look-ups from a book of records.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, TypeVar
from uuid import uuid4

from app import exact_json

T = TypeVar("T", bound="FakeGateway")
POS_ID = "b28c8a4e-7c6f-4f6f-9c2c-1f6f0f1d3a11"


@dataclass(frozen=True)
class Heard:
    """One request, as it came over the exact_json."""

    method: str
    path: str
    body: Any

    @property
    def action(self) -> str:
        """What is asked: ``payment``, ``capture``, ``void``, ``refund``, ``cancel``, or ``look`` for a look-up."""
        return "look" if self.method == "GET" else self.path.rpartition("/")[2]


@dataclass(frozen=True)
class Reply:
    """An answer over HTTP."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


class Mute(Enum):
    """What a gateway does that answers nothing: it hangs up, or keeps the caller waiting."""

    HANGS_UP = auto()
    IS_SILENT = auto()


def said(document: object, status: int = 200) -> Reply:
    """Return an answer in JSON."""
    return Reply(status, exact_json.dumps(document).encode(), (("Content-Type", "application/json"),))


def refused(message: str, code: str, status: int = 400) -> Reply:
    """Return a refusal in the gateway's form."""
    return said({"message": message, "args": {"code": code}}, status)


BROKEN = Reply(500, b"<html>oops</html>")
NO_SUCH_ORDER = said({"message": "Payment not found", "args": {"code": "P-404"}}, 404)


@dataclass
class FakeGateway:
    """A gateway. ``book`` holds the records of each order; ``script`` the answers to come, ``look_ups`` too."""

    heard: list[Heard] = field(default_factory=list)
    book: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    script: deque[Reply | Mute] = field(default_factory=deque)
    look_ups: deque[Reply | Mute] = field(default_factory=deque)
    on_arrival: Callable[[Heard], Awaitable[None]] | None = None
    unexpected: list[Heard] = field(default_factory=list)
    mistakes: list[Exception] = field(default_factory=list)
    port: int = 0
    closing: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def calls(self) -> list[str]:
        """What was asked, except for look-ups."""
        return [each.action for each in self.heard if each.action != "look"]

    @property
    def polls(self) -> int:
        """How often an order was looked up."""
        return sum(each.action == "look" for each in self.heard)

    def will(self, *answers: Reply | Mute) -> None:
        """Answer the next calls so."""
        self.script.extend(answers)

    def will_look(self, *answers: Reply | Mute) -> None:
        """Answer the next look-ups so, before the book is asked again."""
        self.look_ups.extend(answers)

    def page(self, checkout: str = "c0ffee") -> Reply:
        """Return the answer that leads a shopper to the payment page."""
        return Reply(303, headers=(("Location", f"{self.url}/api/v1/checkout/{checkout}/form"),))

    def answer(self, heard: Heard) -> Reply | Mute:
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


@asynccontextmanager
async def open_fake_gateway(gateway: T) -> AsyncIterator[T]:
    """Open a gateway on a free port.

    At its end a call that no test has foreseen is a failure; so is whatever went wrong when a call arrived.
    """

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (heard := await _read(reader)) is not None:
                gateway.heard.append(heard)
                if gateway.on_arrival is not None:
                    try:
                        await gateway.on_arrival(heard)
                    except Exception as mistake:  # noqa: BLE001 - of the test; told at its end
                        gateway.mistakes.append(mistake)
                if not await _say(gateway, gateway.answer(heard), writer):
                    break
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    gateway.port = server.sockets[0].getsockname()[1]
    try:
        yield gateway
    finally:
        gateway.closing.set()
        server.close()
    if gateway.mistakes:
        raise gateway.mistakes[0]
    assert not gateway.unexpected, f"calls that nobody foresaw: {[each.path for each in gateway.unexpected]}"


async def _say(gateway: FakeGateway, answer: Reply | Mute, writer: asyncio.StreamWriter) -> bool:
    if answer is Mute.HANGS_UP:
        return False
    if answer is Mute.IS_SILENT:
        await gateway.closing.wait()
        return False
    assert isinstance(answer, Reply)
    headers = [*answer.headers, ("Content-Length", str(len(answer.body)))]
    head = "".join(f"{name}: {value}\r\n" for name, value in headers)
    writer.write(f"HTTP/1.1 {answer.status} Said\r\n{head}\r\n".encode() + answer.body)
    await writer.drain()
    return True


async def _read(reader: asyncio.StreamReader) -> Heard | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.strip().split("\r\n")
    method, target, _ = first.split(" ")
    lengths = [line.partition(":")[2] for line in lines if line.lower().startswith("content-length:")]
    body = await reader.readexactly(int(lengths[0])) if lengths else b""
    return Heard(method, target.partition("?")[0], exact_json.loads(body) if body else None)


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
