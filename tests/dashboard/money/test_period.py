"""Which days are meant, and those before and after."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.web.dashboard.money.period import InvalidPeriodError, Period, Span

TODAY = date(2026, 11, 22)
days = st.dates(date(2000, 1, 1), date(2099, 12, 31))


def test_without_a_word_it_is_this_month() -> None:
    period = Period.from_params({}, TODAY)
    assert (period.first, period.last, period.span) == (date(2026, 11, 1), date(2026, 11, 30), Span.MONTH)
    assert period.after(TODAY) is None
    assert period.day(TODAY).first == TODAY


def test_a_day_a_month_and_anything_else() -> None:
    day = Period.from_params({"from": "2026-02-28", "account": "a"}, TODAY)
    assert (day.span, day.last, day.account) == (Span.DAY, day.first, "a")
    assert str(day.after(TODAY) and day.after(TODAY).first) == "2026-03-01"  # type: ignore[union-attr] # it is there
    assert day.path == "/money?from=2026-02-28&to=2026-02-28&account=a"
    february = day.month
    assert (february.span, str(february.last)) == (Span.MONTH, "2026-02-28")
    assert february.before == Period(date(2026, 1, 1), date(2026, 1, 31), "a")
    assert february.after(TODAY) == Period(date(2026, 3, 1), date(2026, 3, 31), "a")
    week = Period(date(2026, 10, 26), date(2026, 11, 1))
    assert week.span is Span.OTHER
    assert week.before == Period(date(2026, 10, 19), date(2026, 10, 25))
    assert week.after(TODAY) == Period(date(2026, 11, 2), date(2026, 11, 8))


@pytest.mark.parametrize(
    ("said", "fields"),
    [
        ({"from": "yesterday", "to": "2026-02-30"}, {"from", "to"}),
        ({"from": "2026-03-02", "to": "2026-03-01"}, {"to"}),
        ({"from": "2025-01-01", "to": "2026-01-02"}, {"to"}),
        ({"from": "0001-01-01"}, {"from"}),
        ({"to": "9999-12-31"}, {"to"}),
        ({"from": "2026-01-01+02:00"}, {"from"}),
        ({"from": "٢٠٢٦-٠١-٠١"}, {"from"}),
        ({"from": "\x00\ud800", "to": "2" * 100_000}, {"from", "to"}),
    ],
)
def test_what_is_no_period_is_said_of_each_field(said: dict[str, str], fields: set[str]) -> None:
    with pytest.raises(InvalidPeriodError) as wrong:
        Period.from_params(said, TODAY)
    assert set(wrong.value.fields) == fields


@given(days, st.integers(0, 365), days)
def test_periods_follow_each_other_without_a_gap(first: date, length: int, today: date) -> None:
    last = min(first + timedelta(days=length), date(2099, 12, 31))
    period = Period(first, last)
    assert Period.from_params(period.fields, today) == period
    before, after = period.before, period.after(today)
    if before is not None:
        assert (before.last, before.span is Span.MONTH) >= (first - timedelta(days=1), period.span is Span.MONTH)
        assert Period.from_params(before.fields, today) == before
    if after is not None:
        assert after.first == last + timedelta(days=1) <= today
        assert Period.from_params(after.fields, today) == after
