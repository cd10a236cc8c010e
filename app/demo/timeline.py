"""The demo's output: exchanges in the order they began, from the records that Saleor and the gateway keep of calls."""

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

from app.i18n.messages import Money
from gateway_client.sandbox.calls import Call
from gateway_client.sandbox.control.client import SandboxControl
from gateway_client.sandbox.deliveries import Delivery
from integration_base.exact_json import NotJsonError, dumps, loads
from saleor_app_sdk.testing.client import FakeSaleor
from saleor_app_sdk.testing.views import DeliveryView, ReportView

WIDTH_WITHOUT_TERMINAL = 120
COLOURS = {"Saleor": "magenta", "app": "green", "gateway": "cyan"}
PAGE = re.compile(r"/api/v1/checkout/[^/]+/(form|3ds|qr)")
PAGES = {"form": "payment page", "3ds": "bank's page (3-D Secure)", "qr": "QR code"}
LONG_ID = re.compile(r"(?<=/)[0-9a-f-]{20,}(?=/|$)")


@dataclass(slots=True)
class Exchange:
    """A request and its response. ``seconds`` is None if not measured. Until it is ``finished`` it may still change."""

    at: datetime
    sender: str
    receiver: str
    request: str
    response: str = ""
    failed: bool = False
    seconds: float | None = None
    finished: bool = True


class Output:
    """Lines for people, with colours and a spinner on a terminal; JSON lines if there is no console."""

    def __init__(self, console: Console | None) -> None:
        self.console = console

    def show(self, event: str, *lines: RenderableType, **values: object) -> None:
        """Write the lines to the console, or the event with its values as JSON."""
        if self.console is None:
            sys.stdout.write(dumps({"event": event, **values}) + "\n")
            sys.stdout.flush()
            return
        for line in lines:
            self.console.print(line, soft_wrap=isinstance(line, Text))  # do not wrap addresses

    def show_step(self, number: int, name: str, title: str) -> AbstractContextManager[object]:
        """Show the start of a step, and a spinner while the returned context is open."""
        self.show("step", self.format_heading(number, title), number=number, step=name, title=title)
        if self.console is None or not self.console.is_terminal:
            return nullcontext()
        return self.console.status(Text(title, "dim"))

    def show_exchange(self, each: Exchange) -> None:
        """Show an exchange: sender, receiver, request, response and duration."""
        who = Text(f"{each.sender:>8}", COLOURS.get(each.sender, "yellow"))
        who.append(" → ", "dim").append(each.receiver, COLOURS.get(each.receiver, "yellow"))
        what = Text(each.request).append(
            f" ← {each.response}" if each.response else "", "red" if each.failed else "dim"
        )
        took = None if each.seconds is None else round(each.seconds * 1000)
        self.show(
            "exchange",
            _row(f"{each.at.astimezone():%H:%M:%S}", who, what, "" if took is None else f"{took} ms"),
            **{"at": each.at.isoformat(), "from": each.sender, "to": each.receiver, "said": each.request},
            answer=each.response,
            failed=each.failed,
            milliseconds=took,
        )

    @staticmethod
    def format_heading(number: int, title: str) -> Text:
        """Return the heading of a step."""
        return Text.assemble("\n", (f" {number} ", "bold reverse"), "  ", (title, "bold"))

    def show_check(self, what: str) -> None:
        """Show a check that passed."""
        self.show("check", _row("", Text("✓", "bold green", justify="right"), Text(what, "green")), what=what)

    def show_failure(  # noqa: PLR0917 - shown in this order
        self, step: str, title: str, expected: str, found: str, process: str, log: Sequence[str]
    ) -> None:
        """Show a failed check: what was expected, what was found, and the last lines of a process's log."""
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

    def show_place(self, name: str, url: str, what_for: str) -> None:
        """Show a page that stays open after the demo."""
        lines = Text.assemble((f"  {name:<14}", "bold"), (what_for, "dim")), Text(f"{'':16}{url}", "cyan")
        self.show("place", *lines, name=name, url=url, what_for=what_for)


