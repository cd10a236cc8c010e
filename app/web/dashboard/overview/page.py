"""Builds the overview of a store's payments: four figures, each compared with the period before, and charts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal
from urllib.parse import urlencode

from app.i18n.currencies import smallest_unit
from app.i18n.messages import gettext_noop
from app.i18n.translation import Translation
from app.reports.money import BooksComparison
from app.reports.overview import PERIODS, Overview, OverviewSums, decline_counts, payment_method_counts, read_overview
from app.services import Services
from app.store.attention import accounts_of
from app.store.day_sums import ZERO, Days
from app.store.installations import OpenInstallation
from app.web.dashboard.attention.page import AttentionQuery, Section, read_sections, read_store_books_comparison
from app.web.dashboard.overview.charts import Bar, LineChart, bars, line_chart
from app.web.dashboard.projects import tests_among

_USUAL = 7
_MOST_BARS = 6
_PERIOD_NAMES = {1: gettext_noop("Today"), 7: gettext_noop("7 days"), 30: gettext_noop("30 days")}
_OTHERS = gettext_noop("Others")
_NOTHING = "–"


@dataclass(frozen=True, slots=True)
class OverviewQuery:
    """The selection: a number of days, an account and a channel, or all of them ("").

    ``currency`` "" is the one that is used most.
    """

    days: int = _USUAL
    currency: str = ""
    account: str = ""
    channel: str = ""

    @classmethod
    def from_params(cls, params: Mapping[str, str]) -> "OverviewQuery":
        """Return the selection in an address; invalid values are ignored."""
        days = {str(period): period for period in PERIODS}.get(params.get("days", ""), _USUAL)
        return cls(
            days, params.get("currency", "")[:3], params.get("account", "")[:32], params.get("channel", "")[:255]
        )

    def path(self, days: int) -> str:
        """Return the address of the same selection over ``days`` days, below the app's own."""
        params = {"days": str(days), "currency": self.currency, "account": self.account, "channel": self.channel}
        return f"/?{urlencode({name: value for name, value in params.items() if value})}"


@dataclass(frozen=True, slots=True)
class Change:
    """How much a figure has changed: the text in ``words``, and whether that is good (None: neither)."""

    words: str
    grew: bool
    good: bool


@dataclass(frozen=True, slots=True)
class Card:
    """One figure; ``before`` is its value in the period before, ``change`` is None where the two are not comparable."""

    name: str
    value: str
    before: str
    change: Change | None


@dataclass(frozen=True, slots=True)
class Choice:
    """A filter besides the period: its options are values with their names."""

    name: str
    label: str
    chosen: str
    options: Sequence[tuple[str, str]]

    @property
    def is_offered(self) -> bool:
        """True when there is something to choose, or to take back."""
        return len(self.options) > 1 and (bool(self.chosen) or len([value for value, _ in self.options if value]) > 1)


@dataclass(frozen=True, slots=True)
class OverviewPage:
    """The page. ``currency`` "": nothing happened in these days nor in as many days before them."""

    asked: OverviewQuery
    tests: Literal["", "some", "all"]
    periods: Sequence[tuple[int, str]]
    choices: Sequence[Choice]
    title: str
    title_before: str
    currency: str
    cards: Sequence[Card]
    chart: LineChart | None
    declines: Sequence[Bar]
    ways: Sequence[Bar]
    unpaid: str
    no_fee: str
    sections: Sequence[Section]
    books: BooksComparison
    not_summed: int


