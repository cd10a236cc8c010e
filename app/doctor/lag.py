"""What of a store waits too long: events for Saleor, notifications of the gateway, look-ups that are due."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from app.db.installations import OpenInstallation
from app.db.lag import oldest_waiting
from app.doctor.findings import Finding, Subject, error, fine, warning
from app.i18n.messages import LazyMessage, gettext_noop
from app.payments.alerts.items import PATIENCE
from app.payments.services import Services

USUAL = timedelta(minutes=2)
"""What waits no longer than this is on its way: an event may wait for an answer, a look-up for its turn."""

_WORDS = {
    Subject.EVENTS: (
        LazyMessage("Saleor has heard everything but the newest."),
        gettext_noop("The oldest event that Saleor has not heard is from %(since)s."),
        LazyMessage(
            "See whether a worker works and whether Saleor answers, above. “saleor-gateway events list --waiting” says "
            "what Saleor says."
        ),
    ),
    Subject.NOTIFICATIONS: (
        LazyMessage("No notification of the gateway waits."),
        gettext_noop("The oldest notification that is not processed came at %(since)s."),
        LazyMessage(
            "See whether a worker works, above. “saleor-gateway notifications list --failed” says what cannot be "
            "processed, and why."
        ),
    ),
    Subject.LOOK_UPS: (
        LazyMessage("No look-up at the gateway is overdue."),
        gettext_noop("The look-up that is most overdue was due at %(since)s."),
        LazyMessage("See whether a worker works, above, and whether the gateway answers."),
    ),
}


async def check_lag(services: Services, installation: OpenInstallation) -> Sequence[Finding]:
    """Look at what waits of a store: longer than ``USUAL`` is a warning, longer than ``PATIENCE`` an error."""
    accounts = [each.id for each in await services.accounts.all(installation.id)]
    now = services.now()
    async with services.database.transaction() as session:
        oldest = await oldest_waiting(session, installation.id, accounts, now)
    return [
        _finding(Subject.EVENTS, oldest.event, now),
        _finding(Subject.NOTIFICATIONS, oldest.notification, now),
        _finding(Subject.LOOK_UPS, oldest.look_up, now),
    ]


def _finding(subject: Subject, since: datetime | None, now: datetime) -> Finding:
    nothing, what, remedy = _WORDS[subject]
    if since is None or now - since <= USUAL:
        return fine(subject, nothing)
    level = error if now - since > PATIENCE else warning
    return level(subject, LazyMessage(what, since=since), remedy)
