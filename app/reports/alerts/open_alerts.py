"""The open alerts of a store (``core.alerts``): one for each cause and merchant account, not one for each payment."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.core.alerts import ACCOUNT_ALERTS, NOTIFICATION_ALERTS, PAYMENT_ALERTS, AlertKind
from app.reports.alerts.turned_away import WINDOW, ClosedChannel, closed_channels
from app.rules.stored_issues import stored_message
from app.services import Services
from app.store.attention import (
    MAX_COUNTED,
    CountedProblems,
    TroubledNotifications,
    Undelivered,
    UnknownOrders,
    accounts_of,
    failed_comparisons,
    problem_counts,
    refused_requests,
    rows_of_each,
    troubled_notification_counts,
    undelivered,
    undelivered_events,
    unknown_order_counts,
)
from app.store.installations import OpenInstallation
from app.store.tables import MerchantAccount, ReconciliationRun
from app.store.vault import VaultError

PATIENCE = timedelta(minutes=15)
"""How long Saleor may be unreachable, or a notification be retried, before an alert is raised."""


@dataclass(frozen=True, slots=True)
class Alert:
    """Something that needs a person, for ``account_id`` of the store, or for the store as a whole (None).

    ``count``: payments, events or notifications that it is about; ``more``: there are more than that. ``since``: the
    oldest of them. ``detail``: the latest error or reason, for staff.
    """

    what: AlertKind
    account_id: str | None = None
    account: str | None = None
    count: int = 1
    more: bool = False
    since: datetime | None = None
    detail: str | None = None
    channel: str | None = None

    @property
    def key(self) -> str:
        """Return the key that identifies this alert while it is open: its kind, and its account or channel."""
        if self.channel is not None:  # a slug may be longer than Saleor's keys
            return f"{self.what.value}:{hashlib.sha256(self.channel.encode()).hexdigest()[:32]}"
        return f"{self.what.value}:{self.account_id or 'store'}"

    @property
    def tasks(self) -> int:
        """Return how many tasks the alert contains."""
        return self.count if self.what in PAYMENT_ALERTS or self.what in NOTIFICATION_ALERTS else 1


async def find_open_alerts(services: Services, installation: OpenInstallation) -> list[Alert]:
    """Return the open alerts of a store, the most urgent first.

    Two queries while there are none, one more for each kind of cause, and for each channel in which shoppers are turned
    away.
    """
    now = services.now()
    async with services.database.transaction() as session:
        rows = await accounts_of(session, installation.id)
        accounts = {row.id: row.name for row in rows}
        problems, notifications, events, unknown_orders, failed_runs, refused = await rows_of_each(
            session,
            problem_counts(installation.id),
            troubled_notification_counts(accounts, failing_since=now - PATIENCE),
            undelivered_events(installation.id, before=now - PATIENCE),
            unknown_order_counts(accounts),
            failed_comparisons(accounts),
            refused_requests(installation.id, since=now - WINDOW),
        )
        closed = await closed_channels(session, installation.id, refused, now) if refused else ()
    waiting = undelivered(events)
    found = [
        *_sealed_account_alerts(services, rows),
        *_payment_alerts((CountedProblems(*row) for row in problems), accounts),
        *_notification_alerts((TroubledNotifications(*row) for row in notifications), accounts),
        *_unknown_order_alerts((UnknownOrders(*row) for row in unknown_orders), accounts),
        *_not_compared_alerts(failed_runs, accounts),
    ]
    if closed:
        found += await _closed_channel_alerts(services, installation.id, closed, accounts)
    # A stranger's attempt against a working installation is no alert.
    if not installation.verified and not installation.is_shut_out:
        found.append(Alert(AlertKind.INSTALLATION))
    elif installation.unauthorised_since is not None:
        found.append(Alert(AlertKind.UNAUTHORISED, since=installation.unauthorised_since))
    if waiting is not None:
        found.append(_undelivered_alert(waiting))
    order = list(AlertKind)
    return sorted(found, key=lambda alert: (order.index(alert.what), alert.account or ""))


def count_tasks(alerts: Iterable[Alert]) -> int:
    """Return the number of tasks in the alerts."""
    return sum(alert.tasks for alert in alerts)


def _sealed_account_alerts(services: Services, accounts: Iterable[MerchantAccount]) -> Iterable[Alert]:
    """Yield alerts of enabled accounts: with keys that do not open nothing can be sent, looked up or verified."""
    for account in accounts:
        try:
            services.accounts.keys(account)
        except VaultError:
            if account.enabled:
                yield Alert(AlertKind.UNOPENED, account.id, account.name)


def _payment_alerts(problems: Iterable[CountedProblems], accounts: dict[str, str]) -> Iterable[Alert]:
    for problem in problems:
        what = problem.kind
        if what in ACCOUNT_ALERTS or what in PAYMENT_ALERTS:  # a notification that no key opens is counted as such
            yield Alert(
                what, problem.account_id, accounts[problem.account_id], count=problem.count, since=problem.since
            )


def _notification_alerts(troubles: Iterable[TroubledNotifications], accounts: dict[str, str]) -> Iterable[Alert]:
    for trouble in troubles:
        what = AlertKind(trouble.trouble)
        yield Alert(what, trouble.account_id, accounts[trouble.account_id], count=trouble.count, since=trouble.since)


def _unknown_order_alerts(orders: Iterable[UnknownOrders], accounts: dict[str, str]) -> Iterable[Alert]:
    for order in orders:
        name = accounts[order.account_id]
        yield Alert(AlertKind.UNKNOWN_ORDERS, order.account_id, name, count=order.count, since=order.since)


def _not_compared_alerts(failed: Iterable[ReconciliationRun], accounts: dict[str, str]) -> Iterable[Alert]:
    """Yield an alert for each account: of several comparisons, for the one that has covered least."""
    latest_first = sorted(failed, key=lambda run: run.covered_until or run.starts_at or run.created_at, reverse=True)
    for run in {run.account_id: run for run in latest_first}.values():
        why = None if run.failure is None else stored_message(run.failure)
        since = run.covered_until or run.starts_at
        yield Alert(AlertKind.NOT_COMPARED, run.account_id, accounts[run.account_id], since=since, detail=why)


async def _closed_channel_alerts(
    services: Services, installation_id: int, closed: Iterable[ClosedChannel], accounts: dict[str, str]
) -> Iterable[Alert]:
    routes = {route.channel: route.account_id for route in await services.accounts.routes(installation_id)}
    return [
        Alert(
            AlertKind.TURNED_AWAY,
            account_id := routes.get(channel.channel),
            None if account_id is None else accounts.get(account_id),
            count=channel.count,
            since=channel.since,
            detail=channel.detail,
            channel=channel.channel,
        )
        for channel in closed
    ]


def _undelivered_alert(events: Undelivered) -> Alert:
    more = events.count > MAX_COUNTED
    return Alert(
        AlertKind.UNDELIVERED,
        count=min(events.count, MAX_COUNTED),
        more=more,
        since=events.since,
        detail=events.last_error,
    )
