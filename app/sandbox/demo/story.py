"""The story that a demo plays, step by step, and what must be true after each.

Everything goes the way it goes in a shop: the shopper opens pages and presses buttons, the operator types commands,
staff press buttons; nobody asks a process for a favour that the real one would not do.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from decimal import Decimal
from urllib.parse import urlsplit

from app.saleor.testing.views import TransactionView
from app.sandbox.demo.browser import Page
from app.sandbox.demo.scene import Scene, said
from app.sandbox.demo.stage import Stage
from app.sandbox.demo.telling import Party

CHANNEL = "uah"
TOTAL = Decimal("569.50")
CAPTURED = Decimal("300.00")
REFUNDED = Decimal("100.00")
ZERO = Decimal(0)
CARD_WITH_3DS = "4000 0000 2122 0001"


@dataclass(frozen=True, slots=True)
class Step:
    """A chapter. ``about`` names the process whose log explains best why it went wrong."""

    name: str
    title: str
    about: str
    play: Callable[["Story"], Awaitable[None]]


class Story(Scene):
    """One telling of it, with what the people in it hold in their hands."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self._page: Page | None = None
        self.return_page = ""
        self._first = ""
        self._second = ""

    # The steps -----------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the processes."""
        with self.stage.teller.waiting("Three processes are starting"):
            await self.stage.start()
        urls = self.stage.urls
        self.right(f"Saleor {urls.saleor}, app {urls.app}, gateway {urls.gateway}: all three answer")

    async def install(self) -> None:
        """A store owner installs the app."""
        stage = self.stage
        manifest = f"{stage.urls.app}/api/manifest"
        async with stage.watcher.exchange(Party.STAFF, Party.SALEOR, f"install the app at {manifest}") as noted:
            installed = await stage.saleor.install(manifest)
            noted.answer = installed.status
        await self.quiet()
        self.must("Saleor has installed the app", installed.status == "INSTALLED", installed.message)
        (app,) = await stage.saleor.apps()
        self.must(
            "it is active, and may handle payments, nothing else",
            app.active and app.permissions == ["HANDLE_PAYMENTS"],
            app,
        )

    async def connect(self) -> None:
        """The operator adds a merchant account and gives it a channel."""
        stage = self.stage
        urls = stage.urls
        added = await self.type(
            *("accounts", "add", "--name", "Sandbox shop", "--base-url", urls.gateway, "--pos-id", stage.keys.pos_id),
            *("--storefront", urls.shop, "--test", "--json"),
        )
        account = self.read(added)
        await self.quiet()
        check = account.get("check") or {}
        self.must("the gateway takes the keys", check.get("ok") is True, check.get("wrong"), log=said(added))
        mapped = await self.type("channels", "map", CHANNEL, account["id"], "--json")
        route = self.read(mapped)
        await self.quiet()
        self.must(f"the money of the channel {CHANNEL} goes to it", route["account"] == account["id"], route)

    async def checkout(self) -> None:
        """A shopper checks out and is sent to the payment page."""
        self._first, self._page = await self._check_out("Check out")
        transaction = await self.transaction(self._first)
        self.must(
            "Saleor waits for the shopper, and counts nothing as paid",
            "CHARGE_ACTION_REQUIRED" in transaction.types() and transaction.amounts.charged == ZERO,
            transaction.types(),
        )
        self.must("the payment page asks for exactly what the basket costs", _asks(self._page, TOTAL), self._page.words)

    async def pay(self) -> None:
        """The shopper pays on the gateway's page."""
        page = await self.stage.browser.press(self.the_page, "Pay")
        self._page = await self._come_back(page)
        self.return_page = self._page.url.partition("?")[0]
        transaction = await self.told(self._first, "CHARGE_SUCCESS")
        await self.quiet()
        paid = await self.stage.gateway.payment(_order_id(transaction))
        self.must("the gateway has taken 569.50 UAH", (paid.status, paid.amount) == ("success", TOTAL), paid.status)
        webhooks = await self.stage.gateway.webhooks(paid.order_id)
        self.must("the app has kept every notification", all(each.state == "delivered" for each in webhooks), webhooks)
        self.must(
            "Saleor has heard of it once, and counts 569.50 as charged",
            transaction.types().count("CHARGE_SUCCESS") == 1 and transaction.amounts.charged == TOTAL,
            transaction.types(),
        )
        self.must(
            "Saleor's reference is the gateway's order id: one search finds both",
            transaction.event("CHARGE_SUCCESS").psp_reference == paid.order_id,
            transaction.event("CHARGE_SUCCESS").psp_reference,
        )
        self.must(
            "the shopper reads: Payment received", self.the_page.heading == "Payment received", self.the_page.words
        )

    async def order(self) -> None:
        """The shopper goes back to the shop, which places the order."""
        self._page = await self.stage.browser.open(self.the_page.link("Back to the shop"))
        await self.quiet()
        transaction = await self.transaction(self._first)
        self.must("there is an order", transaction.order_id is not None, self._page.words)
        order = await self.stage.saleor.order(transaction.order_id or "")
        self.must(f"order {order.number} is paid in full", order.charge_status == "FULL", order.charge_status)
        self.must("staff may refund it, and nothing else", transaction.actions == ["REFUND"], transaction.actions)

    async def reserve(self) -> None:
        """Another shopper pays in two steps, with a card that asks for 3-D Secure."""
        self._second, page = await self._check_out("Reserve")
        page = await self.stage.browser.press(page, "Reserve", number=CARD_WITH_3DS)
        page = await self.stage.browser.open(page.onward or "")
        page = await self.stage.browser.press(page, "Confirm")
        page = await self._come_back(page)
        await self.told(self._second, "AUTHORIZATION_SUCCESS")
        self._page = await self.stage.browser.open(page.link("Back to the shop"))
        await self.quiet()
        transaction = await self.transaction(self._second)
        order = await self.stage.saleor.order(transaction.order_id or "")
        self.must(
            f"order {order.number} is covered: 569.50 UAH reserved, nothing charged",
            (transaction.amounts.authorized, transaction.amounts.charged) == (TOTAL, ZERO)
            and order.authorize_status == "FULL",
            transaction.amounts,
        )
        self.must(
            "staff may charge it or cancel it", set(transaction.actions) == {"CHARGE", "CANCEL"}, transaction.actions
        )

    async def capture(self) -> None:
        """Staff charge a part of the reservation."""
        await self._staff(self._second, "Charge", str(CAPTURED))
        await self.told(self._second, "CANCEL_SUCCESS")
        await self.quiet()
        transaction = await self.transaction(self._second)
        money = transaction.amounts
        self.must(
            "300.00 UAH are charged, 269.50 released, nothing is reserved any more",
            (money.charged, money.canceled, money.authorized) == (CAPTURED, TOTAL - CAPTURED, ZERO),
            money,
        )

    async def refund(self) -> None:
        """Staff refund a part of the first order."""
        await self._staff(self._first, "Refund", str(REFUNDED))
        await self.told(self._first, "REFUND_SUCCESS")
        await self.quiet()
        transaction = await self.transaction(self._first)
        money = transaction.amounts
        self.must(
            "100.00 UAH are refunded, 469.50 stay charged",
            (money.refunded, money.charged) == (REFUNDED, TOTAL - REFUNDED),
            money,
        )
        references = [event.psp_reference for event in transaction.events if event.type.outcome == "SUCCESS"]
        self.must("the refund has a reference of its own", len(set(references)) == len(references), references)

    async def look(self) -> None:
        """Staff look at the app's pages in the Dashboard."""
        staff = self.stage.staff
        async with self.says(Party.STAFF, Party.APP, "open the app in the Dashboard") as noted:
            listed = await staff.read("/payments")
            noted.answer = f"“{listed.heading}”"
        first, second = [_order_id(await self.transaction(each)) for each in (self._first, self._second)]
        payment = await staff.read(f"/payments/{first}")
        await self.stage.watcher.catch_up()
        led_to = {address.rpartition("/")[2] for _, address in listed.links}
        self.must("the app lists the payments of both orders", {first, second} <= led_to, listed.words)
        self.must(
            "its page of the first payment tells of the refund",
            payment.status == 200 and f"{REFUNDED:.2f}" in payment.words,
            payment.words,
        )

    async def agree(self) -> None:
        """Compare the two ledgers."""
        for name, transaction_id in (("first", self._first), ("second", self._second)):
            saleor = (await self.transaction(transaction_id)).amounts
            payment = await self.stage.gateway.payment(_order_id(await self.transaction(transaction_id)))
            done = [each for each in payment.operations if each.status == "success"]
            refunded = sum((each.amount for each in done if each.method == "refund"), ZERO)
            captured = sum((each.amount for each in done if each.method == "capture"), ZERO)
            taken = payment.amount if payment.method == "purchase" else captured
            self.must(
                f"of the {name} payment, Saleor and the gateway say: {taken - refunded:.2f} UAH kept",
                (saleor.charged, saleor.refunded) == (taken - refunded, refunded),
                saleor,
            )
        problems = await self.type("payments", "list", "--problems", "--json")
        await self.quiet()
        self.must("no payment has a problem", self.read(problems) == [], problems.output)

    async def leave_open(self) -> None:
        """One more shopper checks out, and leaves the payment to the person."""
        _, self._page = await self._check_out("Check out")

    # How it is played ----------------------------------------------------------------------------------------

    @property
    def the_page(self) -> Page:
        """Where the shopper is."""
        if self._page is None:
            raise LookupError("the shopper is on no page")
        return self._page

    async def _check_out(self, button: str) -> tuple[str, Page]:
        """Press a button of the shop, and open the payment page that it leads to; give the transaction and the page."""
        stage = self.stage
        known = {each.id for each in await stage.saleor.transactions()}
        front = await stage.browser.open(stage.urls.shop)
        sent = await stage.browser.press(front, button)
        self.only_if(sent.onward is not None, "the shop sends the shopper to a payment page", sent.words)
        page = await stage.browser.open(sent.onward or "")
        (new,) = [each.id for each in await stage.saleor.transactions() if each.id not in known]
        await self.told(new, "INFO")
        await self.quiet()
        return new, page

    async def _come_back(self, page: Page) -> Page:
        """Follow the gateway's redirect to the app's return page, and look until it knows how it went."""
        back = page.onward
        self.only_if(back is not None, "the gateway sends the shopper back", page.words)

        async def known() -> Page | None:
            found = await self.stage.browser.open(back or "")
            return found if any(label == "Back to the shop" for label, _ in found.links) else None

        path = urlsplit(back or "").path.rpartition("/")[0]
        async with self.says(Party.SHOPPER, Party.APP, f"comes back (GET {path}/…)") as noted:
            found = await self.eventually("the return page knows how it went", known)
            noted.answer = f"“{found.heading}”"
        return found

    async def _staff(self, transaction_id: str, button: str, amount: str) -> None:
        """Press a button of the Dashboard, at one transaction."""
        order_id = (await self.transaction(transaction_id)).order_id or ""
        async with self.says(Party.STAFF, Party.SALEOR, f"{button} {amount}, on the order's page") as noted:
            pressed = await self.stage.staff.press(order_id, transaction_id, button, amount)
            noted.answer, noted.failed = ("under way", False) if pressed.onward else ("refused", True)


