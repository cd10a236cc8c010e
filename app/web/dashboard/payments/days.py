"""Days in the time zone of the user of the pages. Pure.

The browser sends a day with its UTC offset, as ``2026-03-29+02:00``: the first day of a search with the offset at its
start, the last one with that at its end. So a day on which the clocks change is correct as well. A day without an
offset is a UTC day.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone

_PATTERN = re.compile(r"(\d{4}-\d\d-\d\d)(?:([+-])(\d\d):([0-5]\d))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Day:
    """A day, and how far the user's time zone is ahead of UTC."""

    date: date
    ahead: timedelta = timedelta()

    @classmethod
    def parse(cls, text: str) -> "Day | None":
        """Return the day in this text; None when it is not a day."""
        found = _PATTERN.fullmatch(text)
        if found is None:
            return None
        day, sign, hours, minutes = found.groups()
        ahead = timedelta(hours=int(hours), minutes=int(minutes)) if sign else timedelta()
        try:
            read = cls(date.fromisoformat(day), -ahead if sign == "-" else ahead)
            _ = read.begins, read.ends
        except (ValueError, OverflowError):
            return None
        return read

    def __str__(self) -> str:
        offset = timezone(self.ahead).tzname(None).removeprefix("UTC")
        return f"{self.date}{offset}"

    @property
    def begins(self) -> datetime:
        """The start of the day, in UTC."""
        return datetime.combine(self.date, time(), timezone(self.ahead)).astimezone(UTC)

    @property
    def ends(self) -> datetime:
        """The end of the day, in UTC."""
        return datetime.combine(self.date + timedelta(days=1), time(), timezone(self.ahead)).astimezone(UTC)
