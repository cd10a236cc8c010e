"""Days are those of whoever looks."""

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.web.dashboard.payments.days import Day

CLOCKS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.dates(date(2, 1, 1), date(9998, 12, 30)), CLOCKS)
def test_a_day_is_the_24_hours_of_its_clocks_and_is_said_again_as_it_was(day: date, clocks: timezone) -> None:
    midnight = datetime(day.year, day.month, day.day, tzinfo=clocks)
    read = Day.parse(f"{day}{midnight.isoformat()[-6:]}")
    assert read is not None
    assert (read.begins, read.ends) == (midnight, midnight + timedelta(days=1))
    assert Day.parse(str(read)) == read


def test_a_day_on_which_the_clocks_change_has_as_many_hours_as_it_has() -> None:
    """Kyiv, 29 March 2026: the browser says how far its clocks are ahead at the beginning, and at the end."""
    first, last = Day.parse("2026-03-29+02:00"), Day.parse("2026-03-29+03:00")
    assert first is not None
    assert last is not None
    kyiv = ZoneInfo("Europe/Kyiv")
    assert first.begins == datetime(2026, 3, 29, tzinfo=kyiv)
    assert last.ends == datetime(2026, 3, 30, tzinfo=kyiv)
    assert last.ends - first.begins == timedelta(hours=23)


def test_without_clocks_it_is_a_day_of_utc() -> None:
    assert Day.parse("2026-11-21") == Day(date(2026, 11, 21))
    assert Day(date(2026, 11, 21)).begins == datetime(2026, 11, 21, tzinfo=UTC)


@pytest.mark.parametrize(
    "said",
    [
        "",
        "today",
        "2026-02-30",
        "2026-11-21+24:00",
        "2026-11-21+2",
        "2026-11-21 02:00",
        "9999-12-31",
        "0001-01-01+02:00",
    ],
)
def test_what_is_no_day_is_none(said: str) -> None:
    assert Day.parse(said) is None
