"""Secrets at rest: AES-256-GCM, bound to the place where they are kept, under keys that can be rotated.

A sealed value reads ``v1.<key id>.<base64url of nonce and ciphertext>``. The place (for example
``account/7f3a/api_secret``) is authenticated with it, so that a ciphertext moved to another row does not open.

Errors: ``VaultError`` is the only one, and never says what was sealed.
"""

import base64
import hashlib
import hmac
import os
from collections.abc import Sequence
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32
_NONCE_BYTES = 12
_DIGEST_BYTES = 16
_VERSION = "v1"


class VaultError(Exception):
    """A secret could not be opened: wrong key, moved ciphertext, or damage."""


class Vault:
    """Seals and opens secrets. The first key seals; all of them open.

    Args:
        keys: 32-byte keys, newest first.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        if not keys or any(len(key) != KEY_BYTES for key in keys):
            raise VaultError(f"a secret key has exactly {KEY_BYTES} bytes")
        self._ciphers = {_key_id(key): AESGCM(key) for key in keys}
        self._sealing = _key_id(keys[0])
        self._keys = tuple(keys)

    def __repr__(self) -> str:
        return f"<Vault sealing with {self._sealing}, opening {len(self._ciphers)}>"

    def seal(self, secret: str, place: str) -> str:
        """Return ``secret`` encrypted and bound to ``place``."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._ciphers[self._sealing].encrypt(nonce, secret.encode(), place.encode())
        return f"{_VERSION}.{self._sealing}.{base64.urlsafe_b64encode(nonce + sealed).decode()}"

    def open(self, sealed: str, place: str) -> str:
        """Return the secret that was sealed for ``place``. Raises VaultError."""
        version, _, rest = sealed.partition(".")
        key_id, _, payload = rest.partition(".")
        cipher = self._ciphers.get(key_id)
        if version != _VERSION or cipher is None:
            raise VaultError(f"no key opens what is kept at {place}: was the secret key file replaced?")
        try:
            raw = base64.urlsafe_b64decode(payload)
            return cipher.decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], place.encode()).decode()
        except (InvalidTag, ValueError) as exc:
            raise VaultError(f"what is kept at {place} does not open") from exc

    def digests(self, text: str, place: str) -> tuple[str, ...]:
        """Return what ``text`` is found by at ``place`` without being kept there: 32 hexadecimal digits for each key.

        The first is the one to keep. Without the keys nobody can tell whose digest it is, or try addresses out.
        """
        return tuple(_digest(key, text, place) for key in self._keys)


def _key_id(key: bytes) -> str:
    """Return a short public name of a key, so that a rotated ciphertext finds its key at once."""
    return hashlib.sha256(b"vault key id" + key).hexdigest()[:8]


def _digest(key: bytes, text: str, place: str) -> str:
    # A key of its own for each place, so that what seals secrets is used for nothing else.
    own = hmac.digest(key, b"digest " + place.encode(), "sha256")
    return hmac.digest(own, text.encode(), "sha256")[:_DIGEST_BYTES].hex()


def read_keys(path: Path) -> list[bytes]:
    """Return the keys of a key file: one base64url key a line, newest first. Raises VaultError."""
    try:
        return [base64.urlsafe_b64decode(line) for line in path.read_text().split()]
    except ValueError as exc:
        raise VaultError(f"{path} is not a key file: each line is one base64url key of {KEY_BYTES} bytes") from exc


def create_key_file(path: Path) -> None:
    """Write a new key file that only its owner may read (mode 0600). Does nothing if the file is there already."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    with os.fdopen(handle, "wb") as file:
        file.write(base64.urlsafe_b64encode(os.urandom(KEY_BYTES)) + b"\n")
