"""The gateway's webhooks: a signed form, verified before anything in it is read (gateway interface, Events)."""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from urllib.parse import parse_qsl

from gateway_client.errors import ForgedNotificationError, UnreadableNotificationError
from gateway_client.models.records import OperationRecord, PaymentRecord, UnreadableError, read_record
from gateway_client.signature import verify
from integration_base import exact_json

MAX_FORM_BYTES = 256 * 1024  # bytes; a record is a few thousand
_MAX_FIELDS = 16
_BASE64URL = re.compile(r"[A-Za-z0-9_-]+={0,2}")

__all__ = [
    "ForgedNotificationError",
    "Notification",
    "SignedButUnreadableError",
    "UnreadableNotificationError",
    "read_data",
    "read_notification",
]


class SignedButUnreadableError(UnreadableNotificationError):
    """Signed by the gateway, but not readable: ``data`` as it was received, and its ``digest``."""

    def __init__(self, message: str, data: str) -> None:
        super().__init__(message)
        self.data = data
        self.digest = digest(data)


@dataclass(frozen=True, slots=True)
class Notification:
    """A verified webhook: ``data`` as it was received, its ``digest`` (SHA-256, hexadecimal) to recognise duplicates,
    and its record.
    """

    data: str = field(repr=False)
    digest: str
    record: PaymentRecord | OperationRecord


def read_notification(form: bytes, secrets: Iterable[str], zone: tzinfo = UTC) -> Notification:
    """Verify and parse the body of a webhook (``application/x-www-form-urlencoded``).

    ``secrets``: the account's API secret and, while it is being rotated, previous ones. ``zone``: of times which have
    none. Raises
    ``ForgedNotificationError`` if none of them signed ``data``; ``UnreadableNotificationError`` if it is larger than
    256 KiB or not the form of the interface; ``SignedButUnreadableError`` if it is signed but not a record.
    """
    data, signature = _parse_form(form)
    if not verify(data, signature, secrets):
        raise ForgedNotificationError("none of the account's secrets signed this webhook")
    try:
        return Notification(data=data, digest=digest(data), record=read_data(data, zone))
    except UnreadableNotificationError as exc:
        raise SignedButUnreadableError(str(exc), data) from None


def digest(data: str) -> str:
    """Return the SHA-256 of ``data``, hexadecimal, by which a repeated delivery is recognised."""
    return hashlib.sha256(data.encode(errors="surrogatepass")).hexdigest()


def read_data(data: str, zone: tzinfo = UTC) -> PaymentRecord | OperationRecord:
    """Return the record in ``data``, which was verified before. Raises ``UnreadableNotificationError``."""
    try:
        return read_record(decode(data), zone)
    except UnreadableError as exc:
        raise UnreadableNotificationError(f"signed, but {exc}") from None


def decode(data: str) -> object:
    """Return the decoded JSON in ``data`` (Base64Url, padded or not). Raises ``UnreadableNotificationError``."""
    if not _BASE64URL.fullmatch(data):
        raise UnreadableNotificationError("data is not Base64Url")
    bare = data.rstrip("=")
    try:
        return exact_json.loads(base64.urlsafe_b64decode(bare + "=" * (-len(bare) % 4)))
    except (binascii.Error, exact_json.NotJsonError):
        pass
    raise UnreadableNotificationError("data is not Base64Url of JSON")


def encode(record: object) -> str:
    """Return ``record`` (JSON members) encoded as ``data``, as the gateway does before it signs."""
    return base64.urlsafe_b64encode(exact_json.dumps(record).encode("ascii")).decode("ascii")


def _parse_form(form: bytes) -> tuple[str, str]:
    if len(form) > MAX_FORM_BYTES:
        raise UnreadableNotificationError("the form is too large")
    try:
        pairs = parse_qsl(form.decode("ascii"), keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    except ValueError:
        pairs = []
    data = [value for name, value in pairs if name == "data"]
    signature = [value for name, value in pairs if name == "signature"]
    # With two values, one could be verified and the other read.
    if len(data) != 1 or len(signature) != 1 or not data[0] or not signature[0]:
        raise UnreadableNotificationError("not a form with one data and one signature")
    return data[0], signature[0]
