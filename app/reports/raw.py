"""The raw requests, notifications and reports of a payment: for staff who need the exact content. Pure.

Only members that are known to hold no data of the shopper are shown, everything else is redacted: a gateway may send
members tomorrow that are unknown today. Of a card no more than its mask is shown.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from app.core.notification import StoredNotification
from app.core.payment import Operation, PaymentAggregate, SaleorEvent
from app.core.vocabulary import State
from app.rules.details import card_mask
from gateway_client.errors import UnreadableNotificationError
from gateway_client.models import Records
from gateway_client.notification import decode

REDACTED = "•••"
_PAYMENT_MEMBERS = """
operation_id payment_id order_id transaction_id gateway_order_id billing_order_id pos_id mode method amount currency
status status_code status_description response_code response_description created_at processed_at processing_time
fee fixed_fee percent_fee split_fee limit_info retry_after eci mcc options_3ds order_3ds_bypass
user_action_required payway processed_amount processed_currency recurring id receipt_url bank_short_name cc_mask
why unreadable chosen by_lines whole order_timeout customer_lang merchant_mcc f_receipt_delivery server_url
validation_url
"""
_PRODUCT_MEMBERS = (
    "description attributes key value payload split sub_merchant_id products name qty unit taxes prc type code"
)
_EVENT_MEMBERS = "event psp_reference message available_actions state attempts last_error delivered_at"
_SHOWN = frozenset(f"{_PAYMENT_MEMBERS} {_PRODUCT_MEMBERS} {_EVENT_MEMBERS}".split())
_BY_SUB_MERCHANT = frozenset({"chosen", "by_lines"})  # amounts by the sub-merchant that gives them


class Source(StrEnum):
    """The sender and receiver of a message."""

    REQUESTED = "asked"
    NOTIFIED = "notified"
    REPORTED = "told"


@dataclass(frozen=True, slots=True)
class RawMessage:
    """One message. ``what`` is the kind of operation or the type of the event, ``text`` is formatted JSON."""

    at: datetime
    source: Source
    what: str
    text: str


def raw_messages(aggregate: PaymentAggregate, notifications: Sequence[StoredNotification]) -> list[RawMessage]:
    """Return the requests to the gateway, its notifications and the reports to Saleor, oldest first."""
    requests = [
        _raw_request(operation)
        for operation in aggregate.operations
        if operation.request and operation.state is not State.WAITING
    ]
    events = [_raw_event(event) for event in aggregate.events]
    return sorted([*requests, *map(_raw_notification, notifications), *events], key=lambda message: message.at)


def raw_records(records: Records) -> str:
    """Return the gateway's records of an order as redacted JSON; for unreadable records the reason."""
    return _render([*(record.to_wire() for record in records), *({"unreadable": why} for why in records.unreadable)])


def redact(data: object, name: str = "") -> object:
    """Return JSON with everything redacted that is not known to be safe to show."""
    if data is None or isinstance(data, bool):
        return data
    if name and name not in _SHOWN:
        return REDACTED
    if isinstance(data, Mapping):
        return {key: redact(value, name if name in _BY_SUB_MERCHANT else str(key)) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [redact(item, name) for item in data]
    return (card_mask(str(data)) or REDACTED) if name == "cc_mask" else data


def _raw_request(operation: Operation) -> RawMessage:
    return RawMessage(operation.created_at, Source.REQUESTED, operation.kind.value, _render(operation.request))


def _raw_notification(row: StoredNotification) -> RawMessage:
    try:
        content = None if row.data is None else decode(row.data)
    except UnreadableNotificationError:
        content = None
    method = content.get("method") if isinstance(content, Mapping) else None
    return RawMessage(row.received_at, Source.NOTIFIED, str(method or ""), _render(content))


def _raw_event(event: SaleorEvent) -> RawMessage:
    content = {
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
    return RawMessage(event.created_at, Source.REPORTED, event.type, _render(content))


def _render(data: object) -> str:
    return json.dumps(redact(data), ensure_ascii=False, indent=2, default=str)
