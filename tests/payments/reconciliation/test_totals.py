"""The gateway's books of a window, summed by day: whatever stands in them. And the windows themselves."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.core.vocabulary import Flow
from app.flows.reconciliation.compare import Period
from app.flows.reconciliation.entries import BookLine, book_line
from app.flows.reconciliation.run import begin_run
from app.flows.reconciliation.totals import LEAD, Totals, windows
from app.store.database import Database
from app.store.day_sums import Days, OrderOwner, compared_days, gateway_shares, gateway_totals, store_days
from app.store.reconciliations import delete_comparisons
from app.store.tables import MerchantAccount
from gateway_client.models.reports import LONGEST_PERIOD, RegisterLine
from integration_base.amounts import LARGEST
from tests.payments.reconciliation.books import line
from tests.payments.shop import Shop

START = datetime(2026, 11, 20, 1, 45, tzinfo=UTC)
END = START + timedelta(days=3)
OWNER = OrderOwner("account", "pos", "uah", Decimal("100.00"))
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def summed(*lines: BookLine, owner: OrderOwner | None = OWNER) -> dict[date, Any]:
    """Return of each day how many lines could not be read, and its totals as a whole."""
    totals = Totals(Period(START, END))
    totals.add(lines, owner)
    return {
        day.day: (day.unreadable, [(row.kind.value, row.amount, row.count) for row in rows if not row.receiver])
        for day, rows in totals.daily_books("account", 1, END)
    }


@pytest.mark.parametrize(
    ("said", "how"),
    [
        (line(), [("charged", Decimal("100.00"), 1)]),
        (line("auth"), []),
        (line("capture", amount="60.00"), [("charged", Decimal("60.00"), 1)]),
        (line("refund", amount="0.01"), [("refunded", Decimal("0.01"), 1)]),
        (line("dispute"), [("charged back", Decimal("100.00"), 1)]),
        (line("recurrent"), [("charged", Decimal("100.00"), 1)]),
        (line("cashback"), []),
        (line("void"), []),
        (line(status="failure"), []),
        (line("refund", status="pending"), []),
        (line(original_amount=Decimal("100.00"), amount="102.50"), [("charged", Decimal("100.00"), 1)]),
    ],
)
def test_how_a_line_counts(said: BookLine, how: list[object]) -> None:
    assert summed(said)[NOON.date()] == (0, how)


@pytest.mark.law(14)
@pytest.mark.parametrize(
    ("shares", "unreadable"),
    [(("10.25", "89.75"), 0), (("100.00", "0"), 0), (("10.255", "89.745"), 2), (("100.00", "-0.01"), 1)],
)
def test_a_share_that_cannot_be_summed_is_no_difference_of_the_day_but_unreadable(
    shares: tuple[str, str], unreadable: int
) -> None:
    """The sum of a sub-merchant would lack it, and differ from ours without a word."""
    lines = [
        line(currency="KWD", receiver=name, receiver_amount=Decimal(share))
        for name, share in zip(("potter", "smith"), shares, strict=True)
    ]
    assert summed(*lines)[NOON.date()] == (unreadable, [("charged", Decimal("100.00"), 1)])


@pytest.mark.parametrize("owner", [replace(OWNER, flow=Flow.PAYOUT), None])
@pytest.mark.parametrize("method", ["refund", "void", "dispute"])
def test_what_comes_back_of_a_payout_is_paid_out_no_more(owner: OrderOwner | None, method: str) -> None:
    lines = [line("credit"), line(method, amount="60.00")]
    assert summed(*lines, owner=owner)[NOON.date()] == (0, [("paid out", Decimal("40.00"), 2)])
    if owner is not None:  # what was paid out on an earlier day
        assert summed(lines[1], owner=owner)[NOON.date()] == (0, [("paid out", Decimal("-60.00"), 1)])


@pytest.mark.parametrize(
    "said",
    [
        line(amount="0.001"),
        line(amount="-1.00"),
        line(amount=LARGEST * 10),
        line(currency=None),
        line(status=None),
        line(payment_id=None),
    ],
)
def test_a_line_that_cannot_be_right_makes_its_day_not_whole(said: BookLine) -> None:
    assert summed(said)[NOON.date()] == (1, [])
    assert summed(said)[NOON.date() - timedelta(days=1)] == (0, [])


def test_a_payment_that_the_books_have_twice_counts_once_and_equal_refunds_twice() -> None:
    refund = line("refund", amount="10.00")
    books = [line(), refund, line(), refund]
    assert summed(*books)[NOON.date()] == (0, [("charged", Decimal("100.00"), 1), ("refunded", Decimal("20.00"), 2)])


def test_what_goes_out_counts_the_same_with_a_minus() -> None:
    def read(method: str, amount: str) -> BookLine:
        told = RegisterLine(
            order_id="order", payment_id="payment", method=method, status="success", date_time=NOON,
            amount=Decimal(amount), currency="UAH", receiver_name="Potter", receiver_amount=Decimal(amount),
        )  # fmt: skip
        said = book_line(told)
        assert said is not None
        return said

    for method in ("refund", "dispute", "credit"):
        owner = None if method == "credit" else OWNER
        assert summed(read(method, "-40.00"), owner=owner) == summed(read(method, "40.00"), owner=owner)
    assert summed(read("purchase", "-40.00"))[NOON.date()] == (1, [])


def test_a_line_without_a_day_makes_none_of_them_whole() -> None:
    assert [unreadable for unreadable, _ in summed(line(at=None)).values()] == [1, 1, 1, 1]


def test_a_line_of_another_window_is_in_no_sum() -> None:
    found = summed(line(at=START - timedelta(days=1)), line(at=END + timedelta(days=400)))
    assert list(found.values()) == [(0, [])] * 4


@pytest.mark.parametrize(
    ("fees", "summed_fees"),
    [
        (("1.50", "0.25"), ("1.75", 2)),
        (("1.50", None), ("1.50", 1)),
        (("1.50", "0.0000001"), ("1.50", 1)),
        (("1000000000.00", "1E-28"), ("1000000000.00", 1)),  # the sum of both would be rounded
        (("999999999999.999999", "0.000001"), ("999999999999.999999", 1)),
    ],
)
def test_a_fee_that_no_column_holds_is_in_no_sum_and_its_payment_is(
    fees: tuple[str, str | None], summed_fees: tuple[str, int]
) -> None:
    totals = Totals(Period(START, END))
    for number, fee in enumerate(fees):
        books = line(payment_id=f"payment-{number}", merchant_fee=None if fee is None else Decimal(fee))
        totals.add([books], OWNER)
    [total] = [total for _, found in totals.daily_books("account", 1, END) for total in found]
    assert (total.count, total.amount) == (2, Decimal("200.00"))
    assert (total.fee, total.fees) == (Decimal(summed_fees[0]), summed_fees[1])


def test_sums_that_no_column_holds_are_not_made() -> None:
    totals = Totals(Period(START, END))
    for number in range(1100):
        totals.add([line(amount=LARGEST, payment_id=f"payment-{number}")], OWNER)
    [(day, [total])] = [daily_book for daily_book in totals.daily_books("account", 1, END) if daily_book[1]]
    assert (total.count, day.unreadable) == (1000, 100)


NAMES = st.text(max_size=120) | st.sampled_from(["\x00", "\ud800", "�", "x" * 101, "X", "x"])


@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=20))
def test_names_of_any_text_make_keys_that_differ(names: list[tuple[str, str]]) -> None:
    totals = Totals(Period(START, END))
    for number, (currency, receiver) in enumerate(names):
        told = RegisterLine(
            order_id="order", payment_id=f"payment-{number}", method="purchase", status="success", date_time=NOON,
            original_amount=Decimal("1.00"), currency=currency, receiver_name=receiver, receiver_amount=Decimal("1.00"),
        )  # fmt: skip
        said = book_line(told)
        assert said is not None
        totals.add([said], None)
    [rows] = [rows for day, rows in totals.daily_books("account", 1, END) if day.day == NOON.date()]
    assert len({(row.currency, row.receiver, row.kind) for row in rows}) == len(rows)


async def test_they_are_kept_whatever_their_names(shop: Shop, database: Database) -> None:
    account: MerchantAccount = shop.account
    totals = Totals(Period(START, END))
    for number, name in enumerate(["\x00", "\ud800", "�", "x" * 200, "=cmd", "X", "x"]):
        told = RegisterLine(
            order_id="order", payment_id=f"payment-{number}", method="purchase", status="success", date_time=NOON,
            original_amount=Decimal("1.00"), currency=name, receiver_name=name, receiver_amount=Decimal("1.00"),
        )  # fmt: skip
        said = book_line(told)
        assert said is not None
        totals.add([said], None)
    run_id = await begin_run(shop.services, account)
    for _ in range(2):
        async with database.transaction() as session:
            await store_days(session, account.id, totals.daily_books(account.id, run_id, END))
    days = Days(date(2026, 11, 1), date(2026, 11, 30))
    async with database.transaction() as session:
        found = await gateway_totals(session, [account.id], days)
        shares = await gateway_shares(session, [account.id], days)
        assert len(await compared_days(session, [account.id], days)) == 4
    assert sum(total.count for total in found) == sum(share.count for share in shares) == 7
    # Three are written alike, and a currency is the same in small letters; a receiver is not.
    assert (len(found), len(shares)) == (4, 5)
    async with database.transaction() as session:
        await delete_comparisons(session, account.id)
        assert await compared_days(session, [account.id], days) == []


@given(
    st.datetimes(datetime(2020, 1, 1), datetime(2026, 1, 1)),  # noqa: DTZ001 - the zone is put behind it
    st.timedeltas(timedelta(seconds=1), timedelta(days=200)),
)
@example(datetime(2025, 1, 1), 2 * LONGEST_PERIOD - timedelta(days=1))  # noqa: DTZ001
def test_windows_leave_no_gap_and_each_day_between_is_in_one_of_them(start: datetime, length: timedelta) -> None:
    start = start.replace(tzinfo=UTC)
    end = start + length
    cut = list(windows(start, end, None))
    assert start - LEAD <= cut[0].start <= start
    assert cut[-1].end == end
    for one, other in pairwise(cut):
        assert other.start == one.end - LEAD
        assert (one.end.hour, one.end.minute, one.end.second, one.end.microsecond) == (0, 0, 0, 0)
    assert all(period.end - period.start <= LONGEST_PERIOD for period in cut)
    if len(cut) > 1:  # whoever takes it over goes on in the same windows
        assert list(windows(start, end, cut[0].end)) == cut[1:]
    assert list(windows(start, end, end)) == []


def test_what_fits_into_one_register_is_one_window() -> None:
    """Of all that may have begun before, it has as much as still fits."""
    for length in (LONGEST_PERIOD, LONGEST_PERIOD - LEAD / 2, LONGEST_PERIOD - LEAD, timedelta(days=1)):
        end = START + length
        assert list(windows(START, end, None)) == [Period(max(START - LEAD, end - LONGEST_PERIOD), end)]
    assert len(list(windows(START, START + LONGEST_PERIOD + timedelta(seconds=1), None))) == 2
