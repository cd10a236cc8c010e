"""A chart is as high as its highest value, and every value of it is also written."""

from datetime import date, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.web.dashboard.overview.charts import HIGH, WIDE, LineChart, bars, line_chart, round_top

FIRST = date(2026, 11, 1)
cents = st.integers(0, 10**12).map(lambda number: Decimal(number) / 100)


def drawn(values: list[Decimal], before: list[Decimal]) -> LineChart:
    days = [FIRST + timedelta(days=number) for number in range(len(values))]
    return line_chart(days, values, days, before, write=str, write_short=str, write_day=str)


@pytest.mark.parametrize(
    ("most", "top"),
    [
        ("0", "4"),
        ("0.01", "0.01"),
        ("369.99", "400"),
        ("400", "400"),
        ("400.01", "800"),
        ("900", "1000"),
        ("1000", "1000"),
        ("9000000", "10000000"),
        ("-5", "4"),
    ],
)
def test_a_scale_has_four_steps_of_a_round_number(most: str, top: str) -> None:
    assert round_top(Decimal(most)) == Decimal(top)


@given(cents)
def test_no_value_is_above_the_scale_nor_far_below_it(most: Decimal) -> None:
    top = round_top(most)
    assert most <= top
    assert most == 0 or top <= most * Decimal("2.5")


@given(st.lists(st.tuples(cents, cents), min_size=1, max_size=40))
def test_every_day_is_drawn_within_the_plot_and_written_beside_it(pairs: list[tuple[Decimal, Decimal]]) -> None:
    values, before = [value for value, _ in pairs], [value for _, value in pairs]
    chart = drawn(values, before)
    for points in (chart.line, chart.before):
        places = [tuple(map(int, part.split(","))) for part in points.split()]
        assert len(places) == len(pairs)
        assert places == sorted(places, key=lambda place: place[0])
        assert all(0 < x < WIDE and 0 <= y <= HIGH for x, y in places)
    assert [(column.value, column.before) for column in chart.columns] == [
        (str(one), str(other)) for one, other in pairs
    ]
    assert chart.columns[-1].label
    assert chart.ticks[-1] in {"0", "0.0", "0.00", "0E+1", "0E+2"} or Decimal(chart.ticks[-1]) == 0


def test_what_is_more_stands_higher() -> None:
    chart = drawn([Decimal(1), Decimal(2), Decimal(0)], [Decimal(0)] * 3)
    first, second, third = (int(part.split(",")[1]) for part in chart.line.split())
    assert second < first < third == HIGH


def test_bars_are_as_long_as_what_they_count() -> None:
    found = bars([("many", 30), ("some", 15), ("one", 1)], write=str, write_share=lambda part: f"{part:.2f}")
    assert [(bar.name, bar.count, bar.length) for bar in found] == [
        ("many", "30", 1000),
        ("some", "15", 500),
        ("one", "1", 33),
    ]
    assert found[0].share == "0.65"
    assert bars([], write=str, write_share=str) == []
