"""A comparison ends, whatever hinders it and whoever dies over it; nothing follows from half of the gateway's books."""

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from app.flows.reconciliation.progress import Progress
from app.flows.reconciliation.run import reconcile
from app.flows.reconciliation.spool import open_spool
from app.i18n.messages import LazyMessage
from app.store.attention import count_failed_comparisons
from app.store.processes import RunningProcess
from app.store.reconciliations import FIRST_RUN_REACH, is_being_compared, next_time, plan_run
from app.store.tables import RunState, Source
from app.worker.heartbeat import Heartbeat
from gateway_client.sandbox.scripting import FaultRule
from tests.payments.fake_saleor import amounts
from tests.payments.reconciliation.books import line
from tests.payments.reconciliation.conftest import Store

pytestmark = pytest.mark.law(13)
START, FETCH = "/streaming-report/start", "/streaming-report/fetch/*"
WEB = RunningProcess("1.0", serves=True, works=True)
PERIOD = "/api/v1/pos/*/transactions"


async def refunded_in_silence(store: Store) -> str:
    order_id = await store.complete_payment()
    await store.control.portal(order_id, "refund", Decimal("30.00"), silent=True)
    return order_id


async def hindered(store: Store, *rules: FaultRule) -> tuple[int, str]:
    """Begin a comparison that something hinders; return it, and what is said of that."""
    await store.control.options(register_polls=0)
    for rule in rules:
        await store.control.fault(rule)
    run_id = await store.begin()
    await reconcile(store.services, run_id)
    run = await store.run(run_id)
    assert (run.state, run.orders, run.covered_until) == (RunState.RUNNING, 0, None)
    assert run.due_at is not None
    assert run.due_at > store.shop.clock.now
    assert store.shop.amounts == amounts(charged="100.00")
    assert await store.differences() == []
    return run_id, "" if run.failure is None else LazyMessage.from_json(run.failure)


class TestNothingIsMadeOfHalfABook:
    @pytest.mark.parametrize(
        ("rule", "words"),
        [
            (FaultRule(path=FETCH, effect="drop"), "did not provide its records"),
            (FaultRule(path=FETCH, effect="truncate"), "did not provide its records"),
            (FaultRule(path=FETCH, effect="garbage"), "not a JSON object"),
            (FaultRule(path=FETCH, effect="status", status=200, body="", headers={}), "broke off: 0 of 2"),
            (
                FaultRule(path=FETCH, effect="status", status=200, body="x", headers={"content-encoding": "gzip"}),
                "did not provide its records",
            ),
            (FaultRule(path=FETCH, effect="status", status=503), "did not provide its records"),
            (FaultRule(path=START, effect="status", status=500), "did not provide its records"),
        ],
    )
    async def test_it_is_said_and_tried_again(self, store: Store, rule: FaultRule, words: str) -> None:
        await refunded_in_silence(store)
        run_id, said = await hindered(store, rule)
        assert words in said
        run = await store.goes_on(run_id)
        assert (run.state, run.repaired, run.failure, run.attempts) == (RunState.DONE, 1, None, 0)

    @pytest.mark.fault("books-broken-off")
    @pytest.mark.parametrize("change", ["more", "fewer"])
    async def test_more_or_fewer_lines_than_were_said(self, store: Store, change: str) -> None:
        await refunded_in_silence(store)
        run_id = await store.begin()
        await reconcile(store.services, run_id)  # the register is being made
        [register] = store.sandbox.state.registers.values()
        register.rows[:] = register.rows * 2 if change == "more" else register.rows[:1]
        await store.make_due(run_id)
        await reconcile(store.services, run_id)
        run = await store.run(run_id)
        assert (run.state, run.orders, run.covered_until) == (RunState.RUNNING, 0, None)
        assert run.failure is not None
        assert ("4 records" if change == "more" else "1 of 2") in LazyMessage.from_json(run.failure)
        assert await store.differences() == []


async def test_a_register_that_is_being_made_is_waited_for_and_not_asked_for_twice(store: Store) -> None:
    await store.control.options(register_polls=3)
    await refunded_in_silence(store)
    run = await store.compare()
    assert run.repaired == 1
    assert sum(call.path == START for call in await store.control.calls()) == 1


