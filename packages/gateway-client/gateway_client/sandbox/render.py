"""Rendering of records in the gateway's formats: responses, webhooks, period lists and registers.

Source: gateway interface, Resources and Events. Amounts stay Decimal; times are `yyyy-MM-ddTHH:mm:ss.SSS`, and do not
name their zone.
"""

import base64
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal
from zoneinfo import ZoneInfo

from gateway_client.sandbox.core.codes import Status
from gateway_client.sandbox.core.gateway_state import GatewayState
from gateway_client.sandbox.core.records import CardOnFile, Entry, Operation, Payment
from gateway_client.sandbox.settings import Behaviour
from integration_base.exact_json import dumps

TimeName = Literal["processed_at", "processing_time"]
Place = Literal["records", "lists", "registers"]

_WEBHOOK_FIELDS = (
    *("payment_id", "order_id", "pos_id", "mode", "method", "amount", "currency", "status", "created_at"),
    *("gateway_order_id", "billing_order_id", "transaction_id", "payway", "eci", "status_code", "limit_info"),
    *("status_description", "cc_mask", "cc_token", "cc_token_expiration", "customer_id", "customer_phone"),
    *("fee", "fixed_fee", "percent_fee", "processed_at", "payload", "receipt_url"),
    *("processed_amount", "processed_currency", "operation_id", "recurring"),
)
# Fields that the interface lists only for webhooks of payments.
_PAYMENT_ONLY_FIELDS = frozenset(
    {
        *("gateway_order_id", "billing_order_id", "payway", "eci", "cc_mask", "cc_token", "cc_token_expiration"),
        *("customer_id", "customer_phone", "fixed_fee", "percent_fee", "payload", "processed_amount"),
        *("processed_currency", "recurring"),
    }
)


def timestamp(moment: datetime | None, behaviour: Behaviour) -> str | None:
    """Return a TIMESTAMP (interface, Conventions), in the zone of the point of sale, which it does not name."""
    if moment is None:
        return None
    zone = UTC if behaviour.time_zone == "UTC" else ZoneInfo(behaviour.time_zone)
    return moment.astimezone(zone).replace(tzinfo=None).isoformat(timespec="milliseconds")


def checkout_url(payment: Payment, page: Literal["form", "qr", "3ds"]) -> str:
    """Return the address of one of the payer's pages."""
    return f"{payment.base_url}/api/v1/checkout/{payment.checkout_id}/{page}"


def payment_record(state: GatewayState, payment: Payment, time_name: TimeName = "processed_at") -> dict[str, Any]:
    """Return a payment record. The field of the last update's time has different names in different responses."""
    waits, behaviour = payment.waits_for_payer, state.behaviour(payment.pos_id)
    record: dict[str, Any] = {
        "payment_id": str(payment.payment_id),
        "order_id": payment.order_id,
        "gateway_order_id": payment.gateway_order_id,
        "billing_order_id": payment.billing_order_id,
        "transaction_id": _text_or_none(payment.transaction_id),
        "pos_id": str(payment.pos_id),
        "mode": payment.mode,
        "method": payment.method,
        "amount": _amount(state, payment, "records"),
        "currency": payment.currency,
        "description": payment.description,
        **_status_fields(payment),
        "user_action_required": waits,
        "user_action_url": checkout_url(payment, "3ds") if waits else None,
        "eci": payment.eci,
        "mcc": payment.mcc,
        "options_3ds": payment.options_3ds,
        **_card_fields(payment, behaviour),
        **payment.customer,
        "result_url": payment.result_url,
        "created_at": timestamp(payment.created_at, behaviour),
        time_name: timestamp(payment.processed_at, behaviour),
        **_fee_fields(payment),
        "payload": payment.payload,
        "bank_short_name": "SANDBOX" if payment.card else None,
        "receipt_url": _receipt_url(payment, str(payment.payment_id)),
        "payway": payment.payway,
    }
    if payment.attributes and behaviour.record_attributes:
        record["attributes"] = payment.attributes
    if payment.processed_amount is not None:
        record["processed_amount"] = payment.processed_amount
        record["processed_currency"] = payment.currency
    if payment.limit_info is not None:
        record["limit_info"] = _limit_fields(payment, behaviour)
    if payment.recurring_id is not None:
        status = state.subscriptions[payment.recurring_id].status
        record["recurring"] = {"id": str(payment.recurring_id), "status": status}
    if payment.method == "credit":
        record["properties"] = payment.properties
        record.setdefault("customer_city", None)
        record.setdefault("customer_birthday", None)
    return record


def operation_record(state: GatewayState, operation: Operation, time_name: TimeName | None = None) -> dict[str, Any]:
    """Return a secondary operation record. By default the time's name is that of the operation's own response."""
    behaviour = state.behaviour(operation.pos_id)
    if time_name is None:
        plain_refund = operation.method == "refund" and not operation.through_split
        time_name = "processed_at" if plain_refund else "processing_time"
    record: dict[str, Any] = {
        "operation_id": str(operation.operation_id),
        "payment_id": str(operation.payment_id),
        "order_id": operation.order_id,
        "transaction_id": _text_or_none(operation.transaction_id),
        "pos_id": str(operation.pos_id),
        "mode": "direct",
        "method": operation.method,
        "amount": operation.amount,
        "currency": operation.currency,
        **_status_fields(operation),
        "created_at": timestamp(operation.created_at, behaviour),
        time_name: timestamp(operation.processed_at, behaviour),
        "fee": _fee_fields(operation)["fee"],
        "comment": operation.comment,
    }
    if operation.method == "refund":
        record["receipt_url"] = _receipt_url(operation, str(operation.operation_id))
        if operation.through_split:
            record["split_fee"] = {"amount": operation.amount * 0, "currency": operation.currency}
    if operation.limit_info is not None:
        record["limit_info"] = _limit_fields(operation, behaviour)
    return record


