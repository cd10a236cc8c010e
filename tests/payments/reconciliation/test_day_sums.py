"""The day's money, by our books and by the gateway's: to the last digit, on both databases, over real HTTP."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import pytest
from sqlmodel import select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.flows.reconciliation.run import reconcile
from app.reports.money import Agreement, Figures, GroupBy, MoneyReport, MoneyRow, read_books_comparison, read_money
from app.reports.money_rows import DEFAULT_GROUPING, money_rows
from app.reports.sheet import SheetStyle, csv_lines
from app.store.day_sums import DayBooks, Days, store_days
from app.store.reconciliations import next_time
from app.store.tables import ComparedDay, GatewayTotal, RunState
from gateway_client.sandbox.scripting import FaultRule
from tests.payments.reconciliation.conftest import Store
from tests.payments.split.market import enable_splitting, split_checkout
from tests.payments.split.people import MARKET, POTTER, SMITH

pytestmark = pytest.mark.usefixtures("summing")
START = "/streaming-report/start"
NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)
DAY = NOON.date()


def figures(
    charged: str = "0.00", refunded: str = "0.00", charged_back: str = "0.00", fee: str = "0.00"
) -> list[Decimal]:
    """Return the sums that a row is expected to have; the net of them is the last."""
    sums = [Decimal(amount) for amount in (charged, refunded, charged_back, fee)]
    return [*sums, sums[0] - sums[1] - sums[2] - sums[3]]


def sums(said: Figures) -> list[Decimal]:
    return [said.charged, said.refunded, said.charged_back, said.fee, said.net]


async def money(store: Store, first: date = DAY, last: date | None = None) -> MoneyReport:
    accounts = await store.services.accounts.all()
    return await read_money(store.services, accounts, Days(first, last or first))


async def row(store: Store, *by: GroupBy, first: date = DAY, last: date | None = None) -> MoneyRow:
    [found] = (await money(store, first, last)).rows(*by)
    return found


async def night(store: Store) -> None:
    """A night passes; the books are compared at two in the morning."""
    store.shop.clock.now = next_time(2, store.shop.clock.now) - timedelta(hours=1)
    await store.compare()


@pytest.fixture
async def busy(store: Store) -> Store:
    """A day with everything: a payer's fee, a refund, a charge-back, a part that was captured."""
    store.shop.clock.now = NOON
    await store.control.options(customer_fee_percent=Decimal("2.5"), customer_fee_in=["registers"])
    first = await store.complete_payment("100.10")
    await store.control.portal(first, "refund", Decimal("30.03"), silent=True)
    await store.look(first)
    second = await store.complete_payment("50.00")
    await store.control.dispute(second, Decimal("50.00"), silent=True)
    await store.look(second)
    third = await store.complete_payment("80.00", flow="AUTHORIZATION")
    await store.control.portal(third, "capture", Decimal("60.07"), silent=True)
    await store.look(third)
    await store.complete_payment("70.00", flow="AUTHORIZATION")  # reserved is not charged
    return store


async def test_what_both_books_say_of_a_day(busy: Store) -> None:
    ours = await row(busy, GroupBy.DAY)
    assert ours.agreement is Agreement.NOT_COMPARED
    assert sums(ours.ours)[:3] == figures("210.17", "30.03", "50.00")[:3]
    assert (ours.ours.charges, ours.ours.refunds, ours.ours.charge_backs) == (3, 1, 1)
    await night(busy)
    day = await row(busy, GroupBy.DAY)
    assert day.agreement is Agreement.AGREE, (day.compared, day.gateway)
    assert sums(day.gateway)[:3] == sums(day.ours)[:3] == figures("210.17", "30.03", "50.00")[:3]
    assert (day.gateway.charges, day.gateway.refunds, day.gateway.charge_backs) == (3, 1, 1)
    # 1.5 % of each payment, of the capture, and of what else the sandbox takes one for.
    fees = await fees_of(busy)
    assert day.ours.fee == day.gateway.fee == fees
    assert day.ours.net == Decimal("210.17") - Decimal("30.03") - Decimal("50.00") - fees


