"""From records of calls to words. Pure.

A reference is shown by its beginning; ``facts`` hold it whole.
"""

import base64
import re
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from app.exact_json import NotJsonError, loads
from app.saleor.testing.views import DeliveryView, ReportView
from app.sandbox.calls import Call
from app.sandbox.deliveries import Delivery, Try
from app.sandbox.demo.telling import Exchange, Fact, Party

_PAGE = re.compile(r"/api/v1/checkout/[^/]+/(form|3ds|qr)")
_LOOK = re.compile(r"/api/v1/pos/[^/]+/orders/([^/]+)")
_CANCEL = re.compile(r"/api/v1/pos/[^/]+/order/[^/]+/cancel")
_LONG_ID = re.compile(r"(?<=/)[0-9a-f-]{20,}(?=/|$)")
_OPERATIONS = {"capture": "capture", "refund": "refund", "void": "release the reservation"}
_PAGES = {
    ("GET", "form"): "opens the payment page",
    ("POST", "form"): "submits the payment page's form",
    ("GET", "3ds"): "is asked by the bank (3-D Secure)",
    ("POST", "3ds"): "answers the bank",
    ("GET", "qr"): "looks at the QR code",
}
_SHOWN_OF_REFERENCE = 8


def saleor_asks(delivery: DeliveryView) -> Exchange:
    """Saleor's request to the app, and what the app answered."""
    asked, answered = _json(delivery.body), _json(delivery.answer)
    facts: dict[str, Fact] = {"event": delivery.event, "path": urlsplit(delivery.url).path, "status": delivery.status}
    match delivery.event:
        case "manifest":
            said, answer = "GET /api/manifest: what is this app?", _manifest(answered)
        case "token":
            said, answer = "POST /api/register: a token for Saleor's API", f"HTTP {delivery.status}"
        case event:
            action = _object(asked.get("action"))
            facts |= _of_money(action) | {"transaction": _object(asked.get("transaction")).get("id")}
            said = " ".join(part for part in (event.upper(), _flow(event, action), money(facts)) if part)
            facts |= {"result": answered.get("result"), "psp_reference": answered.get("pspReference")}
            answer = _answer(answered) or f"HTTP {delivery.status}"
    failed = delivery.error is not None or delivery.status is None or delivery.status >= 400
    failed = failed or "FAILURE" in str(answered.get("result", ""))
    return Exchange(
        delivery.at, Party.SALEOR, Party.APP, said, delivery.error or answer, delivery.seconds, failed, facts
    )


def is_page(call: Call) -> bool:
    """Whether a call only shows a page of the payer; some load themselves anew every few seconds."""
    return call.http_method == "GET" and _PAGE.fullmatch(call.path) is not None


def app_reports(report: ReportView) -> Exchange:
    """The app's ``transactionEventReport``, and what Saleor made of it."""
    said, facts = report.arguments, dict[str, Fact]()
    facts |= {"event": said.get("type"), "amount": said.get("amount"), "psp_reference": said.get("pspReference")}
    facts |= {"transaction": said.get("id"), "already_processed": str(report.already_processed).lower()}
    moved = Decimal(str(said.get("amount") or 0))
    amount = f" {moved:.2f}" if moved else ""
    quoted = f": “{said['message']}”" if said.get("message") else ""
    if report.errors:
        answer = ", ".join(f"{error.code}: {error.message}" for error in report.errors)
    else:
        answer = "known already" if report.already_processed else "booked"
    words = f"reports {said.get('type')}{amount}{quoted}"
    return Exchange(report.at, Party.APP, Party.SALEOR, words, answer, None, bool(report.errors), facts)


