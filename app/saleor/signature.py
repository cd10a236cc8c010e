"""Saleor's webhook signature: a detached JWS over the raw body (RFC 7515, RFC 7797; Saleor contract, A.2).

The header value is ``protected..signature``. What is signed is the protected header, a point, and the bytes of the body
as they came (``b64: false``). Only RS256 is taken, whatever the header proposes.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import RSAKey

from app.exact_json import loads

MOST_BODY_BYTES = 1024 * 1024


class BadSignatureError(ValueError):
    """The signature header is not one of Saleor's, or not one over this body."""


class _Registry(jws.JWSRegistry):
    max_payload_length = MOST_BODY_BYTES


_RS256_ONLY = _Registry(algorithms=["RS256"])


def key_name(signature: str) -> str:
    """Return the ``kid`` that the header names, after checking that the header is of the only form that Saleor sends.

    Raises BadSignatureError. Nothing is trusted yet: this only finds the key to verify with.
    """
    protected, _, rest = signature.partition(".")
    payload, point, _ = rest.partition(".")
    if not point or payload:
        msg = "not a detached signature"
        raise BadSignatureError(msg)
    header = _protected(protected)
    kid = header.get("kid")
    if header.get("alg") != "RS256" or header.get("b64") is not False or header.get("crit") != ["b64"]:
        msg = "not an RS256 signature over the raw body"
        raise BadSignatureError(msg)
    if not isinstance(kid, str) or not kid:
        msg = "a signature that does not name its key"
        raise BadSignatureError(msg)
    return kid


def verify(signature: str, body: bytes, key: RSAKey) -> None:
    """Return if ``signature`` is that key's signature over exactly these bytes; raise BadSignatureError if not."""
    key_name(signature)
    try:
        jws.deserialize_compact(signature, key, payload=body, registry=_RS256_ONLY)
    except (JoseError, ValueError) as exc:
        msg = "the signature does not match the body"
        raise BadSignatureError(msg) from exc


def _protected(segment: str) -> Mapping[str, Any]:
    try:
        header = loads(base64.b64decode(segment + "=" * (-len(segment) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError) as exc:
        msg = "the signature's header is unreadable"
        raise BadSignatureError(msg) from exc
    if not isinstance(header, dict):
        msg = "the signature's header is unreadable"
        raise BadSignatureError(msg)
    return header
