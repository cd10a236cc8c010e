"""The app is deleted, deactivated or activated in a Saleor: that Saleor is queried, and only its answer counts.

From 3.23.5 on Saleor sends an app events about itself, whatever its permissions. Such an event is signed, but does not
prove anything: it may be old, or a duplicate. So the token is tried. A token that Saleor accepts is kept. One that it
rejects is deleted if the app was deleted, because Saleor will never accept it again, and kept if the app was
deactivated, because then it will. Earlier Saleors send no such events: there the worker finds out
(``app.worker.presence``), and keeps the token.

Nothing else is deleted: not the accounts, nor the payments, nor the events that are still to be reported to Saleor.
Payment pages of a Saleor from which the app was deleted are closed: nobody could tell it that they were paid.
"""

from datetime import timedelta

import structlog

from app.rules.decisions.placed_order import AppRemoved
from app.services import Services
from app.store.aggregates import ById
from app.store.installations import OpenInstallation
from app.store.presence import mark_away, payment_ids_to_be_paid, record_token_check
from saleor_app_sdk.errors import SaleorError, SaleorNotAuthorisedError
from saleor_app_sdk.graphql import SaleorClient

_WITHIN = timedelta(seconds=5)

log = structlog.get_logger(__name__)


async def handle_app_deleted(services: Services, saleor: SaleorClient, installation: OpenInstallation) -> None:
    """Delete the token if Saleor does not accept it any more, and close the pages that are open."""
    if await _is_token_accepted(services, saleor, installation) is not False:
        return
    if not await services.installations.delete_token(installation.id, installation.token):
        return
    log.warning("app.deleted", saleor=installation.saleor_api_url, detail="its token is deleted, too")
    async with services.database.transaction() as session:
        found = await payment_ids_to_be_paid(session, installation.id)
    for payment_id in found:
        await services.payments.record(ById(payment_id), AppRemoved(services.now()))


async def handle_app_status_changed(services: Services, saleor: SaleorClient, installation: OpenInstallation) -> None:
    """Record whether Saleor accepts the token; if it does again, the waiting events are reported."""
    if await _is_token_accepted(services, saleor, installation) is not False:
        return
    log.warning("app.deactivated", saleor=installation.saleor_api_url)
    used = installation.token_sealed
    async with services.database.transaction() as session:
        await record_token_check(session, installation.id, services.now(), token_sealed=used, authorised=False)
    services.installations.invalidate()


async def _is_token_accepted(services: Services, saleor: SaleorClient, installation: OpenInstallation) -> bool | None:
    """Return whether Saleor accepts the token, and record it if so; None: no clear answer, to be checked again."""
    try:
        await saleor.who_am_i(installation.saleor_api_url, installation.token, timeout=_WITHIN)
    except SaleorNotAuthorisedError:
        return False
    except SaleorError as error:
        log.info("token.not_checked", saleor=installation.saleor_api_url, error=str(error))
        used = installation.token_sealed
        async with services.database.transaction() as session:
            await mark_away(session, installation.id, services.now(), token_sealed=used, unauthorised=True)
        services.installations.invalidate()
        return None
    await services.installations.record_contact(installation)
    return True
