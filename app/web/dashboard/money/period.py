"""The period of the money page: read from an address, with the periods before and after. Pure.

Days are UTC days, as in the gateway's books: users in every time zone see the same days.
"""

import re
from calendar import monthrange
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from enum import StrEnum
from urllib.parse import urlencode

from app.i18n.messages import LazyMessage, gettext_noop
from app.reports.money import MAX_DAYS
from app.store.day_sums import Days

_DAY = re.compile(r"20\d\d-\d\d-\d\d", re.ASCII)
_EARLIEST, _LATEST = date(2000, 1, 1), date(2099, 12, 31)
_NO_DAY = gettext_noop("Enter a date in this century, like 2026-11-21.")
_BACKWARDS = gettext_noop("The last day is before the first day.")
_TOO_LONG = LazyMessage("You can view at most %(days)s days at once.", days=str(MAX_DAYS))


class InvalidPeriodError(Exception):
    """The input is not a period; ``fields`` are the invalid fields, each with the message to show beside it."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        super().__init__(", ".join(fields))
        self.fields = fields


class Span(StrEnum):
    """The kind of a period."""

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
    def from_params(cls, params: Mapping[str, str], today: date) -> "Period":
        """Return the period in these fields, this month if they contain none. Raises InvalidPeriodError."""
        account = params.get("account", "")[:32]
        typed = {name: params.get(name, "").strip() for name in ("from", "to")}
        if not any(typed.values()):
            return replace(_month_of(today), account=account)
        parsed = {name: _parse_day(text) for name, text in typed.items() if text}
        errors = {name: _NO_DAY for name, day in parsed.items() if day is None}
        if errors:
            raise InvalidPeriodError(errors)
        first, last = parsed.get("from") or parsed.get("to"), parsed.get("to") or parsed.get("from")
        assert first is not None  # noqa: S101 - at least one of them was given and parsed
        assert last is not None  # noqa: S101 - the same
        if last < first:
            raise InvalidPeriodError({"to": _BACKWARDS})
        if (last - first).days >= MAX_DAYS:
            raise InvalidPeriodError({"to": _TOO_LONG})
        return cls(first, last, account)

    @property
    def days(self) -> Days:
        """The same period for the database."""
        return Days(self.first, self.last)

    @property
    def span(self) -> Span:
        """The kind of this period."""
        if self.first == self.last:
            return Span.DAY
        return Span.MONTH if (self.first, self.last) == _month_bounds(self.first) else Span.OTHER

    @property
    def fields(self) -> dict[str, str]:
        """Its fields in forms and addresses."""
        params = {"from": str(self.first), "to": str(self.last), "account": self.account}
        return {name: value for name, value in params.items() if value}

    @property
    def path(self) -> str:
        """The address of its page, below the app's own."""
        return f"/money?{urlencode(self.fields)}"

    @property
    def before(self) -> "Period | None":
        """The preceding period of the same kind; None before this century."""
        if self.first <= _EARLIEST:
            return None
        last = self.first - timedelta(days=1)
        first = last.replace(day=1) if self.span is Span.MONTH else last - (self.last - self.first)
        return replace(self, first=max(first, _EARLIEST), last=last)

    def after(self, today: date) -> "Period | None":
        """Return the following period of the same kind; None when that has not begun."""
        if self.last >= min(today, _LATEST):
            return None
        first = self.last + timedelta(days=1)
        last = _month_bounds(first)[1] if self.span is Span.MONTH else min(first + (self.last - self.first), _LATEST)
        return replace(self, first=first, last=last)

    def day(self, today: date) -> "Period":
        """Return its last day that has begun."""
        day = max(self.first, min(self.last, today))
        return replace(self, first=day, last=day)

    @property
    def month(self) -> "Period":
        """The month in which it begins."""
        return replace(_month_of(self.first), account=self.account)


def _parse_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:
        return None


def _month_bounds(day: date) -> tuple[date, date]:
    return day.replace(day=1), day.replace(day=monthrange(day.year, day.month)[1])


def _month_of(day: date) -> Period:
    return Period(*_month_bounds(day))
