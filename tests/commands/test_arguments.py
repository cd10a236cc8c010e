"""Periods and amounts as operators type them."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from app.commands.arguments import read_moment, read_shares
from app.commands.failure import CommandFailed


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-21", datetime(2026, 11, 22, tzinfo=UTC)),
        ("2024-02-29", datetime(2024, 3, 1, tzinfo=UTC)),
        ("2026-11-21T12:00+02:00", datetime(2026, 11, 21, 10, tzinfo=UTC)),
        ("2026-11-21 12:00+02:00", datetime(2026, 11, 21, 10, tzinfo=UTC)),
        ("2026-11-21t12:00+02:00", datetime(2026, 11, 21, 10, tzinfo=UTC)),  # RFC 3339 allows it
        ("2026-11-21_12:00Z", datetime(2026, 11, 21, 12, tzinfo=UTC)),
    ],
)
def test_a_day_is_counted_to_its_end_and_a_moment_is_itself(text: str, moment: datetime) -> None:
    assert read_moment(text, "--to", last=True) == moment


@pytest.mark.parametrize("text", ["9999-12-31", "0001-01-01T00:00+02:00", "2026-02-29", "21.11.2026"])
def test_what_no_calendar_has_is_refused_in_words(text: str) -> None:
    """``9999-12-31`` is what some systems write for "without an end"."""
    with pytest.raises(CommandFailed, match=f"--to: '{text.replace('+', '.')}' is not a date"):
        read_moment(text, "--to", last=True)


def test_shares_are_typed_in_the_decimals_of_their_currency() -> None:
    assert read_shares(["one=1.250", "two=2,5"], {}, "KWD") == {"one": Decimal("1.25"), "two": Decimal("2.5")}
    with pytest.raises(CommandFailed, match=r"'one=1\.250' must be SUB_MERCHANT=AMOUNT"):
        read_shares(["one=1.250"], {}, "UAH")
