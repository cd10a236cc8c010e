"""Plays one row of the table: something is asked, the gateway says something, and what follows is written down."""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import update

from app.db.aggregates import PaymentAggregate
from app.db.tables import Kind, Operation, SaleorEvent
from app.payments.core.problems import problem_words
from app.payments.core.schedule import Schedule
from app.saleor.answers import ActionAnswer, SessionAnswer
from tests.loopback import Silence, said
from tests.payments.fake_gateway import operation, payment
from tests.payments.mapping.outcomes import PAGE, SHOPPERS_TURN, Outcome
from tests.payments.operations.test_card_payment import BANK, typed
from tests.payments.shop import Shop

METHODS = {"CHARGE": "purchase", "AUTHORIZATION": "auth"}
_NEXT = {"CHARGE": ["REFUND"], "AUTHORIZATION": ["CANCEL", "CHARGE"]}
_NAMES = {Kind.CREATE: "payment"}
_ANSWERED_LATER = timedelta(0)  # it waits until Saleor has had time to read the answer


@dataclass(frozen=True, slots=True)
class Consequences:
    """What follows: what Saleor is answered, what is kept, what Saleor is told later, what its books say then."""

    answer: str
    kept: str
    told: str
    saleor: str


@dataclass(frozen=True, slots=True)
class Before:
    """How things stood before; what has not changed since is no consequence."""

    operations: Mapping[int | None, str]
    events: int
    problem: str | None


class Teller:
    """Writes down what follows. ``flow`` given: what differs between the flows is written the same way."""

    def __init__(
        self, shop: Shop, flow: str | None = None, code: str | None = None, *, with_message: bool = False
    ) -> None:
        self._shop, self._flow, self._code, self._with_message = shop, flow, code, with_message

    async def before(self) -> Before:
        """Return how things stand now."""
        aggregate = await self._shop.recorded()
        if aggregate is None:
            return Before({}, 0, None)
        return Before(
            {each.id: self._operation(each) for each in aggregate.operations},
            len(aggregate.events),
            _problem(aggregate),
        )

    async def after(self, before: Before, answer: SessionAnswer | ActionAnswer | None) -> Consequences:
        """Return what has followed, and what follows within the next half minute."""
        aggregate = await self._shop.recorded()
        if aggregate is None:
            return Consequences(self._answer(answer), "nothing", "nothing", self._amounts())
        changed = [
            text for each in aggregate.operations if (text := self._operation(each)) != before.operations.get(each.id)
        ]
        if _problem(aggregate) != before.problem:
            changed.append("problem")
        told = [self._event(each, answer) for each in aggregate.events[before.events :]]
        await self._shop.later(seconds=30)
        return Consequences(
            self._answer(answer), "; ".join(changed) or "as before", "; ".join(told) or "nothing", self._amounts()
        )

    def _answer(self, answer: SessionAnswer | ActionAnswer | None) -> str:
        if answer is None:
            return "-"
        if answer.result is None:
            return "pending"
        data = answer.data if isinstance(answer, SessionAnswer) else None
        said = f"“{answer.message}”" if self._with_message else ""
        return _join(
            self._word(answer.result.value), answer.amount, self._actions(answer.actions), self._data(data), said
        )

    def _data(self, data: Any) -> str:
        if not data:
            return ""
        if "errors" in data:
            [error] = data["errors"]
            return f"error {'of the gateway' if self._code and error['code'] == self._code else error['code']}"
        return f"with {', '.join(sorted(data))}"

    def _operation(self, it: Operation) -> str:
        names = {it.operation_id: "the gateway's id", self._shop.order_id: "our order id", None: "no reference"}
        reference = names.get(it.psp_reference, "our own reference")
        state = f"{it.state.value}, inferred" if it.inferred else it.state.value
        turn = ", the shopper's turn" if it.waits_for_shopper and not it.state.final else ""
        return f"{_NAMES.get(it.kind, it.kind.value)} {state}{turn} {it.amount} ({reference})"

    def _event(self, event: SaleorEvent, answer: SessionAnswer | ActionAnswer | None) -> str:
        actions = event.available_actions
        if answer is not None and answer.result is not None and event.type == answer.result.value:
            same = event.psp_reference == answer.psp_reference and event.amount == (answer.amount or Decimal(0))
            offered = None if answer.actions is None else [each.value for each in answer.actions]
            later = event.next_attempt_at is not None and event.next_attempt_at > event.created_at + _ANSWERED_LATER
            if same and later and actions == offered:
                return "the same"
        return _join(self._word(event.type), event.amount, self._actions(actions))

    def _amounts(self) -> str:
        amounts = self._shop.amounts
        names = {
            "authorized": "reserved",
            "authorize_pending": "reservation pending",
            "charged": "charged",
            "charge_pending": "charge pending",
            "refunded": "refunded",
            "refund_pending": "refund pending",
            "canceled": "released",
            "cancel_pending": "release pending",
        }
        if self._flow is not None:
            names |= {"authorized": "paid", "charged": "paid"}
            names |= {"authorize_pending": "payment pending", "charge_pending": "payment pending"}
        found = [f"{name} {amount:.2f}" for field, name in names.items() if (amount := getattr(amounts, field))]
        return ", ".join(found) or "nothing"

    def _word(self, event: str) -> str:
        return event.replace(f"{self._flow}_", "…_", 1) if self._flow else event

    def _actions(self, actions: Iterable[str] | None) -> str:
        if actions is None:
            return ""
        words = sorted(str(each) for each in actions)
        return "[next]" if self._flow and words == _NEXT[self._flow] else f"[{', '.join(words)}]"


