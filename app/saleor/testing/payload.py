"""The rich payload: every field of an event that an app may select, in Saleor's names and numbers.

Selected fields that are not here are null in a body and are named in ``Selected.unplayed``; adding one is adding a key.
"""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from app.saleor.testing.ids import global_id, kind_of
from app.saleor.testing.money import ZERO, in_currency, on_the_wire
from app.saleor.testing.records import App, AppWebhook, Basket, Checkout, Event, GrantedRefund, Line, Order, Transaction
from app.saleor.testing.rules.coverage import authorize_status, charge_status, total_authorized, total_charged
from app.saleor.testing.rules.grants import events_of
from app.saleor.testing.selection import FieldFailedError, NeedsPermission
from app.saleor.testing.vocabulary import MANAGE_ORDERS, WebhookEvent

_METHOD_TYPENAMES = {
    "CARD": "CardPaymentMethodDetails",
    "OTHER": "OtherPaymentMethodDetails",
    "GIFT_CARD": "GiftCardPaymentMethodDetails",
}
Payload = dict[str, Any]


def instant(at: datetime) -> str:
    """Return a time as Saleor writes it."""
    return at.isoformat()


def _metadata(pairs: Mapping[str, str]) -> list[Payload]:
    return [{"key": key, "value": value} for key, value in pairs.items()]


def _money(amount: Decimal, currency: str) -> Payload:
    return {"__typename": "Money", "amount": on_the_wire(amount, currency), "currency": currency}


def _taxed(gross: Decimal, currency: str, tax_rate: Decimal = ZERO) -> Payload:
    net = in_currency(gross / (1 + tax_rate), currency)
    return {
        "currency": currency,
        "gross": _money(gross, currency),
        "net": _money(net, currency),
        "tax": _money(gross - net, currency),
    }


def app(installed: App) -> Payload:
    """Return an app as ``recipient`` and as the answer to ``query { app }``."""
    return {
        "__typename": "App",
        "id": installed.id,
        "identifier": installed.identifier,
        "name": installed.name,
        "version": installed.version,
        "isActive": installed.active,
        "permissions": [{"code": code, "name": code.replace("_", " ").capitalize()} for code in installed.permissions],
        "webhooks": [webhook(each) for each in installed.hooks],
        "extensions": [
            _extension(number, each) for number, each in enumerate(installed.manifest.get("extensions") or (), 1)
        ],
        "appUrl": installed.manifest.get("appUrl"),
        "manifestUrl": installed.manifest.get("manifestUrl"),
        "metadata": [],
        "privateMetadata": [],
    }


def webhook(hook: AppWebhook) -> Payload:
    """Return a Webhook."""
    events = {
        kind: [{"name": each.value, "eventType": each.enum_name} for each in hook.events if each.asynchronous is later]
        for kind, later in (("syncEvents", False), ("asyncEvents", True))
    }
    shown = {"id": hook.id, "name": hook.name, "targetUrl": hook.target_url, "isActive": hook.active}
    return {**shown, **events, "subscriptionQuery": hook.query, "customHeaders": None}


def _extension(number: int, entry: Mapping[str, Any]) -> Payload:
    """Return an AppExtension: from 3.22 on its place is text, and not one of a list."""
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
        "createdAt": instant(recorded.created_at),
        "pspReference": recorded.psp_reference or "",
        "type": recorded.type.value,
        "amount": _money(recorded.amount, currency),
        "message": recorded.message,
        "externalUrl": recorded.external_url,
        "idempotencyKey": recorded.idempotency_key,
        "createdBy": None,
    }


def transaction(item: Transaction) -> Payload:
    """Return a TransactionItem; its events are newest first. An unreadable one has ``actions`` that fail."""
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
        "createdAt": instant(item.created_at),
        "modifiedAt": instant(item.modified_at),
        "actions": actions,
        "externalUrl": item.external_url,
        **_amounts(item),
        "metadata": _metadata(item.metadata),
        "privateMetadata": _metadata(item.private_metadata),
        "events": [event(recorded, item.currency) for recorded in newest_first],
        "checkout": source(item.checkout) if item.checkout else None,
        "order": source(item.order) if item.order else None,
        "paymentMethodDetails": _method(item.payment_method_details),
        "createdBy": None,
        "reason": None,
    }