@pytest.mark.fault("books-broken-off")
async def test_a_register_that_is_never_made(store: Store) -> None:
    await store.control.options(register_polls=1000)
    await store.complete_payment()
    run = await store.goes_on(await store.begin())
    assert run.state is RunState.FAILED
    assert run.failure is not None
    assert "not prepare the register in time" in LazyMessage.from_json(run.failure)
    assert await failed_comparisons(store) == 1, "an alert tells operators"
    await store.control.options(register_polls=0)
    await store.goes_on(await store.begin())
    assert await failed_comparisons(store) == 0


async def failed_comparisons(store: Store) -> int:
    async with store.services.database.transaction() as session:
        return await count_failed_comparisons(session)


async def test_a_register_that_is_gone_is_asked_for_anew(store: Store) -> None:
    await refunded_in_silence(store)
    run_id = await store.begin()
    await reconcile(store.services, run_id)
    store.sandbox.state.registers.clear()
    assert (await store.goes_on(run_id)).repaired == 1


@pytest.mark.parametrize(
    "rule",
    [
        FaultRule(path=START, effect="status", status=403, times=100),
        FaultRule(path=START, effect="status", status=404, wording="html", times=100),
        FaultRule(path=START, effect="status", status=401, times=100),
    ],
)
async def test_without_a_register_the_list_of_the_period_is_compared(store: Store, rule: FaultRule) -> None:
    await store.control.fault(rule)
    await refunded_in_silence(store)
    await store.shop.begin(amount="100.00")  # a page that nobody has paid on
    run = await store.compare()
    assert (run.source, run.repaired, run.to_people) == (Source.ORDERS, 1, 0)


@pytest.mark.fault("books-broken-off")
async def test_a_list_that_breaks_off(store: Store) -> None:
    await refunded_in_silence(store)
    run_id, _ = await hindered(
        store, FaultRule(path=START, effect="status", status=403), FaultRule(path=PERIOD, effect="truncate")
    )
    assert (await store.goes_on(run_id)).repaired == 1


@pytest.mark.fault("gateway-busy")
async def test_a_gateway_that_wants_to_be_left_alone_is(store: Store) -> None:
    await store.complete_payment()
    rule = FaultRule(path=START, effect="status", status=429, headers={"retry-after": "1800"})
    run_id, _ = await hindered(store, rule)
    assert (await store.run(run_id)).due_at == store.shop.clock.now + timedelta(minutes=30)
    assert (await store.goes_on(run_id)).state is RunState.DONE


async def test_look_ups_that_fail_are_made_later(store: Store) -> None:
    order_id = await refunded_in_silence(store)
    await store.control.options(register_polls=0)
    await store.control.fault(FaultRule(order_id=order_id, effect="status", status=503, times=1))
    await store.compare()
    assert await store.differences() == [("missed", "found")]
    await store.compare()
    assert await store.differences() == [("missed", "repaired")]
    assert store.shop.amounts == amounts(charged="70.00", refunded="30.00")


@pytest.mark.fault("gateway-down")
async def test_a_gateway_that_answers_no_look_up_is_left_alone(store: Store) -> None:
    for _ in range(4):
        await refunded_in_silence(store)
    await store.control.options(register_polls=0)
    await store.control.fault(FaultRule(path="/api/v1/pos/*/orders/*", effect="status", status=503, times=3))
    run_id = await store.begin()
    await reconcile(store.services, run_id)
    run = await store.run(run_id)
    assert (run.state, run.attempts) == (RunState.RUNNING, 1)
    run = await store.goes_on(run_id)
    assert (run.state, run.repaired, run.orders) == (RunState.DONE, 4, 4)


class KilledError(BaseException):
    """The process dies."""


@dataclass(slots=True)
class Deadly(Progress):
    """Kills whoever tells it the n-th thing."""

    left: int = 0

    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)
        if name in {"window", "lines", "orders", "compared"} and hasattr(self, "left"):
            object.__setattr__(self, "left", self.left - 1)
            if self.left == 0:
                raise KilledError


