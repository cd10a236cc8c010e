"""Tells each Saleor what needs a person in its store, and takes it back when it is solved (Saleor contract, B.2.8).

The same items that staff see on the app's page, one for each cause and account. What is open is compared with what
Saleor was told, once a minute for each store; as long as nothing changes, Saleor is asked nothing.
"""

from datetime import timedelta

import structlog

from app.db.installations import OpenInstallation
from app.db.reported_problems import compare_problems_next, forget_told, keep_told, told_problems
from app.payments.alerts.items import AlertKind, Item, open_items
from app.payments.alerts.words import WORDS
from app.payments.services import Services
from app.saleor.errors import SaleorError, SaleorUnreachableError
from app.saleor.graphql import SaleorClient
from app.saleor.problems import MOST, AppProblem, dismiss_problems, knows_problems, report_problem

log = structlog.get_logger(__name__)

BETWEEN_COMPARISONS = timedelta(minutes=1)
_UNREACHABLE = timedelta(minutes=5)
_REFUSED = timedelta(hours=1)  # uninstalled, switched off, or a 3.22 from before there were problems
_AT_ONCE = 20  # are told by one job, so that it is over within its claim; the others a minute later
_CRITICAL = {AlertKind.INSTALLATION, AlertKind.UNOPENED, AlertKind.KEYS, AlertKind.ADDRESS}


async def compare_problems(services: Services, saleor: SaleorClient, installation_id: int) -> None:
    """Let Saleor show what is open, and nothing else; say when to compare next.

    A crash between telling and remembering does no harm: told again, Saleor counts it with the first.
    """
    installation = await services.installations.get(installation_id)
    pause: timedelta | None = BETWEEN_COMPARISONS
    if installation.app_id is None or not knows_problems(installation):
        pause = None  # until it is installed anew, or says that it is a newer Saleor
    elif installation.unauthorised_since is not None:
        pause = _REFUSED  # or until it lets the app in again
    else:
        try:
            await _compare(services, saleor, installation, installation.app_id)
        except SaleorError as error:
            pause = _UNREACHABLE if isinstance(error, SaleorUnreachableError) else _REFUSED
            log.info("problems not told to Saleor", saleor=installation.saleor_api_url, error=str(error))
    async with services.database.transaction() as session:
        await compare_problems_next(session, installation_id, None if pause is None else services.now() + pause)


async def _compare(services: Services, saleor: SaleorClient, installation: OpenInstallation, app_id: str) -> None:
    items = {each.key: each for each in (await open_items(services, installation))[:MOST]}
    async with services.database.transaction() as session:
        told = await told_problems(session, installation.id, app_id)
    solved = sorted(told - items.keys())
    if solved:
        await dismiss_problems(saleor, installation, solved[:MOST])
        async with services.database.transaction() as session:
            await forget_told(session, installation.id, solved[:MOST])
    for key in [each for each in items if each not in told][:_AT_ONCE]:
        await report_problem(saleor, installation, _problem(items[key]))
        async with services.database.transaction() as session:
            await keep_told(session, installation.id, app_id, key, services.now())


def _problem(item: Item) -> AppProblem:
    words = WORDS[item.what]
    title = words.title if item.account is None else f"{words.title} ({item.account})"
    message = f"{title}. {words.meaning} {words.remedy} The app's page “What needs you” tells more."
    return AppProblem(key=item.key, message=message, critical=item.what in _CRITICAL)
