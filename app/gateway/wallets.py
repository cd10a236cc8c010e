"""Wallet tokens for direct payments. Provisional: the interface names tokens from wallets and shows no call for
getting one; these two are documented publicly, elsewhere (gateway facts, 6).
"""

import base64
import re
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from app.gateway import answers
from app.gateway.credentials import Credentials
from app.gateway.errors import InvalidRequestError, OutcomeUnknownError
from app.gateway.models.values import absolute_url
from app.gateway.transport import Call, Transport

# Apple's servers that make merchant sessions, for payments and for tests, outside of China and inside
# (Apple Pay on the Web: Setting Up Your Server).
_APPLES_HOST = re.compile(r"(cn-)?apple-pay-gateway(-[a-z0-9]+)*\.apple\.com")
_APPLES_PATH = re.compile(r"/paymentservices/[A-Za-z]+")


class Wallet(StrEnum):
    """Whose token it is, as the gateway calls it."""

    APPLE_PAY = "applepay"
    GOOGLE_PAY = "gpay"


def validation_url(url: str) -> str:
    """``url`` if a merchant session may be asked for there: https on one of Apple's own servers, and nothing else.

    A page names it, and whoever controls the page: anything else is refused with ``InvalidRequestError``.
    """
    try:
        parts = urlsplit(absolute_url(url))
    except ValueError:
        parts = urlsplit("")
    apples = parts.scheme == "https" and _APPLES_HOST.fullmatch(parts.netloc) and _APPLES_PATH.fullmatch(parts.path)
    if not apples or parts.query or parts.fragment:
        limit = "an https address of Apple's, as the browser's Apple Pay names it"
        raise InvalidRequestError("validation_url", limit, f"a text of {len(url)} characters")
    return url


def encoded(token: str) -> SecretStr:
    """What a wallet gave, JSON, as the gateway takes it: in Base64."""
    return SecretStr(base64.b64encode(token.encode()).decode("ascii"))


class Wallets:
    """Apple Pay and Google Pay of one point of sale."""

    def __init__(self, transport: Transport, credentials: Credentials) -> None:
        self._transport = transport
        self._credentials = credentials

    async def apple_pay_session(self, url: str, *, timeout: float) -> dict[str, Any]:
        """The merchant session that the shopper's browser asks for, as Apple made it; ``url`` is Apple's."""
        call = Call(
            method="POST",
            base_url=self._credentials.base_url,
            path="/api/v1/applepay/session",
            body={"pos_id": self._credentials.pos_id, "validation_url": validation_url(url)},
        )
        answer = await self._transport.exchange(call, timeout=timeout)
        data = answers.content(call, answer)
        if not isinstance(data, dict):
            raise call.error(OutcomeUnknownError, "no session in the answer", http_status=answer.status)
        return data

    async def tokenize(self, wallet: Wallet, token: SecretStr, *, timeout: float) -> SecretStr:
        """The ``cc_token`` to pay with, for a wallet's own token (``encoded``). Without the endpoints key."""
        call = Call(
            method="POST",
            base_url=self._credentials.balances_url or self._credentials.base_url,
            path="/api/v1/tokenization/tokenize",
            body={"pos_id": self._credentials.pos_id, "token": f"{wallet}:{token.get_secret_value()}"},
            with_endpoints_key=False,
            quotable=False,  # a token is thousands of characters of JSON: no part of it may come back in any form
        )
        answer = await self._transport.exchange(call, timeout=timeout)
        data = answers.content(call, answer)
        found = data.get("cc_token") if isinstance(data, dict) else None
        if not isinstance(found, str) or not found:
            raise call.error(OutcomeUnknownError, "no token in the answer", http_status=answer.status)
        return SecretStr(found)
