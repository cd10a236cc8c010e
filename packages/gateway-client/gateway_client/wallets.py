"""Wallet tokens for direct payments. Provisional: the interface mentions wallet tokens but shows no call that returns
one; these two are documented publicly, elsewhere (gateway facts, 6).
"""

import base64
import re
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from gateway_client import responses
from gateway_client.credentials import Credentials
from gateway_client.dialect import APPLE_PAY_SESSION_PATH, TOKENIZE_PATH
from gateway_client.errors import InvalidRequestError, OutcomeUnknownError
from gateway_client.models.values import absolute_url
from gateway_client.transport import Call, Transport

# Apple's servers that create merchant sessions, for payments and for tests, outside and inside of China
# (Apple Pay on the Web: Setting Up Your Server).
_APPLE_HOST = re.compile(r"(cn-)?apple-pay-gateway(-[a-z0-9]+)*\.apple\.com")
_APPLE_PATH = re.compile(r"/paymentservices/[A-Za-z]+")


class Wallet(StrEnum):
    """The wallet that issued a token, by the gateway's name."""

    APPLE_PAY = "applepay"
    GOOGLE_PAY = "gpay"


def check_validation_url(url: str) -> str:
    """Return ``url`` if a merchant session may be requested there: https on one of Apple's own servers.

    The URL comes from a page, so whoever controls the page chooses it. Raises ``InvalidRequestError`` for any other.
    """
    try:
        parts = urlsplit(absolute_url(url))
    except ValueError:
        parts = urlsplit("")
    is_apple = parts.scheme == "https" and _APPLE_HOST.fullmatch(parts.netloc) and _APPLE_PATH.fullmatch(parts.path)
    if not is_apple or parts.query or parts.fragment:
        limit = "an https address of Apple's, as the browser's Apple Pay names it"
        raise InvalidRequestError("validation_url", limit, f"a text of {len(url)} characters")
    return url


def encode_wallet_token(token: str) -> SecretStr:
    """Return a wallet's token (JSON) in Base64, as the gateway expects it."""
    return SecretStr(base64.b64encode(token.encode()).decode("ascii"))


class Wallets:
    """Apple Pay and Google Pay of one point of sale."""

    def __init__(self, transport: Transport, credentials: Credentials) -> None:
        self._transport = transport
        self._credentials = credentials

    async def apple_pay_session(self, url: str, *, timeout: float) -> dict[str, Any]:
        """Return the merchant session for the shopper's browser, as Apple created it; ``url`` is Apple's."""
        call = Call(
            method="POST",
            base_url=self._credentials.base_url,
            path=APPLE_PAY_SESSION_PATH,
            body={"pos_id": self._credentials.pos_id, "validation_url": check_validation_url(url)},
        )
        response = await self._transport.exchange(call, timeout=timeout)
        data = responses.decode(call, response)
        if not isinstance(data, dict):
            raise call.error(OutcomeUnknownError, "no session in the answer", http_status=response.status)
        return data

    async def tokenize(self, wallet: Wallet, token: SecretStr, *, timeout: float) -> SecretStr:
        """Exchange a wallet's token (see ``encode_wallet_token``) for the ``cc_token`` that pays. No endpoints key."""
        call = Call(
            method="POST",
            base_url=self._credentials.balances_url or self._credentials.base_url,
            path=TOKENIZE_PATH,
            body={"pos_id": self._credentials.pos_id, "token": f"{wallet}:{token.get_secret_value()}"},
            with_endpoints_key=False,
            quotable=False,  # a token is thousands of characters of JSON: no part of it may come back in any form
        )
        response = await self._transport.exchange(call, timeout=timeout)
        data = responses.decode(call, response)
        found = data.get("cc_token") if isinstance(data, dict) else None
        if not isinstance(found, str) or not found:
            raise call.error(OutcomeUnknownError, "no token in the answer", http_status=response.status)
        return SecretStr(found)
