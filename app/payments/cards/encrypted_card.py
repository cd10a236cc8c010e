"""Opens what a storefront has encrypted: compact JWE (RFC 7516), RSA-OAEP-256 with A256GCM and nothing else. Pure.

Whatever is wrong with it is a ``RefusalError`` that repeats nothing of what was in it.
"""

import base64
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from joserfc import jwe

from app import exact_json
from app.gateway.wallets import Wallet, encoded
from app.payments.cards.card_form import PaymentInstrument, typed_card, typed_number
from app.payments.cards.keys import ALG, ENC, GRACE, opening_key
from app.payments.core.refusal import RefusalCode, RefusalError

FIELD = "data.card"
LONGEST = 16 * 1024  # characters; a wallet's cryptogram takes a few thousand

_PART = r"[A-Za-z0-9_-]+"
_COMPACT = re.compile(r"\.".join([_PART] * 5))
_MEANS = ("number", "token", "cryptogram", "applePay", "googlePay")
_TOKEN = re.compile(r"[\x21-\x7e]{1,512}")


def is_sealed(value: object) -> bool:
    """Return True for a text that can be a sealed card: five parts with dots between, not too long."""
    return isinstance(value, str) and len(value) <= LONGEST and _COMPACT.fullmatch(value) is not None


def open_sealed(
    sealed: str, private_jwk: Callable[[str], str | None], *, paid_for: str, language: str, now: datetime
) -> PaymentInstrument:
    """Return what the shopper pays with. Raises RefusalError.

    ``private_jwk`` gives the private key (JSON text) that opens what was encrypted for a key id, or None.
    ``paid_for`` is the id of the checkout or order, which the content must name: whoever gets hold of it pays for
    nothing else with it. ``language`` is that of the shopper, who reads what is wrong with a card.
    """
    return _means(_opened(sealed, private_jwk, paid_for, now), language, now)


def open_sealed_number(
    sealed: str, private_jwk: Callable[[str], str | None], *, paid_for: str, now: datetime
) -> PaymentInstrument:
    """Return the card that money is paid out to, of which nothing is needed but its number. Raises RefusalError.

    ``paid_for`` is the key of the payout, which the content must name.
    """
    return typed_number(_opened(sealed, private_jwk, paid_for, now), "en")


def _opened(sealed: str, private_jwk: Callable[[str], str | None], paid_for: str, now: datetime) -> Mapping[str, Any]:
    private = private_jwk(_key_id(sealed))
    if private is None:
        raise _outdated("was encrypted for a key that is not accepted any more")
    content = _read(_plaintext(sealed, private))
    _check_fresh(content.get("at"), now)
    if "for" not in content:
        raise _unreadable("does not say in `for` which checkout or order it pays for", f"{FIELD}.for")
    if content["for"] != paid_for:
        raise _unreadable("was encrypted for another checkout or order")
    return content


def _key_id(sealed: str) -> str:
    """Return which key it was encrypted for, if it is encrypted as we ask. Everything else is refused unopened."""
    if not is_sealed(sealed):
        raise _unreadable("is not a compact JWE")
    encoded = sealed.partition(".")[0]
    try:
        header = exact_json.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
    except ValueError:
        header = None
    if not isinstance(header, Mapping) or (header.get("alg"), header.get("enc")) != (ALG, ENC):
        raise _unreadable(f"is not encrypted with {ALG} and {ENC}")
    if header.keys() & {"zip", "crit"}:
        raise _unreadable("has a `zip` or `crit` header, which is not taken")
    kid = header.get("kid")
    if not isinstance(kid, str):
        raise _unreadable("does not name its key: the header needs the `kid` of the key that the app offers")
    return kid


def _plaintext(sealed: str, private: str) -> bytes:
    key = opening_key(private)
    try:
        plaintext = jwe.decrypt_compact(sealed, key, algorithms=[ALG, ENC]).plaintext
    except Exception:  # noqa: BLE001 - whatever the library makes of hostile input, all of it sounds alike to its sender
        plaintext = None
    if plaintext is None:
        raise _unreadable("does not open: it was changed on the way, or encrypted for another key")
    return plaintext


def _read(plaintext: bytes) -> Mapping[str, Any]:
    try:
        content = exact_json.loads(plaintext)
    except ValueError:
        content = None
    if not isinstance(content, Mapping):
        raise _unreadable("does not hold a JSON object")
    return {name: value for name, value in content.items() if value is not None}


def _check_fresh(at: object, now: datetime) -> None:
    """What says when it was encrypted is not taken a day later: whoever kept it could pay with it (laws of money, 4).

    Nor a day before: a time far in the future would keep it fresh for ever.
    """
    if at is None:
        return
    try:
        made = datetime.fromisoformat(str(at))
    except ValueError:
        made = None
    if made is None:
        raise _unreadable("has an `at` that is no ISO 8601 time")
    if made.tzinfo is None:
        made = made.replace(tzinfo=UTC)
    if abs(now - made) > GRACE:
        raise _outdated("was not encrypted today, by its own word")


def _means(content: Mapping[str, Any], language: str, now: datetime) -> PaymentInstrument:
    given = [name for name in _MEANS if name in content]
    if len(given) != 1:
        raise _unreadable(f"holds not exactly one of {', '.join(f'`{name}`' for name in _MEANS)}")
    if given == ["number"]:
        return typed_card(content, language, now)
    value = content[given[0]]
    if given == ["token"]:
        if not isinstance(value, str) or not _TOKEN.fullmatch(value):
            raise _unreadable("holds a `token` that is none", f"{FIELD}.token")
        return PaymentInstrument({"cc_token": value})
    if given == ["applePay"]:
        return _apple_pay(value)
    if given == ["googlePay"]:
        return _google_pay(value)
    if not isinstance(value, Mapping) or not value:
        raise _unreadable("holds a `cryptogram` that is no JSON object", f"{FIELD}.cryptogram")
    return PaymentInstrument({"cryptogram": dict(value)})


def _apple_pay(token: object) -> PaymentInstrument:
    """What Apple's sheet gave: an object that holds ``paymentData``, encrypted for the gateway."""
    if not isinstance(token, Mapping) or not isinstance(token.get("paymentData"), Mapping) or not token["paymentData"]:
        raise _unreadable("holds an `applePay` that is no token of Apple Pay", f"{FIELD}.applePay")
    return PaymentInstrument({"cc_token": encoded(exact_json.dumps(token))}, Wallet.APPLE_PAY)


def _google_pay(token: object) -> PaymentInstrument:
    """What Google's sheet gave: a text that is JSON, encrypted for the gateway."""
    try:
        held = exact_json.loads(token) if isinstance(token, str) else None
    except ValueError:
        held = None
    if not isinstance(token, str) or not isinstance(held, Mapping) or not held:
        raise _unreadable("holds a `googlePay` that is no token of Google Pay", f"{FIELD}.googlePay")
    return PaymentInstrument({"cc_token": encoded(token)}, Wallet.GOOGLE_PAY)


def _unreadable(why: str, field: str = FIELD) -> RefusalError:
    return RefusalError(RefusalCode.CARD_UNREADABLE, f"`{FIELD}` {why}.", field)


def _outdated(why: str) -> RefusalError:
    words = f"`{FIELD}` {why}: ask for the present key with paymentGatewayInitialize, and encrypt again."
    return RefusalError(RefusalCode.SEAL_OUTDATED, words, FIELD)