async def read_page(
    services: Services, installation: OpenInstallation, query: OverviewQuery, language: Translation
) -> OverviewPage:
    """Return the page for staff of that store; it never contains data of another store's account."""
    async with services.database.transaction() as session:
        accounts = await accounts_of(session, installation.id)
    selected = [account for account in accounts if query.account in {"", account.id}]
    overview = await read_overview(services, selected, query.days, channel=query.channel or None)
    currencies = overview.currencies
    currency = query.currency if query.currency in currencies else next(iter(currencies), "")
    now, before = overview.now.get(currency, OverviewSums()), overview.before.get(currency, OverviewSums())
    routes = await services.accounts.routes(installation.id)
    # A kept link may name a channel that has no account any more: what is shown is its figures, and says so.
    channels = sorted({*(route.channel for route in routes), query.channel} - {""})
    return OverviewPage(
        asked=query,
        tests=tests_among(selected),
        periods=[(period, _PERIOD_NAMES[period]) for period in PERIODS],
        choices=[
            choice
            for choice in (
                Choice("currency", gettext_noop("Currency"), currency, [(code, code) for code in currencies]),
                Choice(
                    "account",
                    gettext_noop("Merchant account"),
                    query.account,
                    [("", language.gettext(_ANY)), *((account.id, account.name) for account in accounts)],
                ),
                Choice(
                    "channel",
                    gettext_noop("Channel"),
                    query.channel,
                    [("", language.gettext(_ANY)), *((channel, channel) for channel in channels)],
                ),
            )
            if choice.is_offered
        ],
        title=language.span(overview.days.first, overview.days.last),
        title_before=language.span(overview.days_before.first, overview.days_before.last),
        currency=currency,
        cards=_cards(now, before, currency, language),
        chart=_chart(overview, currency, language) if currency else None,
        declines=_bars([(language.gettext(reason), count) for reason, count in decline_counts(now.attempts)], language),
        ways=_bars(
            [(language.plain_text(method), count) for method, count in payment_method_counts(now.attempts)], language
        ),
        unpaid=language.number(now.attempts.unpaid) if now.attempts.unpaid else "",
        no_fee=language.number(now.money.no_fee) if now.money.no_fee else "",
        sections=await read_sections(services, installation, AttentionQuery()),
        books=await read_store_books_comparison(services, installation),
        not_summed=overview.not_summed,
    )


_ANY = gettext_noop("any")


def _cards(now: OverviewSums, before: OverviewSums, currency: str, language: Translation) -> list[Card]:
    def money(amount: Decimal | None) -> str:
        return _NOTHING if amount is None else language.money(amount, currency)

    def average(amount: Decimal | None) -> str:
        return money(None if amount is None else amount.quantize(smallest_unit(currency)))

    def rate(part: Decimal | None) -> str:
        return _NOTHING if part is None else language.percent(part)

    figures: tuple[tuple[str, Decimal | None, Decimal | None, Callable[[Decimal | None], str], bool], ...] = (
        (gettext_noop("Charged"), now.money.charged, before.money.charged, money, True),
        (gettext_noop("Net"), now.money.net, before.money.net, money, True),
        (gettext_noop("Success rate"), now.attempts.success_rate, before.attempts.success_rate, rate, False),
        (gettext_noop("Average payment"), now.average, before.average, average, True),
    )
    return [
        Card(name, write(value), write(previous), _change(value, previous, language, relative=relative))
        for name, value, previous, write, relative in figures
    ]


def _change(now: Decimal | None, before: Decimal | None, language: Translation, *, relative: bool) -> Change | None:
    """Return the change of a figure: relative, or for a rate in percentage points."""
    if now is None or before is None or now == before or (relative and before <= ZERO):
        return None
    by = (now - before) / before if relative else now - before
    text = language.percent(abs(by)) if relative else language.points(abs(by))
    return Change(f"{'+' if by > 0 else '−'}{text}", by > 0, by > 0)


def _chart(overview: Overview, currency: str, language: Translation) -> LineChart:
    by_day = overview.charted.get(currency, OverviewSums()).by_day

    def values(days: Days) -> list[Decimal]:
        return [by_day.get(day, ZERO) for day in days]

    return line_chart(
        list(overview.chart_days),
        values(overview.chart_days),
        list(overview.chart_days_before),
        values(overview.chart_days_before),
        write=lambda amount: language.money(amount, currency),
        write_short=language.compact,
        write_day=language.day_and_month,
    )


def _bars(counted: Sequence[tuple[str, int]], language: Translation) -> list[Bar]:
    top = list(counted[:_MOST_BARS])
    if rest := sum(count for _, count in counted[_MOST_BARS:]):
        top.append((language.gettext(_OTHERS), rest))
    return bars(top, write=language.number, write_share=language.percent)
