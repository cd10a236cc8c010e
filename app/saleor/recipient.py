"""Is this webhook for us? And, if we were just re-installed, whose token do we hold?

An app that was installed without being activated could not have its token checked at the handshake. Its first signed
webhook names the new app id; then Saleor is asked once more whose the pending token is, and only its answer puts the
token in force. Until then the proven one stays.
"""

from datetime import timedelta

import structlog

from app.saleor.addresses import host_of
from app.saleor.errors import NotUsable, SaleorError
from app.saleor.events import Recipient
from app.saleor.graphql import SaleorClient
from app.saleor.installation import InstallationStore, Installed
from app.saleor.versions import read_version

PROVE_WITHIN = timedelta(seconds=4)

logger = structlog.get_logger(__name__)


class RecipientCheck:
    """Compares the recipient of a signed webhook with what is known of the installation."""

    def __init__(self, identifier: str, store: InstallationStore, client: SaleorClient) -> None:
        self._identifier = identifier
        self._store = store
        self._client = client

    async def check(self, installation: Installed, recipient: Recipient, saleor_version: str | None) -> Installed:
        """Return the installation that the webhook is for, its token in force. Raises NotUsable if it is not us."""
        if installation.verified and recipient.id == installation.app_id:
            return installation
        if recipient.identifier == self._identifier and installation.pending_token:
            return await self._prove(installation, installation.pending_token, recipient, saleor_version)
        raise NotUsable(403, "WRONG_RECIPIENT", "This event is for another app, or for an earlier installation.")

    async def _prove(
        self,
        installation: Installed,
        token: str,
        recipient: Recipient,
        saleor_version: str | None,
    ) -> Installed:
        address = installation.saleor_api_url
        try:
            identity = await self._client.who_am_i(address, token, within=PROVE_WITHIN)
        except SaleorError as exc:
            logger.warning("saleor_pending_token_not_proven", saleor_api_url=address, reason=type(exc).__name__)
            raise NotUsable(
                403, "NOT_PROVEN", "The app's installation could not be confirmed. Try again, or install the app again."
            ) from exc
        if identity.id != recipient.id or identity.identifier != self._identifier:
            raise NotUsable(403, "NOT_PROVEN", "The app holds a token of another app. Install the app again.")
        major, minor = read_version(saleor_version or installation.schema_version)
        await self._store.save(
            saleor_api_url=address,
            saleor_domain=host_of(address),
            schema_version=f"{major}.{minor}",
            app_id=identity.id,
            token=token,
            jwks=installation.jwks,
        )
        logger.info("saleor_installation_proven", saleor_api_url=address, app_id=identity.id)
        proven = await self._store.find(address)
        if proven is None:
            raise NotUsable(403, "NOT_PROVEN", "The app's installation has just been removed.")
        return proven
