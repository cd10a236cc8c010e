"""Reports to each Saleor the problems that need staff, and dismisses them when solved (Saleor contract, B.2.8).

These are the items that staff see on the app's page, one for each cause and account. Once a minute for each store the
open items are compared with those reported to Saleor; as long as nothing changes, Saleor receives no request.
"""

from datetime import timedelta

import structlog

from app.core.alerts import AlertKind
from app.reports.alerts.open_alerts import Alert, find_open_alerts
from app.reports.alerts.texts import ALERT_TEXTS
from app.rules.decisions.answer_confirmation import stated_pause
from app.services import Services
from app.store.installations import OpenInstallation
from app.store.problems import clear_reported, mark_reported, reported_keys, schedule_problem_comparison
from saleor_app_sdk.errors import SaleorError, SaleorUnreachableError
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.problems import MAX_PROBLEMS, AppProblem, dismiss_problems, report_problem, supports_problems

log = structlog.get_logger(__name__)

COMPARISON_INTERVAL = timedelta(minutes=1)
_PAUSE_UNREACHABLE = timedelta(minutes=5)
_PAUSE_REFUSED = timedelta(hours=1)  # uninstalled, switched off, or an early 3.22 without app problems
_MAX_REPORTS_PER_JOB = 20  # so that a job ends before its claim expires; the others follow a minute later
_CRITICAL_KINDS = {AlertKind.INSTALLATION, AlertKind.UNOPENED, AlertKind.KEYS, AlertKind.ADDRESS, AlertKind.TURNED_AWAY}


async def compare_problems(services: Services, saleor: SaleorClient, installation_id: int) -> None:
    """Make Saleor show exactly the open problems, and schedule the next comparison.

    A crash between reporting and recording does no harm: Saleor counts a repeated report with the first.
    """
    installation = await services.installations.get(installation_id)
    pause: timedelta | None = COMPARISON_INTERVAL
    if installation.app_id is None or not supports_problems(installation):
        pause = None  # until a new installation, or until Saleor reports a newer version
    elif installation.unauthorised_since is not None:
        pause = _PAUSE_REFUSED  # or until Saleor accepts the app again
    else:
        try:
            await _compare_store(services, saleor, installation, installation.app_id)
        except SaleorError as error:
            is_away = isinstance(error, SaleorUnreachableError)
            pause = max(stated_pause(error), _PAUSE_UNREACHABLE) if is_away else _PAUSE_REFUSED
            log.info("problems.not_reported", saleor=installation.saleor_api_url, error=str(error))
    async with services.database.transaction() as session:
        await schedule_problem_comparison(session, installation_id, None if pause is None else services.now() + pause)


async def _compare_store(services: Services, saleor: SaleorClient, installation: OpenInstallation, app_id: str) -> None:
    items = {alert.key: alert for alert in (await find_open_alerts(services, installation))[:MAX_PROBLEMS]}
    async with services.database.transaction() as session:
        reported = await reported_keys(session, installation.id, app_id)
    solved = sorted(reported - items.keys())
    if solved:
        await dismiss_problems(saleor, installation, solved[:MAX_PROBLEMS])
        async with services.database.transaction() as session:
            await clear_reported(session, installation.id, solved[:MAX_PROBLEMS])
    for key in [item for item in items if item not in reported][:_MAX_REPORTS_PER_JOB]:
        await report_problem(saleor, installation, _build_problem(items[key]))
        async with services.database.transaction() as session:
            await mark_reported(session, installation.id, app_id, key, services.now())


def _build_problem(item: Alert) -> AppProblem:
    texts = ALERT_TEXTS[item.what]
    about = item.channel or item.account
    title = texts.title if about is None else f"{texts.title} ({about})"
    message = f"{title}. {texts.meaning} {texts.remedy} For details, see “Needs attention” in the app."
    return AppProblem(key=item.key, message=message, critical=item.what in _CRITICAL_KINDS)
