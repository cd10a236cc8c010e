"""Lets a story happen on a harness, and ends it: everybody answers again, and all time-outs pass."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx2

from app.saleor.testing.records import Transaction
from app.saleor.testing.saleor_state import Delivery as Webhook
from app.saleor.testing.settings import SaleorFaults
from app.saleor.testing.vocabulary import Flow
from app.sandbox.core import attempts, secondary
from app.sandbox.core.cards import coded_card
from app.sandbox.core.codes import Status
from app.sandbox.core.creation import card_on_file
from app.sandbox.core.gateway_state import Script
from app.sandbox.core.records import Operation, Payment
from app.sandbox.core.refusals import RefusalError
from app.sandbox.deliveries import Delivery
from tests.chaos import laws
from tests.chaos.harness import MANIFEST, Harness
from tests.chaos.shares import BASKET, in_the_portal
from tests.chaos.staff import Staff
from tests.chaos.story import (
    AppIs,
    AskAtOnce,
    Asks,
    AsksAgain,
    Begins,
    CatchesUp,
    ComesBack,
    Confirms,
    Decides,
    Disputes,
    Ending,
    Keys,
    Letter,
    NextCall,
    NextWebhook,
    Passes,
    Pays,
    PlaysBack,
    Portal,
    Post,
    Restarts,
    SaleorIs,
    SaleorMoves,
    Step,
    Story,
    Wants,
    WillEnd,
    Works,
)

_TROUBLES: dict[str, dict[str, Any]] = {
    "down": {"graphql_status": 503},
    "broken": {"graphql_internal_error": True},
    "mute": {"graphql_answer_lost": True},
}
_LONGEST_QUIET = timedelta(days=3)


async def play(harness: Harness, story: Story) -> None:
    """Tell a whole story. Raises AssertionError where a law is broken."""
    await harness.clear(dict(story.gateway))
    run = _Run(harness)
    harness.gate.meanwhile = harness.app.meanwhile = run.perform
    for step in story.steps:
        await run.perform(step)
        await run.breathe()
    await run.end(story.ending)
    await laws.at_the_end(harness)


@dataclass
class _Run:
    harness: Harness
    held: bool = False
    keys: list[tuple[str, str, Flow]] = field(default_factory=list)
    memory: laws.Memory = field(default_factory=laws.Memory)
    in_silence: set[str] = field(default_factory=set)
    staff: Staff = field(init=False)

    def __post_init__(self) -> None:
        self.staff = Staff(self.harness)

    async def breathe(self) -> None:
        """What follows each step: the app is started if it died, notifications arrive, the cheap laws are looked at."""
        if self.harness.app.dead:
            self.harness.told.append("    the app is started again")
            await self.harness.app.start()
        if not self.held:
            await self._deliver(lambda delivery: delivery.state == "waiting")
        await laws.after_each_step(self.harness, self.memory)

    async def perform(self, step: Step) -> None:
        """Let one thing happen."""
        self.harness.told.append(repr(step))
        said = await self._perform(step)
        if said:
            self.harness.told.append(f"    {said}")

    async def _perform(self, step: Step) -> str | None:  # noqa: PLR0911, PLR0912 - a branch for each kind of step
        harness = self.harness
        match step:
            case Begins():
                return await self._begin(step)
            case Pays() | Confirms():
                return self._pay(step)
            case ComesBack():
                return await self._come_back(step)
            case Asks():
                return await self.staff.ask(step, self._transaction(step.on))
            case AsksAgain():
                return await self.staff.ask_again(self._transaction(step.on))
            case AskAtOnce():
                both = [self._transaction(each.on) for each in (step.first, step.second)]
                return await self.staff.ask_at_once(step, *both)
            case SaleorMoves(known):
                return await (harness.operator_moves_it() if known else harness.saleor_moves())
            case AppIs():
                return await self._make_of_the_app(step.what)
            case Wants():
                return await self.staff.want(step, self._transaction(step.on))
            case PlaysBack():
                return await self._play_back(step.number)
            case Portal():
                return self._portal(step)
            case Disputes():
                return self._dispute(step)
            case WillEnd():
                harness.sandbox.state.scripts.append(Script(status_code=step.code, method=step.method))
            case Decides():
                return self._decide(success=step.success, entries=self._pending())
            case Post():
                self.held = step.held
            case Letter():
                letters = harness.sandbox.deliveries
                return await self._post(letters[step.number % len(letters)]) if letters else "there is none"
            case Passes():
                harness.clock.forward(minutes=step.minutes)
                harness.sandbox.catch_up()
                return f"Saleor tries {again} again" if (again := await harness.retries.wake()) else None
            case Works():
                return f"{await harness.app.work(step.rounds)} jobs"
            case CatchesUp():
                return await self._catch_up()
            case SaleorIs():
                trouble = {**_TROUBLES[step.what], "graphql_times": step.times}
                harness.saleor.state.faults = SaleorFaults.model_validate(trouble)
            case NextWebhook():
                harness.app.fates.append(step)
            case Restarts():
                if not harness.app.dead:  # while a call is under way that would be a death: NextCall has that
                    harness.app.die()
            case Keys():
                await harness.keys(opening=step.open)
            case NextCall():
                (harness.gate.polls if step.look else harness.gate.calls).append(step)
        return None

    async def _catch_up(self) -> str:
        if not self.held:
            await self._deliver(lambda delivery: delivery.state == "waiting")
        return f"{await self.harness.app.work(5)} jobs"

    async def _make_of_the_app(self, what: str) -> str | None:
        apps, there = self.harness.saleor.apps, bool(self.harness.saleor.state.apps)
        if what == "installed":
            return "it is there" if there else (await apps.install(MANIFEST)).status
        if not there:
            return "it is not there"
        told = {"inactive": apps.deactivate, "active": apps.activate, "deleted": apps.uninstall}
        await self.harness.until_heard(told[what])
        return None

    # The shopper -------------------------------------------------------------------------------------------------

    async def _begin(self, step: Begins) -> str:
        storefront, source, flow = self.harness.saleor.storefront, self._source(), Flow(step.flow)
        key = f"key-{len(self.keys)}"
        if step.again and self.keys:
            source, key, flow = self.keys[-1]
        if source not in self.harness.saleor.state.checkouts and source not in self.harness.saleor.state.orders:
            return "the checkout has become an order"
        self.keys.append((source, key, flow))
        session = await storefront.initialize(source, action=flow, idempotency_key=key)
        if session.internal_error:
            self.harness.gate.wrong.append(AssertionError(f"Saleor breaks: {session.internal_error}"))
        return f"{session.event.type}: {session.event.message}" if session.event else str(session.errors)

    def _source(self) -> str:
        state = self.harness.saleor.state
        sources = [*state.checkouts, *state.orders]
        return sources[0] if sources else self.harness.saleor.storefront.new_checkout(BASKET).id

    def _pay(self, step: Pays | Confirms) -> str:
        sandbox, payment = self.harness.sandbox, self._payment(step.on)
        sandbox.catch_up()
        if payment is None:
            return "there is no page"
        now = sandbox.now()
        if isinstance(step, Confirms):
            if not payment.waits_for_payer:
                return "nobody asked"
            attempts.answer_challenge(sandbox.state, payment, now, passed=step.passed)
        else:
            if payment.status is not Status.INIT:
                return f"the page says {payment.status}"
            number = "4242424242424242" if step.code == "1000" else coded_card(step.code)
            attempts.attempt(sandbox.state, payment, card_on_file(sandbox.state, payment.pos_id, number, now), now)
        sandbox.publish_changes()
        return f"{payment.status} {payment.status_code}"

    async def _come_back(self, step: ComesBack) -> str:
        transaction = self._transaction(step.on)
        if transaction is None:
            return "there is no payment"
        if step.page:
            address = f"http://127.0.0.1:8100/pay/return/{transaction.token.replace('-', '')}"
            return str((await self._ring(httpx2.Request("GET", address))) or "the app is not there")
        session = await self.harness.saleor.storefront.process(transaction.id)
        return f"{session.event.type}: {session.event.message}" if session.event else str(session.errors)

    # What comes again --------------------------------------------------------------------------------------------

    async def _play_back(self, number: int) -> str:
        sent = [d for d in self.harness.saleor.state.deliveries if d.event.startswith("transaction_")]
        if not sent:
            return "there is none"
        webhook = sent[number % len(sent)]
        answer = await self._ring(
            httpx2.Request("POST", webhook.url, headers=webhook.headers, content=webhook.body.encode())
        )
        if answer is None:
            return "the app is not there"
        if laws.said_before(webhook) and answer.status_code == 200:
            self._same_reference(webhook, answer)
        return f"{webhook.event}: {answer.status_code}"

    def _same_reference(self, webhook: Webhook, answer: httpx2.Response) -> None:
        """Law 4: the same question gets the same reference."""
        before, now = laws.reference_in(webhook.answer or ""), laws.reference_in(answer.text)
        if before != now:
            self.harness.gate.wrong.append(AssertionError(f"{webhook.event} was {before} and is {now}"))

    # The gateway -------------------------------------------------------------------------------------------------

    def _portal(self, step: Portal) -> str:
        sandbox, payment = self.harness.sandbox, self._payment(step.on)
        sandbox.catch_up()
        if payment is None:
            return "there is no payment"
        split = in_the_portal(sandbox.state, payment, step.method, step.amount)
        order = secondary.Order(
            amount=step.amount, split=split, through_split=bool(split), server_url=payment.server_url
        )
        sandbox.publish_changes()  # what was done before is told
        try:
            operation = secondary.operate(sandbox.state, payment, step.method, order, sandbox.now())
        except RefusalError as refusal:
            return refusal.message
        finally:
            if step.silent:
                self.in_silence.add(payment.order_id)
                sandbox.save_silently()
            sandbox.publish_changes()
        return f"{operation.status} {operation.status_code}"

    def _dispute(self, step: Disputes) -> str:
        sandbox, payment = self.harness.sandbox, self._payment(step.on)
        sandbox.catch_up()
        if payment is None:
            return "there is no payment"
        order = secondary.Order(amount=step.amount, server_url=payment.server_url)
        sandbox.state.scripts.insert(0, Script(status_code=step.code, method="dispute"))
        try:
            operation = secondary.operate(sandbox.state, payment, "dispute", order, sandbox.now())
        except RefusalError as refusal:
            sandbox.state.scripts.pop(0)
            return refusal.message
        sandbox.publish_changes()
        return f"{operation.status} {operation.status_code}"

    def _pending(self) -> list[Payment | Operation]:
        book = self.harness.sandbox.state
        entries: list[Payment | Operation] = [*book.payments.values(), *book.operations.values()]
        return [entry for entry in entries if entry.status is Status.PENDING]

    def _decide(self, entries: list[Payment | Operation], *, success: bool) -> str:
        sandbox = self.harness.sandbox
        code, now = ("1000" if success else "4009"), sandbox.now()
        for entry in entries:
            if isinstance(entry, Payment):
                attempts.settle(sandbox.state, entry, code, now)
            else:
                secondary.settle(sandbox.state, entry, code, now)
        sandbox.publish_changes()
        return f"{len(entries)} decided"

    async def _deliver(self, which: Callable[[Delivery], bool], *, newest_first: bool = False) -> None:
        letters = [delivery for delivery in self.harness.sandbox.deliveries if which(delivery)]
        for letter in reversed(letters) if newest_first else letters:
            said = await self._post(letter)
            self.harness.told.append(f"    notification {letter.method} {letter.status}: {said}")

    async def _post(self, letter: Delivery) -> str:
        form = {"data": letter.data, "signature": letter.signature}
        answer = await self._ring(httpx2.Request("POST", letter.url, data=form))
        if answer is None or answer.status_code != 200:
            return "not taken"
        letter.state = "delivered"
        return "taken"

    async def _ring(self, request: httpx2.Request) -> httpx2.Response | None:
        try:
            return await self.harness.http.send(request)
        except httpx2.TransportError:
            return None

    # Who is meant ------------------------------------------------------------------------------------------------

    def _transaction(self, on: int) -> Transaction | None:
        known = list(self.harness.saleor.state.transactions.values())
        return known[on % len(known)] if known else None

    def _payment(self, on: int) -> Payment | None:
        transaction = self._transaction(on)
        payments = laws.at_the_gateway(self.harness, transaction) if transaction else []
        return payments[-1] if payments else None

    # The end -----------------------------------------------------------------------------------------------------

    async def end(self, ending: Ending) -> None:
        """The storm is over: everybody answers, what is pending ends, and time passes until nothing is left to do."""
        harness = self.harness
        harness.told.append(repr(ending))
        harness.gate.calls.clear()
        harness.gate.polls.clear()
        harness.gate.meanwhile = harness.app.meanwhile = None
        harness.app.fates.clear()
        await harness.app_is_back()
        await harness.operator_moves_it()
        harness.saleor.state.faults = SaleorFaults()
        harness.sandbox.state.scripts.clear()
        self._settle(ending)
        if ending.letters != "lost":
            await self._deliver(lambda letter: letter.state == "waiting", newest_first=ending.letters == "newest first")
        for order_id in sorted(self.in_silence):  # nobody tells the app; staff have it look
            harness.told.append(f"staff look {order_id} up: {await self.staff.look(order_id)}")
        await self._pass_the_time(ending)

    def _settle(self, ending: Ending) -> None:
        if ending.bank is not None:
            self._decide(self._pending(), success=ending.bank)

    async def _pass_the_time(self, ending: Ending) -> None:
        harness, pause, end = self.harness, timedelta(seconds=10), self.harness.clock.now + _LONGEST_QUIET
        while True:
            harness.sandbox.catch_up()
            self._settle(ending)
            # Of what we do at the gateway we find out ourselves; of what others do only their notifications tell.
            await self._deliver(lambda letter: letter.state == "waiting" and self._of_others(letter.operation_id))
            due = await harness.next_due()
            if due is not None and due <= harness.clock.now and await harness.app.work(1):
                continue
            if await harness.retries.wake():
                continue
            ahead = (due, harness.retries.next_due, laws.gateway_moves_at(harness))
            moments = [moment for moment in ahead if moment is not None]
            if not moments or harness.clock.now >= end:
                break
            harness.clock.now = min(max(min(moments), harness.clock.now + pause), end)
            pause *= 2

    def _of_others(self, operation_id: UUID | None) -> bool:
        return operation_id is not None and operation_id not in self.harness.gate.ours
