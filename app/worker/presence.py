"""Finds out whether a Saleor is there and takes the app's token: an app that was removed is not called installed."""

import structlog

from app.ledger.presence import away, note_check
from app.payments.desk import Desk
from app.saleor.errors import SaleorError, SaleorNotAuthorised, SaleorUnreachable
from app.saleor.graphql import SaleorClient

log = structlog.get_logger(__name__)


async def check_presence(desk: Desk, saleor: SaleorClient, installation_id: int) -> None:
    """Ask one Saleor, and note what it says. One that does not answer says nothing of the token."""
    installation = await desk.installations.get(installation_id)
    authorised: bool | None = None
    if installation.verified:
        try:
            await saleor.who_am_i(installation.saleor_api_url, installation.token)
            authorised = True
        except SaleorNotAuthorised:
            authorised = False
        except SaleorError as error:
            log.info("saleor did not say", saleor=installation.saleor_api_url, error=str(error))
    if authorised is False:
        log.warning("saleor does not take the app's token", saleor=installation.saleor_api_url)
    async with desk.database.transaction() as session:
        await note_check(session, installation_id, desk.now(), authorised=authorised)
    desk.installations.forget()


async def note_presence(desk: Desk, installation_id: int, error: SaleorError | None) -> None:
    """Note what telling a Saleor something has shown of it: it answered, or ``error`` kept it from that."""
    installation = await desk.installations.get(installation_id)
    if not isinstance(error, SaleorUnreachable | SaleorNotAuthorised):
        await desk.installations.heard_from(installation)
    elif installation.away_since is None:
        unauthorised = isinstance(error, SaleorNotAuthorised)
        async with desk.database.transaction() as session:
            await away(session, installation_id, desk.now(), unauthorised=unauthorised)
        desk.installations.forget()
