"""Checks that a Saleor responds and accepts the app's token, so that a removed app is not shown as installed."""

import structlog

from app.services import Services
from app.store.installations import OpenInstallation
from app.store.presence import mark_away, record_token_check
from saleor_app_sdk.errors import SaleorError, SaleorNotAuthorisedError, SaleorUnreachableError
from saleor_app_sdk.graphql import SaleorClient

SHUT_OUT = "the app was removed there, or switched off"
"""Why nothing is asked of a Saleor, or told to it, until a check finds that it lets the app in again."""

log = structlog.get_logger(__name__)


async def check_presence(services: Services, saleor: SaleorClient, installation_id: int) -> None:
    """Query one Saleor and record the result. If it does not respond, nothing is recorded of the token."""
    installation = await services.installations.get(installation_id)
    authorised: bool | None = None
    if installation.verified:
        try:
            await saleor.who_am_i(installation.saleor_api_url, installation.token)
            authorised = True
        except SaleorNotAuthorisedError:
            log.warning("token.refused", saleor=installation.saleor_api_url)
            authorised = False
        except SaleorError as error:
            log.info("token.not_checked", saleor=installation.saleor_api_url, error=str(error))
    async with services.database.transaction() as session:
        used = installation.token_sealed
        await record_token_check(session, installation_id, services.now(), token_sealed=used, authorised=authorised)
    services.installations.invalidate()


async def get_current_installation(services: Services, installation_id: int) -> OpenInstallation:
    """Return an installation; reload one that is shut out, as another process may have updated it."""
    installation = await services.installations.get(installation_id)
    if installation.is_shut_out:
        services.installations.invalidate()
        installation = await services.installations.get(installation_id)
    return installation


async def record_presence(services: Services, installation: OpenInstallation, error: SaleorError | None) -> None:
    """Record what a request to a Saleor has shown: it responded, or ``error`` prevented that."""
    if not isinstance(error, SaleorUnreachableError | SaleorNotAuthorisedError):
        await services.installations.record_contact(installation)
    elif installation.away_since is None and not installation.is_shut_out:
        unauthorised, used = isinstance(error, SaleorNotAuthorisedError), installation.token_sealed
        async with services.database.transaction() as session:
            await mark_away(session, installation.id, services.now(), token_sealed=used, unauthorised=unauthorised)
        services.installations.invalidate()
