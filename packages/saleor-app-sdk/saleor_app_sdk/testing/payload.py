"""Full payloads: every field of an event that an app may select, with Saleor's names and number formats.

Selected fields that are missing here are null in the body and listed in ``Selected.unplayed``; to add one, add a key.
"""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from saleor_app_sdk.testing import basket_payload
from saleor_app_sdk.testing.basket_payload import (
    channel,
    checkout_line,
    common,
    metadata,
    money,
    order_line,
    taxed_money,
)
from saleor_app_sdk.testing.ids import global_id, kind_of
from saleor_app_sdk.testing.money import json_amount
from saleor_app_sdk.testing.records import App, AppWebhook, Checkout, Event, GrantedRefund, Order, Transaction
from saleor_app_sdk.testing.rules.coverage import (
    authorize_status,
    charge_status,
    total_authorized,
    total_balance,
    total_charged,
)
from saleor_app_sdk.testing.rules.grants import granted_refund_events
from saleor_app_sdk.testing.selection import FieldFailedError, NeedsPermission
from saleor_app_sdk.testing.vocabulary import MANAGE_ORDERS, OtherEvent, WebhookEvent

Payload = basket_payload.Payload
_METHOD_TYPENAMES = {
    "CARD": "CardPaymentMethodDetails",
    "OTHER": "OtherPaymentMethodDetails",
    "GIFT_CARD": "GiftCardPaymentMethodDetails",
}


def format_time(at: datetime) -> str:
    """Return a time in Saleor's format."""
    return at.isoformat()


def app(installed: App) -> Payload:
    """Return an App, as in ``recipient`` and ``query { app }``."""
    return {
        "__typename": "App",
        "id": installed.id,
        "identifier": installed.identifier,
        "name": installed.name,
        "version": installed.version,
        "isActive": installed.active,
        "permissions": [{"code": code, "name": code.replace("_", " ").capitalize()} for code in installed.permissions],
        "webhooks": [webhook(hook) for hook in installed.hooks],
        "extensions": [
            _extension(number, extension)
            for number, extension in enumerate(installed.manifest.get("extensions") or (), 1)
        ],
        "appUrl": installed.manifest.get("appUrl"),
        "manifestUrl": installed.manifest.get("manifestUrl"),
        "metadata": [],
        "privateMetadata": metadata(installed.private_metadata),
    }


def webhook(hook: AppWebhook) -> Payload:
    """Return a Webhook."""
    events = {
        kind: [
            {"name": event_type.value, "eventType": event_type.enum_name}
            for event_type in hook.events
            if event_type.asynchronous is asynchronous
        ]
        for kind, asynchronous in (("syncEvents", False), ("asyncEvents", True))
    }
    fields = {"id": hook.id, "name": hook.name, "targetUrl": hook.target_url, "isActive": hook.active}
    return {**fields, **events, "subscriptionQuery": hook.query, "customHeaders": None}


def _extension(number: int, entry: Mapping[str, Any]) -> Payload:
    """Return an AppExtension: from 3.22 on its mount and target are text instead of enums."""
    mount, target = str(entry["mount"]).upper(), str(entry.get("target") or "POPUP").upper()
    return {
        "id": global_id("AppExtension", number),
        "label": entry["label"],
        "url": entry["url"],
        "mount": mount,
        "target": target,
        "mountName": mount,
        "targetName": target,
        "permissions": [{"code": code, "name": code} for code in entry.get("permissions") or ()],
    }


def event(recorded: Event, currency: str) -> Payload:
    """Return a TransactionEvent."""
    return {
        "__typename": "TransactionEvent",
        "id": recorded.id,
        "createdAt": format_time(recorded.created_at),
        "pspReference": recorded.psp_reference or "",
        "type": recorded.type.value,
        "amount": money(recorded.amount, currency),
        "message": recorded.message,
        "reasonReference": None,
        "externalUrl": recorded.external_url,
        "idempotencyKey": recorded.idempotency_key,
        "createdBy": None,
    }


