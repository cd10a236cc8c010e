"""What is kept of days that are over, and the rest, are always the sums over all operations, whatever happens when."""

import asyncio
import random
from collections import Counter, defaultdict
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlmodel import col, select

from app.core.ids import PaymentRowId
from app.core.payment import Operation, PaymentAggregate, row_id_of
from app.core.vocabulary import Flow, Kind, State
from app.rules.balance import update_booking
from app.store.aggregates import ById
from app.store.database import Database, is_sqlite
from app.store.day_sums import Days, Total, our_totals
from app.store.repository import PaymentRepository
from app.store.summed_days import (
    DAYS_STORED,
    Outcome,
    days_to_sum,
    days_without_sums,
    last_finished_day,
    next_summing_time,
    our_outcomes,
    store_sums,
    stored_outcomes,
    stored_totals,
)
from app.store.tables import ChangedDay, MerchantAccount
from integration_base_tests.waiting import unless_it_hangs
from tests.db.rows import a_new_payment
from tests.db.rows import an_operation as a_row_of_an_operation
from tests.payments.aggregates import an_operation
from tests.payments.changes import Change
from tests.payments.test_at_once import queue_for_the_lock
from tests.statements import record_statements

BEGUN = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
Sums = dict[tuple[Any, ...], Any]


def totals_by_kind(totals: list[Total]) -> Sums:
    """Return what moved and what it cost, by day, currency and way."""
    found: defaultdict[tuple[Any, ...], list[Decimal]] = defaultdict(lambda: [Decimal(0)] * 4)
    for total in totals:
        key = (total.day, total.currency, total.kind)
        added = (total.amount, Decimal(total.count), total.fee, Decimal(total.fees))
        found[key] = [one + more for one, more in zip(found[key], added, strict=True)]
    return {key: sums for key, sums in found.items() if any(sums)}


def outcomes_by_reason(ended: list[Outcome]) -> Sums:
    found: Counter[tuple[Any, ...]] = Counter()
    for outcome in ended:
        found[outcome.currency, outcome.state, outcome.reason] += outcome.count
    return dict(found)