@pytest.mark.fault("process-killed")
@pytest.mark.parametrize("point", [3, 5, 9, 11, 12, 13, 14])
async def test_killed_in_the_middle_and_taken_over_it_ends_the_same(
    store: Store, monkeypatch: pytest.MonkeyPatch, point: int
) -> None:
    monkeypatch.setattr("app.flows.reconciliation.windows.BATCH_SIZE", 1)
    await store.control.options(register_polls=0)
    for _ in range(3):
        await refunded_in_silence(store)
    run_id = await store.begin()
    deadly = Deadly()
    deadly.left = point
    with pytest.raises(KilledError):
        await reconcile(store.services, run_id, deadly)
    run = await store.run(run_id)
    assert run.due_at is not None
    run = await store.goes_on(run_id)
    assert (run.state, run.orders, run.lines, run.repaired) == (RunState.DONE, 3, 6, 3)
    assert await store.differences() == [("missed", "repaired")] * 3
    await store.shop.work()
    assert store.shop.saleor.reported_types.count("REFUND_SUCCESS") == 3


async def test_killed_over_a_look_up_what_was_found_is_not_forgotten(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await refunded_in_silence(store)

    async def dies(*_: object) -> None:
        raise KilledError

    await store.control.options(register_polls=0)
    run_id = await store.begin()
    with monkeypatch.context() as patch:
        patch.setattr("app.flows.reconciliation.orders.look_up_now", dies)
        with pytest.raises(KilledError):
            await reconcile(store.services, run_id)
    assert await store.differences() == [("missed", "found")]
    run = await store.goes_on(run_id)
    assert (run.state, run.repaired) == (RunState.DONE, 1)
    assert await store.differences() == [("missed", "repaired")]


async def test_two_comparisons_of_one_account_at_the_same_time(store: Store) -> None:
    await store.control.options(register_polls=0)
    for _ in range(3):
        await refunded_in_silence(store)
    by_night, by_hand = await store.begin(), await store.begin()
    await asyncio.gather(*(reconcile(store.services, moment) for moment in (by_night, by_hand)))
    runs = [await store.run(moment) for moment in (by_night, by_hand)]
    assert [(run.state, run.attempts, run.orders) for run in runs] == [(RunState.DONE, 0, 3)] * 2
    assert await store.differences() == [("missed", "repaired")] * 3
    await store.shop.work()
    assert store.shop.saleor.reported_types.count("REFUND_SUCCESS") == 3


class TestPeriods:
    async def test_the_first_comparison_covers_180_days_in_windows_and_the_next_what_is_new(self, store: Store) -> None:
        now = store.shop.clock.now
        store.shop.account = await store.services.accounts.change(
            store.shop.account.id, created_at=now - timedelta(days=400)
        )
        first = await store.compare()
        assert first.starts_at == first.started_at - FIRST_RUN_REACH if first.started_at else None
        assert sum(call.path == START for call in await store.control.calls()) == 6
        store.shop.clock.forward(days=1)
        second = await store.compare()
        assert second.starts_at is not None
        assert first.ends_at is not None
        assert second.starts_at == first.ends_at - timedelta(days=2)

    async def test_a_chosen_period_is_no_part_of_the_nightly_ones(self, store: Store) -> None:
        now = store.shop.clock.now
        await store.compare(now - timedelta(days=3), now)
        assert (await store.compare()).starts_at == store.shop.account.created_at

    @pytest.mark.parametrize(
        ("start", "end", "windows"),
        [
            ("2026-10-01T00:00+03:00", "2026-11-01T00:00+02:00", 2),  # the clock is put back: 31 days and an hour
            ("2026-03-01T00:00+02:00", "2026-04-01T00:00+03:00", 1),
            ("2026-10-01T00:00+00:00", "2026-11-01T00:00+00:00", 1),  # 31 days
            ("2026-02-01T00:00+02:00", "2026-03-01T00:00+02:00", 1),  # empty
        ],
    )
    async def test_a_month(self, store: Store, start: str, end: str, windows: int) -> None:
        store.shop.clock.now = datetime(2026, 10, 31, 21, 30, tzinfo=UTC)  # in the last hour of that October in Kyiv
        await refunded_in_silence(store)
        store.shop.clock.forward(hours=6)
        run = await store.compare(datetime.fromisoformat(start), datetime.fromisoformat(end))
        assert (run.state, run.source) == (RunState.DONE, Source.REGISTER)
        assert sum(call.path == START for call in await store.control.calls()) == windows
        assert run.repaired == (1 if "2026-10" in start else 0)


class TestEachNight:
    async def test_at_the_hour_that_was_chosen_and_again_the_next_night(self, store: Store) -> None:
        clock = store.shop.clock
        await refunded_in_silence(store)
        async with store.services.database.transaction() as session:
            await plan_run(session, store.shop.account, clock.now)
        night = next_time(2, clock.now)
        clock.now = night - timedelta(minutes=1)
        await store.shop.work()
        assert await store.differences() == []
        for _ in range(5):  # the register is being made
            clock.now = max(clock.now, night) + timedelta(seconds=3)
            await store.shop.work()
        assert await store.differences() == [("missed", "repaired")]
        assert store.shop.amounts == amounts(charged="70.00", refunded="30.00")
        done, planned = await store.runs()
        assert (done.state, planned.state) == (RunState.DONE, RunState.PLANNED)
        assert planned.due_at == night + timedelta(days=1)

    async def test_another_hour_is_chosen_meanwhile(self, store: Store) -> None:
        clock = store.shop.clock
        clock.now = datetime(2026, 11, 23, 12, tzinfo=UTC)
        async with store.services.database.transaction() as session:
            await plan_run(session, store.shop.account, clock.now)
        await store.services.accounts.change(store.shop.account.id, reconcile_at=5)
        clock.now = datetime(2026, 11, 24, 2, 0, 1, tzinfo=UTC)
        await store.shop.work()
        [run] = await store.runs()
        assert (run.state, run.due_at) == (RunState.PLANNED, datetime(2026, 11, 24, 5, tzinfo=UTC))


async def test_lines_are_read_by_order_however_they_came() -> None:
    async with open_spool() as spool:
        names = [f"order-{n * 7919 % 5000:04}" for n in range(5000)]
        for name in names:
            await spool.add(line(order_id=name))
        await spool.close()
        assert await spool.count_orders() == spool.lines == 5000
        read: list[str] = []
        while found := await spool.next_orders(read[-1] if read else None, 700):
            read += found
        assert read == sorted(names)
        assert await spool.missing(["order-0001", "another"]) == {"another"}
        [[again]] = (await spool.next_orders("order-4998", 5)).values()
        assert again == line(order_id="order-4999")


async def paid_before_a_gap(store: Store) -> str:
    """Let a payment be done in a store whose next comparison is planned; return the order."""
    order_id = await store.complete_payment()
    await store.control.options(register_polls=0)
    async with store.services.database.transaction() as session:
        await plan_run(session, store.shop.account, store.shop.clock.now)
    return order_id


@pytest.mark.fault("notification-lost")
async def test_what_happened_while_nobody_served_is_found_before_the_night(store: Store) -> None:
    """A payment of last week is given back in the merchant portal while the app is down."""
    order_id = await paid_before_a_gap(store)
    store.shop.clock.forward(days=7)
    await Heartbeat(replace(WEB, id="killed")).beat(store.services)
    store.shop.clock.forward(minutes=30)
    await store.control.portal(order_id, "refund", Decimal("30.00"), silent=True)
    store.shop.clock.forward(minutes=30)
    await Heartbeat(WEB).beat(store.services)
    _, gap = await store.runs()
    assert gap.due_at == store.shop.clock.now
    run = await store.goes_on(gap.id or 0)
    assert (run.state, run.orders, run.repaired, run.to_people) == (RunState.DONE, 1, 1, 0)
    await store.shop.work()
    assert store.shop.amounts == amounts(charged="70.00", refunded="30.00")


@pytest.mark.fault("notification-lost")
async def test_gaps_of_one_hour_are_compared_together_at_its_end(store: Store) -> None:
    """The app is killed three times: what happened before the second start is found with what did before the third."""
    order_id = await paid_before_a_gap(store)
    await Heartbeat(WEB).beat(store.services)
    store.shop.clock.forward(minutes=30)
    for number in range(3):
        store.shop.clock.forward(minutes=5)
        await store.control.portal(order_id, "refund", Decimal("10.00"), silent=True)
        await Heartbeat(replace(WEB, id=f"start {number}")).beat(store.services)
        _, first, *_ = await store.runs()
        if not number:
            await store.goes_on(first.id or 0)
    _, first, waiting = await store.runs()
    async with store.services.database.transaction() as session:
        assert not await is_being_compared(session, waiting.account_id)
    store.shop.clock.forward(minutes=50)
    run = await store.goes_on(waiting.id or 0)
    assert (first.repaired, run.repaired, run.started_at) == (1, 2, store.shop.clock.now)
    await store.shop.work()
    assert store.shop.amounts == amounts(charged="70.00", refunded="30.00")
