"""Plays one row of the table: a request, the gateway's answer, and the consequences, which are recorded."""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import update

from app.core.payment import Operation, PaymentAggregate, SaleorEvent
from app.core.vocabulary import Kind
from app.rules.problems import problem_text
from app.rules.schedule import Schedule
from app.store import tables
from integration_base_tests.loopback import Silence, json_reply
from saleor_app_sdk.responses import ActionResponse, SessionResponse
from tests.payments.fake_gateway import operation, payment
from tests.payments.mapping.outcomes import PAGE, SHOPPERS_TURN, Outcome
from tests.payments.operations.test_card_payment import BANK, typed
from tests.payments.shop import Shop

METHODS = {"CHARGE": "purchase", "AUTHORIZATION": "auth"}
_NEXT = {"CHARGE": ["REFUND"], "AUTHORIZATION": ["CANCEL", "CHARGE"]}
_NAMES = {Kind.CREATE: "payment"}
_ANSWERED_LATER = timedelta(0)  # an event waits until Saleor has had time to read the answer


@dataclass(frozen=True, slots=True)
class Consequences:
    """The consequences: the answer to Saleor, the stored changes, the reported events, and Saleor's amounts then."""

    answer: str
    kept: str
    told: str
    saleor: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state before; only changes since then are consequences."""

    operations: Mapping[int | None, str]
    events: int
    problem: str | None


class ConsequenceRecorder:
    """Records the consequences. ``flow`` given: what differs between the flows is written in the same way."""

    def __init__(
        self, shop: Shop, flow: str | None = None, code: str | None = None, *, with_message: bool = False
    ) -> None:
        self._shop, self._flow, self._code, self._with_message = shop, flow, code, with_message

    async def before(self) -> Snapshot:
        """Return the current state."""
        aggregate = await self._shop.find_aggregate()
        if aggregate is None:
            return Snapshot({}, 0, None)
        return Snapshot(
            {operation.id: self._operation(operation) for operation in aggregate.operations},
            len(aggregate.events),
            _problem(aggregate),
        )

    async def after(self, before: Snapshot, answer: SessionResponse | ActionResponse | None) -> Consequences:
        """Return the consequences, including those of the next half minute."""
        aggregate = await self._shop.find_aggregate()
        if aggregate is None:
            return Consequences(self._answer(answer), "nothing", "nothing", self._amounts())
        changed = [
            text
            for operation in aggregate.operations
            if (text := self._operation(operation)) != before.operations.get(operation.id)
        ]
        if _problem(aggregate) != before.problem:
            changed.append("problem")
        told = [self._event(event, answer) for event in aggregate.events[before.events :]]
        await self._shop.pass_time(seconds=30)
        return Consequences(
            self._answer(answer), "; ".join(changed) or "as before", "; ".join(told) or "nothing", self._amounts()
        )

    def _answer(self, answer: SessionResponse | ActionResponse | None) -> str:
        if answer is None:
            return "-"
        if answer.result is None:
            return "pending"
        data = answer.data if isinstance(answer, SessionResponse) else None
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

    def _event(self, event: SaleorEvent, answer: SessionResponse | ActionResponse | None) -> str:
        actions = event.available_actions
        if answer is not None and answer.result is not None and event.type == answer.result.value:
            same = event.psp_reference == answer.psp_reference and event.amount == (answer.amount or Decimal(0))
            offered = None if answer.actions is None else [action.value for action in answer.actions]
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
        words = sorted(str(action) for action in actions)
        return "[next]" if self._flow and words == _NEXT[self._flow] else f"[{', '.join(words)}]"


def _problem(aggregate: PaymentAggregate) -> str | None:
    return problem_text(aggregate.payment)


def _join(*parts: object) -> str:
    return " ".join(str(part) for part in parts if part is not None and part != "")


async def reset_shop(shop: Shop) -> None:
    """Empty the worker's queues and start a new transaction, so that nothing of this row affects the next one."""
    async with shop.services.database.transaction() as session:
        for table, column in ((tables.Operation, "next_poll_at"), (tables.SaleorEvent, "next_attempt_at")):
            await session.exec(update(table).values({column: None}))
    shop.transaction = shop.saleor.new_transaction()
    shop.gateway.book.clear()
    shop.gateway.script.clear()
    shop.gateway.look_ups.clear()


@asynccontextmanager
async def gateway_connection(shop: Shop, outcome: Outcome) -> AsyncIterator[None]:
    """Make the gateway unreachable in the block, or leave little time for an answer that never arrives."""
    if isinstance(outcome.reply, Silence):
        async with shop.webhook_budget(0.7):
            yield
        return
    if outcome.reachable:
        yield
        return
    services, account = shop.services, shop.account
    shop.account = await services.accounts.change(account.id, base_url="http://127.0.0.1:9")  # no server listens there
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


async def begin_on_page(shop: Shop, flow: str, outcome: Outcome) -> Consequences:
    """Begin to pay on the gateway's page, as a shopper."""
    teller = ConsequenceRecorder(shop, flow, outcome.code)
    before = await teller.before()
    async with gateway_connection(shop, outcome):
        if outcome.reachable:
            shop.gateway.will_answer(
                shop.gateway.page()
                if outcome is PAGE
                else outcome.reply or json_reply(payment_record(shop, flow, outcome))
            )
        answer = await shop.begin(flow=flow)
    return await teller.after(before, answer)