def _problem(aggregate: PaymentAggregate) -> str | None:
    return problem_words(aggregate.payment)


def _join(*parts: object) -> str:
    return " ".join(str(part) for part in parts if part is not None and part != "")


async def put_to_rest(shop: Shop) -> None:
    """Let the worker forget all that was played, so that the next row has the stage for itself."""
    async with shop.services.database.transaction() as session:
        for table, column in ((Operation, "next_poll_at"), (SaleorEvent, "next_attempt_at")):
            await session.exec(update(table).values({column: None}))
    shop.transaction = shop.saleor.new_transaction()
    shop.gateway.book.clear()
    shop.gateway.script.clear()
    shop.gateway.look_ups.clear()


@asynccontextmanager
async def line_to(shop: Shop, outcome: Outcome) -> AsyncIterator[None]:
    """Cut the line for a while, or leave little time for an answer that never comes."""
    if outcome.reply is Silence():
        async with shop.impatient(0.7):
            yield
        return
    if outcome.reachable:
        yield
        return
    services, account = shop.services, shop.account
    shop.account = await services.accounts.change(account.id, base_url="http://127.0.0.1:9")  # nobody listens there
    shop.services = replace(services, schedule=Schedule(pauses_before_resending=(timedelta(0),) * 2))
    try:
        yield
    finally:
        shop.services = services
        shop.clock.forward(seconds=1)  # an account that is changed at another moment gets another client
        shop.account = await services.accounts.change(account.id, base_url=account.base_url)


def payment_record(shop: Shop, flow: str, outcome: Outcome) -> dict[str, Any]:
    """Return the gateway's record of the payment."""
    if outcome.record is None:
        raise ValueError(f"no record: {outcome.words}")
    other = {"CHARGE": "auth", "AUTHORIZATION": "purchase"}[flow]
    method = other if "reservation where a payment" in outcome.words else METHODS[flow]
    return payment(shop.order_id) | {"method": method} | dict(outcome.record)


async def begins(shop: Shop, flow: str, outcome: Outcome) -> Consequences:
    """A shopper begins to pay on the gateway's page."""
    teller = Teller(shop, flow, outcome.code)
    before = await teller.before()
    async with line_to(shop, outcome):
        if outcome.reachable:
            shop.gateway.will(
                shop.gateway.page() if outcome is PAGE else outcome.reply or said(payment_record(shop, flow, outcome))
            )
        answer = await shop.begin(flow=flow)
    return await teller.after(before, answer)


async def begins_with_a_card(shop: Shop, flow: str, outcome: Outcome) -> Consequences:
    """A shopper begins to pay with a card that was typed into the storefront."""
    teller = Teller(shop, flow, outcome.code)
    before = await teller.before()
    data = await typed(shop)
    async with line_to(shop, outcome):
        if outcome.reachable:
            shop.gateway.will(outcome.reply or said(_direct_record(shop, flow, outcome)))
        answer = await shop.begin(flow=flow, data=data)
    return await teller.after(before, answer)


