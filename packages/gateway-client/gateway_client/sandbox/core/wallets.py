"""Tokens of wallets, as the wallets' own public pages describe them: simulated ones are accepted, real ones are opaque.

A simulated token chooses the outcome of its payment: its sealed content ends with ``sandbox:`` and a status code.
"""

import base64
import binascii
import re
from typing import Any
from uuid import UUID

from gateway_client.sandbox.core.codes import OK
from gateway_client.sandbox.core.gateway_state import GatewayState
from gateway_client.sandbox.core.refusals import NotPossibleError
from integration_base.exact_json import NotJsonError, loads

WALLETS = ("applepay", "gpay")
_APPLE = ("version", "data", "signature", "header")
_GOOGLE = ("protocolVersion", "signature", "signedMessage")
_CHOSEN_CODE = re.compile(r"sandbox:(\d{4})")


def validate_wallet_token(token: str) -> str:
    """Return ``token`` if its wallet could have issued it; else raise ``ValueError``, without any of its content."""
    wallet, _, text = token.partition(":")
    payload, needed = _decode_payload(wallet, text), _APPLE if wallet == "applepay" else _GOOGLE
    if not all(payload.get(name) for name in needed):
        raise ValueError(f"a token of this wallet, which has {', '.join(needed)}")
    return token


def code_of(token: str) -> str:
    """Return the status code that a simulated token chooses: success, unless it names another."""
    wallet, _, text = token.partition(":")
    payload = _decode_payload(wallet, text)
    chosen = _CHOSEN_CODE.search(str(payload.get("data" if wallet == "applepay" else "signedMessage")))
    return chosen[1] if chosen else OK


def check_allowed(state: GatewayState, pos_id: UUID, wallet: str) -> None:
    """Check that the provider's support has enabled the wallet. Raises NotPossibleError."""
    if wallet in WALLETS and wallet not in state.behaviour(pos_id).wallets:
        raise NotPossibleError("This wallet is not enabled for the point of sale", "4152")


def _decode_payload(wallet: str, text: str) -> dict[str, Any]:
    try:
        payload = loads(base64.b64decode(text, validate=True))
    except (binascii.Error, NotJsonError):
        payload = None
    if wallet == "applepay" and isinstance(payload, dict):
        payload = payload.get("paymentData")
    return payload if isinstance(payload, dict) else {}