async def begin_with_card(shop: Shop, flow: str, outcome: Outcome) -> Consequences:
    """Begin to pay with a card typed into the storefront, as a shopper."""
    teller = ConsequenceRecorder(shop, flow, outcome.code)
    before = await teller.before()
    data = await typed(shop)
    async with gateway_connection(shop, outcome):
        if outcome.reachable:
            shop.gateway.will_answer(outcome.reply or json_reply(_direct_record(shop, flow, outcome)))
        answer = await shop.begin(flow=flow, data=data)
    return await teller.after(before, answer)


async def return_from_bank(shop: Shop, flow: str, outcome: Outcome) -> Consequences:
    """Return from the bank's page, where a typed card was confirmed or not, as the shopper."""
    record = _direct_record(shop, flow, SHOPPERS_TURN["2122"])
    shop.gateway.will_answer(json_reply(record))
    await shop.begin(flow=flow, data=await typed(shop))
    shop.gateway.book[shop.order_id] = [record]
    await shop.work()
    teller = ConsequenceRecorder(shop, flow, outcome.code)
    before = await teller.before()
    async with gateway_connection(shop, outcome):
        if outcome.reply is not None:
            shop.gateway.will_answer_look_ups(outcome.reply)
        elif outcome.reachable:
            shop.gateway.book[shop.order_id] = [_direct_record(shop, flow, outcome)]
        answer = await shop.process_session(flow=flow)
    return await teller.after(before, answer)


def _direct_record(shop: Shop, flow: str, outcome: Outcome) -> dict[str, Any]:
    record = payment_record(shop, flow, outcome) | {"mode": "direct"}
    if outcome in SHOPPERS_TURN.values():
        record |= {"user_action_required": True, "user_action_url": BANK}
    return record


async def open_page(shop: Shop, flow: str) -> None:
    """Open the payment page."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin(flow=flow)
    await shop.work()


async def return_from_page(shop: Shop, flow: str, outcome: Outcome) -> Consequences:
    """Return from the page, as the shopper: the storefront queries the outcome."""
    await open_page(shop, flow)
    teller = ConsequenceRecorder(shop, flow, outcome.code)
    before = await teller.before()
    async with gateway_connection(shop, outcome):
        _prepare_look_up(shop, flow, outcome)
        answer = await shop.process_session(flow=flow)
    return await teller.after(before, answer)


def _prepare_look_up(shop: Shop, flow: str, outcome: Outcome) -> None:
    if outcome.reply is not None:
        shop.gateway.will_answer_look_ups(outcome.reply)
    elif outcome.reachable:
        shop.gateway.book[shop.order_id] = [payment_record(shop, flow, outcome)]


async def notify_payment(shop: Shop, flow: str, outcome: Outcome) -> Consequences:
    """Notify the app of what the shopper did, without a request of Saleor."""
    await open_page(shop, flow)
    teller = ConsequenceRecorder(shop, flow)
    before = await teller.before()
    await shop.notify(payment_record(shop, flow, outcome))
    await shop.work()
    return await teller.after(before, None)


async def look_up_payment(shop: Shop, flow: str, outcome: Outcome) -> Consequences:
    """Let the worker look the payment up, without a request of Saleor and without a notification."""
    await open_page(shop, flow)
    teller = ConsequenceRecorder(shop, flow)
    before = await teller.before()
    async with gateway_connection(shop, outcome):
        _prepare_look_up(shop, flow, outcome)
        await shop.pass_time(seconds=61)
    return await teller.after(before, None)


ACTIONS = {"charge": ("CHARGE", "capture"), "refund": ("REFUND", "refund"), "release": ("CANCEL", "void")}


async def request_action(shop: Shop, what: str, amount: str, outcome: Outcome) -> Consequences:
    """Charge or release a reservation of 569.50, or refund a payment of 569.50, as staff."""
    action, method = ACTIONS[what]
    await shop.complete_payment("CHARGE" if what == "refund" else "AUTHORIZATION")
    teller = ConsequenceRecorder(shop, code=outcome.code)
    before = await teller.before()
    async with gateway_connection(shop, outcome):
        if outcome.record is not None:
            shop.gateway.will_answer(
                json_reply(operation(method, shop.order_id, amount, operation_id="operation-1") | dict(outcome.record))
            )
        elif outcome.reply is not None:
            shop.gateway.will_answer(outcome.reply)
        answer = await shop.request_action(action, amount)
    return await teller.after(before, answer)


async def cancel_open_payment(shop: Shop, outcome: Outcome) -> Consequences:
    """Cancel a payment that was not made yet, as staff."""
    await open_page(shop, "CHARGE")
    teller = ConsequenceRecorder(shop, code=outcome.code)
    before = await teller.before()
    async with gateway_connection(shop, outcome):
        if outcome.record is not None:
            shop.gateway.will_answer(json_reply([payment_record(shop, "CHARGE", outcome)]))
        elif outcome.reply is not None:
            shop.gateway.will_answer(outcome.reply)
        answer = await shop.request_action("CANCEL")
    return await teller.after(before, answer)
