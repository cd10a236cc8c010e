"""Computes charts as numbers of an SVG: a line over days, and bars. Pure; the templates draw them, without a script.

A plot is ``WIDE`` by ``HIGH`` units and is stretched to the available space, so it contains no text: the labels beside
it are HTML. Colours are those of the style sheet.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

WIDE = HIGH = 1000
_STEPS = 4
_ROUND = (Decimal(1), Decimal(2), Decimal("2.5"), Decimal(5), Decimal(10))
_LABELS_EVERY = 7  # days, in charts of more days than that


@dataclass(frozen=True, slots=True)
class Column:
    """A day: its position in the plot, its labels, and the formatted values of this period and the one before."""

    x: int
    label: str
    day: str
    value: str
    before_day: str
    before: str


@dataclass(frozen=True, slots=True)
class LineChart:
    """A line, that of the period before, and the area below the first. ``ticks`` go from the top down to zero."""

    line: str
    before: str
    area: str
    last: tuple[int, int]
    column_width: int
    ticks: Sequence[str]
    columns: Sequence[Column]


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: the longest has a ``length`` of 1000 units; ``share`` is its formatted share of the total."""

    name: str
    count: str
    share: str
    length: int


def line_chart(
    days: Sequence[date],
    values: Sequence[Decimal],
    days_before: Sequence[date],
    before: Sequence[Decimal],
    *,
    write: Callable[[Decimal], str],
    write_short: Callable[[Decimal], str],
    write_day: Callable[[date], str],
) -> LineChart:
    """Return the chart of a value for each day, and for as many days before.

    ``write``, ``write_short`` and ``write_day`` format values and days for people.
    """
    top = round_top(max([*values, *before]))
    many = len(days)

    def points(of: Sequence[Decimal]) -> list[tuple[int, int]]:
        return [(_column_center(place, many), HIGH - int(value * HIGH / top)) for place, value in enumerate(of)]

    line = points(values)
    return LineChart(
        line=_format_points(line),
        before=_format_points(points(before)),
        area=f"M{line[0][0]} {HIGH}L{_format_points(line)}L{line[-1][0]} {HIGH}Z",
        last=line[-1],
        column_width=WIDE // many,
        ticks=[write_short(top * step / _STEPS) for step in range(_STEPS, -1, -1)],
        columns=[
            Column(
                x=place * WIDE // many,
                label=write_day(day) if many <= _LABELS_EVERY or (many - 1 - place) % _LABELS_EVERY == 0 else "",
                day=write_day(day),
                value=write(values[place]),
                before_day=write_day(days_before[place]),
                before=write(before[place]),
            )
            for place, day in enumerate(days)
        ],
    )


def round_top(most: Decimal) -> Decimal:
    """Return the end of a scale from zero: four steps of a round number, at least ``most`` in all; never zero."""
    if most <= 0:
        return Decimal(_STEPS)
    step = most / _STEPS
    size = Decimal(10) ** step.adjusted()
    return next(number * size for number in _ROUND if number * size >= step) * _STEPS


def bars(
    counted: Sequence[tuple[str, int]], *, write: Callable[[int], str], write_share: Callable[[Decimal], str]
) -> list[Bar]:
    """Return the bars of named counts, in the same order."""
    most, total = max((count for _, count in counted), default=0), sum(count for _, count in counted)
    return [
        Bar(name, write(count), write_share(Decimal(count) / total), max(1, count * WIDE // most))
        for name, count in counted
    ]


def _column_center(place: int, many: int) -> int:
    return (2 * place + 1) * WIDE // (2 * many)


def _format_points(points: Sequence[tuple[int, int]]) -> str:
    return " ".join(f"{x},{y}" for x, y in points)
