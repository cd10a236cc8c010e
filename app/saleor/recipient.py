"""Is this webhook for us? And, if we were just re-installed, whose token do we hold?

An app that was installed without being activated could not have its token checked at the handshake. Its first signed
webhook names the new app id; then Saleor is asked once more whose the pending tokens are, and only its answer puts one
of them in force. Until then the proven one stays. An app that gets webhooks is active: a token that Saleor refuses even
then is a stranger's, or an earlier installation's, and is forgotten.
"""

import asyncio
from collections import defaultdict
from datetime import timedelta

import structlog

from app.saleor.addresses import host_of
from app.saleor.errors import NotUsableError, SaleorError, SaleorNotAuthorisedError
from app.saleor.events import Recipient
from app.saleor.graphql import SaleorClient
from app.saleor.installation import InstallationStore, Installed
from app.saleor.versions import OLDEST_SUPPORTED, read_release, written

PROVE_WITHIN = timedelta(seconds=4)

logger = structlog.get_logger(__name__)


class RecipientCheck:
    """Compares the recipient of a signed webhook with what is known of the installation."""

    def __init__(self, identifier: str, store: InstallationStore, client: SaleorClient) -> None:
        self._identifier = identifier
        self._store = store
        self._client = client
        # Of installed Saleors only, so there are never more of these than installations.
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def check(self, installation: Installed, recipient: Recipient, saleor_version: str | None) -> Installed:
        """Return the installation that the webhook is for, its token in force.

        Raises NotUsableError if it is not us.
        """
        if installation.verified and recipient.id == installation.app_id:
            return installation
        if recipient.identifier == self._identifier and installation.pending_tokens:
            async with self._locks[installation.saleor_api_url]:
                # Another webhook may have proven one while this one waited.
                known = await self._store.find(installation.saleor_api_url) or installation
                if known.verified and recipient.id == known.app_id:
                    return known
                return await self._prove(known, recipient, saleor_version)
        raise NotUsableError(403, "WRONG_RECIPIENT", "This event is for another app, or for an earlier installation.")

    async def _prove(self, installation: Installed, recipient: Recipient, saleor_version: str | None) -> Installed:
        """Return the installation with the token in force that Saleor says is the recipient's.

        Raises NotUsableError.
        """
        address, token = installation.saleor_api_url, None
        try:
            async with asyncio.timeout(PROVE_WITHIN.total_seconds()):
                token = await self._token_of(installation, recipient)
        except (SaleorError, TimeoutError) as exc:
            logger.warning("saleor_pending_token_not_proven", saleor=address, error=type(exc).__name__)
            raise NotUsableError(
                403, "NOT_PROVEN", "The app's installation could not be confirmed. Try again, or install the app again."
            ) from exc
        if token is None:
            raise NotUsableError(403, "NOT_PROVEN", "The app holds a token of another app. Install the app again.")
        release = read_release(saleor_version) or read_release(installation.schema_version) or (*OLDEST_SUPPORTED, None)
        await self._store.save(
            saleor_api_url=address,
            saleor_domain=host_of(address),
            schema_version=written(release),
            app_id=recipient.id,
            token=token,
            jwks=installation.jwks,
        )
        logger.info("saleor_installation_proven", saleor=address, app_id=recipient.id)
        proven = await self._store.find(address)
        if proven is None:
            raise NotUsableError(403, "NOT_PROVEN", "The app's installation has just been removed.")
        return proven

    async def _token_of(self, installation: Installed, recipient: Recipient) -> str | None:
        """Return the pending token that is the recipient's, the newest first; None when none is.

        Raises SaleorError when Saleor takes none of them, or does not say.
        """
        refused: SaleorNotAuthorisedError | None = None
        of_others = False
        for token in installation.pending_tokens:
            try:
                identity = await self._client.who_am_i(installation.saleor_api_url, token, within=PROVE_WITHIN)
            except SaleorNotAuthorisedError as exc:
                refused = exc
                await self._store.forget_pending(installation.saleor_api_url, token)
                continue
            if identity.id == recipient.id and identity.identifier == self._identifier:
                return token
            of_others = True
        if refused is not None and not of_others:
            raise refused
        return None
