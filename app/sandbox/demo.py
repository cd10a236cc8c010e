"""``saleor-gateway demo``: whole payments between a Saleor, the app and a gateway, each a process on this machine.

To be read top-down: the command, the steps with what must be true after each, who does it. What is shown was read from
the records that the processes keep of real HTTP calls, and every check mark compares such records.
"""

import asyncio
import json
import re
import shlex
import signal
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from decimal import Decimal
from html import unescape
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import httpx2
import typer
from pydantic import SecretStr
from rich.text import Text

from app.saleor.testing.views import ActionView, TransactionView
from app.sandbox.processes import interruptible
from app.sandbox.settings import PointOfSale
from app.sandbox.stack import Stack
from app.sandbox.timeline import Output, standard_console

TOTAL, CAPTURED, REFUNDED, ZERO = Decimal("569.50"), Decimal("300.00"), Decimal("100.00"), Decimal(0)
CARD, CARD_WITH_3DS = "4242424242424242", "4000000021220001"
EVENTUALLY = 30.0  # seconds until something that must come true has come true


def demo(
    *,
    once: Annotated[bool, typer.Option("--once", help="End after the last step; status 0 if all was right.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON lines, for programs.")] = False,
    keep: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the app's data and all logs in this new or empty folder.")
    ] = None,
    free_ports: Annotated[
        bool, typer.Option("--free-ports", help="Take free ports, even where the usual ones are free.")
    ] = False,
) -> None:
    """Play a whole payment on this machine: a Saleor, a gateway and the app; no account, no money."""
    output = Output(None if as_json else standard_console())
    with tempfile.TemporaryDirectory(prefix="saleor-gateway-demo-") as temporary:
        folder = Path(temporary) if keep is None else keep.resolve()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            empty = not any(folder.iterdir())
        except OSError as exc:
            raise typer.BadParameter(f"{keep} cannot be used: {exc.strerror}", param_hint="--keep") from exc
        if not empty:
            raise typer.BadParameter(f"{keep} is not empty", param_hint="--keep")
        raise typer.Exit(asyncio.run(run(folder, output, once=once, free_ports=free_ports)))


async def run(
    folder: Path, output: Output, *, once: bool, free_ports: bool = False, api_secret: SecretStr | None = None
) -> int:
    """Run in an empty folder; return the exit status. ``api_secret`` is typed instead of the right one, if given."""
    stack = Stack(folder, output, api_secret or PointOfSale().api_secret, free_ports=free_ports)
    demo = Demo(stack, output)
    ended = await interruptible(demo.run(once=once))
    if not isinstance(ended, signal.Signals):
        return ended
    # An interruption is no error once all steps were right.
    output.show("stopped", Text("\nThe demo has ended; nothing of it runs any more.", "dim"))
    return 0 if demo.all_right else 128 + ended


class NotRightError(Exception):
    """Something that must be true is not: the arguments are what was expected, and what was found."""


