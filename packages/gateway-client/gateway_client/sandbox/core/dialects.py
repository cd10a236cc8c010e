"""What a point of sale refuses because the gateway interface does not show it, by its options (`Behaviour`)."""

from collections.abc import Iterator, Mapping
from typing import Any

from gateway_client.sandbox.core.refusals import InvalidFieldsError, UnknownPathError
from gateway_client.sandbox.settings import Behaviour

_NO_FIELD = "is no field of this request"


def require_path(exists: bool) -> None:
    """Raise UnknownPathError if the gateway does not have a path."""
    if not exists:
        raise UnknownPathError


def check_creation(behaviour: Behaviour, body: Mapping[str, Any]) -> None:
    """Check what creates a payment or payout. Raises InvalidFieldsError."""
    refused = []
    if body.get("order_3ds_bypass") not in behaviour.three_ds_words:
        refused.append(("order_3ds_bypass", f"must be one of {', '.join(sorted(behaviour.three_ds_words))}"))
    if "init_recurring" in body and not behaviour.subscriptions:
        refused.append(("init_recurring", _NO_FIELD))
    if body.get("method") == "credit" and not behaviour.payout_identity:
        refused += [(name, _NO_FIELD) for name in ("customer_patronym", "customer_tax_id") if name in body]
    if refused and isinstance(body.get("order_3ds_bypass"), str):  # anything else is refused as such
        raise InvalidFieldsError(refused)
    check_products(behaviour, body, at_creation=True)


def check_products(behaviour: Behaviour, body: Mapping[str, Any], *, at_creation: bool) -> None:
    """Check whether products may be there, and the form of their taxes. Raises InvalidFieldsError."""
    if "products" in body and not (at_creation or behaviour.operation_products):
        raise InvalidFieldsError([("products", _NO_FIELD)])
    listed = behaviour.product_taxes == "list"
    if any(isinstance(taxes, list) is not listed for taxes in _taxes(body)):
        raise InvalidFieldsError([("products", "taxes are a list" if listed else "taxes are an object")])


def _taxes(members: Mapping[str, Any]) -> Iterator[object]:
    for name in ("products", "split"):
        items = members.get(name)
        for item in items if isinstance(items, list) else ():
            if isinstance(item, Mapping):
                if "taxes" in item:
                    yield item["taxes"]
                yield from _taxes(item)