def standard_console() -> Console:
    """Return the console of this process: as wide as the terminal, or a fixed width where there is none."""
    console = Console(markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console = Console(markup=False, highlight=False, emoji=False, width=WIDTH_WITHOUT_TERMINAL)
    return console


def _row(when: str, who: Text, what: Text, took: str = "") -> Table:
    """Return a line of the timeline; long text wraps in its column."""
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
        self._recorded: list[Exchange] = []
        self._shown: set[tuple[object, ...]] = set()

    @asynccontextmanager
    async def record(self, sender: str, receiver: str, request: str) -> AsyncIterator[Exchange]:
        """Record an exchange made by this process; it lasts while the context is open, which sets the response."""
        exchange = Exchange(datetime.now(UTC), sender, receiver, request, finished=False)
        self._recorded.append(exchange)
        try:
            yield exchange
        finally:
            exchange.seconds = (datetime.now(UTC) - exchange.at).total_seconds()
            exchange.finished = True

    async def show_new(self) -> bool:
        """Show new exchanges, up to the first unfinished one; return True when there was no unfinished one."""
        # The records are read one after the other: an exchange that begins during the reads may be in the second
        # record but not in the first. It is left for the next call.
        now = datetime.now(UTC)
        gateway = [
            *((_call_key(call), _exchange_of_call(call)) for call in await self._gateway.calls()),
            *(exchange for delivery in await self._gateway.webhooks() for exchange in _exchanges_of_delivery(delivery)),
        ]
        for _, exchange in gateway:
            exchange.at = min(exchange.at, now)  # the sandbox's clock can be moved into the future
        found = [
            *((("noted", number), exchange) for number, exchange in enumerate(self._recorded)),
            *(
                (("delivery", delivery.number), _exchange_of_webhook(delivery))
                for delivery in await self._saleor.deliveries()
            ),
            *((("report", report.number), _exchange_of_report(report)) for report in await self._saleor.reports()),
            *gateway,
        ]
        for key, exchange in sorted(found, key=lambda keyed: keyed[1].at):
            if key in self._shown or exchange.at > now:
                continue
            if not exchange.finished:
                return False
            self._output.show_exchange(exchange)
            self._shown.add(key)
        return True


def _exchange_of_webhook(delivery: DeliveryView) -> Exchange:
    payload, result = _parse_object(delivery.body), _parse_object(delivery.answer)
    reference = str(result.get("pspReference") or "")[:8]
    parts = [result.get("result"), f"reference {reference}…" if reference else "", *(result.get("data") or {})]
    response = delivery.error or ", ".join(filter(None, parts)) or f"HTTP {delivery.status}"
    request = f"{delivery.event.upper()} {_format_money(payload.get('action') or {})}".rstrip()
    failed = "FAILURE" in response or (delivery.status or 500) >= 400
    finished = delivery.status is not None or delivery.error is not None
    return Exchange(delivery.at, "Saleor", "app", request, response, failed, delivery.seconds, finished)


def _exchange_of_report(report: ReportView) -> Exchange:
    fields = report.arguments
    request = " ".join(filter(None, ["reports", fields.get("type"), _format_money(fields), fields.get("message")]))
    errors = ", ".join(f"{error.code}: {error.message}" for error in report.errors)
    response = errors or ("known already" if report.already_processed else "recorded")
    return Exchange(report.at, "app", "Saleor", request, response, bool(errors))


def _call_key(call: Call) -> tuple[object, ...]:
    """Return the identity of a call. A page that reloads itself every few seconds has one key, so it is shown once."""
    return ("page", call.path) if call.http_method == "GET" and PAGE.fullmatch(call.path) else ("call", call.number)


def _exchange_of_call(call: Call) -> Exchange:
    """Return the exchange of a call that the app or a shopper's browser made to the gateway."""
    page = PAGE.fullmatch(call.path)
    path = f"{call.http_method} {LONG_ID.sub('…', call.path)}"
    request = f"{path} {_format_money({'amount': call.amount, 'currency': call.currency})}".rstrip()
    if page:
        request = f"{'opens' if call.http_method == 'GET' else 'submits'} the {PAGES[page[1]]}"
    response = "hung up" if call.http_status is None else f"HTTP {call.http_status}"
    failed, sender = (call.http_status or 500) >= 400, "shopper" if page else "app"
    return Exchange(call.at, sender, "gateway", request, response, failed, call.seconds, call.seconds is not None)


def _exchanges_of_delivery(delivery: Delivery) -> Iterator[tuple[tuple[object, ...], Exchange]]:
    """Yield each attempt to deliver a signed notification; one not attempted yet is an unfinished exchange."""
    record = _parse_object(base64.urlsafe_b64decode(delivery.data + "=" * (-len(delivery.data) % 4)))
    code = f" [{delivery.status_code}]" if delivery.status_code else ""
    request = f"notifies, signed: {delivery.method} {delivery.status}{code}, {_format_money(record)}"
    if not delivery.tries and delivery.state == "waiting" and not delivery.delay:
        yield ("try", delivery.delivery_id, 0), Exchange(delivery.created_at, "gateway", "app", request, finished=False)
    for number, attempt in enumerate(delivery.tries):
        response, failed = attempt.problem or f"HTTP {attempt.http_status}", (attempt.http_status or 500) >= 300
        at = delivery.created_at if number == 0 else attempt.at
        seconds = (attempt.at - at).total_seconds()
        yield ("try", delivery.delivery_id, number), Exchange(at, "gateway", "app", request, response, failed, seconds)


def _parse_object(text: str | bytes | None) -> dict[str, Any]:
    try:
        value = loads(text) if text else {}
    except NotJsonError:
        value = {}
    return value if isinstance(value, dict) else {}


def _format_money(fields: dict[str, Any]) -> str:
    """Return ``569.50 UAH``; empty when there is no amount, or it is zero."""
    amount = Decimal(str(fields.get("amount") or 0))
    return str(Money(amount, fields.get("currency") or "")).rstrip() if amount else ""