class History:
    """A store in which anything happens at any time, as the gateway's clock and ours have it."""

    def __init__(self, database: Database, account: MerchantAccount, seed: int) -> None:
        self.database = database
        self.account = account
        self.payments = PaymentRepository(database)
        self.chance = random.Random(seed)  # noqa: S311 - a story, no secret
        self.now = BEGUN
        self.ids: list[int] = []

    async def goes_on(self) -> None:
        """Let one thing happen."""
        match self.chance.choice(["begin", "begin", "end", "end", "end", "fee", "refund", "sleep", "sum", "overturn"]):
            case "begin":
                await self.begin()
            case "end":
                await self.change(self._end)
            case "fee":
                await self.change(self._fee)
            case "refund":
                await self.change(self._refund)
            case "overturn":
                await self.change(self._overturn)
            case "sleep":
                self.now += timedelta(hours=self.chance.choice([1, 5, 13, 40]))
            case "sum":
                await self.sum()

    async def begin(self, flow: Flow | None = None) -> None:
        payment = a_new_payment(self.account, len(self.ids), f"checkout-{len(self.ids)}")
        payment.flow = flow or self.chance.choice([Flow.CHARGE, Flow.CHARGE, Flow.AUTHORIZATION, Flow.PAYOUT])
        payment.channel = self.chance.choice(["uah", "wholesale", ""])
        payment.currency = "UAH" if flow else self.chance.choice(["UAH", "EUR"])
        payment.wallet = None if flow else self.chance.choice([None, None, "applepay"])
        async with self.database.transaction() as session:
            session.add(payment)
            await session.flush()
            create = a_row_of_an_operation(row_id_of(payment), Kind.CREATE, "create", currency=payment.currency)
            create.created_at = create.updated_at = self.now
            session.add(create)
        self.ids.append(row_id_of(payment))

    async def change(self, step: Any) -> None:
        if self.ids:
            await self.payments.record(ById(PaymentRowId(self.chance.choice(self.ids))), Change(step))

    def _moment(self) -> datetime:
        """The gateway's clock: mostly now, sometimes long ago, as it tells late."""
        return self.now - self.chance.choice([timedelta(), timedelta(), timedelta(minutes=50), DAY, 3 * DAY])

    def _says(self, operation: Operation) -> None:
        details: dict[str, Any] = {"processed_at": self._moment().isoformat()}
        if self.chance.random() < 0.5:
            details["fee"] = {"amount": "1.25", "currency": self.chance.choice(["UAH", "EUR"])}
        if self.chance.random() < 0.5:
            details |= {"card_mask": "424242******4242", "payway": "cc"}
        operation.details = details

    def _end(self, aggregate: PaymentAggregate) -> None:
        create = aggregate.create
        if create.state.final:
            return
        create.state = self.chance.choice([State.SUCCESS, State.SUCCESS, State.FAILURE])
        create.status_code = None if create.state is State.SUCCESS else self.chance.choice(["4009", "6007", None])
        self._says(create)
        create.updated_at = self.now
        update_booking(aggregate.payment, create)

    def _overturn(self, aggregate: PaymentAggregate) -> None:
        """What had failed has succeeded after all."""
        create = aggregate.create
        if create.state is State.FAILURE:
            create.state, create.updated_at = State.SUCCESS, self.now
            self._says(create)
            update_booking(aggregate.payment, create)

    def _fee(self, aggregate: PaymentAggregate) -> None:
        """A fee is named late, and nothing else changes."""
        create = aggregate.create
        if create.state is State.SUCCESS:
            create.details = {**create.details, "fee": {"amount": "2.50", "currency": "UAH"}}
            update_booking(aggregate.payment, create)

    def _refund(self, aggregate: PaymentAggregate) -> None:
        key = f"refund-{len(aggregate.operations)}"
        refund = an_operation(Kind.REFUND, State.SUCCESS, Decimal("0.50"), id=None, idempotency_key=key)
        refund.currency = aggregate.payment.currency
        refund.created_at = refund.updated_at = self.now
        self._says(refund)
        update_booking(aggregate.payment, refund)
        aggregate.operations.append(refund)

    async def sum(self) -> None:
        """The worker's job."""
        assert self.account.installation_id is not None
        async with self.database.transaction() as session:
            due = await days_to_sum(session, self.account.installation_id, self.now)
        for day, account_ids in due:
            async with self.database.transaction() as session:
                await store_sums(session, account_ids, Days(day, day), self.now)

    async def kept_and_rest(self, days: Days) -> tuple[Sums, Sums]:
        async with self.database.transaction() as session:
            live = await days_without_sums(session, [self.account.id], days)
            totals = await stored_totals(session, [self.account.id], days, without=live)
            ended = await stored_outcomes(session, [self.account.id], days, without=live)
            for day in live:
                totals += without_trials(await our_totals(session, [self.account.id], Days(day, day)))
                ended += with_channel(await our_outcomes(session, [self.account.id], Days(day, day)))
        return totals_by_kind(totals), outcomes_by_reason(ended)

    async def over_all_rows(self, days: Days) -> tuple[Sums, Sums]:
        async with self.database.transaction() as session:
            return (
                totals_by_kind(without_trials(await our_totals(session, [self.account.id], days))),
                outcomes_by_reason(with_channel(await our_outcomes(session, [self.account.id], days))),
            )


def without_trials(totals: list[Total]) -> list[Total]:
    return [total for total in totals if not total.is_trial]


def with_channel(outcomes: list[Outcome]) -> list[Outcome]:
    """Return those of neither trials nor payouts."""
    return [outcome for outcome in outcomes if outcome.channel]


@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(3, 12))])
async def test_kept_sums_and_the_rest_are_the_sums_over_all_operations(
    database: Database, account: MerchantAccount, seed: int
) -> None:
    history = History(database, account, seed)
    counted = False
    for _ in range(60):
        await history.goes_on()
        days = Days((BEGUN - 5 * DAY).date(), history.now.date())
        everything = await history.over_all_rows(days)
        assert await history.kept_and_rest(days) == everything
        counted = counted or all(everything)
    await history.sum()
    days = Days((BEGUN - 5 * DAY).date(), last_finished_day(history.now))
    async with database.transaction() as session:
        assert await days_without_sums(session, [account.id], days) == []
    assert await history.kept_and_rest(days) == await history.over_all_rows(days)
    assert counted


