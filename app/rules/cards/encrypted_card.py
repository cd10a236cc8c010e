"""Opens cards that a storefront has encrypted: compact JWE (RFC 7516), only RSA-OAEP-256 with A256GCM. Pure.

Every error is a ``RefusalError`` that repeats nothing of the content.
"""

import base64
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from joserfc import jwe

from app.rules.cards.card_form import PaymentInstrument, parse_card, parse_card_number
from app.rules.cards.key_pair import ALG, ENC, GRACE, load_private_key
from app.rules.refusal import RefusalCode, RefusalError
from gateway_client.wallets import Wallet, encode_wallet_token
from integration_base import exact_json

FIELD = "data.card"
MAX_CHARACTERS = 16 * 1024  # characters; a wallet's cryptogram takes a few thousand

_PART = r"[A-Za-z0-9_-]+"
_COMPACT = re.compile(r"\.".join([_PART] * 5))
_INSTRUMENT_FIELDS = ("number", "token", "cryptogram", "applePay", "googlePay")
_TOKEN = re.compile(r"[\x21-\x7e]{1,512}")


def is_sealed(value: object) -> bool:
    """Return True for text that can be a sealed card: five parts separated by dots, not too long."""
    return isinstance(value, str) and len(value) <= MAX_CHARACTERS and _COMPACT.fullmatch(value) is not None


def open_sealed(
    sealed: str, private_jwk: Callable[[str], str | None], *, paid_for: str, language: str, now: datetime
) -> PaymentInstrument:
    """Return the shopper's payment instrument. Raises RefusalError.

    ``private_jwk`` returns the private key (JSON text) for a key id, or None.
    ``paid_for`` is the id of the checkout or order, which the content must name: if it is stolen, it pays for nothing
    else. ``language`` is that of the shopper, who reads the error messages about the card.
    """
    return _payment_instrument(_open_content(sealed, private_jwk, paid_for, now), language, now)


def open_sealed_number(
    sealed: str, private_jwk: Callable[[str], str | None], *, paid_for: str, now: datetime
) -> PaymentInstrument:
    """Return the card to which money is paid out, which needs only its number. Raises RefusalError.

    ``paid_for`` is the key of the payout, which the content must name.
    """
    return parse_card_number(_open_content(sealed, private_jwk, paid_for, now), "en")


def _open_content(
    sealed: str, private_jwk: Callable[[str], str | None], paid_for: str, now: datetime
) -> Mapping[str, Any]:
    private = private_jwk(_key_id(sealed))
    if private is None:
        raise _outdated_seal("was encrypted for a key that is no longer accepted")
    content = _parse_content(_plaintext(sealed, private))
    _check_age(content.get("at"), now)
    if "for" not in content:
        raise _unreadable_card("does not say in `for` which checkout or order it pays for", f"{FIELD}.for")
    if content["for"] != paid_for:
        raise _unreadable_card("was encrypted for another checkout or order")
    return content


def _key_id(sealed: str) -> str:
    """Return the id of the key it was encrypted for. Anything not encrypted as required is refused unopened."""
    if not is_sealed(sealed):
        raise _unreadable_card("is not a compact JWE")
    encoded = sealed.partition(".")[0]
    try:
        header = exact_json.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
    except ValueError:
        header = None
    if not isinstance(header, Mapping) or (header.get("alg"), header.get("enc")) != (ALG, ENC):
        raise _unreadable_card(f"is not encrypted with {ALG} and {ENC}")
    if header.keys() & {"zip", "crit"}:
        raise _unreadable_card("has a `zip` or `crit` header, which is not accepted")
    kid = header.get("kid")
    if not isinstance(kid, str):
        raise _unreadable_card("does not name its key: the header needs the `kid` of the key that the app offers")
    return kid


