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

from saleor_app_sdk.addresses import host_of
from saleor_app_sdk.errors import NotUsableError, SaleorError, SaleorNotAuthorisedError, SaleorUnreachableError
from saleor_app_sdk.events import Recipient
from saleor_app_sdk.graphql import AppIdentity, SaleorClient
from saleor_app_sdk.installation import Installation, InstallationStore
from saleor_app_sdk.versions import OLDEST_SUPPORTED, format_release, parse_release

PROOF_TIMEOUT = timedelta(seconds=4)
_MAX_CONCURRENT_QUERIES = 10  # about the pending tokens of one Saleor

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
        address = installation.saleor_api_url
        try:
            token = await self._find_token(installation, recipient)
        except SaleorError as exc:
            logger.warning("pending_token.not_verified", saleor=address, error=type(exc).__name__)
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
        logger.info("installation.verified", saleor=address, app_id=recipient.id)
        proven = await self._store.find(address)
        if proven is None:
            raise NotUsableError(403, "NOT_PROVEN", "The app's installation has just been removed.")
        return proven

    async def _find_token(self, installation: Installation, recipient: Recipient) -> str | None:
        """Return the newest pending token that is the recipient's; None when there is none.

        Several are asked about at once: the genuine one must be found in time amid the garbage of strangers. Raises
        SaleorError when Saleor accepts none of them, or does not respond in time.
        """
        places = asyncio.Semaphore(_MAX_CONCURRENT_QUERIES)

        async def ask(token: str) -> AppIdentity:
            async with places:
                return await self._client.who_am_i(installation.saleor_api_url, token, timeout=PROOF_TIMEOUT)

        if not installation.pending_tokens:
            return None
        queries = {token: asyncio.create_task(ask(token)) for token in installation.pending_tokens}
        try:
            _, late = await asyncio.wait(queries.values(), timeout=PROOF_TIMEOUT.total_seconds())
        finally:
            for query in queries.values():
                query.cancel()
        answered = {token: query for token, query in queries.items() if query not in late}
        errors = [error for query in answered.values() if (error := query.exception()) is not None]
        for token, query in answered.items():
            if query.exception() is None and query.result() == AppIdentity(recipient.id, self._identifier):
                return token
        for token, query in answered.items():
            if isinstance(query.exception(), SaleorNotAuthorisedError):
                await self._store.delete_pending(installation.saleor_api_url, token)
        others = [error for error in errors if not isinstance(error, SaleorNotAuthorisedError)]
        if others:
            raise others[0]
        if late:
            raise SaleorUnreachableError("Saleor did not answer in time")
        if errors and len(errors) == len(queries):
            raise errors[0]
        return None