@pytest.fixture
def history(database: Database, account: MerchantAccount) -> History:
    return History(database, account, 0)


async def notes(database: Database) -> list[date]:
    async with database.transaction() as session:
        return [
            changed_day.day
            for changed_day in (await session.exec(select(ChangedDay).order_by(col(ChangedDay.id)))).all()
        ]


def ends(at: datetime, **more: Any) -> Any:
    """A payment succeeds, and we hear of it at that moment."""

    def step(aggregate: PaymentAggregate) -> None:
        create = aggregate.create
        create.state, create.updated_at = State.SUCCESS, at
        create.details = more
        update_booking(aggregate.payment, create)

    return step


async def test_fees_of_charges_and_captures_of_one_day_are_added(history: History) -> None:
    """Both were charged: they are counted apart, and stored as one total."""

    def charged(aggregate: PaymentAggregate) -> None:
        aggregate.payment.channel = "uah"
        ends(BEGUN, fee={"amount": "1.25", "currency": "UAH"})(aggregate)

    def captured(aggregate: PaymentAggregate) -> None:
        aggregate.payment.channel = "uah"
        ends(BEGUN)(aggregate)
        capture = an_operation(Kind.CAPTURE, State.SUCCESS, Decimal("0.50"), id=None, idempotency_key="capture")
        capture.created_at = capture.updated_at = BEGUN
        capture.details = {"fee": {"amount": "2.50", "currency": "UAH"}}
        update_booking(aggregate.payment, capture)
        aggregate.operations.append(capture)

    for flow, step in ((Flow.CHARGE, charged), (Flow.AUTHORIZATION, captured)):
        await history.begin(flow)
        await history.payments.record(ById(PaymentRowId(history.ids[-1])), Change(step))
    history.now += 2 * DAY
    await history.sum()
    day = Days(BEGUN.date(), BEGUN.date())
    async with history.database.transaction() as session:
        assert await days_without_sums(session, [history.account.id], day) == []
        [total] = await stored_totals(session, [history.account.id], day, without=[])
    assert (total.count, total.fee, total.fees) == (2, Decimal("3.75"), 2)


async def test_an_ordinary_payment_costs_no_note(history: History) -> None:
    await history.begin(Flow.CHARGE)
    await history.payments.record(ById(PaymentRowId(history.ids[0])), Change(ends(BEGUN)))
    await history.payments.record(
        ById(PaymentRowId(history.ids[0])), Change(lambda aggregate: setattr(aggregate.create, "polls", 3))
    )
    assert await notes(history.database) == []


async def test_what_comes_late_leaves_a_note_and_the_day_is_summed_anew(history: History) -> None:
    await history.begin(Flow.CHARGE)
    await history.begin(Flow.CHARGE)
    await history.payments.record(ById(PaymentRowId(history.ids[0])), Change(ends(BEGUN)))
    history.now += 2 * DAY
    await history.sum()
    late = ends(history.now, processed_at=BEGUN.isoformat())
    await history.payments.record(ById(PaymentRowId(history.ids[1])), Change(late))
    assert await notes(history.database) == [BEGUN.date()]
    async with history.database.transaction() as session:
        assert await days_without_sums(session, [history.account.id], Days(BEGUN.date(), BEGUN.date())) == [
            BEGUN.date()
        ]
        [kept] = [
            stored_outcome.count
            for stored_outcome in await stored_outcomes(
                session, [history.account.id], Days(BEGUN.date(), BEGUN.date()), without=[]
            )
        ]
    assert kept == 1  # as it was summed
    await history.sum()
    assert await notes(history.database) == []
    [counted] = (await history.kept_and_rest(Days(BEGUN.date(), BEGUN.date())))[1].values()
    assert counted == 2


