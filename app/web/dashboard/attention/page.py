"""Builds the page of what needs staff: a section for each cause, with its newest payments or notifications."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from app.core.alerts import NOTIFICATION_ALERTS, PAYMENT_ALERTS, AlertKind
from app.core.payment import Payment, PaymentAggregate
from app.reports.alerts.open_alerts import Alert, find_open_alerts
from app.reports.alerts.texts import ALERT_TEXTS, AlertText
from app.reports.money import BooksComparison, read_books_comparison
from app.reports.status import ShownAmount, Standing, shown_amount, standings
from app.rules.problems import problem_messages
from app.services import Services
from app.store.aggregates import load_outlines
from app.store.attention import accounts_of, troubled_notifications
from app.store.installations import OpenInstallation
from app.store.problems import payments_with_problem
from app.store.tables import Notification
from app.web.dashboard.projects import test_ids

ROWS_PER_SECTION = 5
PAGE_SIZE = 25


@dataclass(frozen=True, slots=True)
class AlertRow:
    """A payment that needs a person, since when, and the texts of its problems that are the section's."""

    payment: Payment
    amount: ShownAmount
    standings: tuple[Standing, ...]
    since: datetime
    problems: Sequence[str]
    is_test: bool


@dataclass(frozen=True, slots=True)
class Section:
    """One cause. ``rest``: the address of the rows that are not shown; None when all are shown."""

    what: AlertKind
    words: AlertText
    items: Sequence[Alert]
    rows: Sequence[AlertRow] = ()
    notifications: Sequence[Notification] = ()
    rest: str | None = None

    @property
    def count(self) -> int:
        """Return the number of payments, notifications or events that it is about."""
        return sum(item.count for item in self.items)

    @property
    def more(self) -> bool:
        """Return True when there are more than ``count``."""
        return any(item.more for item in self.items)

    @property
    def since(self) -> datetime | None:
        """Return the time since which the cause exists."""
        return min((item.since for item in self.items if item.since), default=None)

    @property
    def details(self) -> list[str]:
        """Return the latest details of its items."""
        return [item.detail for item in self.items if item.detail]


@dataclass(frozen=True, slots=True)
class AttentionQuery:
    """The selection: everything, or one cause, after the last row of the previous page."""

    what: AlertKind | None = None
    after: tuple[datetime, int] | None = None

    @classmethod
    def from_params(cls, what: str, after: str) -> "AttentionQuery":
        """Return the selection in an address; invalid values are ignored."""
        return cls(AlertKind(what) if what in set(AlertKind) else None, _parse_cursor(after))


async def read_sections(services: Services, installation: OpenInstallation, wanted: AttentionQuery) -> list[Section]:
    """Return the sections of that store's page; at most three queries for each section, whatever its size."""
    items = await find_open_alerts(services, installation)
    found = []
    for what in AlertKind:
        of_kind = [item for item in items if item.what is what]
        if of_kind and wanted.what in {None, what}:
            found.append(await _section(services, installation.id, of_kind, wanted))
    return found


async def read_store_books_comparison(services: Services, installation: OpenInstallation) -> BooksComparison:
    """Return the comparison of our books and the gateway's, for all accounts of the store."""
    async with services.database.transaction() as session:
        accounts = await accounts_of(session, installation.id)
    return await read_books_comparison(services, accounts)


async def _section(services: Services, installation_id: int, items: list[Alert], wanted: AttentionQuery) -> Section:
    what = items[0].what
    most = ROWS_PER_SECTION if wanted.what is None else PAGE_SIZE
    rows: Sequence[tuple[Payment, datetime]] = ()
    notifications: Sequence[Notification] = ()
    async with services.database.transaction() as session:
        if what in PAYMENT_ALERTS:
            after = wanted.after if wanted.what is what else None
            rows = await payments_with_problem(session, installation_id, what, most=most + 1, after=after)
        elif what in NOTIFICATION_ALERTS:
            accounts = [item.account_id for item in items if item.account_id]
            notifications = await troubled_notifications(session, accounts, what, most=most)
        shown = rows[:most]
        aggregates = await load_outlines(session, [payment for payment, _ in shown])
    tests = test_ids(await services.accounts.all(installation_id)) if shown else ()
    rest = None
    if len(rows) > most:
        rest = f"/attention?what={what.value}" + ("" if wanted.what is None else f"&after={_format_cursor(*shown[-1])}")
    return Section(
        what,
        ALERT_TEXTS[what],
        items,
        [_row(aggregate, what, since, tests) for aggregate, (_, since) in zip(aggregates, shown, strict=True)],
        notifications,
        rest,
    )


def _row(aggregate: PaymentAggregate, what: AlertKind, since: datetime, tests: Collection[str]) -> AlertRow:
    payment = aggregate.payment
    return AlertRow(
        payment,
        shown_amount(aggregate),
        standings(aggregate),
        since,
        problem_messages(payment, what),
        payment.account_id in tests,
    )


def _format_cursor(payment: Payment, since: datetime) -> str:
    return f"{since:%Y%m%d%H%M%S%f}-{payment.id}"


def _parse_cursor(text: str) -> tuple[datetime, int] | None:
    since, _, row_id = text.partition("-")
    if row_id.isascii() and row_id.isdecimal() and len(row_id) < 18:
        with suppress(ValueError):
            return datetime.strptime(since, "%Y%m%d%H%M%S%f").replace(tzinfo=UTC), int(row_id)
    return None
