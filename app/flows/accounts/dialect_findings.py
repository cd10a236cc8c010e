"""What the app has found out about a gateway where its interface leaves something open, and the account says otherwise.

Found harmlessly: by calls that cannot move money, by new notifications, and by payments that wait for staff
(laws of money, 8, 15, 16). Nothing changes by itself: the store owner decides.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import ROUND_UP, Decimal
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import TypeAdapter, ValidationError

from app.core.notification import StoredNotification
from app.i18n.messages import LazyMessage, Money
from app.rules.accounts.dialect_options import DIALECT_OPTIONS
from app.rules.accounts.readers import LARGEST_FEE
from app.rules.dialects import dialect_of
from app.rules.issues import IssueCode, issue_from_json
from app.services import Services
from app.store.problems import mismatches_of_payments
from app.store.tables import MerchantAccount
from gateway_client.client import GatewayClient
from gateway_client.dialect import CAPTURE_PATH, CaptureEndpoint
from gateway_client.discovery import zone_offset
from gateway_client.errors import GatewayError, NotificationError
from gateway_client.models.values import Timestamp
from gateway_client.notification import decode
from integration_base.amounts import CENT

_TIMEOUT = 10.0
_RECENTLY = timedelta(days=7)
_NOTIFICATIONS = 20
_ZONES = ("UTC", "Europe/Kyiv")  # tried first, since a distance from UTC belongs to many zones
_NAMES_ITS_ZONE = re.compile(r"(Z|[+-]\d\d:?\d\d)\s*$", re.IGNORECASE)
_TIMES = ("processed_at", "processing_time", "created_at")
_TIMESTAMP: TypeAdapter[datetime] = TypeAdapter(Timestamp)
_NO_CAPTURE_PATH = LazyMessage(
    "the gateway has no address %(path)s, where charges of authorized money are sent: they would fail",
    path=CAPTURE_PATH,
)
_PAYER_FEE = "payer_fee_percent"
PROPOSED_OPTIONS = (*(option.name for option in DIALECT_OPTIONS), _PAYER_FEE)
"""The options that a finding may propose to change."""
_MISMATCHES = 20
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
    async with services.database.transaction() as session:
        mismatches = await mismatches_of_payments(session, account, most=_MISMATCHES)
    found = [
        await _capture_endpoint(client, account),
        _time_zone(account, notifications, services.now()),
        _payer_fee(account, mismatches),
    ]
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
    fresh = [
        (written, notification.received_at)
        for notification in notifications
        if now - notification.received_at <= _RECENTLY
        for written in _times_without_zone(notification)
    ]
    offset = zone_offset(fresh)
    if offset is None or _fits(dialect_of(account).zone, fresh):
        return None
    zone = _name_of(offset, fresh)
    if zone is None:
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


def _payer_fee(account: MerchantAccount, mismatches: Sequence[Mapping[str, Any]]) -> DialectFinding | None:
    """Return the fee that payers seem to pay on top: no record states it, only that more was paid (interface, 8)."""
    percents = filter(None, map(_percent_on_top, mismatches))
    highest = max((percent for percent in percents if percent <= LARGEST_FEE), default=Decimal(0))
    if highest <= (account.payer_fee_percent or Decimal(0)):
        return None
    why = LazyMessage(
        "payments come with up to %(percent)s more than was requested and wait for staff, as where payers pay the "
        "gateway's fee on top, which the account does not expect",
        percent=f"{highest} %",
    )
    return DialectFinding(_PAYER_FEE, f"{highest.normalize():f}", why)


def _percent_on_top(mismatch: Mapping[str, Any]) -> Decimal | None:
    """Return the percentage by which a payment was reported with more than was requested; None for other mismatches."""
    issue = issue_from_json(mismatch)
    if issue is None or issue.code is not IssueCode.OTHER_AMOUNT:
        return None
    paid, asked = issue.facts["sum"], issue.facts["asked"]
    if not isinstance(paid, Money) or not isinstance(asked, Money) or paid.amount <= asked.amount:
        return None
    return ((paid.amount - asked.amount) * 100 / asked.amount).quantize(CENT, ROUND_UP)


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


def _fits(zone: tzinfo, fresh: Sequence[tuple[datetime, datetime]]) -> bool:
    """Return True when the times in notifications, before and after a change of its clocks, are in ``zone``."""
    return zone_offset((_read_in(zone, written, arrived), arrived) for written, arrived in fresh) == timedelta()


def _read_in(zone: tzinfo, written: datetime, arrived: datetime) -> datetime:
    """Return the moment of a time in ``zone``: of the hour that comes twice, that which is closer to its arrival."""
    moments = (written.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    return min(moments, key=lambda moment: abs(arrived - moment))


def _name_of(offset: timedelta, fresh: Sequence[tuple[datetime, datetime]]) -> str | None:
    """Return a time zone that fits, or one with that distance from UTC; None for one that few zones have."""
    for zone in _ZONES:
        if _fits(ZoneInfo(zone), fresh):
            return zone
    hours, rest = divmod(offset, timedelta(hours=1))
    return None if rest else f"Etc/GMT{-hours:+d}"  # the names of these zones have the opposite sign
