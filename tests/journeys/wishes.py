"""What people want done, how each wish can lead to a point at which the app dies, and how people go on afterwards."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from app.saleor.testing.views import SessionView, TransactionView
from app.saleor.testing.vocabulary import Flow
from app.sandbox.scripting import FaultRule
from tests.journeys.audit import at_rest
from tests.journeys.card_shop import allow_cards, sealed_card, typed
from tests.journeys.stack import Stack
from tests.journeys.stories import BACK, TOTAL, begin, order_id_of, paid_order, quiet, told

PART = Decimal("100.00")
REST = Decimal("469.50")
_FOR_EVER = 10_000

Arm = Callable[[], None]


@dataclass
class StaffRequest:
    """Something that a person wants done. ``path`` is where the app asks the gateway for it."""

    shop: Stack
    path: str
    transactions: list[str] = field(default_factory=list)

    async def prepare(self) -> None:
        """Bring about what must be there before."""
        raise NotImplementedError

    async def express(self) -> None:
        """Ask for it, and take no notice of the answer: the app may be dead by then."""
        raise NotImplementedError

    async def insist(self) -> bool:
        """Look whether it was done; if not, do what a person does then. Return True once it was."""
        raise NotImplementedError

    async def ask(self, arm: Arm) -> None:
        """Ask, with the gateway's notifications held back: the answer to the call is the only news."""
        await self.shop.gateway.hold_webhooks()
        arm()
        await self.express()

    async def ask_and_lose_the_answer(self, arm: Arm) -> None:
        """Ask; the gateway does it, but its answer is lost and so are its notifications: only a look-up tells."""
        await self.shop.gateway.hold_webhooks()
        await self.lose_an_answer()
        arm()
        await self.express()

    async def ask_and_be_notified(self, arm: Arm) -> None:
        """Ask; the gateway's answer is lost and look-ups fail: only its notification tells."""
        await self.shop.gateway.hold_webhooks()
        await self.lose_an_answer()
        await self.blind()
        await self.express()
        arm()
        await self.shop.gateway.release_webhooks()

    async def lose_an_answer(self) -> None:
        """Let the next call at ``path`` be carried out and not answered."""
        await self.shop.gateway.fault(
            FaultRule(http_method="POST", path=self.path, moment="after", effect="drop", times=1)
        )

    async def blind(self, *, times: int = _FOR_EVER) -> None:
        """Let the next look-ups fail, or all."""
        rule = FaultRule(http_method="GET", path="/api/v1/pos/*", effect="status", status=503, times=times)
        await self.shop.gateway.fault(rule)

    async def transaction(self) -> TransactionView:
        """Return the newest of the wish's transactions as Saleor has it now."""
        return await self.shop.saleor.transaction(self.transactions[-1])


@dataclass
class Pay(StaffRequest):
    """A shopper wants to pay a basket, and tries again until it is paid."""

    path: str = "/api/v1/payment"
    checkout: str = ""

    async def prepare(self) -> None:
        """Fill the basket."""
        self.checkout = (await self.shop.saleor.new_checkout()).id

    async def express(self) -> None:
        """Begin to pay."""
        self._remember(await self.shop.saleor.initialize(self.checkout, data=BACK))

    async def ask_and_be_notified(self, arm: Arm) -> None:
        """Begin, and pay on the page; look-ups fail."""
        await self.express()
        await told(self.shop, self.transactions[-1], "INFO")
        await quiet(self.shop, self.transactions[-1])
        await self.blind()
        arm()
        await self._pay_on(None)

    async def insist(self) -> bool:
        """Come back to the shop; pay on the page if there is one, begin anew if that attempt has failed."""
        session = await self.shop.saleor.process(self.transactions[-1], data=BACK)
        event = session.event
        if event is not None and event.type == "CHARGE_SUCCESS":
            await paid_order(self.shop, self.checkout)
            return True
        page = (session.data or {}).get("checkoutUrl")
        if page is not None:
            await self._pay_on(page)
        elif event is not None and event.type == "CHARGE_FAILURE":
            await self.express()
        return False

    async def _pay_on(self, page: str | None) -> None:
        for payment in await self.shop.gateway.payments():
            if payment.status == "init" and page in {None, payment.checkout_url}:
                await self.shop.gateway.pay(payment.order_id)

    def _remember(self, session: SessionView) -> None:
        if session.transaction is not None and session.transaction.id not in self.transactions:
            self.transactions.append(session.transaction.id)


@dataclass
class PayAfterALostPage(Pay):
    """The gateway's answer with the page was lost: the app closes that page, so that the shopper can begin anew."""

    async def ask(self, arm: Arm) -> None:
        """Begin; the webhook cannot look the payment up, and what is armed comes when the worker closes the page."""
        await self.shop.gateway.hold_webhooks()
        await self.lose_an_answer()
        await self.blind(times=1)
        await self.express()
        arm()


