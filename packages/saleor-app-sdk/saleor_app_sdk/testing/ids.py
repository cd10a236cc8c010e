"""Global ids: base64 of ``Type:key``, as Saleor's GraphQL clients see them."""

import base64
import binascii
from zlib import crc32


class InvalidIdError(Exception):
    """The value is not a global id of the expected type."""

    def __init__(self, given: str, expected: str) -> None:
        super().__init__(f"Invalid ID: {given}. Expected: {expected}.")


def global_id(kind: str, key: object) -> str:
    """Return the global id of a ``kind`` (for example ``TransactionItem``) with that database key."""
    return base64.b64encode(f"{kind}:{key}".encode()).decode()


def channel_id(slug: str) -> str:
    """Return the global id of the channel that was created with that slug."""
    return global_id("Channel", crc32(slug.encode()))


def key_of(kind: str, gid: str) -> str:
    """Return the database key inside a global id; raise InvalidIdError if it is malformed or of another type."""
    try:
        given_kind, _, key = base64.b64decode(gid, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError) as exc:
        raise InvalidIdError(gid, kind) from exc
    if given_kind != kind or not key:
        raise InvalidIdError(gid, kind)
    return key


def kind_of(gid: str) -> str:
    """Return the type of a global id; raise InvalidIdError if it is malformed."""
    try:
        return base64.b64decode(gid, validate=True).decode().partition(":")[0]
    except (binascii.Error, UnicodeDecodeError) as exc:
        raise InvalidIdError(gid, "any") from exc
