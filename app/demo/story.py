"""``saleor-gateway demo``: whole payments between a Saleor, the app and a gateway, each a process on this machine.

Read it top-down: the steps with the checks after each, the helpers that check, the helpers that act. The
output comes from the records that the processes keep of real HTTP calls, and every check mark compares such records.
"""

import asyncio
import json
import re
import shlex
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from decimal import Decimal
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
from pydantic import SecretStr
from rich.text import Text

from app.demo.processes import run_until_signal
from app.demo.stack import Stack
from app.demo.timeline import Output
from gateway_client.sandbox.settings import PointOfSale
from saleor_app_sdk.testing.views import ActionView, TransactionView

TOTAL, CAPTURED, REFUNDED, ZERO = Decimal("569.50"), Decimal("300.00"), Decimal("100.00"), Decimal(0)
CARD, CARD_WITH_3DS = "4242424242424242", "4000000021220001"
WAIT_TIMEOUT = 30.0  # seconds to wait for a condition


async def run(
    folder: Path,
    output: Output,
    *,
    once: bool,
    free_ports: bool = False,
    api_secret: SecretStr | None = None,
    dialect: str = "public",
) -> int:
    """Run in an empty folder; return the exit status. ``api_secret``, if given, is entered instead of the right one."""
    stack = Stack(folder, output, api_secret or PointOfSale().api_secret, free_ports=free_ports, dialect=dialect)
    demo = Demo(stack, output, dialect)
    result = await run_until_signal(demo.run(once=once))
    if not isinstance(result, signal.Signals):
        return result
    # After all checks have passed, an interruption is not an error.
    output.show("stopped", Text("\nThe demo has ended; nothing of it runs any more.", "dim"))
    return 0 if demo.succeeded else 128 + result


class CheckFailedError(Exception):
    """A check failed: the arguments are what was expected, and what was found."""


