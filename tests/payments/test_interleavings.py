"""Whatever happens in whatever order: no money moves twice, none is forgotten, and both ledgers tell the same story.

Hypothesis makes up the days of a payment: shoppers pay or do not, staff ask and ask again, the gateway answers or
hangs up, notifications come late, twice or never, our process dies, Saleor is down, others use the merchant portal. At
the end of each day the gateway's books, Saleor's books and ours are compared.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from app.core.vocabulary import Kind, State
from app.flows.notifications import receive
from app.rules.balance import balance, is_in_flight
from app.rules.problems import problem_text
from app.store.aggregates import find_by_order
from app.store.database import Database
from app.store.vault import Vault
from integration_base_tests.clock import Clock
from integration_base_tests.loopback import ReceivedRequest
from saleor_app_sdk.errors import SaleorUnreachableError
from saleor_app_sdk.testing.rules.recording import final_event
from tests.payments.fake_gateway import action_of, open_fake_gateway
from tests.payments.fake_saleor import amounts
from tests.payments.records import Mood, RecordKeepingGateway
from tests.payments.shop import Shop, open_shop, signed_notification, source_object

Test = TypeVar("Test", bound=Callable[..., Any])
TOTAL = Decimal("100.00")
parts = st.sampled_from([Decimal(part) for part in ("10.00", "40.00", "60.00", "100.00")])
moods = st.one_of(st.just(Mood.ANSWERS), st.sampled_from(list(Mood)))
begun = st.tuples(st.just("staff"), st.sampled_from(["CHARGE", "REFUND", "REFUND", "CANCEL"]), parts, moods)
elsewhere = st.one_of(
    st.tuples(st.just("again")),
    st.tuples(st.just("shopper"), st.sampled_from(["success", "success", "pending", "failure"])),
    st.tuples(st.just("portal"), st.sampled_from(["capture", "void", "refund"]), parts),
    st.tuples(st.just("notify"), st.integers(0, 30)),
    st.tuples(st.just("come back"), moods),
    st.tuples(st.just("finish"), st.sampled_from(["success", "failure"])),
    st.tuples(st.just("work"), moods),
    st.tuples(st.just("wait"), st.sampled_from([1, 20, 60, 1200])),
    st.tuples(st.just("saleor is down"), st.integers(1, 4)),
    st.tuples(st.just("another attempt"), moods),
)
PAID = [("shopper", "success"), ("come back", Mood.ANSWERS)]
TAKEN = [*PAID, ("staff", "CHARGE", TOTAL, Mood.ANSWERS)]
beginnings = st.sampled_from([[], PAID, PAID, TAKEN])
stories = st.builds(
    lambda beginning, rest: beginning + rest,
    beginnings,
    st.lists(st.one_of(begun, elsewhere), min_size=3, max_size=12),
)


def void(_: object) -> None:
    """Take a value and give none."""


@dataclass
class Day:
    """One payment and all that happens to it."""

    shop: Shop
    bank: RecordKeepingGateway
    flow: str
    asked: list[tuple[str, Decimal, str]]
    order_id: str = ""

    @property
    def checkout(self) -> dict[str, Any]:
        """What is paid, as Saleor describes it: all attempts of a day are at the same."""
        total = {"gross": {"amount": TOTAL, "currency": "UAH"}}
        return source_object(id=f"checkout of {self.shop.transaction.id}", totalPrice=total)

    async def nobody_else_is_on_the_way(self, request: ReceivedRequest) -> None:
        """Law 3, looked at when the call arrives."""
        if action_of(request) in {"capture", "void", "refund", "cancel"}:
            order_id = request.path.split("/")[-2] if action_of(request) == "cancel" else request.json["order_id"]
            async with self.shop.services.database.transaction() as session:
                aggregate = await find_by_order(session, order_id)
            assert aggregate is not None
            assert len([operation for operation in aggregate.operations if is_in_flight(operation)]) == 1

    async def begin(self, *moods: Mood) -> None:
        """The shopper begins to pay. ``moods``: how the calls go that it takes."""
        await self._run(moods, self.shop.begin(flow=self.flow, amount=TOTAL, sourceObject=self.checkout))
        aggregate = await self.shop.find_aggregate()
        self.order_id = self.shop.order_id if aggregate is None else aggregate.payment.order_id

    async def begin_another(self, mood: Mood) -> None:
        """The shopper begins once more to pay the same checkout."""
        newer = replace(self.shop, transaction=self.shop.saleor.new_transaction())
        await self._run([mood], newer.begin(flow=self.flow, amount=TOTAL, sourceObject=self.checkout))

    async def step(self, step: tuple[Any, ...]) -> None:
        """Let one thing happen."""
        order_id = self.order_id
        match step:
            case ("shopper", status):
                self.bank.shopper(order_id, status)
            case ("staff", action, amount, mood):
                # Of a cancelation Saleor itself says the amount: all that it believes to be reserved.
                amount = self.shop.amounts.authorized if action == "CANCEL" else amount
                self.asked.append((action, amount, f"key-{len(self.asked)}"))
                await self._run([mood], self.shop.request_action(*self.asked[-1]))
            case ("again",) if self.asked:
                await self._run([Mood.ANSWERS], self.shop.request_action(*self.asked[-1], booked=False))
            case ("portal", method, amount):
                whole = method == "void"
                self.bank.portal(method, order_id, self.bank.payment_of(order_id)["amount"] if whole else amount)
            case ("notify", number) if self.bank.history:
                await self._notify(self.bank.history[number % len(self.bank.history)])
            case ("come back", mood) if final_event(self.shop.transaction) is None:
                await self._run([mood], self.shop.process_session(flow=self.flow, amount=TOTAL))
            case ("finish", status):
                self.bank.finish(order_id, status)
            case ("work", mood):
                await self._run([mood], self.shop.work())
            case ("wait", seconds):
                self.shop.clock.forward(seconds=seconds)
            case ("saleor is down", times):
                self.shop.saleor.failures.extend([SaleorUnreachableError("down")] * times)
            case ("another attempt", mood):
                await self.begin_another(mood)

    async def end(self, status: str) -> None:
        """The storm is over: everybody answers, what is pending ends, paid checkouts are completed, and time passes."""
        self.bank.moods.clear()
        self.bank.finish(self.order_id, status)
        for record in list(self.bank.history):
            if record.get("operation_id") in self.bank.outside_ids:
                await self._notify(record)  # nobody else would tell us of these
        if self.bank.payment_of(self.order_id)["status"] == "success":
            self.shop.saleor.order(self.shop.transaction)
        await self.shop.pass_time(hours=6)

    async def _notify(self, record: dict[str, Any]) -> None:
        await receive(self.shop.services, self.shop.account.id, signed_notification(record))

    async def _run(self, moods: Sequence[Mood], job: Coroutine[Any, Any, Any]) -> None:
        """Do something that may call the bank in those moods, and may be the end of our process."""
        self.bank.moods.extend(moods)
        task = asyncio.ensure_future(job)
        self.bank.crash = lambda: void(task.cancel())
        await asyncio.wait([task])
        self.bank.crash = lambda: None
        self.bank.moods.clear()
        if not task.cancelled():
            task.result()

    async def laws_hold(self) -> None:
        """What must be true at the end of every day."""
        bank, order_id, saleor = self.bank, self.order_id, self.shop.amounts
        create = bank.payment_of(order_id)
        paid = create["amount"] if create["status"] == "success" else Decimal(0)
        captured, voided, refunded = (bank.done(order_id, method) for method in ("capture", "void", "refund"))
        reserved = paid if self.flow == "AUTHORIZATION" else Decimal(0)
        charged = captured if self.flow == "AUTHORIZATION" else paid
        released = reserved - captured if captured else Decimal(0)
        assert saleor == amounts(
            authorized=str(reserved - captured - released - voided),
            charged=str(charged - refunded),
            refunded=str(refunded),
            canceled=str(voided + released),
        )
        aggregate = await self.shop.aggregate()
        ours = balance(aggregate.payment.flow, aggregate.operations)
        assert (ours.authorized, ours.charged, ours.refunded) == (reserved, charged, refunded)
        assert all(operation.state.final for operation in aggregate.operations)
        assert all(event.state.value != "waiting" for event in aggregate.events)
        assert problem_text(aggregate.payment) is None
        assert self.shop.transaction.actions == sorted(action.value for action in ours.actions)
        for kind, action in ((Kind.CAPTURE, "CHARGE"), (Kind.REFUND, "REFUND")):
            called = [
                request
                for request in bank.requests
                if action_of(request) == kind.value and request.json["order_id"] == order_id
            ]
            assert len(called) <= sum(question[0] == action for question in self.asked)  # nothing was sent twice
        secondary = [
            operation for operation in aggregate.operations if operation.kind in {Kind.CAPTURE, Kind.VOID, Kind.REFUND}
        ]
        assert sum(not operation.asked_by_saleor for operation in secondary) <= len(
            bank.outside_ids
        )  # nothing of ours is a stranger
        named = [operation.operation_id for operation in aggregate.operations if operation.operation_id]
        assert len(named) == len(set(named))
        known = {record["operation_id"] for record in bank.book.get(order_id, []) if "operation_id" in record}
        done = {operation.operation_id for operation in aggregate.operations if operation.state is State.SUCCESS}
        assert {record["operation_id"] for record in bank.book.get(order_id, []) if record["status"] == "success"
                and "operation_id" in record} <= done & known  # fmt: skip


@pytest.fixture
async def bank() -> AsyncIterator[RecordKeepingGateway]:
    async with open_fake_gateway(RecordKeepingGateway()) as bank:
        yield bank


@pytest.fixture
async def market(database: Database, vault: Vault, clock: Clock, bank: RecordKeepingGateway) -> AsyncIterator[Shop]:
    async with open_shop(database, vault, clock, bank) as shop:
        yield shop


def told(flow: str, *story: tuple[Any, ...], first: Sequence[Mood] = (Mood.ANSWERS,)) -> Callable[[Test], Test]:
    """Return a story that is always told, because chance may take long to come upon it."""
    always: Callable[[Test], Test] = example(flow=flow, first=list(first), story=list(story), last="success")
    return always


CENTS, REST = Decimal("10.00"), Decimal("40.00")
WAIT, WORK = ("wait", 20), ("work", Mood.ANSWERS)


LOST = Mood.DOES_AND_HANGS_UP


@pytest.mark.fault("all-at-once")
@pytest.mark.law(10)
@told("CHARGE", first=[Mood.DOES_AND_WE_CRASH])
@told("CHARGE", ("shopper", "success"), first=[LOST])
@told("AUTHORIZATION", ("shopper", "success"), ("notify", 0), ("notify", 1), ("notify", 3), first=[LOST])
@told("CHARGE", ("shopper", "success"), first=[LOST, Mood.REFUSES])
@told("CHARGE", ("notify", 1), first=[LOST, LOST])
@told("CHARGE", ("notify", 1), first=[LOST, Mood.DOES_AND_WE_CRASH])
@told("CHARGE", ("shopper", "success"), first=[LOST, Mood.ANSWERS, Mood.DOES_AND_WE_CRASH])
@told("CHARGE", ("shopper", "success"), first=[LOST, Mood.ANSWERS, LOST, Mood.ANSWERS, LOST])
@told("CHARGE", ("another attempt", Mood.ANSWERS), ("shopper", "success"))
@told("CHARGE", ("another attempt", Mood.ANSWERS), ("work", LOST), ("staff", "CANCEL", CENTS, Mood.ANSWERS))
@told("CHARGE", ("another attempt", LOST), ("another attempt", Mood.ANSWERS), ("work", Mood.DOES_AND_WE_CRASH))
@told("CHARGE", ("staff", "CANCEL", CENTS, Mood.DOES_AND_HANGS_UP))
@told("CHARGE", ("staff", "CANCEL", CENTS, Mood.WE_CRASH), ("shopper", "success"))
@told("CHARGE", *PAID, ("staff", "REFUND", CENTS, Mood.HANGS_UP), ("staff", "REFUND", REST, Mood.ANSWERS))
@told("CHARGE", *PAID, ("staff", "REFUND", CENTS, Mood.DOES_AND_BREAKS), ("staff", "REFUND", CENTS, Mood.ANSWERS))
@told("CHARGE", *PAID, ("staff", "REFUND", CENTS, Mood.DOES_AND_WE_CRASH), ("portal", "refund", CENTS), WAIT, WORK)
@told("CHARGE", *PAID, ("staff", "REFUND", CENTS, Mood.DOES_AND_WE_CRASH), ("again",), ("portal", "refund", CENTS))
@told("CHARGE", *PAID, ("staff", "REFUND", CENTS, Mood.IS_SLOW), ("staff", "REFUND", REST, Mood.IS_SLOW), ("again",))
@told("AUTHORIZATION", *TAKEN, ("portal", "refund", CENTS), ("notify", 2), ("staff", "REFUND", CENTS, Mood.HANGS_UP))
@told("AUTHORIZATION", *PAID, ("portal", "capture", REST), ("staff", "CHARGE", REST, Mood.WE_CRASH), WAIT, WORK)
@told(
    "AUTHORIZATION", *PAID, ("staff", "CANCEL", TOTAL, Mood.DOES_AND_HANGS_UP), ("staff", "CHARGE", REST, Mood.ANSWERS)
)
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    flow=st.sampled_from(["CHARGE", "AUTHORIZATION"]),
    first=st.lists(moods, min_size=1, max_size=5),
    story=stories,
    last=st.sampled_from(["success", "failure"]),
)
@pytest.mark.long
@pytest.mark.timeout(600)  # each day is a story of its own
async def test_both_ledgers_agree_at_the_end_of_every_day(
    market: Shop, bank: RecordKeepingGateway, *, flow: str, first: list[Mood], story: list[tuple[Any, ...]], last: str
) -> None:
    market.transaction = market.saleor.new_transaction()
    market.saleor.failures.clear()
    bank.history.clear()
    bank.outside_ids.clear()
    day = Day(market, bank, flow, [])
    bank.on_request = day.nobody_else_is_on_the_way
    await day.begin(*first)
    for step in story:
        await day.step(step)
    await day.end(last)
    await day.laws_hold()