def _amounts(item: Transaction) -> Payload:
    return {
        f"{camel}Amount": _money(getattr(item.amounts, snake), item.currency)
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


def _covering(item: Transaction) -> Payload:
    """Return a transaction as its checkout or order lists it: without the way back to that."""
    return {"__typename": "TransactionItem", "id": item.id, **_amounts(item)}


def _method(details: Mapping[str, Any] | None) -> Payload | None:
    return {"__typename": _METHOD_TYPENAMES[details["type"]], **details} if details else None


def source(paid_for: Checkout | Order) -> Payload:
    """Return the checkout or order that is being paid for."""
    if isinstance(paid_for, Order):
        return _order(paid_for)
    basket = paid_for.basket
    total = _taxed(basket.total, basket.currency)
    return {
        "__typename": "Checkout",
        "id": paid_for.id,
        "token": paid_for.token,
        "email": basket.email,
        "languageCode": basket.language_code,
        "totalPrice": total,
        "subtotalPrice": _taxed(basket.subtotal, basket.currency),
        "totalBalance": _money(ZERO, basket.currency),
        "chargeStatus": charge_status(paid_for).value,
        "authorizeStatus": authorize_status(paid_for).value,
        "lines": [_checkout_line(line, basket.currency) for line in basket.lines],
        **_common(basket),
    }


def _order(order: Order) -> Payload:
    basket = order.basket
    return {
        "__typename": "Order",
        "id": order.id,
        "number": order.number,
        "userEmail": basket.email,
        "languageCodeEnum": basket.language_code,
        "languageCode": basket.language_code.lower(),
        "status": order.status,
        "chargeStatus": charge_status(order).value,
        "authorizeStatus": authorize_status(order).value,
        "total": _taxed(basket.total, basket.currency),
        "subtotal": _taxed(basket.subtotal, basket.currency),
        "totalCharged": _money(total_charged(order), basket.currency),
        "totalAuthorized": _money(total_authorized(order), basket.currency),
        "lines": [_order_line(line, basket.currency) for line in basket.lines],
        "grantedRefunds": NeedsPermission(MANAGE_ORDERS, [granted_refund(each) for each in order.granted_refunds]),
        **_common(basket),
    }


def _common(basket: Basket) -> Payload:
    return {
        "channel": _channel(basket.channel_slug, basket.currency),
        "user": basket.user,
        "billingAddress": {"__typename": "Address", **basket.address},
        "shippingAddress": {"__typename": "Address", **basket.address},
        "shippingPrice": _taxed(basket.shipping_price, basket.currency),
        "metadata": _metadata(basket.metadata),
        "privateMetadata": [],
        "discount": _money(ZERO, basket.currency),
        "giftCards": [],
    }


def _channel(slug: str, currency: str) -> Payload:
    return {
        "__typename": "Channel",
        "id": "Q2hhbm5lbDoz",
        "slug": slug,
        "name": slug.upper(),
        "currencyCode": currency,
    }


def about_app(whom: App) -> Payload:
    """Return what both events about an app say."""
    return {"app": app(whom)}


def customer(user_id: str) -> Payload:
    """Return what both events about a customer who was deleted say; those of an account have more, which nobody has."""
    return {"user": {"__typename": "User", "id": user_id}}


def stored_methods(user_id: str, channel_slug: str, currency: str) -> Payload:
    """Return what both events about a customer's payment methods say."""
    return {"user": {"__typename": "User", "id": user_id}, "channel": _channel(channel_slug, currency)}


def _checkout_line(line: Line, currency: str) -> Payload:
    return {
        "__typename": "CheckoutLine",
        "id": global_id("CheckoutLine", line.key),
        "quantity": line.quantity,
        "unitPrice": _taxed(line.unit_price, currency, line.tax_rate),
        "totalPrice": _taxed(line.total, currency, line.tax_rate),
        "undiscountedTotalPrice": _money(line.before_discounts, currency),
        "variant": _variant(line),
        "metadata": [],
        "privateMetadata": [],
    }


def _order_line(line: Line, currency: str) -> Payload:
    return {
        "__typename": "OrderLine",
        "id": global_id("OrderLine", line.key),
        "quantity": line.quantity,
        "productName": line.product_name,
        "variantName": line.variant_name,
        "productSku": line.sku,
        "productVariantId": _variant(line)["id"],
        "taxRate": float(line.tax_rate),
        "unitPrice": _taxed(line.unit_price, currency, line.tax_rate),
        "totalPrice": _taxed(line.total, currency, line.tax_rate),
        "undiscountedTotalPrice": _taxed(line.before_discounts, currency),
        "variant": _variant(line),
        "metadata": [],
        "privateMetadata": [],
    }


def _variant(line: Line) -> Payload:
    product_type = {"name": "Drinks", "metadata": _metadata(line.product_type_metadata), "privateMetadata": []}
    product = {
        "__typename": "Product",
        "id": global_id("Product", line.product_name),
        "name": line.product_name,
        "productType": {"__typename": "ProductType", "id": global_id("ProductType", 1), **product_type},
        "metadata": _metadata(line.product_metadata),
        "privateMetadata": [],
    }
    return {
        "__typename": "ProductVariant",
        "id": global_id("ProductVariant", line.sku or line.key),
        "sku": line.sku,
        "name": line.variant_name,
        "product": product,
        "metadata": _metadata(line.variant_metadata),
        "privateMetadata": [],
    }


def granted_refund(granted: GrantedRefund) -> Payload:
    """Return an OrderGrantedRefund."""
    currency = granted.order.basket.currency
    return {
        "__typename": "OrderGrantedRefund",
        "id": granted.id,
        "status": granted.status.value,
        "reason": granted.reason,
        "amount": _money(granted.amount, currency),
        "shippingCostsIncluded": granted.shipping_costs_included,
        "transaction": {"__typename": "TransactionItem", "id": granted.transaction.id} if granted.transaction else None,
        "transactionEvents": [event(each, currency) for each in reversed(events_of(granted))],
        "lines": [
            {
                "__typename": "OrderGrantedRefundLine",
                "id": global_id("OrderGrantedRefundLine", number),
                "quantity": quantity,
                "reason": reason,
                "orderLine": _order_line(line, currency),
            }
            for number, (line, quantity, reason) in enumerate(granted.lines, 1)
        ],
    }


def envelope(kind: WebhookEvent, recipient: App, at: datetime, version: str) -> Payload:
    """Return what every event begins with."""
    return {
        "__typename": kind.typename,
        "issuedAt": instant(at),
        "version": version,
        "issuingPrincipal": None,
        "recipient": app(recipient),
    }


def principal(caller: str, paid_for: Checkout | Order) -> Payload:
    """Return who calls: ``customer`` of that (nobody, if it has none), ``nobody``, or whom a global id names."""
    whose = (paid_for.basket.user or {}).get("id", "nobody")
    caller = whose if caller == "customer" else caller
    kind = None if caller == "nobody" else kind_of(caller)
    return {"issuingPrincipal": None if kind is None else {"__typename": kind, "id": caller}}


def gateway_initialize(paid_for: Checkout | Order, amount: Decimal, data: Any) -> Payload:
    """Return what PAYMENT_GATEWAY_INITIALIZE_SESSION says beyond the envelope and the principal."""
    wire_amount = on_the_wire(amount, paid_for.basket.currency)
    return {"amount": wire_amount, "data": data, "sourceObject": source(paid_for)}


def session(item: Transaction, request: Event, data: Any, customer_ip: str) -> Payload:
    """Return what both session events say; initialize adds ``idempotencyKey``."""
    return {
        "transaction": transaction(item),
        "sourceObject": {**source(item.source), "transactions": [_covering(each) for each in item.source.transactions]},
        "data": data,
        "merchantReference": item.id,
        "customerIpAddress": customer_ip,
        "action": {
            "amount": on_the_wire(request.amount, item.currency),
            "currency": item.currency,
            "actionType": request.type.family,
        },
    }


def action_requested(item: Transaction, request: Event) -> Payload:
    """Return what the three *_REQUESTED events say."""
    amount = {"amount": on_the_wire(request.amount, item.currency), "currency": item.currency}
    return {
        "transaction": transaction(item),
        "action": {"actionType": request.type.family, **amount},
        "grantedRefund": granted_refund(request.granted_refund) if request.granted_refund else _NOT_GRANTED,
    }


# Of a plain refund Saleor resolves the granted one too, from nothing: only a field that cannot be null makes it null.
_NOT_GRANTED: Payload = {
    "id": global_id("OrderGrantedRefund", "None"),
    "reason": None,
    "lines": None,
    "transaction": None,
    **{
        name: FieldFailedError(f"Cannot return null for non-nullable field OrderGrantedRefund.{name}.")
        for name in ("status", "amount", "shippingCostsIncluded")
    },
}
