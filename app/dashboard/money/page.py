"""What staff are shown of a period's money: for each currency what it was in all, and by what else sums are made."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.dashboard.money.period import Period, Span
from app.db.attention import accounts_of
from app.db.day_sums import NOBODYS
from app.db.tables import MerchantAccount
from app.i18n.messages import LazyMessage, gettext_noop
from app.i18n.translation import Translation
from app.payments.services import Services
from app.payments.staff.money import Agreement, BothBooks, By, Money, Row, both_books, read_money

_TITLES = {
    By.DAY: gettext_noop("By day"),
    By.ACCOUNT: gettext_noop("By merchant account"),
    By.CHANNEL: gettext_noop("By channel"),
    By.RECEIVER: gettext_noop("By sub-merchant"),
}
_TRIAL, _NOBODYS, _NOT_DIVIDED = (
    gettext_noop("Trial or payout"),
    gettext_noop("Not made by this app"),
    gettext_noop("Not divided"),
)


@dataclass(frozen=True, slots=True)
class Line:
    """Sums under a name."""

    name: str
    row: Row

    @property
    def standing(self) -> LazyMessage:
        """Whether both books agree on it, in words."""
        row = self.row
        if row.until is not None:
            return LazyMessage("compared up to %(time)s UTC only", time=f"{row.until:%H:%M}")
        if row.unreadable and not row.days_compared:
            return LazyMessage("lines of the gateway’s books that cannot be read: %(count)s", count=str(row.unreadable))
        if row.agreement is Agreement.AGREE_SO_FAR:
            return LazyMessage(
                "both agree on %(compared)s of %(days)s days", compared=str(row.days_compared), days=str(row.days)
            )
        return LazyMessage(row.agreement.value)

    @property
    def differs(self) -> bool:
        """Whether a person should look at it."""
        return self.row.agreement is Agreement.DIFFER


@dataclass(frozen=True, slots=True)
class Part:
    """Sums made by something, under a title."""

    by: By
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
    """The page. ``title`` says which period; ``accounts`` can be chosen, each with its name. Of so many days
    (``not_compared``) the gateway's books were not read as a whole. ``is_divided``: some of it is sub-merchants'.
    """

    period: Period
    title: str
    before: Period | None
    after: Period | None
    day: Period
    month: Period
    sections: Sequence[Section]
    books: BothBooks
    not_compared: int
    is_divided: bool
    accounts: Sequence[tuple[str, str]]

    @property
    def differs(self) -> bool:
        """Whether the sums of some day differ."""
        return any(
            each.total.differs or any(line.differs for part in each.parts for line in part.lines)
            for each in self.sections
        )


async def money_of(services: Services, installation_id: int, period: Period) -> tuple[Money, Sequence[MerchantAccount]]:
    """Return what a store has brought over a period, and its accounts; of another store's account there is nothing."""
    async with services.database.transaction() as session:
        accounts = await accounts_of(session, installation_id)
    meant = [each for each in accounts if period.account in {"", each.id}]
    return await read_money(services, meant, period.days), accounts


async def read_page(services: Services, installation_id: int, period: Period, language: Translation) -> MoneyPage:
    """Return the page of a period for staff of that store."""
    money, accounts = await money_of(services, installation_id, period)
    today = services.now().date()
    return MoneyPage(
        period=period,
        title=_title(period, language),
        before=period.before,
        after=period.after(today),
        day=period.day(today),
        month=period.month,
        sections=_sections(money, language),
        books=await both_books(services, accounts),
        not_compared=len(money.not_compared),
        is_divided=bool(money.our_shares or money.gateway_shares),
        accounts=[(each.id, each.name) for each in accounts],
    )


def _title(period: Period, language: Translation) -> str:
    match period.span:
        case Span.DAY:
            return language.day(period.first)
        case Span.MONTH:
            return language.month(period.first)
        case Span.OTHER:
            return f"{language.day(period.first)} – {language.day(period.last)}"


def _sections(money: Money, language: Translation) -> list[Section]:
    by: dict[By, list[Row]] = {each: money.rows(each) for each in _TITLES}
    found = []
    for total in money.rows():
        parts = []
        for each, title in _TITLES.items():
            lines = [Line(_name(money, each, row, language), row) for row in by[each] if row.currency == total.currency]
            if len(lines) > 1 or (lines and each is By.RECEIVER) or (each is By.DAY and len(money.days) > 1):
                parts.append(Part(each, title, lines))
        found.append(Section(total.currency, Line(language.gettext(_ALL), total), parts))
    return found


_ALL = gettext_noop("In all")


def _name(money: Money, by: By, row: Row, language: Translation) -> str:
    name = row.names[0]
    match by:
        case By.DAY:
            return language.day(name)
        case By.ACCOUNT:
            return str(money.accounts[name])
        case By.RECEIVER:
            return str(money.receivers.get(name, name)) or language.gettext(_NOT_DIVIDED)
        case _:
            return str({"": language.gettext(_TRIAL), NOBODYS: language.gettext(_NOBODYS)}.get(name, name))
