"""What staff see first: how much was charged lately and what is left of it, how many payments succeed, and why not.

A period is so many days of UTC, today included, and is compared with as many before them; today is compared with
yesterday up to the same time of day. Days that are over are read from the sums that are kept of them
(``db.summed_days``), the others are summed now, by an index. So it costs the same however many payments there are.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal

from app.db.day_sums import ZERO, Days, Moments, Span, Total, our_totals
from app.db.summed_days import SAVED_CARD, Outcome, days_not_kept, kept_outcomes, kept_totals, outcomes
from app.db.tables import Booked, MerchantAccount, State
from app.gateway.statuses import Kind as CodeKind
from app.gateway.statuses import Status, explain
from app.i18n.messages import LazyMessage, Value, gettext_noop
from app.payments.core.details import card_brand, means_of, wallet_name
from app.payments.services import Services
from app.payments.staff.money import Figures

PERIODS = (1, 7, 30)
"""Of how many days, today included."""

_SHOWN_AT_LEAST = 7  # days of a line: one day is none
_SUMMED_NOW = 10  # days that are summed while somebody waits, the newest; the worker sums the rest
_DAY = timedelta(days=1)
_EXPIRED = "4149"  # gateway facts, 5: the payment page has expired
_CARD = "card:"
_WAYS: Mapping[str, str] = {
    SAVED_CARD: gettext_noop("Saved card"),
    "": gettext_noop("Not said"),
    "cc": gettext_noop("Card"),
}


@dataclass(slots=True)
class Tries:
    """How payments have ended in one currency: those that were ``paid`` by how, those that were ``declined`` by code.

    ``unpaid`` are those that nobody tried to pay: the page was closed, or its time was over.
    """

    paid: Counter[str] = field(default_factory=Counter)
    declined: Counter[str] = field(default_factory=Counter)
    unpaid: int = 0

    def add(self, outcome: Outcome) -> None:
        """Count payments that have ended in one way."""
        if outcome.state is State.SUCCESS:
            self.paid[outcome.reason] += outcome.count
        elif is_unpaid(outcome.reason):
            self.unpaid += outcome.count
        else:
            self.declined[outcome.reason] += outcome.count

    @property
    def tried(self) -> int:
        """How many were tried to pay."""
        return self.paid.total() + self.declined.total()

    @property
    def success_rate(self) -> Decimal | None:
        """What part of those that were tried to pay has succeeded, from 0 to 1; None if none was."""
        return Decimal(self.paid.total()) / self.tried if self.tried else None


@dataclass(slots=True)
class Sums:
    """What a period has brought in one currency."""

    money: Figures = field(default_factory=Figures)
    tries: Tries = field(default_factory=Tries)
    by_day: dict[date, Decimal] = field(default_factory=lambda: defaultdict(lambda: ZERO))

    @property
    def average(self) -> Decimal | None:
        """What was charged at once, on average, to the cent; None if nothing was."""
        money = self.money
        return (money.charged / money.charges).quantize(Decimal("0.01")) if money.charges else None


@dataclass(frozen=True, slots=True)
class Overview:
    """What the period of ``days`` has brought in each currency, and ``before`` what ``days_before`` had.

    ``line`` are the days that are ``drawn``, at least a week, ``line_before`` as many before these. So many days are in
    no sum yet (``not_summed``).
    """

    days: Days
    days_before: Days
    line: Days
    line_before: Days
    now: Mapping[str, Sums]
    before: Mapping[str, Sums]
    drawn: Mapping[str, Sums]
    not_summed: int

    @property
    def currencies(self) -> list[str]:
        """The currencies in which anything happened, the one that is used most first."""
        used: Counter[str] = Counter()
        for sums in (self.now, self.before, self.drawn):
            for currency, each in sums.items():
                used[currency] += each.money.count + each.tries.tried + each.tries.unpaid
        return [currency for currency, _ in sorted(used.items(), key=lambda item: (-item[1], item[0]))]


def is_unpaid(code: str) -> bool:
    """Return whether a failure with that status code is no decline: nobody has tried to pay."""
    return code == _EXPIRED or explain(Status.FAILURE, code).kind is CodeKind.CANCELLED


def way_said(way: str) -> Value:
    """Return how somebody has paid, in words: ``Visa``, ``Apple Pay``, ``Saved card``."""
    if way.startswith(_CARD):
        digits, _, payway = way.removeprefix(_CARD).partition(":")
        return wallet_name(payway) or card_brand(digits) or LazyMessage(gettext_noop("Another card"))
    known = _WAYS.get(way)
    return LazyMessage(known) if known is not None else means_of(None, way) or way


def ways_of(tries: Tries) -> list[tuple[Value, int]]:
    """Return how many payments were paid in which way, in words, the most used first."""
    found: dict[str, tuple[Value, int]] = {}
    for way, count in tries.paid.items():
        words = way_said(way)
        known = found.get(str(words))
        found[str(words)] = (words, count + (known[1] if known else 0))
    return sorted(found.values(), key=lambda each: (-each[1], str(each[0])))


def declines_of(tries: Tries) -> list[tuple[str, int]]:
    """Return how many payments were declined for which reason, in English for staff, the most common first."""
    found: Counter[str] = Counter()
    for code, count in tries.declined.items():
        found[explain(Status.FAILURE, code).reason] += count
    return sorted(found.items(), key=lambda each: (-each[1], each[0]))


async def read_overview(
    services: Services, accounts: Iterable[MerchantAccount], period: int, *, channel: str | None = None
) -> Overview:
    """Return the last ``period`` days of these accounts, of one channel if it is named."""
    now, account_ids = services.now(), [each.id for each in accounts]
    today = now.date()
    days, before = _last(today, period), _last(today - period * _DAY, period)
    drawn = max(period, _SHOWN_AT_LEAST)
    line, line_before = _last(today, drawn), _last(today - drawn * _DAY, drawn)
    reading = _Reading(services, account_ids, channel, Days(line_before.first, today))
    await reading.begin()
    until_now = Moments(before.begins, now - _DAY) if period == 1 else None
    return Overview(
        days=days,
        days_before=before,
        line=line,
        line_before=line_before,
        now=await reading.sums(days),
        before=await reading.sums(before) if until_now is None else await reading.summed_now(until_now),
        drawn=reading.drawn(),
        not_summed=len(reading.missing),
    )


def _last(day: date, many: int) -> Days:
    return Days(day - (many - 1) * _DAY, day)


class _Reading:
    """Reads sums over days, kept or summed now."""

    def __init__(self, services: Services, account_ids: Sequence[str], channel: str | None, days: Days) -> None:
        self._services = services
        self._account_ids = account_ids
        self._channel = channel
        self._days = days
        self._live: tuple[list[Total], list[Outcome]] = ([], [])
        self._totals: list[Total] = []
        self._not_kept: list[date] = []
        self.missing: list[date] = []

    async def begin(self) -> None:
        """See which days are kept, read the totals of these, and sum up the newest others."""
        if not self._account_ids:
            return
        database = self._services.database
        async with database.transaction() as session:
            self._not_kept = await days_not_kept(session, self._account_ids, self._days)
            self._totals = await kept_totals(
                session, self._account_ids, self._days, without=self._not_kept, channel=self._channel
            )
        live, self.missing = self._not_kept[-_SUMMED_NOW:], self._not_kept[:-_SUMMED_NOW]
        for some in _in_a_row(live):
            totals, ended = await self._summed(some)
            self._live[0].extend(totals)
            self._live[1].extend(ended)

    async def sums(self, days: Days) -> dict[str, Sums]:
        """Return the sums over days, by currency."""
        async with self._services.database.transaction() as session:
            kept = await kept_outcomes(session, self._account_ids, days, without=self._not_kept, channel=self._channel)
        totals, ended = self._live
        return _by_currency(
            [each for each in [*self._totals, *totals] if days.first <= each.day <= days.last],
            [*kept, *(each for each in ended if days.first <= each.day <= days.last)],
        )

    async def summed_now(self, span: Span) -> dict[str, Sums]:
        """Return the sums over some moments, by currency."""
        return _by_currency(*await self._summed(span))

    def drawn(self) -> dict[str, Sums]:
        """Return what moved on each day, by currency."""
        return _by_currency([*self._totals, *self._live[0]], ())

    async def _summed(self, span: Span) -> tuple[list[Total], list[Outcome]]:
        async with self._services.database.transaction() as session:
            totals = await our_totals(session, self._account_ids, span)
            ended = await outcomes(session, self._account_ids, span)
        return (
            [each for each in totals if self._channel in {None, each.channel}],
            [each for each in ended if self._channel in {None, each.channel}],
        )


def _in_a_row(days: Sequence[date]) -> Iterator[Days]:
    """Give days as few spans."""
    first = last = None
    for day in days:
        if first is None or last is None or day - last > _DAY:
            if first is not None and last is not None:
                yield Days(first, last)
            first = day
        last = day
    if first is not None and last is not None:
        yield Days(first, last)


def _by_currency(totals: Iterable[Total], ended: Iterable[Outcome]) -> dict[str, Sums]:
    found: defaultdict[str, Sums] = defaultdict(Sums)
    for total in totals:
        sums = found[total.currency]
        sums.money.add(total)
        if total.kind is Booked.CHARGED:
            sums.by_day[total.day] += total.amount
    for each in ended:
        found[each.currency].tries.add(each)
    return dict(found)
