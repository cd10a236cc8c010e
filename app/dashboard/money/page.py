"""Builds the page of a period's money: for each currency the total, and the sums by day, account and so on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from app.dashboard.money.period import Period, Span
from app.dashboard.projects import tests_among
from app.db.attention import accounts_of
from app.db.day_sums import UNKNOWN_CHANNEL
from app.db.tables import MerchantAccount
from app.i18n.messages import LazyMessage, gettext_noop
from app.i18n.translation import Translation
from app.payments.services import Services
from app.payments.staff.money import (
    Agreement,
    BooksComparison,
    GroupBy,
    MoneyReport,
    Row,
    read_books_comparison,
    read_money,
)

_TITLES = {
    GroupBy.DAY: gettext_noop("By day"),
    GroupBy.ACCOUNT: gettext_noop("By merchant account"),
    GroupBy.CHANNEL: gettext_noop("By channel"),
    GroupBy.RECEIVER: gettext_noop("By sub-merchant"),
}
_TRIAL, _NOT_OURS, _NOT_DIVIDED = (
    gettext_noop("Trial or payout"),
    gettext_noop("Not made by this app"),
    gettext_noop("Not split"),
)


@dataclass(frozen=True, slots=True)
class Line:
    """Sums under a name."""

    name: str
    row: Row
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
    def differs(self) -> bool:
        """Return True when the books differ, so that a person should look at it."""
        return self.row.agreement is Agreement.DIFFER


@dataclass(frozen=True, slots=True)
class Part:
    """Sums grouped ``by`` something, under a title."""

    by: GroupBy
    title: str
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class Section:
    """Everything in one currency."""

    currency: str
    total: Line
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
            each.total.differs or any(line.differs for part in each.parts for line in part.lines)
            for each in self.sections
        )


async def load_money(
    services: Services, installation_id: int, period: Period
) -> tuple[MoneyReport, Sequence[MerchantAccount]]:
    """Return a store's money over a period, and its accounts; never data of another store's account."""
    async with services.database.transaction() as session:
        accounts = await accounts_of(session, installation_id)
    selected = [each for each in accounts if period.account in {"", each.id}]
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
        accounts=[(each.id, each.name) for each in accounts],
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
    by: dict[GroupBy, list[Row]] = {each: money.rows(each) for each in _TITLES}
    found = []
    for total in money.rows():
        parts = []
        for each, title in _TITLES.items():
            lines = [
                Line(_name(money, each, row, language), row, _is_test(money, each, row))
                for row in by[each]
                if row.currency == total.currency
            ]
            if len(lines) > 1 or (lines and each is GroupBy.RECEIVER) or (each is GroupBy.DAY and len(money.days) > 1):
                parts.append(Part(each, title, lines))
        found.append(Section(total.currency, Line(language.gettext(_ALL), total), parts))
    return found


def _is_test(money: MoneyReport, by: GroupBy, row: Row) -> bool:
    return by is GroupBy.ACCOUNT and row.names[0] in money.tests


_ALL = gettext_noop("Total")


def _name(money: MoneyReport, by: GroupBy, row: Row, language: Translation) -> str:
    name = row.names[0]
    match by:
        case GroupBy.DAY:
            return language.day(name)
        case GroupBy.ACCOUNT:
            return str(money.accounts[name])
        case GroupBy.RECEIVER:
            return str(money.receivers.get(name, name)) or language.gettext(_NOT_DIVIDED)
        case _:
            return str({"": language.gettext(_TRIAL), UNKNOWN_CHANNEL: language.gettext(_NOT_OURS)}.get(name, name))