STEPS = (
    Step("start", "Three processes start", "app", Story.start),
    Step("install", "A store owner installs the app in the Saleor Dashboard", "app", Story.install),
    Step("connect", "The operator connects a merchant account", "gateway", Story.connect),
    Step("checkout", "A shopper checks out", "app", Story.checkout),
    Step("pay", "The shopper pays on the gateway's page", "app", Story.pay),
    Step("order", "The shopper is back in the shop", "app", Story.order),
    Step("reserve", "Another shopper's money is only reserved, after 3-D Secure", "app", Story.reserve),
    Step("capture", "Staff charge 300.00 UAH of it; the rest is released", "app", Story.capture),
    Step("refund", "Staff refund 100.00 UAH of the first order", "app", Story.refund),
    Step("look", "Staff look at the payments in the Saleor Dashboard", "app", Story.look),
    Step("agree", "Both ledgers tell the same story", "app", Story.agree),
)
LAST_STEP = Step("open", "A payment is left open for you", "app", Story.leave_open)


def _order_id(transaction: TransactionView) -> str:
    """The gateway's order id of a transaction: the link to the payment's page at its events ends with it."""
    links = (each.external_url for each in transaction.events if each.external_url)
    return urlsplit(next(links, "")).path.rpartition("/")[2]


def _asks(page: Page, amount: Decimal) -> bool:
    return f"{amount:.2f}\N{NO-BREAK SPACE}UAH" in page.words