async def comes_back_from_the_bank(shop: Shop, flow: str, outcome: Outcome) -> Consequences:
    """The shopper comes back from the bank's page, where a typed card was confirmed, or not."""
    record = _direct_record(shop, flow, SHOPPERS_TURN["2122"])
    shop.gateway.will(said(record))
    await shop.begin(flow=flow, data=await typed(shop))
    shop.gateway.book[shop.order_id] = [record]
    await shop.work()
    teller = Teller(shop, flow, outcome.code)
    before = await teller.before()
    async with line_to(shop, outcome):
        if outcome.reply is not None:
            shop.gateway.will_look(outcome.reply)
        elif outcome.reachable:
            shop.gateway.book[shop.order_id] = [_direct_record(shop, flow, outcome)]
        answer = await shop.come_back(flow=flow)
    return await teller.after(before, answer)


def _direct_record(shop: Shop, flow: str, outcome: Outcome) -> dict[str, Any]:
    record = payment_record(shop, flow, outcome) | {"mode": "direct"}
    if outcome in SHOPPERS_TURN.values():
        record |= {"user_action_required": True, "user_action_url": BANK}
    return record


async def open_page(shop: Shop, flow: str) -> None:
    """Open the page, as every shopper finds it."""
    shop.gateway.will(shop.gateway.page())
    await shop.begin(flow=flow)
    await shop.work()


async def comes_back(shop: Shop, flow: str, outcome: Outcome) -> Consequences:
    """The shopper comes back from the page, and the storefront asks how it went."""
    await open_page(shop, flow)
    teller = Teller(shop, flow, outcome.code)
    before = await teller.before()
    async with line_to(shop, outcome):
        _will_be_looked_up(shop, flow, outcome)
        answer = await shop.come_back(flow=flow)
    return await teller.after(before, answer)


def _will_be_looked_up(shop: Shop, flow: str, outcome: Outcome) -> None:
    if outcome.reply is not None:
        shop.gateway.will_look(outcome.reply)
    elif outcome.reachable:
        shop.gateway.book[shop.order_id] = [payment_record(shop, flow, outcome)]


async def is_notified(shop: Shop, flow: str, outcome: Outcome) -> Consequences:
    """Nobody asks: the gateway notifies us of what the shopper did."""
    await open_page(shop, flow)
    teller = Teller(shop, flow)
    before = await teller.before()
    await shop.notify(payment_record(shop, flow, outcome))
    await shop.work()
    return await teller.after(before, None)


async def is_looked_up(shop: Shop, flow: str, outcome: Outcome) -> Consequences:
    """Nobody asks, and the notification got lost: the worker looks."""
    await open_page(shop, flow)
    teller = Teller(shop, flow)
    before = await teller.before()
    async with line_to(shop, outcome):
        _will_be_looked_up(shop, flow, outcome)
        await shop.later(seconds=61)
    return await teller.after(before, None)


ACTIONS = {"charge": ("CHARGE", "capture"), "refund": ("REFUND", "refund"), "release": ("CANCEL", "void")}


async def staff_ask(shop: Shop, what: str, amount: str, outcome: Outcome) -> Consequences:
    """Staff charge or release a reservation of 569.50, or refund a payment of 569.50."""
    action, method = ACTIONS[what]
    await shop.paid("CHARGE" if what == "refund" else "AUTHORIZATION")
    teller = Teller(shop, code=outcome.code)
    before = await teller.before()
    async with line_to(shop, outcome):
        if outcome.record is not None:
            shop.gateway.will(
                said(operation(method, shop.order_id, amount, named="operation-1") | dict(outcome.record))
            )
        elif outcome.reply is not None:
            shop.gateway.will(outcome.reply)
        answer = await shop.staff(action, amount)
    return await teller.after(before, answer)


async def staff_close(shop: Shop, outcome: Outcome) -> Consequences:
    """Staff cancel a payment that nobody has made yet."""
    await open_page(shop, "CHARGE")
    teller = Teller(shop, code=outcome.code)
    before = await teller.before()
    async with line_to(shop, outcome):
        if outcome.record is not None:
            shop.gateway.will(said([payment_record(shop, "CHARGE", outcome)]))
        elif outcome.reply is not None:
            shop.gateway.will(outcome.reply)
        answer = await shop.staff("CANCEL")
    return await teller.after(before, answer)
