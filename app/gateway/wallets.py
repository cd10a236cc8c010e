"""Wallet tokens for direct payments. Provisional: the interface names tokens from wallets and shows no call for
getting one; these two are documented publicly, elsewhere.
"""

from typing import Any, Literal

from pydantic import SecretStr

from app.gateway import answers
from app.gateway.credentials import Credentials
from app.gateway.errors import InvalidRequestError, OutcomeUnknownError
from app.gateway.models.values import absolute_url
from app.gateway.transport import Call, Transport


class Wallets:
    """Apple Pay and Google Pay of one point of sale."""

    def __init__(self, transport: Transport, credentials: Credentials) -> None:
        self._transport = transport
        self._credentials = credentials

    async def apple_pay_session(self, validation_url: str, *, timeout: float) -> dict[str, Any]:
        """The merchant session that the shopper's browser asks for, as Apple made it."""
        try:
            absolute_url(validation_url)
        except ValueError as refusal:
            raise InvalidRequestError(
                "validation_url", str(refusal), f"a text of {len(validation_url)} characters"
            ) from None
        call = Call(
            method="POST",
            base_url=self._credentials.base_url,
            path="/api/v1/applepay/session",
            body={"pos_id": self._credentials.pos_id, "validation_url": validation_url},
        )
        answer = await self._transport.exchange(call, timeout=timeout)
        data = answers.content(call, answer)
        if not isinstance(data, dict):
            raise call.error(OutcomeUnknownError, "no session in the answer", http_status=answer.status)
        return data

    async def tokenize(self, wallet: Literal["applepay", "gpay"], token: SecretStr, *, timeout: float) -> SecretStr:
        """The ``cc_token`` to pay with, for a wallet's own token. Without the endpoints key."""
        call = Call(
            method="POST",
            base_url=self._credentials.balances_url or self._credentials.base_url,
            path="/api/v1/tokenization/tokenize",
            body={"pos_id": self._credentials.pos_id, "token": f"{wallet}:{token.get_secret_value()}"},
            with_endpoints_key=False,
        )
        answer = await self._transport.exchange(call, timeout=timeout)
        data = answers.content(call, answer)
        found = data.get("cc_token") if isinstance(data, dict) else None
        if not isinstance(found, str) or not found:
            raise call.error(OutcomeUnknownError, "no token in the answer", http_status=answer.status)
        return SecretStr(found)
