"""How long a period may be, and how a longer one is cut (gateway interface, 10. Registers)."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway_client.client import GatewayClient
from gateway_client.errors import InvalidRequestError
from gateway_client.models.reports import (
    LONGEST_PERIOD,
    RegisterRequest,
    split_period,
)

START = datetime(2026, 11, 1, tzinfo=UTC)
END = datetime(2026, 11, 21, tzinfo=UTC)


def test_a_register_covers_31_days_at_most() -> None:
    RegisterRequest(start_date=START, end_date=START + timedelta(days=31))
    with pytest.raises(InvalidRequestError, match="31 days"):
        RegisterRequest(start_date=START, end_date=START + timedelta(days=31, seconds=1))


moments = st.datetimes(min_value=datetime(2000, 1, 1), max_value=datetime(2040, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis adds the zone


@given(start=moments, days=st.floats(min_value=0.001, max_value=400))
def test_longer_periods_are_cut_without_a_gap(start: datetime, days: float) -> None:
    end = start + timedelta(days=days)
    cut = list(split_period(start, end))
    assert cut[0][0] == start
    assert cut[-1][1] == end
    assert all(one[1] == other[0] for one, other in pairwise(cut))
    for one, other in cut:
        RegisterRequest(start_date=one, end_date=other)


def test_31_days_over_the_end_of_summer_time_are_31_days() -> None:
    kyiv = ZoneInfo("Europe/Kyiv")
    start, end = datetime(2026, 10, 1, tzinfo=kyiv), datetime(2026, 11, 1, tzinfo=kyiv)
    first, second = split_period(start, end)
    assert first[1] - first[0] == timedelta(days=31)
    assert second == (datetime(2026, 10, 31, 21, tzinfo=UTC), datetime(2026, 10, 31, 22, tzinfo=UTC))
    with pytest.raises(InvalidRequestError, match="31 days"):
        RegisterRequest(start_date=start, end_date=end)


def test_the_hour_that_comes_twice_is_an_hour() -> None:
    kyiv = ZoneInfo("Europe/Kyiv")
    first, again = datetime(2026, 10, 25, 3, 30, tzinfo=kyiv), datetime(2026, 10, 25, 3, 10, fold=1, tzinfo=kyiv)
    RegisterRequest(start_date=first, end_date=again)
    with pytest.raises(InvalidRequestError, match="after"):
        RegisterRequest(start_date=again, end_date=first)


zones = st.sampled_from(sorted(available_timezones())).map(ZoneInfo)
local_moments = st.datetimes(
    min_value=datetime(1890, 1, 1),  # noqa: DTZ001 - hypothesis adds the zone
    max_value=datetime(2040, 1, 1),  # noqa: DTZ001 - as above
    timezones=zones,
    allow_imaginary=True,
)


@given(start=local_moments, days=st.integers(min_value=1, max_value=400))
@example(start=datetime(2026, 10, 1, tzinfo=ZoneInfo("Europe/Kyiv")), days=31)
def test_the_clocks_of_no_zone_stretch_a_period(start: datetime, days: int) -> None:
    end = start + timedelta(days=days)
    cut = [(one.astimezone(UTC), other.astimezone(UTC)) for one, other in split_period(start, end)]
    assert (cut[0][0], cut[-1][1]) == (start.astimezone(UTC), end.astimezone(UTC))
    assert all(one[1] == other[0] for one, other in pairwise(cut))
    assert all(timedelta() < other - one <= LONGEST_PERIOD for one, other in cut)


@given(start=local_moments, over=st.timedeltas(min_value=timedelta(milliseconds=1), max_value=timedelta(days=2)))
def test_a_register_is_asked_for_by_the_time_that_passes(start: datetime, over: timedelta) -> None:
    """In the zone of the shop, whatever its clocks do meanwhile."""
    exact = (start.astimezone(UTC) + LONGEST_PERIOD).astimezone(start.tzinfo)
    asked = RegisterRequest(start_date=start, end_date=exact).to_wire()
    told = [datetime.fromisoformat(asked[name]) for name in ("start_date", "end_date")]
    assert told[1].astimezone(UTC) - told[0].astimezone(UTC) == LONGEST_PERIOD
    with pytest.raises(InvalidRequestError, match="31 days"):
        RegisterRequest(start_date=start, end_date=(exact.astimezone(UTC) + over).astimezone(start.tzinfo))


async def test_a_period_that_is_none_is_named_as_the_caller_named_it(client: GatewayClient) -> None:
    with pytest.raises(InvalidRequestError, match=r"enddate: after startDate;") as of_list:
        await anext(client.reports.period(END, START, timeout=30))
    with pytest.raises(InvalidRequestError, match=r"end_date: after start_date;") as of_register:
        RegisterRequest(start_date=END, end_date=START)
    with pytest.raises(InvalidRequestError, match=r"end: after start;") as of_both:
        next(split_period(END, START))
    assert [caught.value.field for caught in (of_list, of_register, of_both)] == ["enddate", "end_date", "end"]
