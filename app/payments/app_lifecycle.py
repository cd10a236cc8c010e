"""The app is deleted, switched off or on in a Saleor: that Saleor is asked, and only what it says counts.

From 3.23.5 on a Saleor tells an app so of itself, whatever its permissions. The event is signed, and still no reason to
do anything: it may be old, or come a second time. So the token is tried. One that Saleor takes stays; one that it does
not take is forgotten if the app was deleted, for Saleor never takes it again, and kept if the app was switched off, for
then it will. Earlier Saleors tell nothing: there the worker finds out (``app.worker.presence``), and keeps the token.

Nothing else is forgotten: not the accounts, nor the payments, nor what Saleor is still to be told.
"""

from datetime import timedelta

import structlog

from app.db.installations import OpenInstallation
from app.db.presence import away, note_check
from app.payments.services import Services
from app.saleor.errors import SaleorError, SaleorNotAuthorisedError
from app.saleor.graphql import SaleorClient

_WITHIN = timedelta(seconds=5)

log = structlog.get_logger(__name__)


async def app_deleted(services: Services, saleor: SaleorClient, installation: OpenInstallation) -> None:
    """Forget the token, if Saleor does not take it any more."""
    if await _is_let_in(services, saleor, installation) is not False:
        return
    if await services.installations.forget_token(installation.id, installation.token):
        log.warning("the app was deleted in Saleor: its token is forgotten", saleor=installation.saleor_api_url)


async def app_status_changed(services: Services, saleor: SaleorClient, installation: OpenInstallation) -> None:
    """Note whether Saleor takes the token; if it does again, what waits is told."""
    if await _is_let_in(services, saleor, installation) is not False:
        return
    log.warning("the app was switched off in Saleor", saleor=installation.saleor_api_url)
    async with services.database.transaction() as session:
        await note_check(session, installation.id, services.now(), authorised=False)
    services.installations.forget()


async def _is_let_in(services: Services, saleor: SaleorClient, installation: OpenInstallation) -> bool | None:
    """Return whether Saleor takes the token, and note it if it does; None: it does not say, and is asked again."""
    try:
        await saleor.who_am_i(installation.saleor_api_url, installation.token, within=_WITHIN)
    except SaleorNotAuthorisedError:
        return False
    except SaleorError as error:
        log.info("saleor did not say", saleor=installation.saleor_api_url, error=str(error))
        async with services.database.transaction() as session:
            await away(session, installation.id, services.now(), unauthorised=True)
        services.installations.forget()
        return None
    await services.installations.heard_from(installation)
    return True