def _plaintext(sealed: str, private: str) -> bytes:
    key = load_private_key(private)
    try:
        plaintext = jwe.decrypt_compact(sealed, key, algorithms=[ALG, ENC]).plaintext
    except Exception:  # noqa: BLE001 - any failure on hostile input must look the same to its sender
        plaintext = None
    if plaintext is None:
        raise _unreadable_card("cannot be decrypted: it was changed on the way, or encrypted for another key")
    return plaintext


def _parse_content(plaintext: bytes) -> Mapping[str, Any]:
    try:
        content = exact_json.loads(plaintext)
    except ValueError:
        content = None
    if not isinstance(content, Mapping):
        raise _unreadable_card("does not contain a JSON object")
    return {name: value for name, value in content.items() if value is not None and value != ""}


def _check_age(at: object, now: datetime) -> None:
    """Reject content whose stated time of encryption is over a day old: a stored copy could pay (laws of money, 4).

    Also reject one over a day in the future, which would never expire.
    """
    if at is None:
        return
    try:
        encrypted_at = datetime.fromisoformat(str(at))
    except ValueError:
        encrypted_at = None
    if encrypted_at is None:
        raise _unreadable_card("has an `at` that is not an ISO 8601 time")
    if encrypted_at.tzinfo is None:
        encrypted_at = encrypted_at.replace(tzinfo=UTC)
    if abs(now - encrypted_at) > GRACE:
        raise _outdated_seal("was not encrypted today, according to its `at`")


def _payment_instrument(content: Mapping[str, Any], language: str, now: datetime) -> PaymentInstrument:
    given = [name for name in _INSTRUMENT_FIELDS if name in content]
    if len(given) != 1:
        raise _unreadable_card(f"must contain exactly one of {', '.join(f'`{name}`' for name in _INSTRUMENT_FIELDS)}")
    if given == ["number"]:
        return parse_card(content, language, now)
    value = content[given[0]]
    if given == ["token"]:
        if not isinstance(value, str) or not _TOKEN.fullmatch(value):
            raise _unreadable_card("has an invalid `token`", f"{FIELD}.token")
        return PaymentInstrument({"cc_token": value})
    if given == ["applePay"]:
        return _apple_pay(value)
    if given == ["googlePay"]:
        return _google_pay(value)
    if not isinstance(value, Mapping) or not value:
        raise _unreadable_card("has a `cryptogram` that is not a JSON object", f"{FIELD}.cryptogram")
    return PaymentInstrument({"cryptogram": dict(value)})


def _apple_pay(token: object) -> PaymentInstrument:
    """Return the instrument of an Apple Pay token: an object with ``paymentData``, encrypted for the gateway."""
    if not isinstance(token, Mapping) or not isinstance(token.get("paymentData"), Mapping) or not token["paymentData"]:
        raise _unreadable_card("has an `applePay` that is not an Apple Pay token", f"{FIELD}.applePay")
    return PaymentInstrument({"cc_token": encode_wallet_token(exact_json.dumps(token))}, Wallet.APPLE_PAY)


def _google_pay(token: object) -> PaymentInstrument:
    """Return the instrument of a Google Pay token: JSON text, encrypted for the gateway."""
    try:
        content = exact_json.loads(token) if isinstance(token, str) else None
    except ValueError:
        content = None
    if not isinstance(token, str) or not isinstance(content, Mapping) or not content:
        raise _unreadable_card("has a `googlePay` that is not a Google Pay token", f"{FIELD}.googlePay")
    return PaymentInstrument({"cc_token": encode_wallet_token(token)}, Wallet.GOOGLE_PAY)


def _unreadable_card(why: str, field: str = FIELD) -> RefusalError:
    return RefusalError(RefusalCode.CARD_UNREADABLE, f"`{FIELD}` {why}.", field)


def _outdated_seal(why: str) -> RefusalError:
    message = f"`{FIELD}` {why}: request the current key with paymentGatewayInitialize, and encrypt again."
    return RefusalError(RefusalCode.SEAL_OUTDATED, message, FIELD)
