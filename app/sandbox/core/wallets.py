"""Tokens of wallets, as the wallets' own public pages describe them: played ones are taken, nobody can open real ones.

A played token chooses what becomes of its payment: what is sealed in it ends with ``sandbox:`` and a status code.
"""

import base64
import binascii
import re
from typing import Any
from uuid import UUID

from app.exact_json import NotJsonError, loads
from app.sandbox.core.codes import OK
from app.sandbox.core.gateway_state import GatewayState
from app.sandbox.core.refusals import NotPossibleError

WALLETS = ("applepay", "gpay")
_APPLE = ("version", "data", "signature", "header")
_GOOGLE = ("protocolVersion", "signature", "signedMessage")
_CHOICE = re.compile(r"sandbox:(\d{4})")


def wallets_own(token: str) -> str:
    """``token`` if that wallet could have made it; ``ValueError`` otherwise, without a word of what is in it."""
    wallet, _, text = token.partition(":")
    held, needed = _held(wallet, text), _APPLE if wallet == "applepay" else _GOOGLE
    if not all(held.get(name) for name in needed):
        raise ValueError(f"a token of this wallet, which has {', '.join(needed)}")
    return token


def code_of(token: str) -> str:
    """The status code that a played token chooses: success, unless it names another."""
    wallet, _, text = token.partition(":")
    held = _held(wallet, text)
    chosen = _CHOICE.search(str(held.get("data" if wallet == "applepay" else "signedMessage")))
    return chosen[1] if chosen else OK


def check_allowed(state: GatewayState, pos_id: UUID, wallet: str) -> None:
    """Raises NotPossibleError when the provider's support has not switched that wallet on."""
    if wallet in WALLETS and wallet not in state.behaviour(pos_id).wallets:
        raise NotPossibleError("This wallet is not enabled for the point of sale", "4152")


def _held(wallet: str, text: str) -> dict[str, Any]:
    try:
        held = loads(base64.b64decode(text, validate=True))
    except (binascii.Error, NotJsonError):
        held = None
    if wallet == "applepay" and isinstance(held, dict):
        held = held.get("paymentData")
    return held if isinstance(held, dict) else {}