async def test_a_note_that_comes_while_its_day_is_summed_stays(
    history: History, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever changes a day while it is being summed must not be forgotten: on SQLite nobody can."""
    if is_sqlite(database_url):
        pytest.skip("SQLite has one connection")
    await history.begin(Flow.CHARGE)
    history.now += 2 * DAY
    late = ends(history.now, processed_at=BEGUN.isoformat())

    async def meanwhile(*asked: Any) -> list[Total]:
        found = await our_totals(*asked)
        await history.payments.record(ById(PaymentRowId(history.ids[0])), Change(late))
        return found

    monkeypatch.setattr("app.store.summed_days.our_totals", meanwhile)
    async with history.database.transaction() as session:
        await store_sums(session, [history.account.id], Days(BEGUN.date(), BEGUN.date()), history.now)
    assert await notes(history.database) == [BEGUN.date()]
    monkeypatch.undo()
    days = Days(BEGUN.date(), BEGUN.date())
    assert await history.kept_and_rest(days) == await history.over_all_rows(days)


@pytest.mark.fault("two-workers")
async def test_two_workers_that_sum_one_day_keep_it_once(history: History, database_url: str) -> None:
    if is_sqlite(database_url):
        pytest.skip("SQLite lets one write after the other")
    await history.begin(Flow.CHARGE)
    history.now += 2 * DAY
    day, summed = Days(BEGUN.date(), BEGUN.date()), asyncio.Event()

    async def sum_up() -> None:
        async with history.database.transaction() as session:
            await store_sums(session, [history.account.id], day, history.now)
            summed.set()

    async with unless_it_hangs(), history.database.transaction() as session:
        await store_sums(session, [history.account.id], day, history.now)
        other = asyncio.create_task(sum_up())
        await queue_for_the_lock(history.database, 1)
        assert not summed.is_set()
    await other
    assert await history.kept_and_rest(day) == await history.over_all_rows(day)


async def test_a_new_account_has_no_past_to_be_summed(history: History, account: MerchantAccount) -> None:
    now = account.created_at
    async with history.database.transaction() as session:
        assert await days_to_sum(session, account.installation_id, now) == []
        assert await days_without_sums(
            session, [account.id], Days(now.date() - (DAYS_STORED - 1) * DAY, now.date())
        ) == [now.date()]


@pytest.mark.parametrize(
    ("now", "over", "next_"),
    [
        (datetime(2026, 11, 21, 0, 59, tzinfo=UTC), date(2026, 11, 19), datetime(2026, 11, 21, 1, tzinfo=UTC)),
        (datetime(2026, 11, 21, 1, 0, tzinfo=UTC), date(2026, 11, 20), datetime(2026, 11, 22, 1, tzinfo=UTC)),
        (datetime(2026, 11, 21, 23, 59, tzinfo=UTC), date(2026, 11, 20), datetime(2026, 11, 22, 1, tzinfo=UTC)),
    ],
)
def test_a_day_is_over_an_hour_after_its_end(now: datetime, over: date, next_: datetime) -> None:
    assert last_finished_day(now) == over
    assert next_summing_time(now) == next_


async def test_what_has_ended_is_found_by_the_index(history: History, database_url: str) -> None:
    async with history.database.transaction() as session:  # so many that no other way is as short
        payments = [a_new_payment(history.account, number, f"checkout-{number}") for number in range(500)]
        session.add_all(payments)
        await session.flush()
        for number, payment in enumerate(payments):
            create = a_row_of_an_operation(row_id_of(payment), Kind.CREATE, "create", account_id=history.account.id)
            create.ended_at = BEGUN - timedelta(days=number + 1)
            session.add(create)
    with record_statements(history.database) as asked:
        async with history.database.transaction() as session:
            await our_outcomes(session, [history.account.id], Days(BEGUN.date(), BEGUN.date()))
    [(statement, parameters)] = [question for question in asked if "ended_at" in question[0]]
    how = "EXPLAIN QUERY PLAN" if is_sqlite(database_url) else "EXPLAIN"
    async with history.database.engine.connect() as connection:
        if not is_sqlite(database_url):
            await connection.exec_driver_sql("ANALYZE")  # or it depends on whether the server did so just before
        plan = str((await connection.exec_driver_sql(f"{how} {statement}", parameters)).all())
    assert "ix_operation_ended" in plan
