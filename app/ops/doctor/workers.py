"""Checks that the work gets done: that a worker runs, and how long a store's backlog waits.

Without a worker, no events reach Saleor and no notifications are processed. The backlog of a store: events for Saleor,
notifications of the gateway, and look-ups that are due.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from app.i18n.messages import Joined, LazyMessage, gettext_noop
from app.ops.doctor.findings import Finding, Subject, error, fine, warning
from app.reports.alerts.open_alerts import PATIENCE
from app.services import Services
from app.store.installations import OpenInstallation
from app.store.lag import oldest_waiting
from app.store.processes import SILENT_AFTER, all_processes

NORMAL_WAIT = timedelta(minutes=2)
"""A normal wait: an event may be waiting for a response, a look-up for its turn."""

_START = LazyMessage(
    "Start “saleor-gateway worker”, or “saleor-gateway run” without APP_WORKER=false. If one is running, check its log."
)
_MESSAGES = {
    Subject.EVENTS: (
        LazyMessage("Saleor has received everything but the newest."),
        gettext_noop("The oldest event that Saleor has not received is from %(since)s."),
        LazyMessage(
            "Check above whether a worker is running and whether Saleor answers. “saleor-gateway events list "
            "--waiting” shows what Saleor says."
        ),
    ),
    Subject.NOTIFICATIONS: (
        LazyMessage("No notification from the gateway is waiting."),
        gettext_noop("The oldest unprocessed notification arrived at %(since)s."),
        LazyMessage(
            "Check above whether a worker is running. “saleor-gateway notifications list --failed” shows what "
            "cannot be processed, and why."
        ),
    ),
    Subject.LOOK_UPS: (
        LazyMessage("No look-up at the gateway is overdue."),
        gettext_noop("The most overdue look-up was due at %(since)s."),
        LazyMessage("Check above whether a worker is running, and whether the gateway answers."),
    ),
}


async def check_worker(services: Services) -> Sequence[Finding]:
    """Check when a worker was last seen, and that all running processes have the same version."""
    async with services.database.transaction() as session:
        processes = await all_processes(session)
    running = [process for process in processes if services.now() - process.seen_at <= SILENT_AFTER]
    last = next((process for process in processes if process.works), None)
    found: list[Finding] = []
    if last is None:
        what = LazyMessage("No worker has been seen: nothing is reported to Saleor, and notifications stay unread.")
        found.append(error(Subject.WORKER, what, _START))
    elif last not in running:
        what = LazyMessage(
            "No worker has been seen since %(when)s: nothing is reported to Saleor, and notifications stay unread.",
            when=last.seen_at,
        )
        found.append(error(Subject.WORKER, what, _START, detail=f"the last was {last.host}, process {last.pid}"))
    else:
        found.append(fine(Subject.WORKER, LazyMessage("A worker was seen at %(when)s.", when=last.seen_at)))
    versions = sorted({process.version for process in running})
    if len(versions) > 1:
        what = LazyMessage(
            "Processes of different versions are running: %(versions)s.", versions=Joined(tuple(versions))
        )
        found.append(warning(Subject.WORKER, what, LazyMessage("Restart the processes of the older version.")))
    return found


async def check_lag(services: Services, installation: OpenInstallation) -> Sequence[Finding]:
    """Check how long items of a store wait: over ``NORMAL_WAIT`` is a warning, over ``PATIENCE`` an error."""
    accounts = [account.id for account in await services.accounts.all(installation.id)]
    now = services.now()
    async with services.database.transaction() as session:
        oldest = await oldest_waiting(session, installation.id, accounts, now)
    return [
        _lag_finding(Subject.EVENTS, oldest.event, now),
        _lag_finding(Subject.NOTIFICATIONS, oldest.notification, now),
        _lag_finding(Subject.LOOK_UPS, oldest.look_up, now),
    ]


def _lag_finding(subject: Subject, since: datetime | None, now: datetime) -> Finding:
    nothing, what, remedy = _MESSAGES[subject]
    if since is None or now - since <= NORMAL_WAIT:
        return fine(subject, nothing)
    level = error if now - since > PATIENCE else warning
    return level(subject, LazyMessage(what, since=since), remedy)