def lookup_record(state: GatewayState, entry: Payment | Operation) -> dict[str, Any]:
    """Return a record as look-ups return it."""
    if isinstance(entry, Payment):
        return payment_record(state, entry)
    return operation_record(state, entry)


def webhook_fields(state: GatewayState, entry: Payment | Operation) -> dict[str, Any]:
    """Return the content of a webhook's `data`: the fields that the interface lists for it.

    Absent ones are omitted, or null with the option `webhook_nulls`.
    """
    record = (
        payment_record(state, entry)
        if isinstance(entry, Payment)
        else operation_record(state, entry, time_name="processed_at")
    )
    if state.behaviour(entry.pos_id).webhook_nulls:
        omitted = _PAYMENT_ONLY_FIELDS if isinstance(entry, Operation) else {"operation_id"}
        return {name: record.get(name) for name in _WEBHOOK_FIELDS if name not in omitted}
    return {name: record[name] for name in _WEBHOOK_FIELDS if record.get(name) is not None}


def _amount(state: GatewayState, entry: Payment | Operation, place: Place) -> Decimal:
    """Return the `amount` shown in one place: with the fee that the payer paid on top, or without."""
    with_fee = place in state.behaviour(entry.pos_id).customer_fee_in
    return entry.amount + _customer_fee(entry) if with_fee else entry.amount


def _customer_fee(entry: Payment | Operation) -> Decimal:
    return entry.customer_fee if isinstance(entry, Payment) else Decimal(0)


def encode_data(fields: dict[str, Any], *, padded: bool) -> str:
    """Return the form field `data`: Base64Url of the JSON."""
    data = base64.urlsafe_b64encode(dumps(fields).encode()).decode("ascii")
    return data if padded else data.rstrip("=")


def period_row(state: GatewayState, entry: Payment | Operation, place: Place = "lists") -> dict[str, Any]:
    """Return one line of the by-period look-up."""
    payment = state.payments[entry.payment_id]
    fee = entry.fee
    return {
        "projectId": str(entry.pos_id),
        "orderId": entry.order_id,
        "paymentId": str(entry.payment_id),
        "amount": f"{_amount(state, entry, place):.2f}",
        "currency": entry.currency,
        "method": entry.method,
        "status": entry.status.value,
        "dateTime": "" if entry.processed_at is None else milliseconds(entry.processed_at),
        "authCode": entry.payment_id.hex[:6].upper() if entry.status is Status.SUCCESS else "",
        "rrnCode": str(entry.payment_id.int)[:12] if entry.status is Status.SUCCESS else "",
        "description": payment.description,
        "payload": payment.payload or "",
        "customerFee": f"{_customer_fee(entry):.2f}",
        "merchantFee": "0.00" if fee is None else f"{fee.total:.2f}",
        "paymentSystem": _payment_system(payment.card),
        "recipientCardMask": payment.card.mask if payment.card and payment.method == "credit" else "",
    }


def milliseconds(moment: datetime) -> int:
    """Return the Unix time in milliseconds."""
    return int(moment.timestamp() * 1000)


def _status_fields(entry: Entry) -> dict[str, Any]:
    return {
        "status": entry.status.value,
        "status_code": entry.status_code,
        "status_description": entry.status_description,
    }


def _card_fields(payment: Payment, behaviour: Behaviour) -> dict[str, Any]:
    card = payment.card
    # Only an accepted card can be kept on file.
    stored_card = card if payment.status is Status.SUCCESS else None
    return {
        "cc_mask": card.mask or None if card else None,
        "cc_token": stored_card.token if stored_card else None,
        "cc_token_expiration": timestamp(stored_card.expires, behaviour) if stored_card else None,
    }


def _fee_fields(entry: Entry) -> dict[str, Any]:
    fee = entry.fee
    if fee is None:
        return {"fee": None, "fixed_fee": None, "percent_fee": None}
    return {
        "fee": {"amount": fee.total, "currency": fee.currency},
        "fixed_fee": {"amount": fee.fixed, "currency": fee.currency},
        "percent_fee": {"amount": fee.percent, "currency": fee.currency},
    }


def _limit_fields(entry: Entry, behaviour: Behaviour) -> dict[str, Any] | None:
    limit = entry.limit_info
    if limit is None:
        return None
    return {"retry_after": timestamp(limit.retry_after, behaviour), "description": limit.description}


def _receipt_url(entry: Payment | Operation, identifier: str) -> str | None:
    has_one = entry.method in {"purchase", "auth", "credit", "refund"} and entry.status is Status.SUCCESS
    return f"{entry.base_url}/public/receipt/{identifier}" if has_one else None


def _payment_system(card: CardOnFile | None) -> str:
    if card is None or not card.mask:
        return ""
    return "MASTERCARD" if card.mask.startswith("5") else "VISA"


def _text_or_none(identifier: object) -> str | None:
    return None if identifier is None else str(identifier)
