"""Builds the page of a period's money: for each currency the total, and the sums by day, account and so on."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from app.i18n.messages import LazyMessage, gettext_noop
from app.i18n.translation import Translation
from app.reports.money import (
    Agreement,
    BooksComparison,
    GroupBy,
    MoneyReport,
    MoneyRow,
    read_books_comparison,
    read_money,
)
from app.services import Services
from app.store.attention import accounts_of
from app.store.day_sums import UNKNOWN_CHANNEL
from app.store.tables import MerchantAccount
from app.web.dashboard.money.period import Period, Span
from app.web.dashboard.projects import tests_among

_TITLES = {
    GroupBy.DAY: gettext_noop("By day"),
    GroupBy.ACCOUNT: gettext_noop("By merchant account"),
    GroupBy.CHANNEL: gettext_noop("By channel"),
    GroupBy.RECEIVER: gettext_noop("By sub-merchant"),
}
_PAYOUTS, _NOT_OURS, _NOT_DIVIDED = (
    gettext_noop("Payouts"),
    gettext_noop("Not made by this app"),
    gettext_noop("Not split"),
)


@dataclass(frozen=True, slots=True)
class Line:
    """Sums under a name."""

    name: str
    row: MoneyRow
    is_test: bool = False

    @property
    def standing(self) -> LazyMessage:
        """Return the text that states whether both books agree on these sums."""
        row = self.row
        if row.until is not None:
            return LazyMessage("compared only up to %(time)s UTC", time=f"{row.until:%H:%M}")
        if row.unreadable and not row.days_compared:
            return LazyMessage("unreadable lines in the gateway’s records: %(count)s", count=str(row.unreadable))
        if row.agreement is Agreement.AGREE_SO_FAR:
            return LazyMessage(
                "both agree on %(compared)s of %(days)s days", compared=str(row.days_compared), days=str(row.days)
            )
        return LazyMessage(row.agreement.value)

    @property
    def agrees(self) -> bool:
        """Return True when both books were compared for all of it, and agree: then one figure says it all."""
        return self.row.agreement is Agreement.AGREE

    @property
    def differs(self) -> bool:
        """Return True when the books differ, so that a person should look at it."""
        return self.row.agreement is Agreement.DIFFER

    @property
    def has_two_figures(self) -> bool:
        """Return True when the gateway's figures say something that ours do not."""
        return self.row.agreement in {Agreement.DIFFER, Agreement.NOT_DIVIDED}


@dataclass(frozen=True, slots=True)
class Part:
    """Sums grouped ``by`` something, under a title."""

    by: GroupBy
    title: str
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class Section:
    """Everything in one currency. ``totals``: of the sales and payouts, and, apart from it, of the trials."""

    currency: str
    totals: Sequence[Line]
    parts: Sequence[Part]


@dataclass(frozen=True, slots=True)
class MoneyPage:
    """The page. ``title`` names the period; ``accounts`` are the ones to choose from, each with its name.

    ``not_compared`` is the number of days of which the gateway's books were not read completely. ``is_divided``: some
    of the money belongs to sub-merchants.
    """

    period: Period
    title: str
    before: Period | None
    after: Period | None
    day: Period
    month: Period
    sections: Sequence[Section]
    books: BooksComparison
    not_compared: int
    is_divided: bool
    accounts: Sequence[tuple[str, str]]
    tests: Literal["", "some", "all"]

    @property
    def differs(self) -> bool:
        """Return True when any of the sums differ."""
        return any(
            line.differs
            for section in self.sections
            for lines in (section.totals, *(part.lines for part in section.parts))
            for line in lines
        )


async def load_money(
    services: Services, installation_id: int, period: Period
) -> tuple[MoneyReport, Sequence[MerchantAccount]]:
    """Return a store's money over a period, and its accounts; never data of another store's account."""
    async with services.database.transaction() as session:
        accounts = await accounts_of(session, installation_id)
    selected = [account for account in accounts if period.account in {"", account.id}]
    return await read_money(services, selected, period.days), accounts


async def read_page(services: Services, installation_id: int, period: Period, language: Translation) -> MoneyPage:
    """Return the page of a period for staff of that store."""
    money, accounts = await load_money(services, installation_id, period)
    today = services.now().date()
    return MoneyPage(
        period=period,
        title=_title(period, language),
        before=period.before,
        after=period.after(today),
        day=period.day(today),
        month=period.month,
        sections=_sections(money, language),
        books=await read_books_comparison(services, accounts),
        not_compared=len(money.not_compared),
        is_divided=bool(money.our_shares or money.gateway_shares),
        accounts=[(account.id, account.name) for account in accounts],
        tests=tests_among([account for account in accounts if period.account in {"", account.id}]),
    )


def _title(period: Period, language: Translation) -> str:
    match period.span:
        case Span.DAY:
            return language.day(period.first)
        case Span.MONTH:
            return language.month(period.first)
        case Span.OTHER:
            return f"{language.day(period.first)} – {language.day(period.last)}"


def _sections(money: MoneyReport, language: Translation) -> list[Section]:
    sales = money.without_trials()
    totals: dict[str, list[Line]] = defaultdict(list)
    for name, report in ((_ALL, sales), (_TRIALS, money.trials())):
        for row in report.rows():
            totals[row.currency].append(Line(language.gettext(name), row))
    by = {group: sales.rows(group) for group in _TITLES}
    return [
        Section(currency, lines, _parts(sales, by, currency, language)) for currency, lines in sorted(totals.items())
    ]


def _parts(
    money: MoneyReport, by: Mapping[GroupBy, Sequence[MoneyRow]], currency: str, language: Translation
) -> list[Part]:
    parts = []
    for group, title in _TITLES.items():
        lines = [
            Line(_name(money, group, row, language), row, _is_test(money, group, row))
            for row in by[group]
            if row.currency == currency
        ]
        is_single_day = group is GroupBy.DAY and len(money.days) == 1
        if len(lines) > 1 or (lines and group in {GroupBy.RECEIVER, GroupBy.DAY} and not is_single_day):
            parts.append(Part(group, title, lines))
    return parts


def _is_test(money: MoneyReport, by: GroupBy, row: MoneyRow) -> bool:
    return by is GroupBy.ACCOUNT and row.names[0] in money.tests


_ALL, _TRIALS = gettext_noop("Total"), gettext_noop("Trials")


def _name(money: MoneyReport, by: GroupBy, row: MoneyRow, language: Translation) -> str:
    name = row.names[0]
    match by:
        case GroupBy.DAY:
            return language.day(name)
        case GroupBy.ACCOUNT:
            return str(money.accounts[name])
        case GroupBy.RECEIVER:
            return str(money.receivers.get(name, name)) or language.gettext(_NOT_DIVIDED)
        case _:
            return str({"": language.gettext(_PAYOUTS), UNKNOWN_CHANNEL: language.gettext(_NOT_OURS)}.get(name, name))
