"""What a payment says of itself at the gateway: how it is called, our references. Pure. Nothing here names a person.

Staff search for ``attributes`` in the merchant portal; ``payload`` comes back in registers, so that each of their lines
leads to Saleor.
"""

import json

from app.gateway.models import Attribute
from app.payments.requests.description import describe
from app.saleor.events import SessionEvent
from app.saleor.source import Order

_LONGEST_REFERENCE = 250  # none of Saleor's comes near; all of them together fit into the payload's 4000 characters


def description_of(event: SessionEvent, template: str | None, order_id: str, store: str) -> str:
    """Return what the payment is called. ``store`` is what ``{store}`` stands for, ``order_id`` the gateway's."""
    number = event.source.number
    values = {
        "order": number or order_id,
        "checkout": "" if isinstance(event.source, Order) else event.source.id,
        "channel": event.source.channel.slug,
        "transaction": event.transaction.id,
        "store": store,
    }
    return describe(template, values, f"Order {number}" if number else f"Payment {order_id}")


def attributes_of(event: SessionEvent) -> list[Attribute]:
    """Return what staff can search for (gateway interface, Payment attributes)."""
    return [Attribute.fitting(f"saleor_{name}", value) for name, value in _references(event).items()]


def payload_of(event: SessionEvent) -> str:
    """Return our references as compact JSON, at most 4000 characters (gateway interface, Limits)."""
    told = {name: value[:_LONGEST_REFERENCE] for name, value in _references(event).items()}
    app = {"app": event.recipient.identifier[:_LONGEST_REFERENCE]} if event.recipient.identifier else {}
    return json.dumps(told | app, ensure_ascii=False, separators=(",", ":"))


def _references(event: SessionEvent) -> dict[str, str]:
    """Return Saleor's names of what is paid, those that there are."""
    source = event.source
    paid = {"order": source.number, "order_id": source.id} if isinstance(source, Order) else {"checkout": source.id}
    named = {"transaction": event.transaction.id, **paid, "channel": source.channel.slug}
    return {name: value for name, value in named.items() if value}
