"""Secrets at rest: AES-256-GCM, bound to the place where they are stored, under keys that can be rotated.

A sealed value reads ``v1.<key id>.<base64url of nonce and ciphertext>``. The place (for example
``account/7f3a/api_secret``) is authenticated with it, so that a ciphertext moved to another row does not open.

Errors: ``VaultError`` is the only one, and never reveals the secret.
"""

import base64
import fcntl
import hashlib
import hmac
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
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
        reload: reads the keys again. It is called for a value sealed with an unknown key, because a new key was added
            to the file while this process runs. From then on the new key seals; known keys stay known.
    """

    def __init__(self, keys: Sequence[bytes], reload: Callable[[], Sequence[bytes]] | None = None) -> None:
        self._reload = reload
        self._use_keys(keys)

    def _use_keys(self, keys: Sequence[bytes]) -> None:
        if not keys or any(len(key) != KEY_BYTES for key in keys):
            raise VaultError(f"a secret key must have exactly {KEY_BYTES} bytes")
        self._ciphers = {key_id(key): AESGCM(key) for key in keys}
        self._sealing = key_id(keys[0])
        self._keys = tuple(keys)

    @property
    def key_ids(self) -> tuple[str, ...]:
        """The ids of the keys, newest first."""
        return tuple(self._ciphers)

    @property
    def newest_prefix(self) -> str:
        """The prefix of all values sealed with the newest key."""
        return f"{_VERSION}.{self._sealing}."

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
        name, _, payload = rest.partition(".")
        cipher = self._ciphers.get(name) or self._new_cipher(name)
        if version != _VERSION or cipher is None:
            raise VaultError(f"no key decrypts the value stored at {place}: was the secret key file replaced?")
        try:
            raw = base64.urlsafe_b64decode(payload)
            return cipher.decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], place.encode()).decode()
        except (InvalidTag, ValueError) as exc:
            raise VaultError(f"the value stored at {place} cannot be decrypted") from exc

    def _new_cipher(self, name: str) -> AESGCM | None:
        if self._reload is not None:
            with suppress(OSError, VaultError):  # the file may be in the middle of being written
                keys = self._reload()
                self._use_keys([*keys, *(key for key in self._keys if key not in keys)])
        return self._ciphers.get(name)

    def digests(self, text: str, place: str) -> tuple[str, ...]:
        """Return the digests by which ``text`` is found at ``place`` without being stored: 32 hex digits for each key.

        Store the first one. Without the keys a digest does not reveal its text, not even by trying out candidates.
        """
        return tuple(_digest(key, text, place) for key in self._keys)


def key_id(key: bytes) -> str:
    """Return a short public name of a key, so that a rotated ciphertext finds its key at once."""
    return hashlib.sha256(b"vault key id" + key).hexdigest()[:8]


def key_id_of(sealed: str) -> str:
    """Return the id of the key that sealed a value."""
    return sealed.split(".")[1]


def _digest(key: bytes, text: str, place: str) -> str:
    # A derived key for each place, so that the sealing key is used for nothing else.
    own = hmac.digest(key, b"digest " + place.encode(), "sha256")
    return hmac.digest(own, text.encode(), "sha256")[:_DIGEST_BYTES].hex()


def read_keys(path: Path) -> list[bytes]:
    """Return the keys of a key file: one base64url key a line, newest first. Raises VaultError."""
    try:
        return [base64.urlsafe_b64decode(line) for line in path.read_text().split()]
    except ValueError as exc:
        raise VaultError(f"{path} is not a key file: each line is one base64url key of {KEY_BYTES} bytes") from exc


def add_key(path: Path) -> str:
    """Insert a new key before all others in the key file, and return its id.

    The file is replaced atomically, so that readers see either all of the old or all of the new contents, also after a
    power cut; only its owner, who stays the same, may read it. Raises VaultError when it is no key file, and OSError
    when it cannot be replaced; then nothing is changed.
    """
    path = path.resolve()
    with path.open("rb") as present:
        fcntl.flock(present, fcntl.LOCK_EX)  # of two concurrent calls, the second starts from the first one's result
        if os.fstat(present.fileno()).st_ino != path.stat().st_ino:
            return add_key(path)
        Vault(read_keys(path))
        key, owner = os.urandom(KEY_BYTES), os.fstat(present.fileno())
        beside = path.with_name(f".{path.name}.new")
        try:
            with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                if (owner.st_uid, owner.st_gid) != (os.geteuid(), os.getegid()):
                    os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
                file.write(base64.urlsafe_b64encode(key) + b"\n" + present.read())
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        except BaseException:  # not after success: by then a file of that name belongs to the next call
            beside.unlink(missing_ok=True)
            raise
        _fsync_folder(path.parent)
    return key_id(key)


def _fsync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def create_key_file(path: Path) -> None:
    """Write a new key file that only its owner may read (mode 0600). Does nothing if the file exists already.

    It appears with its key on disk, or not at all: secrets must not outlive the key that sealed them, and a partial
    file would prevent every later start. Raises OSError.
    """
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f"{path.name}.") as file:  # mode 0600
        file.write(base64.urlsafe_b64encode(os.urandom(KEY_BYTES)) + b"\n")
        file.flush()
        os.fsync(file.fileno())
        with suppress(FileExistsError):  # another process was faster: its key is used
            path.hardlink_to(file.name)
    _fsync_folder(path.parent)