class Demo:
    """The steps of the demo, and the helpers that carry them out."""

    steps = ("start", "install", "connect", "checkout", "pay", "order", "reserve", "capture", "refund", "look", "agree")
    page: httpx2.Response  # where the shopper's browser is

    def __init__(self, stack: Stack, output: Output, dialect: str = "public") -> None:
        self.stack = stack
        self.dialect = dialect
        self.output = output
        self.saleor, self.gateway, self.timeline, self.urls = stack.saleor, stack.gateway, stack.timeline, stack.urls
        self.http = httpx2.AsyncClient(trust_env=False, timeout=30, follow_redirects=True)
        self.first = self.second = self.return_page = ""
        self.checks = 0
        self.succeeded = False

    async def run(self, *, once: bool) -> int:
        """Play all steps, then keep everything running until a signal or a process's end; return the exit status."""
        async with self.stack, self.http:
            if await self.play() and not once:
                if await self._run_step(len(self.steps) + 1, "left_open"):
                    await self._show_exchanges_until_exit()
                return 1
        return 0 if self.succeeded else 1

    async def play(self) -> bool:
        """Run all steps; return whether all checks passed."""
        started = time.monotonic()
        for number, step in enumerate(self.steps, 1):
            if not await self._run_step(number, step):
                return False
        took = time.monotonic() - started
        summary = Text(f"\n✓ All {self.checks} checks are right, after {took:.1f} s.", "bold green")
        self.output.show("end", summary, checks=self.checks, milliseconds=round(took * 1000))
        self.succeeded = True
        return True

    async def _run_step(self, number: int, name: str) -> bool:
        """Run a step, whose title is its docstring; return whether all checks passed, and show a failure."""
        step = getattr(self, name)
        title = step.__doc__.removesuffix(".")
        try:
            with self.output.show_step(number, name, title):
                await step()
        except CheckFailedError as failure:
            expected, found = (str(arg) for arg in failure.args)
        except Exception as exc:  # noqa: BLE001 - show the user where it failed, whatever the error
            expected, found = "it goes as planned", f"{type(exc).__name__}: {exc}"
        else:
            return True
        with suppress(Exception):  # the remaining exchanges are helpful, but not essential
            await asyncio.wait_for(self._wait_until_shown(), 2)
        process = self.stack.find_ended_process() or self.stack.app
        self.output.show_failure(name, title, expected, found, process.name, process.last_lines())
        return False

    async def _show_exchanges_until_exit(self) -> None:
        """Show the exchanges that the user causes until a process ends, then which one ended and its last lines."""
        while (ended := self.stack.find_ended_process()) is None:
            with suppress(httpx2.TransportError):  # from a process that has just ended
                await self.timeline.show_new()
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise asyncio.CancelledError  # a library can swallow a Ctrl-C in the middle of a request
            await asyncio.sleep(0.2)
        found, log = f"the {ended.name} has ended by itself", ended.last_lines()
        self.output.show_failure("left_open", "All is left open", "everything runs", found, ended.name, log)

    # The steps

    async def start(self) -> None:
        """Three processes start."""
        await self.stack.start()
        servers = ", ".join(f"{name} {url}" for name, url in self.urls.items())
        self._check(f"{servers}: all of them answer", (ended := self.stack.find_ended_process()) is None, ended)

    async def install(self) -> None:
        """A store owner installs the app in the Saleor Dashboard."""
        manifest = f"{self.urls['app']}/api/manifest"
        async with self.timeline.record("staff", "Saleor", f"install the app at {manifest}") as exchange:
            installed = await self.saleor.install(manifest)
            exchange.response = installed.status
        await self._wait_until_idle()
        self._check("Saleor has installed the app", installed.status == "INSTALLED", installed.message)
        (app,) = await self.saleor.apps()
        only = app.active and app.permissions == ["HANDLE_PAYMENTS"]
        self._check("it is active, and may handle payments, nothing else", only, app)

    async def connect(self) -> None:
        """The operator connects a merchant account."""
        pos = (
            "--pos-id",
            str(PointOfSale().pos_id),
            "--base-url",
            self.urls["gateway"],
            "--test",
            "--dialect",
            self.dialect,
        )
        shop = ("--storefront", self.urls["shop"], "--saved-cards")
        account = await self._run_cli("accounts", "add", "--name", "Sandbox", *pos, *shop)
        await self._wait_until_idle()
        check = account.get("check") or {}
        self._check("the gateway takes the keys", check.get("ok") is True, check.get("wrong"))
        route = await self._run_cli("channels", "map", "uah", account["id"])
        await self._wait_until_idle()
        self._check("the money of the channel uah goes to it", route["account"] == account["id"], route)

    async def checkout(self) -> None:
        """A shopper checks out."""
        self.first = await self._check_out("pay")
        waiting = await self.saleor.transaction(self.first)
        unpaid = "CHARGE_ACTION_REQUIRED" in waiting.event_types() and waiting.amounts.charged == ZERO
        self._check("Saleor waits for the shopper, and counts nothing as paid", unpaid, waiting)
        shows_total = f"{TOTAL}\N{NO-BREAK SPACE}UAH" in self.page.text
        self._check("the payment page asks for exactly what the basket costs", shows_total, _heading(self.page))

    async def pay(self) -> None:
        """The shopper pays on the gateway's page."""
        await self._submit_form(card=CARD)
        await self._wait_for_return_page()
        self.return_page = str(self.page.url).partition("?")[0]
        paid = await self._wait_for_event(self.first, "CHARGE_SUCCESS")
        at_gateway = await self.gateway.payment(_order_id(paid))
        taken = (at_gateway.status, at_gateway.amount) == ("success", TOTAL)
        self._check(f"the gateway has taken {TOTAL} UAH", taken, at_gateway)
        sent = await self.gateway.webhooks(at_gateway.order_id)
        self._check(
            "the app has kept every notification", all(delivery.state == "delivered" for delivery in sent), sent
        )
        once = paid.event_types().count("CHARGE_SUCCESS") == 1 and paid.amounts.charged == TOTAL
        self._check(f"Saleor has heard of it once, and counts {TOTAL} as charged", once, paid.event_types())
        reference = paid.event("CHARGE_SUCCESS").psp_reference
        same = reference == at_gateway.order_id
        self._check("Saleor's reference is the gateway's order id: one search finds both", same, reference)
        self._check("the shopper reads: Payment received", (read := _heading(self.page)) == "Payment received", read)

    async def order(self) -> None:
        """The shopper is back in the shop."""
        await self._return_to_shop()
        paid = await self.saleor.transaction(self.first)
        self._check("there is an order", paid.order_id is not None, _heading(self.page))
        order = await self.saleor.order(paid.order_id or "")
        self._check(f"order {order.number} is paid in full", order.charge_status == "FULL", order.charge_status)
        self._check("staff may refund it, and nothing else", paid.actions == ["REFUND"], paid.actions)

    async def reserve(self) -> None:
        """Another shopper's money is only reserved, after 3-D Secure."""
        self.second = await self._check_out("reserve")
        await self._submit_form(card=CARD_WITH_3DS)
        await self._submit_form(answer="confirm")
        await self._wait_for_return_page()
        await self._wait_for_event(self.second, "AUTHORIZATION_SUCCESS")
        await self._return_to_shop()
        held = await self.saleor.transaction(self.second)
        order = await self.saleor.order(held.order_id or "")
        reserved = (held.amounts.authorized, held.amounts.charged, order.authorize_status) == (TOTAL, ZERO, "FULL")
        self._check(f"order {order.number} is covered: {TOTAL} UAH reserved, nothing charged", reserved, held.amounts)
        self._check("staff may charge it or cancel it", set(held.actions) == {"CHARGE", "CANCEL"}, held.actions)

    async def capture(self) -> None:
        """Staff charge 300.00 UAH of it, and the rest is released."""
        await self._act_as_staff(f"charge {CAPTURED}, on the order's page", self.saleor.charge(self.second, CAPTURED))
        rest = TOTAL - CAPTURED
        if self.dialect == "interface":  # it does not say what becomes of the rest, so staff release it
            money = (await self._wait_for_event(self.second, "CHARGE_SUCCESS")).amounts
            kept = (money.charged, money.canceled, money.authorized) == (CAPTURED, ZERO, rest)
            self._check(f"{CAPTURED} UAH are charged, {rest} stay reserved", kept, money)
            await self._act_as_staff("cancel the rest, on the order's page", self.saleor.cancel(self.second))
        money = (await self._wait_for_event(self.second, "CANCEL_SUCCESS")).amounts
        correct = (money.charged, money.canceled, money.authorized) == (CAPTURED, rest, ZERO)
        self._check(f"{CAPTURED} UAH are charged, {rest} released, nothing is reserved any more", correct, money)

    async def refund(self) -> None:
        """Staff refund 100.00 UAH of the first order."""
        await self._act_as_staff(f"refund {REFUNDED}, on the order's page", self.saleor.refund(self.first, REFUNDED))
        refunded = await self._wait_for_event(self.first, "REFUND_SUCCESS")
        money, rest = refunded.amounts, TOTAL - REFUNDED
        correct = (money.refunded, money.charged) == (REFUNDED, rest)
        self._check(f"{REFUNDED} UAH are refunded, {rest} stay charged", correct, money)
        references = [event.psp_reference for event in refunded.events if event.type.outcome == "SUCCESS"]
        self._check("the refund has a reference of its own", len(set(references)) == len(references), references)

    async def look(self) -> None:
        """Staff look at the payments in the Saleor Dashboard."""
        first, second = [
            _order_id(await self.saleor.transaction(transaction_id)) for transaction_id in (self.first, self.second)
        ]
        listed, payment = await self._open_app_page("/payments"), await self._open_app_page(f"/payments/{first}")
        await self._wait_until_shown()
        both = f"/{first}" in listed.text and f"/{second}" in listed.text
        self._check("the app lists the payments of both orders", both, _heading(listed))
        shows_refund = payment.status_code == 200 and str(REFUNDED) in payment.text
        self._check("its page of the first payment tells of the refund", shows_refund, _heading(payment))

    async def agree(self) -> None:
        """Saleor and the gateway have recorded the same."""
        for name, transaction_id in (("first", self.first), ("second", self.second)):
            transaction = await self.saleor.transaction(transaction_id)
            payment = await self.gateway.payment(_order_id(transaction))
            done = [operation for operation in payment.operations if operation.status == "success"]
            refunded = sum((record.amount for record in done if record.method == "refund"), ZERO)
            captured = sum((record.amount for record in done if record.method == "capture"), ZERO)
            retained = (payment.amount if payment.method == "purchase" else captured) - refunded
            agree = (transaction.amounts.charged, transaction.amounts.refunded) == (retained, refunded)
            what = f"of the {name} payment, Saleor and the gateway say: {retained:.2f} UAH kept"
            self._check(what, agree, transaction.amounts)
        problems = await self._run_cli("payments", "list", "--problems")
        await self._wait_until_shown()
        self._check("no payment has a problem", problems == [], problems)

    async def left_open(self) -> None:
        """One more payment is left open, and these pages are yours."""
        await self._check_out("pay")
        for name, url, what_for in (
            ("Payment page", str(self.page.url), "open and unpaid: pay, be declined, pass 3-D Secure, leave"),
            ("Shop", self.urls["shop"], "check out again, by button, link or QR code, or reserve; in Ukrainian too"),
            ("Dashboard", self.saleor.dashboard_url, "a stand-in of Saleor's: the app's pages, orders to refund"),
            ("Return page", self.return_page, "where the app tells the first shopper how it went"),
            ("Gateway", self.urls["gateway"], "every payment and notification; be the bank, or the merchant portal"),
        ):
            self.output.show_place(name, url, what_for)
        command = self.stack.command_line("payments", "list")
        hint = f"The app's own view: {command}\nWhat you do is shown below. Ctrl-C ends everything."
        self.output.show("hint", Text(hint, "bold"), text=hint)

    # Checks

    def _check(self, what: str, passed: bool, found: object) -> None:
        """Show a check that has passed. Raises CheckFailedError with what was ``found`` when it has not."""
        if not passed:
            raise CheckFailedError(what, found)
        self.checks += 1
        self.output.show_check(what)

    async def _wait_until(self, what: str, condition: Callable[[], Awaitable[bool]]) -> None:
        """Wait until a condition holds. Raises CheckFailedError after the timeout."""
        deadline = time.monotonic() + WAIT_TIMEOUT
        while not await condition():
            if time.monotonic() > deadline:
                raise CheckFailedError(what, f"not within {WAIT_TIMEOUT:.0f} s")
            await asyncio.sleep(0.05)

    async def _wait_for_event(self, transaction_id: str, event: str) -> TransactionView:
        """Wait until Saleor has received an event and nothing is pending; return the transaction."""

        async def is_received() -> bool:
            return event in (await self.saleor.transaction(transaction_id)).event_types()

        await self._wait_until(f"Saleor hears {event}", is_received)
        await self._wait_until_idle()
        return await self.saleor.transaction(transaction_id)

    async def _wait_until_idle(self) -> None:
        """Wait until no webhook or report is pending, and all exchanges have been shown."""
        await self.saleor.wait_for_background()
        await self.gateway.wait_for_webhooks()

        async def all_reported() -> bool:
            reported = [(r.arguments["type"], r.arguments["pspReference"]) for r in await self.saleor.reports()]
            return all(
                (event.type.value, event.psp_reference) in reported
                for transaction in await self.saleor.transactions()
                for event in transaction.events
                if event.type.outcome in {"SUCCESS", "FAILURE"}
            )

        await self._wait_until("the app has told Saleor everything", all_reported)
        await self._wait_until_shown()

    async def _wait_until_shown(self) -> None:
        await self._wait_until("everything that was said is shown", self.timeline.show_new)

    # Actions

    async def _run_cli(self, *words: str) -> Any:
        """Run a command of the app, and return its JSON output. Raises CheckFailedError with its standard error."""
        async with self.timeline.record("operator", "app", f"$ saleor-gateway {shlex.join(words)}") as exchange:
            status, output, errors = await self.stack.run_command(*words, "--json")
            exchange.response, exchange.failed = f"status {status}", status != 0
        try:
            return json.loads(output)
        except ValueError:
            raise CheckFailedError("the command works", f"{exchange.response}: {errors}") from None

    async def _act_as_staff(self, request: str, action: Awaitable[ActionView]) -> None:
        async with self.timeline.record("staff", "Saleor", request) as exchange:
            errors = (await action).errors
            exchange.failed, exchange.response = bool(errors), ", ".join(e.message for e in errors) or "under way"

    async def _open_app_page(self, path: str) -> httpx2.Response:
        """Fetch one of the app's pages, as the frame in the Dashboard does."""
        (app,) = await self.saleor.apps()
        token = await self.saleor.access_token(app.id)
        headers = {"Authorization": f"Bearer {token}", "Saleor-Api-Url": self.saleor.api_url}
        async with self.timeline.record("staff", "app", "open a page of the app in the Dashboard") as exchange:
            page = await self.http.get(f"{self.urls['app']}/parts{path}", headers=headers)
            exchange.response = f"HTTP {page.status_code}"
        return page

    async def _check_out(self, way: str) -> str:
        """Press a button in the shop that leads to a payment page; return the new transaction's id."""
        known = {transaction.id for transaction in await self.saleor.transactions()}
        await self._submit_form(f"{self.urls['shop']}/buy", way=way)
        (new,) = [transaction.id for transaction in await self.saleor.transactions() if transaction.id not in known]
        await self._wait_for_event(new, "INFO")
        return new

    async def _submit_form(self, address: str | None = None, **fields: str) -> None:
        """Submit a form to the current page or to another address, and follow the redirects."""
        self.page = (await self.http.post(address or self.page.url, data=fields)).raise_for_status()

    async def _wait_for_return_page(self) -> None:
        """Poll the app's return page until it shows the outcome of the payment."""

        async def shows_outcome() -> bool:
            self.page = await self.http.get(self.page.url)
            return "Back to the shop" in self.page.text

        async with self.timeline.record("shopper", "app", "comes back") as exchange:
            await self._wait_until("the return page knows how it went", shows_outcome)
            exchange.response = f"“{_heading(self.page)}”"

    async def _return_to_shop(self) -> None:
        link = re.search(r'href="([^"]+)"[^>]*>Back to the shop<', self.page.text)
        if link is None:
            raise CheckFailedError("the return page leads back to the shop", _heading(self.page))
        self.page = await self.http.get(self.page.url.join(unescape(link[1])))
        await self._wait_until_idle()


def _order_id(transaction: TransactionView) -> str:
    """Return the gateway's order id of a transaction: the last part of the payment page's link in its events."""
    links = (event.external_url for event in transaction.events if event.external_url)
    return urlsplit(next(links, "")).path.rpartition("/")[2]


def _heading(page: httpx2.Response) -> str:
    found = re.search(r"<h1[^>]*>([^<]*)</h1>", page.text)
    return unescape(found[1]) if found else ""
