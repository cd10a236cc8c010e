"""Sums by whatever they are made by add up to the same; nothing is added up over currencies."""

from collections import defaultdict
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.reports.money import Agreement, Figures, GroupBy, MoneyReport, MoneyRow
from app.store.day_sums import Days, Total
from app.store.tables import Booked

FIRST, LAST = date(2026, 10, 1), date(2026, 10, 31)
ACCOUNTS = ("one", "two")
PAIRS = {(account, FIRST + timedelta(days=n)) for account in ACCOUNTS for n in range(31)}

cents = st.integers(1, 10**15).map(lambda number: Decimal(number) / 100)
totals = st.builds(
    Total,
    day=st.dates(FIRST, LAST),
    account_id=st.sampled_from(ACCOUNTS),
    channel=st.sampled_from(["", "uah", "=eur"]),
    currency=st.sampled_from(["UAH", "EUR", "JPY"]),
    kind=st.sampled_from(Booked),
    amount=cents,
    count=st.integers(1, 1000),
    fee=st.integers(-(10**9), 10**9).map(lambda number: Decimal(number) / 10**6),
    fees=st.just(1),
)


def money(ours: list[Total], gateway: list[Total], whole: set[tuple[str, date]]) -> MoneyReport:
    return MoneyReport(
        days=Days(FIRST, LAST),
        accounts={account: account for account in ACCOUNTS},
        receivers={},
        ours=ours,
        gateway=gateway,
        our_shares=[],
        gateway_shares=[],
        expected={day: {account for account, on in PAIRS if on == day} for _, day in PAIRS},
        whole=whole,
        compared={},
    )


def by_currency(rows: list[MoneyRow], of: str) -> dict[str, tuple[object, ...]]:
    sums: dict[str, Figures] = defaultdict(Figures)
    for row in rows:
        for name in Figures.__slots__:
            figures = sums[row.currency]
            setattr(figures, name, getattr(figures, name) + getattr(getattr(row, of), name))
    return {currency: (total.moved, total.fee, total.no_fee, total.net) for currency, total in sums.items()}


@given(st.lists(totals, max_size=30), st.lists(totals, max_size=30), st.sets(st.sampled_from(sorted(PAIRS))))
def test_days_add_up_to_the_month_and_accounts_to_the_total(
    ours: list[Total], gateway: list[Total], whole: set[tuple[str, date]]
) -> None:
    found = money(ours, gateway, whole)
    for of in ("ours", "compared", "gateway"):
        month = by_currency(found.rows(), of)
        for by in (GroupBy.DAY, GroupBy.ACCOUNT, GroupBy.CHANNEL, GroupBy.CURRENCY):
            assert by_currency(found.rows(by), of) == month
        assert by_currency(found.rows(GroupBy.DAY, GroupBy.ACCOUNT, GroupBy.CHANNEL), of) == month


@given(st.lists(totals, min_size=1, max_size=10))
def test_the_same_agrees_and_a_cent_more_differs(said: list[Total]) -> None:
    found = money(said, said, set(PAIRS))
    assert {row.agreement for row in found.rows(GroupBy.DAY)} == {Agreement.AGREE}
    first = said[0]
    more = Total(
        first.day, first.account_id, first.channel, first.currency, first.kind, Decimal("0.01"), 0, Decimal(0), 0
    )
    differing = [
        row for row in money(said, [*said, more], set(PAIRS)).rows(GroupBy.DAY) if row.agreement != Agreement.AGREE
    ]
    assert [(row.names, row.currency, row.agreement) for row in differing] == [
        ((first.day,), first.currency, Agreement.DIFFER)
    ]


def test_a_day_is_not_compared_before_all_accounts_are() -> None:
    sold = Total(FIRST, "one", "uah", "UAH", Booked.CHARGED, Decimal("5.00"), 1, Decimal("0.10"), 1)
    found = money([sold], [sold], {("one", FIRST)})
    [day] = found.rows(GroupBy.DAY)
    assert day.agreement is Agreement.NOT_COMPARED
    assert found.not_compared[0] == FIRST
    [account] = found.rows(GroupBy.ACCOUNT)
    assert (account.agreement, account.days_compared, account.days) == (Agreement.AGREE_SO_FAR, 1, 31)


def test_fees_are_compared_where_all_are_known() -> None:
    ours = Total(FIRST, "one", "uah", "UAH", Booked.CHARGED, Decimal("5.00"), 2, Decimal("0.10"), 1)
    theirs = Total(FIRST, "one", "uah", "UAH", Booked.CHARGED, Decimal("5.00"), 2, Decimal("0.20"), 2)
    [row] = money([ours], [theirs], set(PAIRS)).rows()
    assert row.agreement is Agreement.AGREE
    assert (row.ours.no_fee, row.gateway.no_fee) == (1, 0)
    known = Total(FIRST, "one", "uah", "UAH", Booked.CHARGED, Decimal("5.00"), 2, Decimal("0.10"), 2)
    [row] = money([known], [theirs], set(PAIRS)).rows()
    assert row.agreement is Agreement.DIFFER


def test_trials_are_rows_of_their_own_and_last_but_have_no_receiver() -> None:
    sold = Total(FIRST, "one", "uah", "UAH", Booked.CHARGED, Decimal("5.00"), 1, Decimal("0.10"), 1)
    found = money([replace(sold, channel=""), sold], [], set())
    assert [is_trial for _, is_trial in found.rows_and_trials(GroupBy.DAY)] == [False, True]
    shared = replace(found, our_shares=[replace(sold, receiver="one")])
    assert [is_trial for _, is_trial in shared.rows_and_trials(GroupBy.RECEIVER)] == [False]


@pytest.mark.parametrize(
    ("undivided", "agreement"),
    [
        ({}, Agreement.NOT_DIVIDED),
        ({"currency": "EUR"}, Agreement.DIFFER),
        ({"day": FIRST + timedelta(days=1)}, Agreement.DIFFER),  # a day that was not compared
        ({"receiver": "one"}, Agreement.DIFFER),
    ],
)
def test_sums_by_receiver_differ_unless_our_books_do_not_say_whose_money_some_of_it_is(
    undivided: dict[str, Any], agreement: Agreement
) -> None:
    share = Total(FIRST, "one", "uah", "UAH", Booked.CHARGED, Decimal("5.00"), 1, Decimal("0.10"), 1, receiver="two")
    found = replace(
        money([share], [replace(share, amount=Decimal("7.00"))], {("one", FIRST)}),
        our_shares=[share, replace(share, **({"receiver": ""} | undivided))],
        gateway_shares=[replace(share, amount=Decimal("7.00"))],
    )
    [row] = [row for row in found.rows(GroupBy.ACCOUNT, GroupBy.RECEIVER) if row.names == ("one", "two")]
    assert row.agreement is agreement
    [row] = found.rows(GroupBy.ACCOUNT)
    assert row.agreement is Agreement.DIFFER