async def fees_of(store: Store) -> Decimal:
    """What the gateway has taken for what moved money, by its own records."""
    state = store.sandbox.state
    paid = [payment for payment in state.payments.values() if payment.method == "purchase"]
    moved = [
        operation for operation in state.operations.values() if operation.method in {"capture", "refund", "dispute"}
    ]
    return sum((entry.fee.total for entry in [*paid, *moved] if entry.fee), Decimal("0.00"))


async def test_a_window_that_is_compared_twice_counts_once(busy: Store) -> None:
    await night(busy)
    before = await row(busy, GroupBy.DAY)
    await busy.compare()
    await night(busy)
    assert sums((await row(busy, GroupBy.DAY)).gateway) == sums(before.gateway)


async def test_what_differs_is_said_and_so_is_that_it_was_mended(busy: Store) -> None:
    order_id = await busy.complete_payment("10.00")
    await busy.write(order_id, amount=Decimal("9.00"))
    await night(busy)
    day = await row(busy, GroupBy.DAY)
    assert day.agreement is Agreement.DIFFER
    assert day.ours.charged - day.gateway.charged == Decimal("1.00")
    books = await read_books_comparison(busy.services, [busy.shop.account])
    assert books.differences == 1
    assert books.compared is not None
    await busy.write(order_id, amount=Decimal("10.00"))
    await busy.compare()
    assert (await row(busy, GroupBy.DAY)).agreement is Agreement.AGREE


async def test_a_refund_that_nobody_has_told_of_is_in_both_after_the_night(store: Store) -> None:
    store.shop.clock.now = NOON
    order_id = await store.complete_payment("100.00")
    await store.control.portal(order_id, "refund", Decimal("30.00"), silent=True)
    await night(store)
    day = await row(store, GroupBy.DAY)
    assert day.ours.refunded == day.gateway.refunded == Decimal("30.00")
    assert day.agreement is Agreement.AGREE


async def test_without_a_register_the_list_of_the_period_is_summed(busy: Store) -> None:
    await busy.control.fault(FaultRule(path=START, effect="status", status=403, times=100))
    await night(busy)
    day = await row(busy, GroupBy.DAY)
    assert day.agreement is Agreement.AGREE
    assert day.gateway.charged == Decimal("210.17")


async def test_a_fee_in_the_amount_of_the_list_is_the_payers(store: Store) -> None:
    store.shop.clock.now = NOON
    await store.control.options(customer_fee_percent=Decimal("2.5"), customer_fee_in=["lists"])
    await store.control.fault(FaultRule(path=START, effect="status", status=403, times=100))
    await store.complete_payment("100.00")
    await night(store)
    assert (await row(store, GroupBy.DAY)).gateway.charged == Decimal("100.00")


async def test_a_market_by_receiver(store: Store) -> None:
    store.shop.clock.now = NOON
    store.shop = await enable_splitting(store.shop)
    await store.shop.begin(sourceObject=split_checkout())
    order_id = store.shop.order_id
    await store.control.pay(order_id)
    taken = {UUID(POTTER): Decimal("5.00"), UUID(SMITH): Decimal("3.00")}
    await store.control.portal(order_id, "refund", Decimal("8.00"), split=taken, silent=True)
    await store.look(order_id)
    await night(store)
    found = {row.names[0]: row for row in (await money(store)).rows(GroupBy.RECEIVER)}
    refund = found.pop("")  # no record says whose a refund in the portal was; the register does
    assert (refund.ours.refunded, refund.gateway.refunded) == (Decimal("8.00"), Decimal("0.00"))
    sums_of = {
        who: (comparison.ours.charged, comparison.gateway.charged, comparison.gateway.refunded)
        for who, comparison in found.items()
    }
    assert sums_of == {
        POTTER: (Decimal("300.00"), Decimal("300.00"), Decimal("5.00")),
        SMITH: (Decimal("199.50"), Decimal("199.50"), Decimal("3.00")),
        MARKET: (Decimal("70.00"), Decimal("70.00"), Decimal("0.00")),
    }
    assert {who: comparison.agreement for who, comparison in found.items()} == {
        POTTER: Agreement.NOT_DIVIDED,
        SMITH: Agreement.NOT_DIVIDED,
        MARKET: Agreement.AGREE,
    }
    assert (await row(store, GroupBy.DAY)).gateway.charged == Decimal("569.50")  # a split payment counts once


