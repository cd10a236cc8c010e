"""Saleor's signatures: detached JWS over raw bodies, and tokens (Saleor contract, A.2 and B.2.7)."""

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

KEY_BITS = 2048


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _base64url_number(number: int) -> str:
    return _base64url(number.to_bytes((number.bit_length() + 7) // 8, "big"))


class SigningKey:
    """The RSA key of this Saleor. It builds JWS itself, so that they are not verified by the library that made them."""

    def __init__(self) -> None:
        self._private = rsa.generate_private_key(public_exponent=65537, key_size=KEY_BITS)
        numbers = self._private.public_key().public_numbers()
        self._n, self._e = _base64url_number(numbers.n), _base64url_number(numbers.e)
        # RFC 7638: the required members of the public key, sorted, without spaces.
        members = json.dumps({"e": self._e, "kty": "RSA", "n": self._n}, separators=(",", ":"))
        self.kid = _base64url(hashlib.sha256(members.encode()).digest())

    def jwks(self) -> dict[str, Any]:
        """Return the JWKS that ``/.well-known/jwks.json`` serves: exactly one key."""
        key = {"kty": "RSA", "key_ops": ["verify"], "n": self._n, "e": self._e, "use": "sig"}
        return {"keys": [{**key, "kid": self.kid, "alg": "RS256"}]}

    def sign(self, body: bytes) -> str:
        """Return the ``Saleor-Signature`` of these bytes: header, empty payload, signature, separated by dots."""
        fields = {"alg": "RS256", "b64": False, "crit": ["b64"], "kid": self.kid, "typ": "JWT"}
        header = _base64url(_json(fields))
        return f"{header}..{self._signature(header.encode() + b'.' + body)}"

    def token(self, claims: Mapping[str, Any]) -> str:
        """Return a JWT with these claims, signed by this key."""
        signed = f"{_base64url(_json({'alg': 'RS256', 'typ': 'JWT', 'kid': self.kid}))}.{_base64url(_json(claims))}"
        return f"{signed}.{self._signature(signed.encode())}"

    def _signature(self, signed: bytes) -> str:
        return _base64url(self._private.sign(signed, padding.PKCS1v15(), hashes.SHA256()))
