"""Requests of people, how each can lead to a point at which the app dies, and how people continue afterwards."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from gateway_client.sandbox.scripting import FaultRule
from saleor_app_sdk.testing.views import SessionView, TransactionView
from saleor_app_sdk.testing.vocabulary import Flow
from tests.journeys.audit import wait_until_settled
from tests.journeys.card_shop import allow_cards, sealed_card, typed
from tests.journeys.stack import Stack
from tests.journeys.stories import BACK, TOTAL, begin, order_id_of, paid_order, wait_for_event, wait_until_quiet

PART = Decimal("100.00")
REST = Decimal("469.50")
_FOR_EVER = 10_000

Arm = Callable[[], None]


@dataclass
class UserRequest:
    """A request of a person. ``path`` is the gateway's endpoint for it."""

    shop: Stack
    path: str
    transactions: list[str] = field(default_factory=list)

    async def prepare(self) -> None:
        """Prepare the state that the request needs."""
        raise NotImplementedError

    async def submit(self) -> None:
        """Submit the request and ignore the answer: the app may be dead by then."""
        raise NotImplementedError

    async def check_or_retry(self) -> bool:
        """Check whether it was done; if not, do what a person does then. Return True once it was."""
        raise NotImplementedError

    async def ask(self, arm: Arm) -> None:
        """Submit it with the gateway's notifications held back: only the answer to the call tells the outcome."""
        await self.shop.gateway.hold_webhooks()
        arm()
        await self.submit()

    async def submit_and_lose_answer(self, arm: Arm) -> None:
        """Submit it; the gateway's answer and notifications are lost: only a look-up tells the outcome."""
        await self.shop.gateway.hold_webhooks()
        await self.lose_next_answer()
        arm()
        await self.submit()

    async def submit_and_notify(self, arm: Arm) -> None:
        """Submit it; the gateway's answer is lost and look-ups fail: only its notification tells the outcome."""
        await self.shop.gateway.hold_webhooks()
        await self.lose_next_answer()
        await self.fail_look_ups()
        await self.submit()
        arm()
        await self.shop.gateway.release_webhooks()

    async def lose_next_answer(self) -> None:
        """Let the next call at ``path`` be carried out and not answered."""
        await self.shop.gateway.fault(
            FaultRule(http_method="POST", path=self.path, moment="after", effect="drop", times=1)
        )

    async def fail_look_ups(self, *, times: int = _FOR_EVER) -> None:
        """Let the next look-ups fail, or all."""
        rule = FaultRule(http_method="GET", path="/api/v1/pos/*", effect="status", status=503, times=times)
        await self.shop.gateway.fault(rule)

    async def transaction(self) -> TransactionView:
        """Return the newest of the request's transactions as Saleor has it now."""
        return await self.shop.saleor.transaction(self.transactions[-1])


@dataclass
class Pay(UserRequest):
    """A shopper wants to pay a basket, and tries again until it is paid."""

    path: str = "/api/v1/payment"
    checkout: str = ""

    async def prepare(self) -> None:
        """Fill the basket."""
        self.checkout = (await self.shop.saleor.create_checkout()).id

    async def submit(self) -> None:
        """Begin to pay."""
        self._remember(await self.shop.saleor.initialize(self.checkout, data=BACK))

    async def submit_and_notify(self, arm: Arm) -> None:
        """Begin, and pay on the page; look-ups fail."""
        await self.submit()
        await wait_for_event(self.shop, self.transactions[-1], "INFO")
        await wait_until_quiet(self.shop, self.transactions[-1])
        await self.fail_look_ups()
        arm()
        await self._pay_on(None)

    async def check_or_retry(self) -> bool:
        """Return to the shop; pay on the page if there is one, start over if that attempt has failed."""
        session = await self.shop.saleor.process(self.transactions[-1], data=BACK)
        event = session.event
        if event is not None and event.type == "CHARGE_SUCCESS":
            await paid_order(self.shop, self.checkout)
            return True
        page = (session.data or {}).get("checkoutUrl")
        if page is not None:
            await self._pay_on(page)
        elif event is not None and event.type == "CHARGE_FAILURE":
            await self.submit()
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
    """The gateway's answer with the page was lost: the app closes that page, so that the shopper can start over."""

    async def ask(self, arm: Arm) -> None:
        """Begin; the webhook cannot look the payment up, and the armed point is where the worker closes the page."""
        await self.shop.gateway.hold_webhooks()
        await self.lose_next_answer()
        await self.fail_look_ups(times=1)
        await self.submit()
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

    async def submit(self) -> None:
        """Pay."""
        self._remember(await self.shop.saleor.initialize(self.checkout, data=self.data))

    async def submit_and_notify(self, arm: Arm) -> None:
        """Pay; the gateway's answer is lost and look-ups fail: only its notification tells."""
        await UserRequest.submit_and_notify(self, arm)

    async def check_or_retry(self) -> bool:
        """Check whether it was paid; query the outcome, and start over if that attempt has failed."""
        if "CHARGE_SUCCESS" in (await self.transaction()).event_types():
            await paid_order(self.shop, self.checkout)
            return True
        session = await self.shop.saleor.process(self.transactions[-1], data=self.data)
        if session.event is not None and session.event.type == "CHARGE_FAILURE":
            await self.submit()
        return False


