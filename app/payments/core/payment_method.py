"""How a shopper paid, as Saleor shows it to staff and as ``SaleorEvent.card`` keeps it."""

from collections.abc import Mapping
from typing import Any

from app.gateway.models import PaymentRecord
from app.payments.core.details import card_mask
from app.saleor.payment_methods import CardDetails, OtherMethod, PaymentMethod

_CARD = "cc"  # the gateway's word for a card (gateway facts, 5: payway)


def paid_with(record: PaymentRecord) -> PaymentMethod | None:
    """Return a card by its mask, anything else by the gateway's name of it; None when the gateway says neither."""
    mask = card_mask(record.cc_mask)
    if mask is not None:
        brand = _brand(mask)
        return CardDetails.of_what_is_known(
            name=f"{brand or 'Card'} ****{mask[-4:]}", brand=brand, first_digits=mask[:4], last_digits=mask[-4:]
        )
    name = " ".join((record.payway or "").replace("_", " ").split())
    if not name or not name.isprintable():
        return None
    return CardDetails(name="Card") if name == _CARD else OtherMethod(name=name[:1].upper() + name[1:256])


def as_kept(method: PaymentMethod | None) -> dict[str, Any] | None:
    """Return the JSON that a row keeps."""
    if method is None:
        return None
    return {"type": "CARD" if isinstance(method, CardDetails) else "OTHER"} | method.model_dump(exclude_none=True)


def from_kept(row: Mapping[str, Any] | None) -> PaymentMethod | None:
    """Return what a row keeps. Without a type it is a card: the first rows knew nothing else."""
    if not row:
        return None
    details = {name: value for name, value in row.items() if name != "type"}
    return OtherMethod(**details) if row.get("type") == "OTHER" else CardDetails.of_what_is_known(**details)


def _brand(mask: str) -> str | None:
    if mask.startswith("4"):
        return "Visa"
    first_two = mask[:2]
    if first_two.isdigit() and (51 <= int(first_two) <= 55 or 22 <= int(first_two) <= 27):
        return "Mastercard"
    return None
