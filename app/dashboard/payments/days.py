"""Days of whoever looks at the pages. Pure.

The browser says a day with its own clocks' distance from UTC, as ``2026-03-29+02:00``: of the first day that is looked
for, that at its beginning; of the last one, that at its end. So a day on which the clocks change is right as well. A
day without it is one of UTC.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone

_SAID = re.compile(r"(\d{4}-\d\d-\d\d)(?:([+-])(\d\d):([0-5]\d))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Day:
    """A day, and how far the clocks of whoever looks are ahead of UTC."""

    date: date
    ahead: timedelta = timedelta()

    @classmethod
    def read(cls, said: str) -> "Day | None":
        """Return the day that is said, or None."""
        found = _SAID.fullmatch(said)
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
        clocks = timezone(self.ahead).tzname(None).removeprefix("UTC")
        return f"{self.date}{clocks}"

    @property
    def begins(self) -> datetime:
        """The moment at which it begins, in UTC."""
        return datetime.combine(self.date, time(), timezone(self.ahead)).astimezone(UTC)

    @property
    def ends(self) -> datetime:
        """The moment at which it is over, in UTC."""
        return datetime.combine(self.date + timedelta(days=1), time(), timezone(self.ahead)).astimezone(UTC)