async def test_without_a_register_nobody_says_whose_the_gateways_money_is(store: Store) -> None:
    store.shop.clock.now = NOON
    store.shop = await enable_splitting(store.shop)
    await store.control.fault(FaultRule(path=START, effect="status", status=403, times=100))
    await store.shop.begin(sourceObject=split_checkout())
    await store.control.pay(store.shop.order_id)
    await store.look(store.shop.order_id)
    await night(store)
    assert (await row(store, GroupBy.DAY)).agreement is Agreement.AGREE
    assert {row.agreement for row in (await money(store)).rows(GroupBy.RECEIVER)} == {Agreement.NOT_COMPARED}


async def test_a_refund_that_staff_ask_for_is_divided_by_both_books(store: Store) -> None:
    store.shop.clock.now = NOON
    store.shop = await enable_splitting(store.shop)
    await store.shop.begin(sourceObject=split_checkout())
    await store.control.pay(store.shop.order_id)
    await store.look(store.shop.order_id)
    assert (await store.shop.request_action("REFUND", "100.01")).result == "REFUND_SUCCESS"
    await night(store)
    rows = (await money(store)).rows(GroupBy.RECEIVER)
    assert {row.agreement for row in rows} == {Agreement.AGREE}
    assert sum(row.ours.refunded for row in rows) == sum(row.gateway.refunded for row in rows) == Decimal("100.01")


