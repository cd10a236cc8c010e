"""What Saleor makes of an answer, written down a second time and from the other side (Saleor contract, A.3 to A.5).

``complaints`` returns every reason for which some supported Saleor would refuse the answer, choke on it, or book
something else than was meant. It reads the bytes that go over the wire and knows nothing of our models.
"""

import json
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

SESSION_RESULTS = {
    f"{flow}_{outcome}"
    for flow in ("CHARGE", "AUTHORIZATION")
    for outcome in ("SUCCESS", "FAILURE", "REQUEST", "ACTION_REQUIRED")
}
COMMON = {"pspReference", "result", "amount", "actions", "message", "externalUrl"}
DETAILS = {"type", "name", "brand", "firstDigits", "lastDigits", "expMonth", "expYear"}


def rejections(wire: bytes, *, asked: str) -> list[str]:
    """``asked`` is SESSION, CHARGE, REFUND or CANCEL."""
    said = json.loads(wire, parse_float=Decimal)
    if not isinstance(said, dict):
        return ["not an object: the task crashes"]
    result = said.get("result")
    may_be_left_out = asked == "SESSION" and str(result).endswith("_ACTION_REQUIRED")
    found = [] if may_be_left_out and "pspReference" not in said else _reference(said.get("pspReference"))
    if asked == "SESSION":
        found += _unknown(said, COMMON | {"data", "paymentMethodDetails"})
        if result not in SESSION_RESULTS:
            found.append(f"result {result} is none for a session")
        found += _details(said.get("paymentMethodDetails"))
    elif result is None:
        found += _unknown(said, {"pspReference"})  # `actions` here poison the transaction
    else:
        found += _unknown(said, COMMON)
        if result not in {f"{asked}_SUCCESS", f"{asked}_FAILURE"}:
            found.append(f"result {result} is none for {asked}")
    found += _amount(said, zero_is_meant=asked == "CANCEL")
    found += _words(said)
    return found


def _unknown(said: dict[str, Any], known: set[str]) -> list[str]:
    return [f"{name} says nothing here, or harm" for name in said.keys() - known]


def _reference(reference: object) -> list[str]:
    if not isinstance(reference, str):
        return ["pspReference must be a string"]
    if not reference or len(reference) > 512:
        return ["pspReference has a length that Saleor refuses or crashes on"]
    return ["pspReference cannot be stored"] if unstorable(reference) else []


def _amount(said: dict[str, Any], *, zero_is_meant: bool) -> list[str]:
    if "amount" not in said:
        final = str(said.get("result", "")).endswith("_FAILURE") or "result" not in said
        return [] if final else ["the amount is missing, which 3.20 refused and which means: what was asked"]
    amount = said["amount"]
    if not isinstance(amount, Decimal) or amount.as_tuple().exponent != -2:
        return [f"{amount!r} is not an amount with two decimals"]
    if amount < 0 or (amount == 0 and not zero_is_meant):
        return [f"{amount} would be booked as something else"]
    return []


def _words(said: dict[str, Any]) -> list[str]:
    found = []
    message = said.get("message", "")
    if not isinstance(message, str) or len(message) > 512 or unstorable(message):
        found.append("message does not fit")
    if "externalUrl" in said:
        url = said["externalUrl"]
        if (
            not isinstance(url, str)
            or len(url) > 200
            or urlsplit(url).scheme not in {"http", "https"}
            or not urlsplit(url).hostname
        ):
            found.append("externalUrl is refused, or crashes Saleor")
    actions = said.get("actions", [])
    if not isinstance(actions, list) or not set(actions) <= {"CHARGE", "REFUND", "CANCEL"}:
        found.append("actions are no list of what Saleor knows")
    return found


def _details(details: Any) -> list[str]:
    if details is None:
        return []
    found = _unknown(details, DETAILS if details.get("type") == "CARD" else {"type", "name"})
    if details.get("type") not in {"CARD", "OTHER"}:
        found.append("paymentMethodDetails of an unknown type")
    limits = {"name": (1, 256), "brand": (0, 40), "firstDigits": (1, 4), "lastDigits": (1, 4)}
    for name, (least, most) in limits.items():
        value = details.get(name, "x")
        if not isinstance(value, str) or not least <= len(value) <= most:
            found.append(f"paymentMethodDetails.{name} does not fit")
    if "name" not in details:
        found.append("paymentMethodDetails without a name")
    if not 1 <= details.get("expMonth", 1) <= 12 or not 2000 <= details.get("expYear", 2000) <= 9999:
        found.append("paymentMethodDetails expire at an impossible time")
    return found


def unstorable(text: str) -> bool:
    """Say whether PostgreSQL would refuse the text: a NUL, or half of a surrogate pair."""
    return "\0" in text or any("\ud800" <= character <= "\udfff" for character in text)