def gateway_is_called(call: Call) -> Exchange:
    """A call to the gateway: of the app, or of a shopper's browser on its pages."""
    facts: dict[str, Fact] = {"method": call.http_method, "path": call.path, "status": call.http_status}
    if page := _PAGE.fullmatch(call.path):
        said = _PAGES.get((call.http_method, page[1]), call.path)
        return Exchange(call.at, Party.SHOPPER, Party.GATEWAY, said, _http(call), call.seconds, _bad(call), facts)
    facts |= {"order_id": call.order_id, "amount": call.amount, "currency": call.currency}
    answer, failed = _http(call), _bad(call)
    if look := _LOOK.fullmatch(call.path):
        said = f"looks an order up: {shown(look[1])}"
        if look[1] == "0":
            said = "tries its keys out, by looking up an order that cannot be"
            if call.http_status == 404:
                answer, failed = "HTTP 404: no such order, so the keys are right", False
    elif call.path.endswith("/payment"):
        said = f"asks for a payment page over {money(facts)}"
        if call.http_status in {200, 303}:
            answer += ", a link to it"
    elif _CANCEL.fullmatch(call.path):
        said = "asks to close the payment page"
    else:
        operation = call.path.rpartition("/")[2]
        said = f"asks to {' '.join(part for part in (_OPERATIONS.get(operation, operation), money(facts)) if part)}"
    return Exchange(call.at, Party.APP, Party.GATEWAY, f"{said} ({_short(call)})", answer, call.seconds, failed, facts)


def gateway_notifies(delivery: Delivery, attempt: Try, at: datetime) -> Exchange:
    """One try to deliver a signed notification."""
    record = _json(base64.urlsafe_b64decode(delivery.data + "=" * (-len(delivery.data) % 4)))
    facts: dict[str, Fact] = {"method": delivery.method, "status": delivery.status, "code": delivery.status_code}
    facts |= _of_money(record) | {"order_id": delivery.order_id, "http_status": attempt.http_status}
    code = f" [{delivery.status_code}]" if delivery.status_code else ""
    said = f"notifies, signed: {delivery.method} {delivery.status}{code}, {money(facts)}"
    answer = attempt.problem or f"HTTP {attempt.http_status}"
    kept = attempt.http_status is not None and attempt.http_status < 300
    return Exchange(
        at, Party.GATEWAY, Party.APP, said, answer, max(0.0, (attempt.at - at).total_seconds()), not kept, facts
    )


def money(facts: Mapping[str, Fact]) -> str:
    """``569.50 UAH``; nothing where there is no amount, or where none moves."""
    amount = Decimal(facts.get("amount") or 0)
    return f"{amount:.2f} {facts.get('currency') or ''}".rstrip() if amount else ""


def shown(reference: str) -> str:
    """The beginning of a reference, enough to tell it from others."""
    return reference if len(reference) <= _SHOWN_OF_REFERENCE + 4 else f"{reference[:_SHOWN_OF_REFERENCE]}…"


def _json(text: str | bytes | None) -> dict[str, Any]:
    try:
        return _object(loads(text)) if text else {}
    except NotJsonError:
        return {}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _of_money(fields: Mapping[str, Any]) -> dict[str, Fact]:
    return {"amount": fields.get("amount"), "currency": fields.get("currency")}


def _flow(event: str, action: Mapping[str, Any]) -> str:
    """What a session is for; of staff's requests the event's name says it."""
    if event.endswith("_requested"):
        return ""
    return {"CHARGE": "charge", "AUTHORIZATION": "reserve"}.get(str(action.get("actionType")), "")


def _manifest(answered: Mapping[str, Any]) -> str:
    webhooks = answered.get("webhooks") or []
    return f"“{answered.get('name')}”, {', '.join(answered.get('permissions') or [])}, {len(webhooks)} webhooks"


def _answer(answered: Mapping[str, Any]) -> str:
    """The result with its reference; of data only what it holds, which is the storefront's business."""
    result, reference = answered.get("result"), answered.get("pspReference")
    data = _object(answered.get("data"))
    held = ", ".join(name for name, value in data.items() if value) if data else ""
    parts = (
        str(result) if result else "",
        f"reference {shown(str(reference))}" if reference else "",
        f"data: {held}" if held else "",
    )
    return ", ".join(part for part in parts if part)


def _http(call: Call) -> str:
    return "hung up" if call.http_status is None else f"HTTP {call.http_status}"


def _bad(call: Call) -> bool:
    return call.http_status is None or call.http_status >= 400


def _short(call: Call) -> str:
    """The call without what repeats itself: ``POST /api/v1/payment``."""
    return f"{call.http_method} {_LONG_ID.sub('…', call.path)}"
