"""The key pairs that seal a shopper's card on its way from the storefront to the app."""

import base64
import json
from datetime import timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateNumbers, RSAPublicNumbers
from joserfc.jwk import RSAKey

ALG, ENC = "RSA-OAEP-256", "A256GCM"
GRACE = timedelta(days=1)
"""How long a key still decrypts after a newer one has replaced it."""
_BITS = 2048


def generate_key_pair() -> tuple[dict[str, Any], str]:
    """Return a new public key as a JWK, and its private key as JSON text. Takes long, and only the processor."""
    key = RSAKey.generate_key(_BITS, {"use": "enc", "alg": ALG}, private=True)
    kid = {"kid": key.thumbprint()}  # RFC 7638
    return {**key.as_dict(private=False), **kid}, json.dumps({**key.as_dict(private=True), **kid})


def load_private_key(private_jwk: str) -> RSAKey:
    """Load a private key from JSON text that the app itself has sealed.

    So its numbers are not validated for consistency, which would take 40 ms of CPU each time.
    """
    jwk = json.loads(private_jwk)
    n, e, d, p, q, dp, dq, qi = (_decode_number(jwk[name]) for name in ("n", "e", "d", "p", "q", "dp", "dq", "qi"))
    numbers = RSAPrivateNumbers(p=p, q=q, d=d, dmp1=dp, dmq1=dq, iqmp=qi, public_numbers=RSAPublicNumbers(e, n))
    return RSAKey.import_key(numbers.private_key(unsafe_skip_rsa_key_validation=True))


def _decode_number(text: str) -> int:
    """Decode a number of a JWK (RFC 7518, 2: Base64urlUInt)."""
    return int.from_bytes(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
