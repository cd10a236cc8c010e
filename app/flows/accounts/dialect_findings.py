"""What the app has found out about a gateway where its interface leaves something open, and the account says otherwise.

Found harmlessly: by calls that cannot move money, and by notifications that have just arrived (laws of money, 15, 16).
Nothing changes by itself: the store owner decides.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import TypeAdapter, ValidationError

from app.core.notification import StoredNotification
from app.i18n.messages import LazyMessage
from app.rules.dialects import dialect_of
from app.services import Services
from app.store.tables import MerchantAccount
from gateway_client.client import GatewayClient
from gateway_client.dialect import CAPTURE_PATH, CaptureEndpoint
from gateway_client.discovery import zone_offset
from gateway_client.errors import GatewayError, NotificationError
from gateway_client.models.values import Timestamp
from gateway_client.notification import decode

_TIMEOUT = 10.0
_RECENTLY = timedelta(days=7)  # in which no zone changes its clocks twice
_NOTIFICATIONS = 20
_ZONES = ("UTC", "Europe/Kyiv")  # tried first, since a distance from UTC belongs to many zones
_NAMES_ITS_ZONE = re.compile(r"(Z|[+-]\d\d:?\d\d)\s*$", re.IGNORECASE)
_TIMES = ("processed_at", "processing_time", "created_at")
_TIMESTAMP: TypeAdapter[datetime] = TypeAdapter(Timestamp)
_NO_CAPTURE_PATH = LazyMessage(
    "the gateway has no address %(path)s, where charges of authorized money are sent: they would fail",
    path=CAPTURE_PATH,
)
_HAS_CAPTURE_PATH = LazyMessage(
    "the gateway seems to have an address %(path)s for charges that are not split, which the account does not use",
    path=CAPTURE_PATH,
)


@dataclass(frozen=True, slots=True)
class DialectFinding:
    """An option of the account, the ``value`` that the gateway's answers suggest, and why, as a clause."""

    option: str
    value: str
    why: LazyMessage


async def find_dialect(services: Services, client: GatewayClient, account: MerchantAccount) -> list[DialectFinding]:
    """Return what the gateway seems to decide otherwise than the account says. Takes some seconds; never raises."""
    notifications = await services.inbox.newest(account.id, most=_NOTIFICATIONS)
    found = [await _capture_endpoint(client, account), _time_zone(account, notifications, services.now())]
    return [finding for finding in found if finding is not None]


async def _capture_endpoint(client: GatewayClient, account: MerchantAccount) -> DialectFinding | None:
    try:
        found = await client.discovery.capture_endpoint(timeout=_TIMEOUT)
    except GatewayError:
        return None
    if found is None or found is dialect_of(account).capture_endpoint:
        return None
    why = _NO_CAPTURE_PATH if found is CaptureEndpoint.SPLIT else _HAS_CAPTURE_PATH
    return DialectFinding("capture_endpoint", found.value, why)


def _time_zone(
    account: MerchantAccount, notifications: Sequence[StoredNotification], now: datetime
) -> DialectFinding | None:
    fresh = [notification for notification in notifications if now - notification.received_at <= _RECENTLY]
    offset = zone_offset(
        (written, notification.received_at) for notification in fresh for written in _times_without_zone(notification)
    )
    zone = None if offset is None else _name_of(offset, now)
    if offset is None or zone is None or offset == now.astimezone(dialect_of(account).zone).utcoffset():
        return None
    why = LazyMessage(
        "the times in the gateway's records are %(offset)s from UTC, as in the time zone %(zone)s, and the account "
        "says %(said)s",
        offset=f"{'-' if offset < timedelta() else '+'}{abs(offset) // timedelta(hours=1):02}:"
        f"{abs(offset) // timedelta(minutes=1) % 60:02}",
        zone=zone,
        said=dialect_of(account).time_zone,
    )
    return DialectFinding("time_zone", zone, why)


def _times_without_zone(notification: StoredNotification) -> Iterator[datetime]:
    """Yield the latest time in a notification, read as if it were in UTC, unless it names its zone."""
    try:
        record: Any = decode(notification.data or "")
    except NotificationError:
        return
    for name in _TIMES if isinstance(record, Mapping) else ():
        text = record.get(name)
        if isinstance(text, str) and not _NAMES_ITS_ZONE.search(text):
            try:
                yield _TIMESTAMP.validate_python(text)
            except ValidationError:
                continue
            return


def _name_of(offset: timedelta, now: datetime) -> str | None:
    """Return a time zone with that distance from UTC now; None for one that few zones have."""
    for zone in _ZONES:
        if now.astimezone(ZoneInfo(zone)).utcoffset() == offset:
            return zone
    hours, rest = divmod(offset, timedelta(hours=1))
    return None if rest else f"Etc/GMT{-hours:+d}"  # the names of these zones have the opposite sign
