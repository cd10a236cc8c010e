"""Secrets at rest: sealed with Fernet keys that can be rotated, and bound to the place where they are stored.

The place (the address of a Saleor, the name of a setting) is sealed together with the secret, so that a value moved to
another row does not open there.
"""

import json
from collections.abc import Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet


class SealedValueError(Exception):
    """A sealed value cannot be opened: its key is missing, or it was changed or moved. The message holds no secret."""


def generate_sealing_key() -> str:
    """Return a new key, to be kept outside of the database."""
    return Fernet.generate_key().decode()


class Sealer:
    """Seals and opens secrets. ``keys`` are the newest first: the first one seals, all of them open.

    Raises ValueError if there is no key, or one that ``generate_sealing_key`` cannot have made.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        # A text is a sequence too, of keys that have one character each.
        ciphers = [_read_key(key) for key in ([keys] if isinstance(keys, str) else keys)]
        if not ciphers:
            msg = "a key is needed to seal secrets: make one with generate_sealing_key()"
            raise ValueError(msg)
        self._newest = ciphers[0]
        self._all = MultiFernet(ciphers)

    def seal(self, secret: str, place: str) -> str:
        """Return ``secret`` encrypted, and bound to ``place``."""
        return self._newest.encrypt(json.dumps([place, secret]).encode()).decode()

    def open(self, sealed: str, place: str) -> str:
        """Return the secret that was sealed for ``place``. Raises SealedValueError."""
        try:
            bound_to, secret = json.loads(self._all.decrypt(sealed))
        except (InvalidToken, ValueError, TypeError) as exc:  # the last two: another program sealed it
            msg = f"no key opens what is stored for {place}: was a key removed before everything was sealed anew?"
            raise SealedValueError(msg) from exc
        if bound_to != place:
            msg = f"what is stored for {place} was sealed for something else"
            raise SealedValueError(msg)
        return str(secret)

    def is_newest(self, sealed: str) -> bool:
        """Return True if the newest key opens the value: no older one is needed for it."""
        try:
            self._newest.decrypt(sealed)
        except InvalidToken:
            return False
        return True


def _read_key(key: str) -> Fernet:
    try:
        return Fernet(key)
    except ValueError:
        msg = "a sealing key is 32 bytes in base64url, as generate_sealing_key() returns it"
        raise ValueError(msg) from None  # the cause could quote a part of the key
