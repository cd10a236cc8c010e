"""What was asked, notified and told, as it was: for staff who must know exactly. Pure.

Only members that are known to hold nothing of the shopper's are shown, everything else is veiled: a gateway may say
tomorrow what nobody has heard of today. Of a card there is no more than its mask.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from app.db.aggregates import PaymentAggregate
from app.db.inbox import StoredNotification
from app.db.tables import Operation, SaleorEvent, State
from app.gateway.errors import UnreadableNotificationError
from app.gateway.models import Records
from app.gateway.notification import decode
from app.payments.core.details import card_mask

VEILED = "•••"
_WHAT_IS_DONE = """
operation_id payment_id order_id transaction_id gateway_order_id billing_order_id pos_id mode method amount currency
status status_code status_description response_code response_description created_at processed_at processing_time
fee fixed_fee percent_fee split_fee limit_info retry_after eci mcc options_3ds order_3ds_bypass
user_action_required payway processed_amount processed_currency recurring id receipt_url bank_short_name cc_mask
why unreadable chosen by_lines order_timeout customer_lang merchant_mcc f_receipt_delivery server_url
"""
_WHAT_IS_SOLD = (
    "description attributes key value payload split sub_merchant_id products name qty unit taxes prc type code"
)
_WHAT_SALEOR_IS_TOLD = "event psp_reference message available_actions state attempts last_error delivered_at"
_SHOWN = frozenset(f"{_WHAT_IS_DONE} {_WHAT_IS_SOLD} {_WHAT_SALEOR_IS_TOLD}".split())
_BY_SUB_MERCHANT = frozenset({"chosen", "by_lines"})  # amounts by who gives them


class Source(StrEnum):
    """Who said it to whom."""

    ASKED = "asked"
    NOTIFIED = "notified"
    TOLD = "told"


@dataclass(frozen=True, slots=True)
class Raw:
    """One message. ``what`` is the kind of operation or the type of the event, ``text`` is JSON for people."""

    at: datetime
    source: Source
    what: str
    text: str


def raw(aggregate: PaymentAggregate, notifications: Sequence[StoredNotification]) -> list[Raw]:
    """Return what the gateway was asked and has notified and what Saleor was told, oldest first."""
    asked = [_asked(each) for each in aggregate.operations if each.request and each.state is not State.WAITING]
    told = [_told(each) for each in aggregate.events]
    return sorted([*asked, *map(_notified, notifications), *told], key=lambda each: each.at)


def raw_records(records: Records) -> str:
    """Return the gateway's records of an order; of those that cannot be read, why."""
    return _text([*(each.to_wire() for each in records), *({"unreadable": why} for why in records.unreadable)])


def veiled(said: object, name: str = "") -> object:
    """Return JSON with everything veiled that is not known to be nobody's secret."""
    if said is None or isinstance(said, bool):
        return said
    if name and name not in _SHOWN:
        return VEILED
    if isinstance(said, Mapping):
        return {key: veiled(value, name if name in _BY_SUB_MERCHANT else str(key)) for key, value in said.items()}
    if isinstance(said, list | tuple):
        return [veiled(each, name) for each in said]
    return (card_mask(str(said)) or VEILED) if name == "cc_mask" else said


def _asked(operation: Operation) -> Raw:
    return Raw(operation.created_at, Source.ASKED, operation.kind.value, _text(operation.request))


def _notified(row: StoredNotification) -> Raw:
    try:
        said = None if row.data is None else decode(row.data)
    except UnreadableNotificationError:
        said = None
    method = said.get("method") if isinstance(said, Mapping) else None
    return Raw(row.received_at, Source.NOTIFIED, str(method or ""), _text(said))


def _told(event: SaleorEvent) -> Raw:
    said = {
        "event": event.type,
        "psp_reference": event.psp_reference,
        "amount": event.amount,
        "message": event.message,
        "available_actions": event.available_actions,
        "state": event.state.value,
        "attempts": event.attempts,
        "delivered_at": event.delivered_at,
        "last_error": event.last_error,
    }
    return Raw(event.created_at, Source.TOLD, event.type, _text(said))


def _text(said: object) -> str:
    return json.dumps(veiled(said), ensure_ascii=False, indent=2, default=str)