def transaction(item: Transaction) -> Payload:
    """Return a TransactionItem with its events newest first. If it is unreadable, its ``actions`` fail to resolve."""
    actions: Any = list(item.actions)
    if item.unreadable:
        spelling = item.actions[0] if item.actions else "CHARGE"
        actions = [FieldFailedError(f'Expected a value of type "TransactionActionEnum" but received: {spelling}')]
    newest_first = sorted(item.events, key=lambda recorded: recorded.created_at, reverse=True)
    return {
        "__typename": "TransactionItem",
        "id": item.id,
        "token": item.token,
        "name": item.name,
        "message": item.message,
        "pspReference": item.psp_reference or "",
        "createdAt": format_time(item.created_at),
        "modifiedAt": format_time(item.modified_at),
        "actions": actions,
        "externalUrl": item.external_url,
        **_amounts(item),
        "metadata": metadata(item.metadata),
        "privateMetadata": metadata(item.private_metadata),
        "events": [event(recorded, item.currency) for recorded in newest_first],
        "checkout": source(item.checkout) if item.checkout else None,
        "order": source(item.order) if item.order else None,
        "paymentMethodDetails": _payment_method_details(item.payment_method_details),
        "createdBy": None,
        "reason": None,
    }


def _amounts(item: Transaction) -> Payload:
    return {
        f"{camel}Amount": money(getattr(item.amounts, snake), item.currency)
        for camel, snake in {
            "authorized": "authorized",
            "authorizePending": "authorize_pending",
            "charged": "charged",
            "chargePending": "charge_pending",
            "refunded": "refunded",
            "refundPending": "refund_pending",
            "canceled": "canceled",
            "cancelPending": "cancel_pending",
        }.items()
    }


def _transaction_summary(item: Transaction) -> Payload:
    """Return a transaction as its checkout or order lists it: without the reference back."""
    return {"__typename": "TransactionItem", "id": item.id, **_amounts(item)}


def _payment_method_details(details: Mapping[str, Any] | None) -> Payload | None:
    return {"__typename": _METHOD_TYPENAMES[details["type"]], **details} if details else None


def source(source_object: Checkout | Order) -> Payload:
    """Return the checkout or order that is being paid for."""
    if isinstance(source_object, Order):
        return _order(source_object)
    basket = source_object.basket
    total = taxed_money(basket.total, basket.currency)
    return {
        "__typename": "Checkout",
        "id": source_object.id,
        "token": source_object.token,
        "email": basket.email,
        "languageCode": basket.language_code,
        "totalPrice": total,
        "subtotalPrice": taxed_money(basket.subtotal, basket.currency),
        "totalBalance": money(total_balance(source_object), basket.currency),
        "chargeStatus": charge_status(source_object).value,
        "authorizeStatus": authorize_status(source_object).value,
        "transactions": [_transaction_summary(item) for item in source_object.transactions],
        "lines": [checkout_line(line, basket.currency) for line in basket.lines],
        **common(basket),
    }


def _order(order: Order) -> Payload:
    basket = order.basket
    return {
        "__typename": "Order",
        "id": order.id,
        "checkoutId": order.checkout_id,
        "number": order.number,
        "userEmail": basket.email,
        "languageCodeEnum": basket.language_code,
        "languageCode": basket.language_code.lower(),
        "status": order.status,
        "chargeStatus": charge_status(order).value,
        "authorizeStatus": authorize_status(order).value,
        "total": taxed_money(basket.total, basket.currency),
        "subtotal": taxed_money(basket.subtotal, basket.currency),
        "totalBalance": money(total_balance(order), basket.currency),
        "totalCharged": money(total_charged(order), basket.currency),
        "totalAuthorized": money(total_authorized(order), basket.currency),
        "lines": [order_line(line, basket.currency) for line in basket.lines],
        "grantedRefunds": NeedsPermission(MANAGE_ORDERS, [granted_refund(refund) for refund in order.granted_refunds]),
        **common(basket),
    }


def app_event(subject: App) -> Payload:
    """Return the fields of both events about an app."""
    return {"app": app(subject)}


def customer(user_id: str) -> Payload:
    """Return the fields of both events about a deleted customer; account events have more, unsupported here."""
    return {"user": {"__typename": "User", "id": user_id, "email": f"{user_id.lower()}@example.com"}}