class Demo:
    """The steps, and those who do them."""

    steps = ("start", "install", "connect", "checkout", "pay", "order", "reserve", "capture", "refund", "look", "agree")
    page: httpx2.Response  # where the shopper's browser is

    def __init__(self, stack: Stack, output: Output) -> None:
        self.stack = stack
        self.output = output
        self.saleor, self.gateway, self.timeline, self.urls = stack.saleor, stack.gateway, stack.timeline, stack.urls
        self.http = httpx2.AsyncClient(trust_env=False, timeout=30, follow_redirects=True)
        self.first = self.second = self.return_page = ""
        self.checks = 0
        self.all_right = False

    async def run(self, *, once: bool) -> int:
        """Play, then leave everything open until somebody interrupts or something ends; return the exit status."""
        async with self.stack, self.http:
            if await self.play() and not once:
                if await self._go(len(self.steps) + 1, "left_open"):
                    await self._follow()
                return 1
        return 0 if self.all_right else 1

    async def play(self) -> bool:
        """Go through all steps; return whether all was right."""
        began = time.monotonic()
        for number, step in enumerate(self.steps, 1):
            if not await self._go(number, step):
                return False
        took = time.monotonic() - began
        words = Text(f"\n✓ All {self.checks} checks are right, after {took:.1f} s.", "bold green")
        self.output.show("end", words, checks=self.checks, milliseconds=round(took * 1000))
        self.all_right = True
        return True

    async def _go(self, number: int, name: str) -> bool:
        """Go through a step, whose title is its docstring; return whether all was right, and show what was not."""
        step = getattr(self, name)
        title = step.__doc__.removesuffix(".")
        try:
            with self.output.step(number, name, title):
                await step()
        except NotRightError as wrong:
            expected, found = (str(each) for each in wrong.args)
        except Exception as exc:  # noqa: BLE001 - whatever goes wrong, the person is told where
            expected, found = "it goes as planned", f"{type(exc).__name__}: {exc}"
        else:
            return True
        with suppress(Exception):  # what is left to show is a comfort, no more
            await asyncio.wait_for(self._shown(), 2)
        about = self.stack.ended() or self.stack.app
        self.output.trouble(name, title, expected, found, about.name, about.last_lines())
        return False

    async def _follow(self) -> None:
        """Show what the person does, until a process ends; say which, and its last words."""
        while (ended := self.stack.ended()) is None:
            with suppress(httpx2.TransportError):  # of a process that has just ended
                await self.timeline.show_new()
            if (running := asyncio.current_task()) is not None and running.cancelling():
                raise asyncio.CancelledError  # Ctrl-C in the middle of a request, which a library can swallow
            await asyncio.sleep(0.2)
        found = f"the {ended.name} has ended by itself"
        self.output.trouble("left_open", "All is left open", "everything runs", found, ended.name, ended.last_lines())

    # The steps

    async def start(self) -> None:
        """Three processes start."""
        await self.stack.start()
        servers = ", ".join(f"{name} {url}" for name, url in self.urls.items())
        self._must(f"{servers}: all of them answer", self.stack.ended() is None, self.stack.ended())

    async def install(self) -> None:
        """A store owner installs the app in the Saleor Dashboard."""
        manifest = f"{self.urls['app']}/api/manifest"
        async with self.timeline.exchange("staff", "Saleor", f"install the app at {manifest}") as noted:
            installed = await self.saleor.install(manifest)
            noted.answer = installed.status
        await self._quiet()
        self._must("Saleor has installed the app", installed.status == "INSTALLED", installed.message)
        (app,) = await self.saleor.apps()
        only = app.active and app.permissions == ["HANDLE_PAYMENTS"]
        self._must("it is active, and may handle payments, nothing else", only, app)

    async def connect(self) -> None:
        """The operator connects a merchant account."""
        point = ("--pos-id", str(PointOfSale().pos_id), "--base-url", self.urls["gateway"], "--test")
        account = await self._type("accounts", "add", "--name", "Sandbox", *point, "--storefront", self.urls["shop"])
        await self._quiet()
        check = account.get("check") or {}
        self._must("the gateway takes the keys", check.get("ok") is True, check.get("wrong"))
        route = await self._type("channels", "map", "uah", account["id"])
        await self._quiet()
        self._must("the money of the channel uah goes to it", route["account"] == account["id"], route)

    async def checkout(self) -> None:
        """A shopper checks out."""
        self.first = await self._check_out("pay")
        waiting = await self.saleor.transaction(self.first)
        unpaid = "CHARGE_ACTION_REQUIRED" in waiting.types() and waiting.amounts.charged == ZERO
        self._must("Saleor waits for the shopper, and counts nothing as paid", unpaid, waiting)
        asks = f"{TOTAL}\N{NO-BREAK SPACE}UAH" in self.page.text
        self._must("the payment page asks for exactly what the basket costs", asks, _heading(self.page))

    async def pay(self) -> None:
        """The shopper pays on the gateway's page."""
        await self._submit(card=CARD)
        await self._come_back()
        self.return_page = str(self.page.url).partition("?")[0]
        paid = await self._heard(self.first, "CHARGE_SUCCESS")
        at_gateway = await self.gateway.payment(_order_id(paid))
        taken = (at_gateway.status, at_gateway.amount) == ("success", TOTAL)
        self._must(f"the gateway has taken {TOTAL} UAH", taken, at_gateway)
        notified = await self.gateway.webhooks(at_gateway.order_id)
        self._must("the app has kept every notification", all(each.state == "delivered" for each in notified), notified)
        once = paid.types().count("CHARGE_SUCCESS") == 1 and paid.amounts.charged == TOTAL
        self._must(f"Saleor has heard of it once, and counts {TOTAL} as charged", once, paid.types())
        reference = paid.event("CHARGE_SUCCESS").psp_reference
        same = reference == at_gateway.order_id
        self._must("Saleor's reference is the gateway's order id: one search finds both", same, reference)
        self._must("the shopper reads: Payment received", (read := _heading(self.page)) == "Payment received", read)

    async def order(self) -> None:
        """The shopper is back in the shop."""
        await self._back_to_shop()
        paid = await self.saleor.transaction(self.first)
        self._must("there is an order", paid.order_id is not None, _heading(self.page))
        order = await self.saleor.order(paid.order_id or "")
        self._must(f"order {order.number} is paid in full", order.charge_status == "FULL", order.charge_status)
        self._must("staff may refund it, and nothing else", paid.actions == ["REFUND"], paid.actions)

    async def reserve(self) -> None:
        """Another shopper's money is only reserved, after 3-D Secure."""
        self.second = await self._check_out("reserve")
        await self._submit(card=CARD_WITH_3DS)
        await self._submit(answer="confirm")
        await self._come_back()
        await self._heard(self.second, "AUTHORIZATION_SUCCESS")
        await self._back_to_shop()
        held = await self.saleor.transaction(self.second)
        order = await self.saleor.order(held.order_id or "")
        reserved = (held.amounts.authorized, held.amounts.charged, order.authorize_status) == (TOTAL, ZERO, "FULL")
        self._must(f"order {order.number} is covered: {TOTAL} UAH reserved, nothing charged", reserved, held.amounts)
        self._must("staff may charge it or cancel it", set(held.actions) == {"CHARGE", "CANCEL"}, held.actions)

    async def capture(self) -> None:
        """Staff charge 300.00 UAH of it; the rest is released."""
        await self._staff(f"charge {CAPTURED}, on the order's page", self.saleor.charge(self.second, CAPTURED))
        money = (await self._heard(self.second, "CANCEL_SUCCESS")).amounts
        rest = TOTAL - CAPTURED
        right = (money.charged, money.canceled, money.authorized) == (CAPTURED, rest, ZERO)
        self._must(f"{CAPTURED} UAH are charged, {rest} released, nothing is reserved any more", right, money)

    async def refund(self) -> None:
        """Staff refund 100.00 UAH of the first order."""
        await self._staff(f"refund {REFUNDED}, on the order's page", self.saleor.refund(self.first, REFUNDED))
        refunded = await self._heard(self.first, "REFUND_SUCCESS")
        money, stays = refunded.amounts, TOTAL - REFUNDED
        right = (money.refunded, money.charged) == (REFUNDED, stays)
        self._must(f"{REFUNDED} UAH are refunded, {stays} stay charged", right, money)
        references = [event.psp_reference for event in refunded.events if event.type.outcome == "SUCCESS"]
        self._must("the refund has a reference of its own", len(set(references)) == len(references), references)

    async def look(self) -> None:
        """Staff look at the payments in the Saleor Dashboard."""
        first, second = [_order_id(await self.saleor.transaction(each)) for each in (self.first, self.second)]
        listed, payment = await self._read("/payments"), await self._read(f"/payments/{first}")
        await self._shown()
        both = f"/{first}" in listed.text and f"/{second}" in listed.text
        self._must("the app lists the payments of both orders", both, _heading(listed))
        tells = payment.status_code == 200 and str(REFUNDED) in payment.text
        self._must("its page of the first payment tells of the refund", tells, _heading(payment))

    async def agree(self) -> None:
        """Saleor and the gateway have recorded the same."""
        for name, transaction_id in (("first", self.first), ("second", self.second)):
            transaction = await self.saleor.transaction(transaction_id)
            payment = await self.gateway.payment(_order_id(transaction))
            done = [each for each in payment.operations if each.status == "success"]
            refunded = sum((each.amount for each in done if each.method == "refund"), ZERO)
            captured = sum((each.amount for each in done if each.method == "capture"), ZERO)
            kept = (payment.amount if payment.method == "purchase" else captured) - refunded
            agree = (transaction.amounts.charged, transaction.amounts.refunded) == (kept, refunded)
            words = f"of the {name} payment, Saleor and the gateway say: {kept:.2f} UAH kept"
            self._must(words, agree, transaction.amounts)
        problems = await self._type("payments", "list", "--problems")
        await self._shown()
        self._must("no payment has a problem", problems == [], problems)

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
            self.output.place(name, url, what_for)
        command = f"APP_DATA_DIR={self.stack.data} saleor-gateway payments list"
        hint = f"The app's own view: {command}\nWhat you do is shown below. Ctrl-C ends everything."
        self.output.show("hint", Text(hint, "bold"), text=hint)

    # What must be true

    def _must(self, what: str, true: bool, found: object) -> None:
        """Show that something is right. Raises NotRightError with what was ``found``."""
        if not true:
            raise NotRightError(what, found)
        self.checks += 1
        self.output.check(what)

    async def _eventually(self, what: str, true: Callable[[], Awaitable[bool]]) -> None:
        """Wait until something holds. Raises NotRightError when it takes too long."""
        end = time.monotonic() + EVENTUALLY
        while not await true():
            if time.monotonic() > end:
                raise NotRightError(what, f"not within {EVENTUALLY:.0f} s")
            await asyncio.sleep(0.05)

    async def _heard(self, transaction_id: str, event: str) -> TransactionView:
        """Wait until Saleor has heard of an event, and nobody has anything left to say."""

        async def heard() -> bool:
            return event in (await self.saleor.transaction(transaction_id)).types()

        await self._eventually(f"Saleor hears {event}", heard)
        await self._quiet()
        return await self.saleor.transaction(transaction_id)

    async def _quiet(self) -> None:
        """Wait until nobody has anything left to say, and everything that was said is shown."""
        await self.saleor.background_done()
        await self.gateway.webhooks_idle()

        async def all_reported() -> bool:
            said = [(each.arguments["type"], each.arguments["pspReference"]) for each in await self.saleor.reports()]
            return all(
                (event.type.value, event.psp_reference) in said
                for transaction in await self.saleor.transactions()
                for event in transaction.events
                if event.type.outcome in {"SUCCESS", "FAILURE"}
            )

        await self._eventually("the app has told Saleor everything", all_reported)
        await self._shown()

    async def _shown(self) -> None:
        await self._eventually("everything that was said is shown", self.timeline.show_new)

    # Who does it

    async def _type(self, *words: str) -> Any:
        """Type a command of the app, and return what it answers in JSON. Raises NotRightError with its complaint."""
        async with self.timeline.exchange("operator", "app", f"$ saleor-gateway {shlex.join(words)}") as noted:
            status, output, complaint = await self.stack.type(*words, "--json")
            noted.answer, noted.failed = f"status {status}", status != 0
        try:
            return json.loads(output)
        except ValueError:
            raise NotRightError("the command works", f"{noted.answer}: {complaint}") from None

    async def _staff(self, said: str, action: Awaitable[ActionView]) -> None:
        async with self.timeline.exchange("staff", "Saleor", said) as noted:
            errors = (await action).errors
            noted.answer, noted.failed = ", ".join(error.message for error in errors) or "under way", bool(errors)

    async def _read(self, path: str) -> httpx2.Response:
        """Read one of the app's pages, as the Dashboard's frame shows it."""
        (app,) = await self.saleor.apps()
        token = await self.saleor.access_token(app.id)
        headers = {"Authorization": f"Bearer {token}", "Saleor-Api-Url": self.saleor.api_url}
        async with self.timeline.exchange("staff", "app", "open a page of the app in the Dashboard") as noted:
            page = await self.http.get(f"{self.urls['app']}/parts{path}", headers=headers)
            noted.answer = f"HTTP {page.status_code}"
        return page

    async def _check_out(self, way: str) -> str:
        """Press a button of the shop, which leads to a payment page; return the new transaction's id."""
        known = {each.id for each in await self.saleor.transactions()}
        await self._submit(f"{self.urls['shop']}/buy", way=way)
        (new,) = [each.id for each in await self.saleor.transactions() if each.id not in known]
        await self._heard(new, "INFO")
        return new

    async def _submit(self, address: str | None = None, **fields: str) -> None:
        """Press a button of a form, here or at another address, and go where it leads."""
        self.page = (await self.http.post(address or self.page.url, data=fields)).raise_for_status()

    async def _come_back(self) -> None:
        """Look at the app's return page until it knows how it went."""

        async def known() -> bool:
            self.page = await self.http.get(self.page.url)
            return "Back to the shop" in self.page.text

        async with self.timeline.exchange("shopper", "app", "comes back") as noted:
            await self._eventually("the return page knows how it went", known)
            noted.answer = f"“{_heading(self.page)}”"

    async def _back_to_shop(self) -> None:
        link = re.search(r'href="([^"]+)"[^>]*>Back to the shop<', self.page.text)
        if link is None:
            raise NotRightError("the return page leads back to the shop", _heading(self.page))
        self.page = await self.http.get(self.page.url.join(unescape(link[1])))
        await self._quiet()


def _order_id(transaction: TransactionView) -> str:
    """The gateway's order id of a transaction: the link to the payment's page at its events ends with it."""
    links = (each.external_url for each in transaction.events if each.external_url)
    return urlsplit(next(links, "")).path.rpartition("/")[2]


def _heading(page: httpx2.Response) -> str:
    found = re.search(r"<h1[^>]*>([^<]*)</h1>", page.text)
    return unescape(found[1]) if found else ""
