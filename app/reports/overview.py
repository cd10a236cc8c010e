"""The overview for staff: recent charges and what is left of them, the success rate, and the reasons for declines.

A period is a number of days of UTC, today included, and is compared with as many days before it; today is compared with
yesterday up to the same time of day. Past days are read from their stored sums (``store.summed_days``), the others are
summed now, by an index. So the cost is the same however many payments there are. Trials of accounts by staff, which are
no sales, are in no figure.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal

from app.core.vocabulary import State
from app.i18n.messages import LazyMessage, Value, gettext_noop
from app.reports.money import Figures
from app.rules.details import card_brand, payment_means_text, wallet_name
from app.services import Services
from app.store.day_sums import ZERO, Days, Moments, Span, Total, our_totals
from app.store.summed_days import SAVED_CARD, Outcome, days_without_sums, our_outcomes, stored_outcomes, stored_totals
from app.store.tables import Booked, MerchantAccount
from gateway_client.statuses import CodeKind, Status, explain

PERIODS = (1, 7, 30)
"""The lengths of periods, in days, today included."""

_MIN_CHART_DAYS = 7  # days of a line chart: one day makes no line
_MAX_DAYS_SUMMED_NOW = 10  # the newest days, summed while the page waits; the worker sums the rest
_DAY = timedelta(days=1)
_EXPIRED = "4149"  # gateway facts, 5: the payment page has expired
_CARD = "card:"
_METHOD_LABELS: Mapping[str, str] = {
    SAVED_CARD: gettext_noop("Saved card"),
    "": gettext_noop("Not specified"),
    "cc": gettext_noop("Card"),
}


@dataclass(slots=True)
class Attempts:
    """Outcomes of payments in one currency: counts of those ``paid``, by method, and those ``declined``, by code.

    ``unpaid`` counts those without an attempt to pay: the page was closed, or it expired.
    """

    paid: Counter[str] = field(default_factory=Counter)
    declined: Counter[str] = field(default_factory=Counter)
    unpaid: int = 0

    def add(self, outcome: Outcome) -> None:
        """Add the payments of one outcome to the counts."""
        if outcome.state is State.SUCCESS:
            self.paid[outcome.reason] += outcome.count
        elif is_unpaid(outcome.reason):
            self.unpaid += outcome.count
        else:
            self.declined[outcome.reason] += outcome.count

    @property
    def attempted(self) -> int:
        """The number of payments with an attempt to pay."""
        return self.paid.total() + self.declined.total()

    @property
    def success_rate(self) -> Decimal | None:
        """The share of attempted payments that succeeded, from 0 to 1; None if none was attempted."""
        return Decimal(self.paid.total()) / self.attempted if self.attempted else None


@dataclass(slots=True)
class OverviewSums:
    """The sums of a period in one currency."""

    money: Figures = field(default_factory=Figures)
    attempts: Attempts = field(default_factory=Attempts)
    by_day: dict[date, Decimal] = field(default_factory=lambda: defaultdict(lambda: ZERO))

    @property
    def average(self) -> Decimal | None:
        """The average charge, to the cent; None if there was none."""
        money = self.money
        return (money.charged / money.charges).quantize(Decimal("0.01")) if money.charges else None


@dataclass(frozen=True, slots=True)
class Overview:
    """The sums of the period ``days`` in each currency (``now``), and of ``days_before`` (``before``).

    ``chart_days`` are the days that are ``charted``, at least a week, ``chart_days_before`` as many before these.
    ``not_summed`` is the number of days that are in no sum yet.
    """

    days: Days
    days_before: Days
    chart_days: Days
    chart_days_before: Days
    now: Mapping[str, OverviewSums]
    before: Mapping[str, OverviewSums]
    charted: Mapping[str, OverviewSums]
    not_summed: int

    @property
    def currencies(self) -> list[str]:
        """The currencies with any activity, the most used first."""
        used: Counter[str] = Counter()
        for sums in (self.now, self.before, self.charted):
            for currency, activity in sums.items():
                used[currency] += activity.money.count + activity.attempts.attempted + activity.attempts.unpaid
        return [currency for currency, _ in sorted(used.items(), key=lambda item: (-item[1], item[0]))]


def is_unpaid(code: str) -> bool:
    """Return whether a failure with that status code is no decline, but the lack of any attempt to pay."""
    return code == _EXPIRED or explain(Status.FAILURE, code).kind is CodeKind.CANCELLED


def payment_method_label(way: str) -> Value:
    """Return the label of a payment method: ``Visa``, ``Apple Pay``, ``Saved card``."""
    if way.startswith(_CARD):
        digits, _, payway = way.removeprefix(_CARD).partition(":")
        return wallet_name(payway) or card_brand(digits) or LazyMessage(gettext_noop("Another card"))
    known = _METHOD_LABELS.get(way)
    return LazyMessage(known) if known is not None else payment_means_text(None, way) or way


def payment_method_counts(attempts: Attempts) -> list[tuple[Value, int]]:
    """Return the number of payments for each payment method, by label, the most used first."""
    found: dict[str, tuple[Value, int]] = {}
    for way, count in attempts.paid.items():
        label = payment_method_label(way)
        known = found.get(str(label))
        found[str(label)] = (label, count + (known[1] if known else 0))
    return sorted(found.values(), key=lambda counted: (-counted[1], str(counted[0])))


def decline_counts(attempts: Attempts) -> list[tuple[str, int]]:
    """Return the number of declines for each reason, in English for staff, the most common first."""
    found: Counter[str] = Counter()
    for code, count in attempts.declined.items():
        found[explain(Status.FAILURE, code).reason] += count
    return sorted(found.items(), key=lambda counted: (-counted[1], counted[0]))


async def read_overview(
    services: Services, accounts: Iterable[MerchantAccount], period: int, *, channel: str | None = None
) -> Overview:
    """Return the overview of the last ``period`` days of these accounts, of one channel if it is named."""
    now, account_ids = services.now(), [account.id for account in accounts]
    today = now.date()
    days, before = _last_days(today, period), _last_days(today - period * _DAY, period)
    charted = max(period, _MIN_CHART_DAYS)
    chart_days, chart_days_before = _last_days(today, charted), _last_days(today - charted * _DAY, charted)
    reader = _OverviewReader(services, account_ids, channel, Days(chart_days_before.first, today))
    await reader.load()
    until_now = Moments(before.begins, now - _DAY) if period == 1 else None
    return Overview(
        days=days,
        days_before=before,
        chart_days=chart_days,
        chart_days_before=chart_days_before,
        now=await reader.sums(days),
        before=await reader.sums(before) if until_now is None else await reader.summed_now(until_now),
        charted=reader.charted(),
        not_summed=len(reader.missing),
    )


def _last_days(day: date, many: int) -> Days:
    return Days(day - (many - 1) * _DAY, day)


class _OverviewReader:
    """Reads sums over days, stored or computed now."""

    def __init__(self, services: Services, account_ids: Sequence[str], channel: str | None, days: Days) -> None:
        self._services = services
        self._account_ids = account_ids
        self._channel = channel
        self._days = days
        self._live: tuple[list[Total], list[Outcome]] = ([], [])
        self._totals: list[Total] = []
        self._not_stored: list[date] = []
        self.missing: list[date] = []

    async def load(self) -> None:
        """Find the days with stored sums, read the totals of these, and sum the newest of the others."""
        if not self._account_ids:
            return
        database = self._services.database
        async with database.transaction() as session:
            self._not_stored = await days_without_sums(session, self._account_ids, self._days)
            self._totals = await stored_totals(
                session, self._account_ids, self._days, without=self._not_stored, channel=self._channel
            )
        live, self.missing = self._not_stored[-_MAX_DAYS_SUMMED_NOW:], self._not_stored[:-_MAX_DAYS_SUMMED_NOW]
        for span in _consecutive_spans(live):
            totals, ended = await self._summed(span)
            self._live[0].extend(totals)
            self._live[1].extend(ended)

    async def sums(self, days: Days) -> dict[str, OverviewSums]:
        """Return the sums over days, by currency."""
        async with self._services.database.transaction() as session:
            stored = await stored_outcomes(
                session, self._account_ids, days, without=self._not_stored, channel=self._channel
            )
        totals, ended = self._live
        return _by_currency(
            [total for total in [*self._totals, *totals] if days.first <= total.day <= days.last],
            [*stored, *(outcome for outcome in ended if days.first <= outcome.day <= days.last)],
        )

    async def summed_now(self, span: Span) -> dict[str, OverviewSums]:
        """Return the sums over a span, computed now, by currency."""
        return _by_currency(*await self._summed(span))

    def charted(self) -> dict[str, OverviewSums]:
        """Return the movements of each day, by currency."""
        return _by_currency([*self._totals, *self._live[0]], ())

    async def _summed(self, span: Span) -> tuple[list[Total], list[Outcome]]:
        async with self._services.database.transaction() as session:
            totals = await our_totals(session, self._account_ids, span)
            ended = await our_outcomes(session, self._account_ids, span)
        return (
            [total for total in totals if self._channel in {None, total.channel} and not total.is_trial],
            [outcome for outcome in ended if self._channel in {None, outcome.channel} and outcome.channel],
        )


def _consecutive_spans(days: Sequence[date]) -> Iterator[Days]:
    """Yield the days as spans of consecutive days."""
    first = last = None
    for day in days:
        if first is None or last is None or day - last > _DAY:
            if first is not None and last is not None:
                yield Days(first, last)
            first = day
        last = day
    if first is not None and last is not None:
        yield Days(first, last)


def _by_currency(totals: Iterable[Total], ended: Iterable[Outcome]) -> dict[str, OverviewSums]:
    found: defaultdict[str, OverviewSums] = defaultdict(OverviewSums)
    for total in totals:
        sums = found[total.currency]
        sums.money.add(total)
        if total.kind is Booked.CHARGED:
            sums.by_day[total.day] += total.amount
    for outcome in ended:
        found[outcome.currency].attempts.add(outcome)
    return dict(found)
