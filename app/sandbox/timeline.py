"""What happened, in the order in which it began, from the records that Saleor and the gateway keep of each call."""

import base64
import re
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from app.exact_json import NotJsonError, dumps, loads
from app.saleor.testing.client import FakeSaleor
from app.saleor.testing.views import DeliveryView, ReportView
from app.sandbox.calls import Call
from app.sandbox.control.client import SandboxControl
from app.sandbox.deliveries import Delivery

WIDTH_WITHOUT_TERMINAL = 120
COLOURS = {"Saleor": "magenta", "app": "green", "gateway": "cyan"}
PAGE = re.compile(r"/api/v1/checkout/[^/]+/(form|3ds|qr)")
PAGES = {"form": "payment page", "3ds": "bank's page (3-D Secure)", "qr": "QR code"}
LONG_ID = re.compile(r"(?<=/)[0-9a-f-]{20,}(?=/|$)")


@dataclass(slots=True)
class Exchange:
    """A request and its answer. ``seconds`` is None where nobody has measured it. Not ``over``: it may change yet."""

    at: datetime
    sender: str
    receiver: str
    said: str
    answer: str = ""
    failed: bool = False
    seconds: float | None = None
    over: bool = True


class Output:
    """Lines for a person, with colours and a spinner where there is a terminal; without a console JSON lines."""

    def __init__(self, console: Console | None) -> None:
        self.console = console

    def show(self, event: str, *lines: RenderableType, **values: object) -> None:
        """Write the lines, or the event with its values."""
        if self.console is None:
            sys.stdout.write(dumps({"event": event, **values}) + "\n")
            sys.stdout.flush()
            return
        for line in lines:
            self.console.print(line, soft_wrap=isinstance(line, Text))  # an address is not to be broken

    def step(self, number: int, name: str, title: str) -> AbstractContextManager[object]:
        """Show that a step begins, and a spinner while the context is open."""
        self.show("step", self.heading(number, title), number=number, step=name, title=title)
        if self.console is None or not self.console.is_terminal:
            return nullcontext()
        return self.console.status(Text(title, "dim"))

    def exchange(self, each: Exchange) -> None:
        """Show who said what to whom, what came back, and how long it took."""
        who = Text(f"{each.sender:>8}", COLOURS.get(each.sender, "yellow"))
        who.append(" → ", "dim").append(each.receiver, COLOURS.get(each.receiver, "yellow"))
        what = Text(each.said).append(f" ← {each.answer}" if each.answer else "", "red" if each.failed else "dim")
        took = None if each.seconds is None else round(each.seconds * 1000)
        self.show(
            "exchange",
            _row(f"{each.at.astimezone():%H:%M:%S}", who, what, "" if took is None else f"{took} ms"),
            **{"at": each.at.isoformat(), "from": each.sender, "to": each.receiver, "said": each.said},
            answer=each.answer,
            failed=each.failed,
            milliseconds=took,
        )

    @staticmethod
    def heading(number: int, title: str) -> Text:
        """What stands above a step."""
        return Text.assemble("\n", (f" {number} ", "bold reverse"), "  ", (title, "bold"))

    def check(self, what: str) -> None:
        """Show that something is right."""
        self.show("check", _row("", Text("✓", "bold green", justify="right"), Text(what, "green")), what=what)

    def trouble(  # noqa: PLR0917 - told in this order
        self, step: str, title: str, expected: str, found: str, process: str, log: Sequence[str]
    ) -> None:
        """Show what should have been true, what was found, and the last lines of a process's log."""
        self.show(
            "trouble",
            _row("", Text("✗", "bold red", justify="right"), Text(expected, "bold red")),
            _row("", Text("instead:", "red", justify="right"), Text(found)),
            Text(f"\nThis step went wrong: {title}", "bold red"),
            Text("\n  ".join([f"The last lines of the {process}'s log:", *log])),
            step=step,
            title=title,
            expected=expected,
            found=found,
            log=list(log),
        )

    def place(self, name: str, url: str, what_for: str) -> None:
        """Show a page that is left open."""
        lines = Text.assemble((f"  {name:<14}", "bold"), (what_for, "dim")), Text(f"{'':16}{url}", "cyan")
        self.show("place", *lines, name=name, url=url, what_for=what_for)


