"""Saleor's webhook signature: a detached JWS over the raw body (RFC 7515, RFC 7797; Saleor contract, A.2).

The header value is ``protected..signature``. The signed input is the protected header, a point, and the bytes of the
body as received (``b64: false``). Only RS256 is accepted, whatever the header states.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import RSAKey

from integration_base.exact_json import loads

MAX_BODY_BYTES = 8 * 1024 * 1024
"""The longest body of any webhook that is read; what each acts upon: ``WebhookDefinition.max_bytes``."""


class BadSignatureError(ValueError):
    """The signature header does not have Saleor's form, or does not match this body."""


class _Registry(jws.JWSRegistry):
    max_payload_length = MAX_BODY_BYTES


_RS256_ONLY = _Registry(algorithms=["RS256"])


def read_key_id(signature: str) -> str:
    """Return the ``kid`` that the header names, after validating that the header has the only form that Saleor sends.

    Raises BadSignatureError. Nothing is trusted yet: this only finds the key to verify with.
    """
    protected, _, rest = signature.partition(".")
    payload, point, _ = rest.partition(".")
    if not point or payload:
        msg = "not a detached signature"
        raise BadSignatureError(msg)
    header = _parse_protected_header(protected)
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
    read_key_id(signature)
    try:
        jws.deserialize_compact(signature, key, payload=body, registry=_RS256_ONLY)
    except (JoseError, ValueError) as exc:
        msg = "the signature does not match the body"
        raise BadSignatureError(msg) from exc


def _parse_protected_header(segment: str) -> Mapping[str, Any]:
    try:
        header = loads(base64.b64decode(segment + "=" * (-len(segment) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError) as exc:
        msg = "the signature's header is unreadable"
        raise BadSignatureError(msg) from exc
    if not isinstance(header, dict):
        msg = "the signature's header is unreadable"
        raise BadSignatureError(msg)
    return header