async def test_whoever_dies_over_a_window_leaves_no_half_of_a_day(busy: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    busy.shop.clock.now = NOON + timedelta(days=1)
    run_id = await busy.begin()

    class KilledError(BaseException):
        pass

    async def dies(session: AsyncSession, account_id: str, days: Sequence[DayBooks]) -> None:
        await store_days(session, account_id, days)
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr("app.flows.reconciliation.windows.store_days", dies)
        await reconcile(busy.services, run_id)  # the register is being made
        await busy.make_due(run_id)
        with pytest.raises(KilledError):
            await reconcile(busy.services, run_id)
    async with busy.services.database.transaction() as session:
        assert (await session.exec(select(ComparedDay))).all() == []
        assert (await session.exec(select(GatewayTotal))).all() == []
    assert (await busy.goes_on(run_id)).state is RunState.DONE
    assert (await row(busy, GroupBy.DAY)).agreement is Agreement.AGREE


async def test_a_day_that_is_compared_in_part_does_not_claim_to_be_whole(busy: Store) -> None:
    busy.shop.clock.now = NOON + timedelta(hours=3)
    await busy.compare()
    today = await row(busy, GroupBy.DAY)
    assert today.agreement is Agreement.NOT_COMPARED
    assert today.until == NOON + timedelta(hours=3, minutes=45)  # it was asked for at four
    await night(busy)
    assert (await row(busy, GroupBy.DAY)).agreement is Agreement.AGREE


async def test_a_shorter_part_of_a_day_is_not_kept_in_place_of_all_of_it(busy: Store) -> None:
    await night(busy)
    before = await row(busy, GroupBy.DAY)
    await busy.compare(NOON + timedelta(hours=6), NOON + timedelta(hours=7))
    after = await row(busy, GroupBy.DAY)
    assert (sums(after.gateway), after.agreement) == (sums(before.gateway), Agreement.AGREE)


async def test_a_line_that_cannot_be_read_is_counted_and_its_day_is_not_whole(busy: Store) -> None:
    busy.shop.clock.now = next_time(1, busy.shop.clock.now)
    run_id = await busy.begin()
    await reconcile(busy.services, run_id)
    [register] = busy.sandbox.state.registers.values()
    register.rows[0] |= {"amount": "a hundred", "originalAmount": "a hundred"}
    await busy.goes_on(run_id)
    day = await row(busy, GroupBy.DAY)
    assert (day.agreement, day.unreadable) == (Agreement.NOT_COMPARED, 1)


@pytest.mark.parametrize(("status", "unreadable"), [("success", 1), ("failure", 0)])
async def test_a_line_that_names_no_order_counts_as_unreadable_if_money_has_moved(
    busy: Store, status: str, unreadable: int
) -> None:
    busy.shop.clock.now = next_time(1, busy.shop.clock.now)
    run_id = await busy.begin()
    await reconcile(busy.services, run_id)
    [register] = busy.sandbox.state.registers.values()
    register.rows[0] |= {"orderId": "", "status": status}
    await busy.goes_on(run_id)
    assert (await row(busy, GroupBy.DAY)).unreadable == unreadable


async def test_an_order_of_nobody_here_is_in_the_gateways_sums_only(store: Store) -> None:
    store.shop.clock.now = NOON
    await store.complete_payment("100.00")
    [payment] = store.sandbox.state.payments.values()
    stranger = payment.model_copy(
        update={"order_id": "invoice-7", "payment_id": store.sandbox.state.new_id(), "checkout_id": payment.payment_id}
    )
    store.sandbox.state.add_payment(stranger)
    await night(store)
    day = await row(store, GroupBy.DAY)
    assert (day.ours.charged, day.gateway.charged) == (Decimal("100.00"), Decimal("200.00"))
    assert day.agreement is Agreement.DIFFER
    by_channel = {row.names[0]: row for row in (await money(store)).rows(GroupBy.CHANNEL)}
    assert by_channel["*"].gateway.charged == by_channel["uah"].gateway.charged == Decimal("100.00")
    assert by_channel["uah"].agreement is Agreement.AGREE


@pytest.mark.parametrize(
    ("first", "last"),
    [
        (date(2026, 10, 1), date(2026, 10, 31)),  # 31 days, and summer time ends in Kyiv
        (date(2026, 2, 1), date(2026, 2, 28)),  # nothing was sold
    ],
)
async def test_a_month(store: Store, first: date, last: date) -> None:
    store.shop.account = await store.services.accounts.change(
        store.shop.account.id, created_at=datetime(2026, 1, 1, tzinfo=UTC)
    )
    for moment in (
        datetime(2026, 9, 30, 23, 59, tzinfo=UTC),
        datetime(2026, 10, 1, tzinfo=UTC),
        datetime(2026, 10, 25, 0, 59, tzinfo=UTC),  # an hour before the clocks are put back
        datetime(2026, 10, 31, 23, 58, tzinfo=UTC),
        datetime(2026, 11, 1, tzinfo=UTC),
    ):
        store.shop.clock.now = moment
        await store.complete_payment("10.01")
    store.shop.clock.now = datetime(2026, 11, 2, 3, tzinfo=UTC)
    await store.compare(datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC))
    await store.compare(datetime(2026, 9, 30, tzinfo=UTC), datetime(2026, 11, 2, tzinfo=UTC))
    found = await money(store, first, last)
    assert found.not_compared == []
    if first.month == 2:
        assert found.rows() == []
        return
    [month] = found.rows()
    assert (month.days, month.days_compared, month.agreement) == (31, 31, Agreement.AGREE)
    assert month.ours.charged == month.gateway.charged == Decimal("30.03")
    assert [row.names for row in found.rows(GroupBy.DAY)] == [(date(2026, 10, day),) for day in (1, 25, 31)]


async def test_the_file_says_what_the_rows_say(busy: Store) -> None:
    busy.shop.account = await busy.services.accounts.change(busy.shop.account.id, name="=HYPERLINK(1)")

    def file_of(report: MoneyReport) -> list[str]:
        return csv_lines(money_rows(report, DEFAULT_GROUPING, SheetStyle()), SheetStyle()).splitlines()

    before = file_of(await money(busy))
    assert before[1].endswith(",,,,,,,,,,1,0,not yet compared,")
    await night(busy)
    header, line = file_of(await money(busy))
    said = dict(zip(header.split(","), line.split(","), strict=True))
    assert said["Merchant account"] == "'=HYPERLINK(1)"
    assert (said["Day (UTC)"], said["Channel"], said["Currency"]) == ("2026-11-24", "uah", "UAH")
    assert said["Charged"] == said["Charged (the gateway’s)"] == "210.17"
    assert (
        said["Number of days"],
        said["Days compared"],
        said["Our records and the gateway’s"],
    ) == ("1", "1", "both agree")


async def test_another_stores_money_is_not_in_it(busy: Store) -> None:
    nobody: Sequence[object] = []
    found = await read_money(busy.services, [], Days(DAY, DAY))
    assert found.rows(GroupBy.DAY) == nobody
    assert replace(found, ours=[]).rows() == []