@dataclass
class PayByCard(Pay):
    """A shopper pays with a card typed into the storefront: no page, nothing left to do once the call has gone."""

    data: dict[str, Any] = field(default_factory=dict)

    async def prepare(self) -> None:
        """Fill the basket, and type the card."""
        await allow_cards(self.shop)
        await super().prepare()
        self.data = await sealed_card(self.shop, typed(), self.checkout)

    async def express(self) -> None:
        """Pay."""
        self._remember(await self.shop.saleor.initialize(self.checkout, data=self.data))

    async def ask_and_be_notified(self, arm: Arm) -> None:
        """Pay; the gateway's answer is lost and look-ups fail: only its notification tells."""
        await StaffRequest.ask_and_be_notified(self, arm)

    async def insist(self) -> bool:
        """Look whether it was paid; ask what became of it, and begin anew if that attempt has failed."""
        if "CHARGE_SUCCESS" in (await self.transaction()).types():
            await paid_order(self.shop, self.checkout)
            return True
        session = await self.shop.saleor.process(self.transactions[-1], data=self.data)
        if session.event is not None and session.event.type == "CHARGE_FAILURE":
            await self.express()
        return False


@dataclass
class Act(StaffRequest):
    """Staff want something done to a payment: it was made for ``flow``, and is paid unless ``unpaid``."""

    done: str = ""
    flow: Flow = Flow.CHARGE
    unpaid: bool = False
    request: Callable[[Stack, str], Awaitable[object]] | None = None

    async def prepare(self) -> None:
        """Let a shopper pay (or not), and everybody hear of it."""
        _, session = await begin(self.shop, self.flow)
        self.transactions.append(session.paid_for.id)
        await told(self.shop, session.paid_for.id, "INFO")
        if not self.unpaid:
            await self.shop.gateway.pay(order_id_of(session))
            await told(self.shop, session.paid_for.id, f"{self.flow}_SUCCESS")
        await quiet(self.shop, session.paid_for.id)

    async def express(self) -> None:
        """Ask for it in the Dashboard."""
        assert self.request is not None
        await self.request(self.shop, self.transactions[-1])
        await self.shop.saleor.background_done()

    async def insist(self) -> bool:
        """Look at the payment when all is quiet; ask again if it was not done."""
        await at_rest(self.shop)
        if self.done in (await self.transaction()).types():
            return True
        await self.express()
        return False


@dataclass
class RefundTwice(Act):
    """A second refund, which has to wait until the first is settled."""

    path: str = "/api/v1/refund"
    done: str = "REFUND_SUCCESS"

    async def ask(self, arm: Arm) -> None:
        """Ask for the first, of which nothing is known for a while; then for the second, which waits."""
        await self.shop.gateway.hold_webhooks()
        await self.lose_an_answer()
        await self.blind()
        await self.shop.saleor.refund(self.transactions[-1], PART)
        await self.shop.saleor.background_done()
        arm()
        await self.shop.saleor.refund(self.transactions[-1], REST)
        await self.shop.saleor.background_done()
        await self.shop.gateway.clear_rules()

    async def express(self) -> None:
        """Ask for what is left."""
        await self.shop.saleor.refund(self.transactions[-1], REST)
        await self.shop.saleor.background_done()

    async def insist(self) -> bool:
        """Look whether both were done; ask for the second again if it was not."""
        await at_rest(self.shop)
        if (await self.transaction()).types().count(self.done) == 2:
            return True
        await self.express()
        return False


async def _charge(shop: Stack, transaction_id: str) -> None:
    await shop.saleor.charge(transaction_id, TOTAL)


async def _refund(shop: Stack, transaction_id: str) -> None:
    await shop.saleor.refund(transaction_id, PART)


async def _cancel(shop: Stack, transaction_id: str) -> None:
    await shop.saleor.cancel(transaction_id)


WISHES: dict[str, Callable[[Stack], StaffRequest]] = {
    "create": Pay,
    "card_payment": PayByCard,
    "capture": lambda shop: Act(
        shop, "/api/v1/capture", done="CHARGE_SUCCESS", flow=Flow.AUTHORIZATION, request=_charge
    ),
    "void": lambda shop: Act(shop, "/api/v1/void", done="CANCEL_SUCCESS", flow=Flow.AUTHORIZATION, request=_cancel),
    "refund": lambda shop: Act(shop, "/api/v1/refund", done="REFUND_SUCCESS", request=_refund),
    "cancel": lambda shop: Act(shop, "/api/v1/pos/*/cancel", done="CANCEL_SUCCESS", unpaid=True, request=_cancel),
    "refund_that_waits": RefundTwice,
    "closing_of_a_lost_page": PayAfterALostPage,
}
