"""Which days the page of the money is about: read from an address, and those before and after. Pure.

Days are those of UTC, as those of the gateway's books are: whoever looks from elsewhere sees the same days.
"""

import re
from calendar import monthrange
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from enum import StrEnum
from urllib.parse import urlencode

from app.db.day_sums import Days
from app.i18n.messages import LazyMessage, gettext_noop
from app.payments.staff.money import LONGEST

_DAY = re.compile(r"20\d\d-\d\d-\d\d", re.ASCII)
_EARLIEST, _LATEST = date(2000, 1, 1), date(2099, 12, 31)
_NO_DAY = gettext_noop("Write a day of this century like 2026-11-21.")
_BACKWARDS = gettext_noop("The last day is before the first.")
_TOO_LONG = LazyMessage("At most %(days)s days are shown at once.", days=str(LONGEST))


class WrongPeriodError(Exception):
    """What is said is no period; ``fields`` are the fields that are not right, with what is said beside each."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        super().__init__(", ".join(fields))
        self.fields = fields


class Span(StrEnum):
    """What kind of period it is."""

    DAY = "day"
    MONTH = "month"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Period:
    """From the ``first`` day to the ``last``, included; of one account, or of all ("")."""

    first: date
    last: date
    account: str = ""

    @classmethod
    def of(cls, said: Mapping[str, str], today: date) -> "Period":
        """Return what is said, this month if nothing is. Raises WrongPeriodError."""
        account = said.get("account", "")[:32]
        typed = {name: said.get(name, "").strip() for name in ("from", "to")}
        if not any(typed.values()):
            return replace(_month_of(today), account=account)
        read = {name: _read(text) for name, text in typed.items() if text}
        wrong = {name: _NO_DAY for name, day in read.items() if day is None}
        if wrong:
            raise WrongPeriodError(wrong)
        first, last = read.get("from") or read.get("to"), read.get("to") or read.get("from")
        assert first is not None  # noqa: S101 - one of them is said, and was read
        assert last is not None  # noqa: S101 - the same
        if last < first:
            raise WrongPeriodError({"to": _BACKWARDS})
        if (last - first).days >= LONGEST:
            raise WrongPeriodError({"to": _TOO_LONG})
        return cls(first, last, account)

    @property
    def days(self) -> Days:
        """The same for the database."""
        return Days(self.first, self.last)

    @property
    def span(self) -> Span:
        """What kind of period it is."""
        if self.first == self.last:
            return Span.DAY
        return Span.MONTH if (self.first, self.last) == _of_month(self.first) else Span.OTHER

    @property
    def fields(self) -> dict[str, str]:
        """What is said of it in forms and addresses."""
        said = {"from": str(self.first), "to": str(self.last), "account": self.account}
        return {name: value for name, value in said.items() if value}

    @property
    def path(self) -> str:
        """The address of the page that shows it, below the app's own."""
        return f"/money?{urlencode(self.fields)}"

    @property
    def before(self) -> "Period | None":
        """The period of the same kind before it; None before this century."""
        if self.first <= _EARLIEST:
            return None
        last = self.first - timedelta(days=1)
        first = last.replace(day=1) if self.span is Span.MONTH else last - (self.last - self.first)
        return replace(self, first=max(first, _EARLIEST), last=last)

    def after(self, today: date) -> "Period | None":
        """The period of the same kind after it; None when that has not begun."""
        if self.last >= min(today, _LATEST):
            return None
        first = self.last + timedelta(days=1)
        last = _of_month(first)[1] if self.span is Span.MONTH else min(first + (self.last - self.first), _LATEST)
        return replace(self, first=first, last=last)

    def day(self, today: date) -> "Period":
        """The last day of it that has begun."""
        day = max(self.first, min(self.last, today))
        return replace(self, first=day, last=day)

    @property
    def month(self) -> "Period":
        """The month in which it begins."""
        return replace(_month_of(self.first), account=self.account)


def _read(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:
        return None


def _of_month(day: date) -> tuple[date, date]:
    return day.replace(day=1), day.replace(day=monthrange(day.year, day.month)[1])


def _month_of(day: date) -> Period:
    return Period(*_of_month(day))