def standard_console() -> Console:
    """Return the console of this process: as wide as the terminal is, and wide enough where there is none."""
    console = Console(markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console = Console(markup=False, highlight=False, emoji=False, width=WIDTH_WITHOUT_TERMINAL)
    return console


def _row(when: str, who: Text, what: Text, took: str = "") -> Table:
    """A line of the timeline; what is long wraps in its column."""
    grid = Table.grid(padding=(0, 1, 0, 0), expand=True)
    grid.add_column(width=8, no_wrap=True, style="dim")
    grid.add_column(width=18, no_wrap=True)
    grid.add_column(ratio=1, overflow="fold")
    grid.add_column(width=8, no_wrap=True, style="dim", justify="right")
    grid.add_row(when, who, what, took)
    return grid


class Timeline:
    """Shows each exchange once, in the order in which they began."""

    def __init__(self, saleor: FakeSaleor, gateway: SandboxControl, output: Output) -> None:
        self._saleor = saleor
        self._gateway = gateway
        self._output = output
        self._noted: list[Exchange] = []
        self._shown: set[tuple[object, ...]] = set()

    @asynccontextmanager
    async def exchange(self, sender: str, receiver: str, said: str) -> AsyncIterator[Exchange]:
        """Note an exchange of this process that goes on while the context is open; the answer is filled in there."""
        noted = Exchange(datetime.now(UTC), sender, receiver, said, over=False)
        self._noted.append(noted)
        try:
            yield noted
        finally:
            noted.seconds = (datetime.now(UTC) - noted.at).total_seconds()
            noted.over = True

    async def show_new(self) -> bool:
        """Show what is new, up to the first exchange that is not over; return whether there was none."""
        # The records are read one after the other. What begins meanwhile may be in the second and not in the first yet.
        now = datetime.now(UTC)
        gateway = [
            *((_key_of(each), _gateway_is_called(each)) for each in await self._gateway.calls()),
            *(each for delivery in await self._gateway.webhooks() for each in _gateway_notifies(delivery)),
        ]
        for _, exchange in gateway:
            exchange.at = min(exchange.at, now)  # the sandbox's clock can be moved into the future
        found = [
            *((("noted", number), each) for number, each in enumerate(self._noted)),
            *((("delivery", each.number), _saleor_asks(each)) for each in await self._saleor.deliveries()),
            *((("report", each.number), _app_reports(each)) for each in await self._saleor.reports()),
            *gateway,
        ]
        for key, exchange in sorted(found, key=lambda each: each[1].at):
            if key in self._shown or exchange.at > now:
                continue
            if not exchange.over:
                return False
            self._output.exchange(exchange)
            self._shown.add(key)
        return True


def _saleor_asks(delivery: DeliveryView) -> Exchange:
    asked, answered = _object(delivery.body), _object(delivery.answer)
    reference = str(answered.get("pspReference") or "")[:8]
    parts = [answered.get("result"), f"reference {reference}…" if reference else "", *(answered.get("data") or {})]
    answer = delivery.error or ", ".join(filter(None, parts)) or f"HTTP {delivery.status}"
    said = f"{delivery.event.upper()} {_money(asked.get('action') or {})}".rstrip()
    failed = "FAILURE" in answer or (delivery.status or 500) >= 400
    over = delivery.status is not None or delivery.error is not None
    return Exchange(delivery.at, "Saleor", "app", said, answer, failed, delivery.seconds, over)


def _app_reports(report: ReportView) -> Exchange:
    said = report.arguments
    words = " ".join(filter(None, ["reports", said.get("type"), _money(said), said.get("message")]))
    errors = ", ".join(f"{error.code}: {error.message}" for error in report.errors)
    answer = errors or ("known already" if report.already_processed else "recorded")
    return Exchange(report.at, "app", "Saleor", words, answer, bool(errors))


def _key_of(call: Call) -> tuple[object, ...]:
    """A page that loads itself anew every few seconds is shown once."""
    return ("page", call.path) if call.http_method == "GET" and PAGE.fullmatch(call.path) else ("call", call.number)


def _gateway_is_called(call: Call) -> Exchange:
    """A call of the app, or of a shopper's browser."""
    page = PAGE.fullmatch(call.path)
    path = f"{call.http_method} {LONG_ID.sub('…', call.path)}"
    said = f"{path} {_money({'amount': call.amount, 'currency': call.currency})}".rstrip()
    if page:
        said = f"{'opens' if call.http_method == 'GET' else 'submits'} the {PAGES[page[1]]}"
    answer = "hung up" if call.http_status is None else f"HTTP {call.http_status}"
    failed, sender = (call.http_status or 500) >= 400, "shopper" if page else "app"
    return Exchange(call.at, sender, "gateway", said, answer, failed, call.seconds, call.seconds is not None)


def _gateway_notifies(delivery: Delivery) -> Iterator[tuple[tuple[object, ...], Exchange]]:
    """Each try to deliver a signed notification; one that is about to be tried for the first time is not over."""
    record = _object(base64.urlsafe_b64decode(delivery.data + "=" * (-len(delivery.data) % 4)))
    code = f" [{delivery.status_code}]" if delivery.status_code else ""
    said = f"notifies, signed: {delivery.method} {delivery.status}{code}, {_money(record)}"
    if not delivery.tries and delivery.state == "waiting" and not delivery.delay:
        yield ("try", delivery.delivery_id, 0), Exchange(delivery.created_at, "gateway", "app", said, over=False)
    for number, each in enumerate(delivery.tries):
        answer, failed = each.problem or f"HTTP {each.http_status}", (each.http_status or 500) >= 300
        at = delivery.created_at if number == 0 else each.at
        seconds = (each.at - at).total_seconds()
        yield ("try", delivery.delivery_id, number), Exchange(at, "gateway", "app", said, answer, failed, seconds)


def _object(text: str | bytes | None) -> dict[str, Any]:
    try:
        value = loads(text) if text else {}
    except NotJsonError:
        value = {}
    return value if isinstance(value, dict) else {}


def _money(fields: dict[str, Any]) -> str:
    """``569.50 UAH``; nothing where none moves."""
    moved = Decimal(str(fields.get("amount") or 0))
    return f"{moved:.2f} {fields.get('currency') or ''}".rstrip() if moved else ""
