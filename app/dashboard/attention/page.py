"""What staff are shown of what needs them: a section for each cause, with the newest of what it is about."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from app.db.attention import accounts_of, notifications_in_trouble
from app.db.installations import OpenInstallation
from app.db.problems import payments_with_problem
from app.db.tables import Notification, Payment
from app.payments.alerts.items import OF_ACCOUNTS, OF_NOTIFICATIONS, OF_PAYMENTS, AlertKind, Item, open_items
from app.payments.alerts.words import WORDS, Words, command_for
from app.payments.core.problems import problem_messages
from app.payments.services import Services
from app.payments.staff.money import BothBooks, both_books

A_FEW = 5
A_PAGE = 25


@dataclass(frozen=True, slots=True)
class Row:
    """A payment that needs somebody, since when, and why, in words: all its problems, of this section or not."""

    payment: Payment
    since: datetime
    problems: Sequence[str]


@dataclass(frozen=True, slots=True)
class Section:
    """One cause. ``rest``: the address of those that are not shown; None when all are."""

    what: AlertKind
    words: Words
    items: Sequence[Item]
    commands: Sequence[str]
    rows: Sequence[Row] = ()
    notifications: Sequence[Notification] = ()
    rest: str | None = None

    @property
    def count(self) -> int:
        """Return how many payments, notifications or events it is about."""
        return sum(each.count for each in self.items)

    @property
    def more(self) -> bool:
        """Return True when there are more than ``count``."""
        return any(each.more for each in self.items)

    @property
    def since(self) -> datetime | None:
        """Return since when it has been so."""
        return min((each.since for each in self.items if each.since), default=None)

    @property
    def details(self) -> list[str]:
        """Return what was last said."""
        return [each.detail for each in self.items if each.detail]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked at: everything, or one cause, after the row with which the page before ended."""

    what: AlertKind | None = None
    after: tuple[datetime, int] | None = None

    @classmethod
    def of(cls, what: str, after: str) -> "Wanted":
        """Return what an address says; what cannot be meant is left out."""
        return cls(AlertKind(what) if what in set(AlertKind) else None, _read_place(after))


async def read_sections(services: Services, installation: OpenInstallation, wanted: Wanted) -> list[Section]:
    """Return the sections of that store's page; a query for each section at most, whatever is in it."""
    items = await open_items(services, installation)
    found = []
    for what in AlertKind:
        of_this = [each for each in items if each.what is what]
        if of_this and wanted.what in {None, what}:
            found.append(await _section(services, installation.id, of_this, wanted))
    return found


async def books_of(services: Services, installation: OpenInstallation) -> BothBooks:
    """Return whether our books and the gateway's agree, of all the store's accounts."""
    async with services.database.transaction() as session:
        accounts = await accounts_of(session, installation.id)
    return await both_books(services, accounts)


async def _section(services: Services, installation_id: int, items: list[Item], wanted: Wanted) -> Section:
    what = items[0].what
    most = A_FEW if wanted.what is None else A_PAGE
    rows: Sequence[tuple[Payment, datetime]] = ()
    notifications: Sequence[Notification] = ()
    async with services.database.transaction() as session:
        if what in OF_PAYMENTS:
            after = wanted.after if wanted.what is what else None
            rows = await payments_with_problem(session, installation_id, OF_PAYMENTS[what], most=most + 1, after=after)
        elif what in OF_NOTIFICATIONS:
            accounts = [each.account_id for each in items if each.account_id]
            notifications = await notifications_in_trouble(session, accounts, OF_NOTIFICATIONS[what], most=most)
    shown = rows[:most]
    rest = None
    if len(rows) > most:
        rest = f"/attention?what={what.value}" + ("" if wanted.what is None else f"&after={_place(*shown[-1])}")
    return Section(
        what,
        WORDS[what],
        items,
        [command_for(each) for each in (items if what in OF_ACCOUNTS else items[:1])],
        [Row(payment, since, problem_messages(payment)) for payment, since in shown],
        notifications,
        rest,
    )


def _place(payment: Payment, since: datetime) -> str:
    return f"{since:%Y%m%d%H%M%S%f}-{payment.id}"


def _read_place(text: str) -> tuple[datetime, int] | None:
    since, _, row_id = text.partition("-")
    if row_id.isascii() and row_id.isdecimal() and len(row_id) < 18:
        with suppress(ValueError):
            return datetime.strptime(since, "%Y%m%d%H%M%S%f").replace(tzinfo=UTC), int(row_id)
    return None
