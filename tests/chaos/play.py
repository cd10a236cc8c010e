"""Plays a story on a harness, and ends it: every system answers again, and all timeouts pass."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import httpx2

from gateway_client.sandbox.core.gateway_state import Script
from gateway_client.sandbox.core.records import Payment
from gateway_client.sandbox.deliveries import Delivery
from saleor_app_sdk.testing.records import Transaction
from saleor_app_sdk.testing.saleor_state import Delivery as Webhook
from saleor_app_sdk.testing.settings import SaleorFaults
from saleor_app_sdk.testing.vocabulary import Flow
from tests.chaos import laws
from tests.chaos.gateway_side import GatewaySide, card_of
from tests.chaos.harness import MANIFEST, Harness
from tests.chaos.shares import BASKET
from tests.chaos.staff import Staff
from tests.chaos.story import (
    ActInPortal,
    AddGiftCard,
    BankDecides,
    BeginPayment,
    BreakSaleor,
    CatchUp,
    ChangeTotal,
    Confirm3DSecure,
    DeliverNotification,
    Dispute,
    Ending,
    EndOrder,
    HoldNotifications,
    MoveSaleor,
    NextCall,
    NextWebhook,
    PassTime,
    Pay,
    RenameChannel,
    ReplayWebhook,
    RequestConcurrently,
    RequestGrantAgain,
    RequestInApp,
    RequestInSaleor,
    RestartApp,
    ReturnToShop,
    RunWorker,
    ScriptBankCode,
    SetAppStatus,
    Step,
    Story,
    SwitchKeys,
)
from tests.payments.cards.seals import BROWSER, seal

_SALEOR_FAULTS: dict[str, dict[str, Any]] = {
    "down": {"graphql_status": 503},
    "broken": {"graphql_internal_error": True},
    "mute": {"graphql_answer_lost": True},
    "odd": {"graphql_body": "null"},
}
_LONGEST_WAIT = timedelta(days=3)


async def play(harness: Harness, story: Story) -> None:
    """Play a whole story. Raises AssertionError where a law is broken."""
    await harness.clear(dict(story.gateway))
    run = _Run(harness)
    harness.gate.perform = harness.app.perform = run.perform
    for step in story.steps:
        await run.perform(step)
        await run.settle_step()
    await run.end(story.ending)
    await laws.check_end(harness)


def _amount_to_pay(data: Any) -> Decimal | None:
    """Return the amount that a refusal names instead of the one that was requested; None if it names none."""
    errors = data.get("errors") if isinstance(data, dict) else None
    amount = errors[0].get("amountToPay") if errors else None
    return None if amount is None else Decimal(str(amount))


@dataclass
class _Run:
    harness: Harness
    held: bool = False
    keys: list[tuple[str, str, Flow]] = field(default_factory=list)
    memory: laws.Memory = field(default_factory=laws.Memory)
    staff: Staff = field(init=False)
    gateway: GatewaySide = field(init=False)

    def __post_init__(self) -> None:
        self.staff, self.gateway = Staff(self.harness), GatewaySide(self.harness)

    async def settle_step(self) -> None:
        """Follow up on a step: restart the app if it died, deliver notifications, check the cheap laws."""
        if self.harness.app.dead:
            self.harness.log.append("    the app is started again")
            await self.harness.app.start()
        if not self.held:
            await self._deliver(lambda delivery: delivery.state == "waiting")
        await laws.check_after_step(self.harness, self.memory)

    async def perform(self, step: Step) -> None:
        """Perform one step."""
        self.harness.log.append(repr(step))
        result = await self._perform(step)
        if result:
            self.harness.log.append(f"    {result}")

    async def _perform(self, step: Step) -> str | None:  # noqa: PLR0911, PLR0912 - a branch for each kind of step
        harness = self.harness
        match step:
            case BeginPayment():
                return await self._begin(step)
            case Pay() | Confirm3DSecure():
                return self.gateway.pay(step, self._payment(step.on))
            case ReturnToShop():
                return await self._return_to_shop(step)
            case RequestInSaleor():
                return await self.staff.request(step, self._transaction(step.on))
            case RequestGrantAgain():
                return await self.staff.request_grant_again(self._transaction(step.on))
            case RequestConcurrently():
                both = [self._transaction(request_in_saleor.on) for request_in_saleor in (step.first, step.second)]
                return await self.staff.request_concurrently(step, *both)
            case EndOrder(how):
                return self.staff.end_order(self._transaction(0), how)
            case ChangeTotal(total):
                return self.staff.change_total(self._source(), total)
            case AddGiftCard(amount):
                return self.staff.add_gift_card(self._source(), amount)
            case RenameChannel():
                return self.staff.rename_channel()
            case MoveSaleor(known):
                return await (harness.record_move() if known else harness.move_saleor())
            case SetAppStatus():
                return await self._set_app_status(step.what)
            case RequestInApp():
                return await self.staff.request_in_app(step, self._transaction(step.on))
            case ReplayWebhook():
                return await self._replay_webhook(step.number)
            case ActInPortal():
                return self.gateway.act_in_portal(step, self._payment(step.on))
            case Dispute():
                return self.gateway.dispute(step, self._payment(step.on))
            case ScriptBankCode():
                harness.sandbox.state.scripts.append(Script(status_code=step.code, method=step.method))
            case BankDecides():
                entries = [*self.gateway.pending(), *self.gateway.decided_disputes()]
                return self.gateway.decide(entries, success=step.success)
            case HoldNotifications():
                self.held = step.held
            case DeliverNotification():
                notifications = harness.sandbox.deliveries
                return (
                    await self._deliver_one(notifications[step.number % len(notifications)])
                    if notifications
                    else "there is none"
                )
            case PassTime():
                harness.clock.forward(minutes=step.minutes)
                harness.sandbox.catch_up()
                return f"Saleor tries {again} again" if (again := await harness.retries.wake()) else None
            case RunWorker():
                return f"{await harness.app.work(step.rounds)} jobs"
            case CatchUp():
                return await self._catch_up()
            case BreakSaleor():
                fault = {**_SALEOR_FAULTS[step.what], "graphql_times": step.times}
                harness.saleor.state.faults = SaleorFaults.model_validate(fault)
            case NextWebhook():
                harness.app.fates.append(step)
            case RestartApp():
                if not harness.app.dead:  # while a call is in progress that would be a crash: NextCall covers that
                    harness.app.die()
            case SwitchKeys():
                await harness.keys(opening=step.open)
            case NextCall():
                (harness.gate.polls if step.look else harness.gate.calls).append(step)
        return None

    async def _catch_up(self) -> str:
        if not self.held:
            await self._deliver(lambda delivery: delivery.state == "waiting")
        return f"{await self.harness.app.work(5)} jobs"

    async def _set_app_status(self, what: str) -> str | None:
        apps, there = self.harness.saleor.apps, bool(self.harness.saleor.state.apps)
        if what == "installed":
            return "it is there" if there else (await apps.install(MANIFEST)).status
        if not there:
            return "it is not there"
        told = {"inactive": apps.deactivate, "active": apps.activate, "deleted": apps.uninstall}
        await self.harness.run_until_delivered(told[what])
        return None

    # The shopper -------------------------------------------------------------------------------------------------

    async def _begin(self, step: BeginPayment) -> str:
        storefront, source, flow = self.harness.saleor.storefront, self._source(), Flow(step.flow)
        key = f"key-{len(self.keys)}"
        if step.again and self.keys:
            source, key, flow = self.keys[-1]
        if source not in self.harness.saleor.state.checkouts and source not in self.harness.saleor.state.orders:
            return "the checkout has become an order"
        data = await self._typed_card(source, step.card) if step.card else None
        if step.card and data is None:
            return "the storefront has no key to seal a card for"
        self.keys.append((source, key, flow))
        session = await storefront.initialize(source, action=flow, idempotency_key=key, data=data)
        left = _amount_to_pay(session.data)
        if step.corrects and left:
            self.harness.log.append(f"    refused, and {left} is requested instead")
            key = f"{key}-corrected"
            session = await storefront.initialize(source, amount=left, action=flow, idempotency_key=key, data=data)
        if session.internal_error:
            self.harness.gate.violations.append(AssertionError(f"Saleor breaks: {session.internal_error}"))
        return f"{session.event.type}: {session.event.message}" if session.event else str(session.errors)

    async def _typed_card(self, source: str, code: str) -> dict[str, Any] | None:
        """Seal a card for the key that the app offers, as a storefront does. None: it offers none now."""
        offer = (await self.harness.saleor.storefront.gateway_initialize(source)).data
        if not isinstance(offer, dict) or "card" not in offer:
            return None
        card = {"number": card_of(code), "expMonth": 12, "expYear": 2040, "cvv": "737", "for": source}
        return {"card": seal(card, offer["card"]["jwk"]), "browserFingerprint": BROWSER}

    def _source(self) -> str:
        state = self.harness.saleor.state
        sources = [*state.checkouts, *state.orders]
        return sources[0] if sources else self.harness.saleor.storefront.create_checkout(BASKET).id

    async def _return_to_shop(self, step: ReturnToShop) -> str:
        transaction = self._transaction(step.on)
        if transaction is None:
            return "there is no payment"
        if step.page:
            address = f"http://127.0.0.1:8100/pay/return/{transaction.token.replace('-', '')}"
            return str((await self._send(httpx2.Request("GET", address))) or "the app is not there")
        session = await self.harness.saleor.storefront.process(transaction.id)
        return f"{session.event.type}: {session.event.message}" if session.event else str(session.errors)

    # Replays ------------------------------------------------------------------------------------------------------

    async def _replay_webhook(self, number: int) -> str:
        sent = [d for d in self.harness.saleor.state.deliveries if d.event.startswith("transaction_")]
        if not sent:
            return "there is none"
        webhook = sent[number % len(sent)]
        answer = await self._send(
            httpx2.Request("POST", webhook.url, headers=webhook.headers, content=webhook.body.encode())
        )
        if answer is None:
            return "the app is not there"
        if laws.has_binding_answer(webhook) and answer.status_code == 200:
            self._check_same_reference(webhook, answer)
        return f"{webhook.event}: {answer.status_code}"

    def _check_same_reference(self, webhook: Webhook, answer: httpx2.Response) -> None:
        """Law 4: the same request gets the same reference."""
        before, now = laws.reference_of(webhook.answer or ""), laws.reference_of(answer.text)
        if before != now:
            self.harness.gate.violations.append(AssertionError(f"{webhook.event} was {before} and is {now}"))

    # Notifications ------------------------------------------------------------------------------------------------

    async def _deliver(self, which: Callable[[Delivery], bool], *, newest_first: bool = False) -> None:
        notifications = [delivery for delivery in self.harness.sandbox.deliveries if which(delivery)]
        for notification in reversed(notifications) if newest_first else notifications:
            result = await self._deliver_one(notification)
            self.harness.log.append(f"    notification {notification.method} {notification.status}: {result}")

    async def _deliver_one(self, notification: Delivery) -> str:
        form = {"data": notification.data, "signature": notification.signature}
        answer = await self._send(httpx2.Request("POST", notification.url, data=form))
        if answer is None or answer.status_code != 200:
            return "not taken"
        notification.state = "delivered"
        return "taken"

    async def _send(self, request: httpx2.Request) -> httpx2.Response | None:
        try:
            return await self.harness.http.send(request)
        except httpx2.TransportError:
            return None

    # Look-ups ----------------------------------------------------------------------------------------------------

    def _transaction(self, on: int) -> Transaction | None:
        known = list(self.harness.saleor.state.transactions.values())
        return known[on % len(known)] if known else None

    def _payment(self, on: int) -> Payment | None:
        transaction = self._transaction(on)
        payments = laws.gateway_payments(self.harness, transaction) if transaction else []
        return payments[-1] if payments else None

    # The end -----------------------------------------------------------------------------------------------------

    async def end(self, ending: Ending) -> None:
        """End the faults: every system answers, what is pending ends, and time passes until nothing is left to do."""
        harness = self.harness
        harness.log.append(repr(ending))
        harness.gate.calls.clear()
        harness.gate.polls.clear()
        harness.gate.perform = harness.app.perform = None
        harness.app.fates.clear()
        await harness.restore_app()
        await harness.record_move()
        harness.saleor.state.faults = SaleorFaults()
        harness.sandbox.state.scripts.clear()
        self._settle(ending)
        if ending.notifications != "lost":
            await self._deliver(
                lambda notification: notification.state == "waiting",
                newest_first=ending.notifications == "newest first",
            )
        for order_id in sorted(self.gateway.unannounced):  # no notification arrives; staff have the app look it up
            harness.log.append(f"staff look {order_id} up: {await self.staff.look_up(order_id)}")
        await self._pass_the_time(ending)

    def _settle(self, ending: Ending) -> None:
        if ending.bank is not None:
            self.gateway.decide(self.gateway.pending(), success=ending.bank)

    async def _pass_the_time(self, ending: Ending) -> None:
        harness, pause, end = self.harness, timedelta(seconds=10), self.harness.clock.now + _LONGEST_WAIT
        while True:
            harness.sandbox.catch_up()
            self._settle(ending)
            # The app finds out by itself about its own operations; only notifications report those of others.
            await self._deliver(
                lambda notification: notification.state == "waiting" and self._is_of_others(notification.operation_id)
            )
            due = await harness.next_due()
            if due is not None and due <= harness.clock.now and await harness.app.work(1):
                continue
            if await harness.retries.wake():
                continue
            ahead = (due, harness.retries.next_due, laws.next_gateway_change_at(harness))
            moments = [moment for moment in ahead if moment is not None]
            if not moments or harness.clock.now >= end:
                break
            harness.clock.now = min(max(min(moments), harness.clock.now + pause), end)
            pause *= 2
        harness.clock.forward(hours=2)  # Saleor is asked once more about money and orders that have parted
        await harness.app.work(5)

    def _is_of_others(self, operation_id: UUID | None) -> bool:
        return operation_id is not None and operation_id not in self.harness.gate.ours
