"""Finds out whether a Saleor is there and takes the app's token: an app that was removed is not called installed."""

import structlog

from app.db.installations import OpenInstallation
from app.db.presence import away, note_check
from app.payments.services import Services
from app.saleor.errors import SaleorError, SaleorNotAuthorisedError, SaleorUnreachableError
from app.saleor.graphql import SaleorClient

log = structlog.get_logger(__name__)


async def check_presence(services: Services, saleor: SaleorClient, installation_id: int) -> None:
    """Ask one Saleor, and note what it says. One that does not answer says nothing of the token."""
    installation = await services.installations.get(installation_id)
    authorised: bool | None = None
    if installation.verified:
        try:
            await saleor.who_am_i(installation.saleor_api_url, installation.token)
            authorised = True
        except SaleorNotAuthorisedError:
            log.warning("saleor does not take the app's token", saleor=installation.saleor_api_url)
            authorised = False
        except SaleorError as error:
            log.info("saleor did not say", saleor=installation.saleor_api_url, error=str(error))
    async with services.database.transaction() as session:
        await note_check(session, installation_id, services.now(), authorised=authorised)
    services.installations.forget()


async def installation_to_tell(services: Services, installation_id: int) -> OpenInstallation:
    """Return an installation; one that is shut out as it is in this moment, for another process may know better."""
    installation = await services.installations.get(installation_id)
    if installation.shut_out:
        services.installations.forget()
        installation = await services.installations.get(installation_id)
    return installation


async def note_presence(services: Services, installation_id: int, error: SaleorError | None) -> None:
    """Note what telling a Saleor something has shown of it: it answered, or ``error`` kept it from that."""
    installation = await services.installations.get(installation_id)
    if not isinstance(error, SaleorUnreachableError | SaleorNotAuthorisedError):
        await services.installations.heard_from(installation)
    elif installation.away_since is None and not installation.shut_out:
        unauthorised = isinstance(error, SaleorNotAuthorisedError)
        async with services.database.transaction() as session:
            await away(session, installation_id, services.now(), unauthorised=unauthorised)
        services.installations.forget()