@dataclass
class StaffAction(UserRequest):
    """Staff request an action on a payment, which was made for ``flow`` and is paid unless ``unpaid``."""

    done: str = ""
    flow: Flow = Flow.CHARGE
    unpaid: bool = False
    request: Callable[[Stack, str], Awaitable[object]] | None = None

    async def prepare(self) -> None:
        """Let a shopper pay (or not), until the app and Saleor know it."""
        _, session = await begin(self.shop, self.flow)
        self.transactions.append(session.required_transaction.id)
        await wait_for_event(self.shop, session.required_transaction.id, "INFO")
        if not self.unpaid:
            await self.shop.gateway.pay(order_id_of(session))
            await wait_for_event(self.shop, session.required_transaction.id, f"{self.flow}_SUCCESS")
        await wait_until_quiet(self.shop, session.required_transaction.id)

    async def submit(self) -> None:
        """Request it in the Dashboard."""
        assert self.request is not None
        await self.request(self.shop, self.transactions[-1])
        await self.shop.saleor.wait_for_background()

    async def check_or_retry(self) -> bool:
        """Check the payment when all is quiet; request it again if it was not done."""
        await wait_until_settled(self.shop)
        if self.done in (await self.transaction()).event_types():
            return True
        await self.submit()
        return False


@dataclass
class RefundTwice(StaffAction):
    """A second refund, which has to wait until the first is settled."""

    path: str = "/api/v1/refund"
    done: str = "REFUND_SUCCESS"

    async def ask(self, arm: Arm) -> None:
        """Request the first, whose outcome is unknown for a while; then the second, which waits."""
        await self.shop.gateway.hold_webhooks()
        await self.lose_next_answer()
        await self.fail_look_ups()
        await self.shop.saleor.refund(self.transactions[-1], PART)
        await self.shop.saleor.wait_for_background()
        arm()
        await self.shop.saleor.refund(self.transactions[-1], REST)
        await self.shop.saleor.wait_for_background()
        await self.shop.gateway.clear_rules()

    async def submit(self) -> None:
        """Request the remaining amount."""
        await self.shop.saleor.refund(self.transactions[-1], REST)
        await self.shop.saleor.wait_for_background()

    async def check_or_retry(self) -> bool:
        """Check whether both were done; request the second again if it was not."""
        await wait_until_settled(self.shop)
        if (await self.transaction()).event_types().count(self.done) == 2:
            return True
        await self.submit()
        return False


async def _charge(shop: Stack, transaction_id: str) -> None:
    await shop.saleor.charge(transaction_id, TOTAL)


async def _refund(shop: Stack, transaction_id: str) -> None:
    await shop.saleor.refund(transaction_id, PART)


async def _cancel(shop: Stack, transaction_id: str) -> None:
    await shop.saleor.cancel(transaction_id)


USER_REQUESTS: dict[str, Callable[[Stack], UserRequest]] = {
    "create": Pay,
    "card_payment": PayByCard,
    "capture": lambda shop: StaffAction(
        shop, "/api/v1/capture", done="CHARGE_SUCCESS", flow=Flow.AUTHORIZATION, request=_charge
    ),
    "void": lambda shop: StaffAction(
        shop, "/api/v1/void", done="CANCEL_SUCCESS", flow=Flow.AUTHORIZATION, request=_cancel
    ),
    "refund": lambda shop: StaffAction(shop, "/api/v1/refund", done="REFUND_SUCCESS", request=_refund),
    "cancel": lambda shop: StaffAction(
        shop, "/api/v1/pos/*/cancel", done="CANCEL_SUCCESS", unpaid=True, request=_cancel
    ),
    "refund_that_waits": RefundTwice,
    "closing_of_a_lost_page": PayAfterALostPage,
}