def stored_methods(user_id: str, channel_slug: str, currency: str) -> Payload:
    """Return the fields of both events about a customer's payment methods."""
    return {"user": {"__typename": "User", "id": user_id}, "channel": channel(channel_slug, currency)}


def granted_refund(granted: GrantedRefund) -> Payload:
    """Return an OrderGrantedRefund."""
    currency = granted.order.basket.currency
    return {
        "__typename": "OrderGrantedRefund",
        "id": granted.id,
        "status": granted.status.value,
        "reason": granted.reason,
        "reasonReference": None,
        "amount": money(granted.amount, currency),
        "shippingCostsIncluded": granted.shipping_costs_included,
        "transaction": {"__typename": "TransactionItem", "id": granted.transaction.id} if granted.transaction else None,
        "transactionEvents": [
            event(refund_event, currency) for refund_event in reversed(granted_refund_events(granted))
        ],
        "lines": [
            {
                "__typename": "OrderGrantedRefundLine",
                "id": global_id("OrderGrantedRefundLine", number),
                "quantity": quantity,
                "reason": reason,
                "orderLine": order_line(line, currency),
            }
            for number, (line, quantity, reason) in enumerate(granted.lines, 1)
        ],
    }


def envelope(kind: WebhookEvent | OtherEvent, recipient: App, at: datetime, version: str) -> Payload:
    """Return the fields that every event begins with."""
    return {
        "__typename": kind.typename,
        "issuedAt": format_time(at),
        "version": version,
        "issuingPrincipal": None,
        "recipient": app(recipient),
    }


def issuing_principal(caller: str, source_object: Checkout | Order) -> Payload:
    """Return the ``issuingPrincipal`` of a caller.

    ``caller`` is ``customer`` (that of the source, ``nobody`` if it has none), ``nobody``, or any global id.
    """
    customer_id = (source_object.basket.user or {}).get("id", "nobody")
    caller = customer_id if caller == "customer" else caller
    kind = None if caller == "nobody" else kind_of(caller)
    return {"issuingPrincipal": None if kind is None else {"__typename": kind, "id": caller}}


def gateway_initialize(source_object: Checkout | Order, amount: Decimal, data: Any) -> Payload:
    """Return the fields of PAYMENT_GATEWAY_INITIALIZE_SESSION besides the envelope and the principal."""
    wire_amount = json_amount(amount, source_object.basket.currency)
    return {"amount": wire_amount, "data": data, "sourceObject": source(source_object)}


def session(item: Transaction, request: Event, data: Any, customer_ip: str) -> Payload:
    """Return the fields of both session events; initialize adds ``idempotencyKey``."""
    return {
        "transaction": transaction(item),
        "sourceObject": {
            **source(item.source),
            "transactions": [_transaction_summary(transaction) for transaction in item.source.transactions],
        },
        "data": data,
        "merchantReference": item.id,
        "customerIpAddress": customer_ip,
        "action": {
            "amount": json_amount(request.amount, item.currency),
            "currency": item.currency,
            "actionType": request.type.family,
        },
    }


def action_requested(item: Transaction, request: Event) -> Payload:
    """Return the fields of the three *_REQUESTED events."""
    amount = {"amount": json_amount(request.amount, item.currency), "currency": item.currency}
    return {
        "transaction": transaction(item),
        "action": {"actionType": request.type.family, **amount},
        "grantedRefund": granted_refund(request.granted_refund) if request.granted_refund else _NO_GRANTED_REFUND,
    }


# For a plain refund Saleor also resolves ``grantedRefund``, from nothing: only a non-null field makes it null.
_NO_GRANTED_REFUND: Payload = {
    "id": global_id("OrderGrantedRefund", "None"),
    "reason": None,
    "reasonReference": None,
    "lines": None,
    "transaction": None,
    **{
        name: FieldFailedError(f"Cannot return null for non-nullable field OrderGrantedRefund.{name}.")
        for name in ("status", "amount", "shippingCostsIncluded")
    },
}
