"""Checks that a webhook is for this app and, after a re-installation, proves the pending token.

The token of an app that was installed without being activated could not be checked at its registration. Its first
signed webhook names the new app id; then Saleor is queried once more for the owners of the pending tokens, and only its
response activates one of them. Until then the proven token stays. An app that gets webhooks is active: a token that
Saleor still refuses is a stranger's, or an earlier installation's, and is deleted.
"""

import asyncio
from collections import defaultdict
from datetime import timedelta

import structlog

from app.saleor.addresses import host_of
from app.saleor.errors import NotUsableError, SaleorError, SaleorNotAuthorisedError
from app.saleor.events import Recipient
from app.saleor.graphql import SaleorClient
from app.saleor.installation import Installation, InstallationStore
from app.saleor.versions import OLDEST_SUPPORTED, format_release, parse_release

PROOF_TIMEOUT = timedelta(seconds=4)

logger = structlog.get_logger(__name__)


class RecipientCheck:
    """Compares the recipient of a signed webhook with the stored installation."""

    def __init__(self, identifier: str, store: InstallationStore, client: SaleorClient) -> None:
        self._identifier = identifier
        self._store = store
        self._client = client
        # Only for installed Saleors, so there are never more locks than installations.
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def check(self, installation: Installation, recipient: Recipient, saleor_version: str | None) -> Installation:
        """Return the installation that the webhook is for, with its token proven.

        Raises NotUsableError if the webhook is not for this app.
        """
        if installation.verified and recipient.id == installation.app_id:
            return installation
        if recipient.identifier == self._identifier and installation.pending_tokens:
            async with self._locks[installation.saleor_api_url]:
                # Another webhook may have proven a token while this one waited.
                current = await self._store.find(installation.saleor_api_url) or installation
                if current.verified and recipient.id == current.app_id:
                    return current
                return await self._prove(current, recipient, saleor_version)
        raise NotUsableError(403, "WRONG_RECIPIENT", "This event is for another app, or for an earlier installation.")

    async def _prove(
        self, installation: Installation, recipient: Recipient, saleor_version: str | None
    ) -> Installation:
        """Activate the pending token that Saleor says is the recipient's, and return the installation.

        Raises NotUsableError.
        """
        address, token = installation.saleor_api_url, None
        try:
            async with asyncio.timeout(PROOF_TIMEOUT.total_seconds()):
                token = await self._find_token(installation, recipient)
        except (SaleorError, TimeoutError) as exc:
            logger.warning("saleor_pending_token_not_proven", saleor=address, error=type(exc).__name__)
            raise NotUsableError(
                403, "NOT_PROVEN", "The app's installation could not be confirmed. Try again, or install the app again."
            ) from exc
        if token is None:
            raise NotUsableError(403, "NOT_PROVEN", "The app holds a token of another app. Install the app again.")
        release = (
            parse_release(saleor_version) or parse_release(installation.schema_version) or (*OLDEST_SUPPORTED, None)
        )
        await self._store.save(
            saleor_api_url=address,
            saleor_domain=host_of(address),
            schema_version=format_release(release),
            app_id=recipient.id,
            token=token,
            jwks=installation.jwks,
        )
        logger.info("saleor_installation_proven", saleor=address, app_id=recipient.id)
        proven = await self._store.find(address)
        if proven is None:
            raise NotUsableError(403, "NOT_PROVEN", "The app's installation has just been removed.")
        return proven

    async def _find_token(self, installation: Installation, recipient: Recipient) -> str | None:
        """Return the newest pending token that is the recipient's; None when there is none.

        Raises SaleorError when Saleor accepts none of them, or does not respond.
        """
        refused: SaleorNotAuthorisedError | None = None
        has_other_app = False
        for token in installation.pending_tokens:
            try:
                identity = await self._client.who_am_i(installation.saleor_api_url, token, timeout=PROOF_TIMEOUT)
            except SaleorNotAuthorisedError as exc:
                refused = exc
                await self._store.delete_pending(installation.saleor_api_url, token)
                continue
            if identity.id == recipient.id and identity.identifier == self._identifier:
                return token
            has_other_app = True
        if refused is not None and not has_other_app:
            raise refused
        return None
