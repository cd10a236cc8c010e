"""What a payment says about itself at the gateway: its description, its attributes and its payload. Pure.

They name no person, and there is no placeholder for one: shoppers read the description on the payment page. Staff
search for ``attributes`` in the merchant portal: Saleor's references, and the store's own. ``payload`` is returned in
registers, so that each of their lines leads to Saleor.
"""

import json
import re
from collections.abc import Mapping, Sequence

from gateway_client.errors import InvalidRequestError
from gateway_client.models import Attribute
from gateway_client.models.details import MOST_ATTRIBUTES
from integration_base.typed_text import one_line
from saleor_app_sdk.events import SessionEvent
from saleor_app_sdk.source import Order

_LONGEST_REFERENCE = 250  # longer than any of Saleor's; all of them together fit into the payload's 4000 characters
LONGEST_TEMPLATE = 500
LONGEST_DESCRIPTION = 2048  # gateway interface, Limits
PLACEHOLDERS = ("order", "checkout", "channel", "transaction", "store")
METADATA = "metadata."
"""The beginning of a placeholder of attributes: what follows is a key of the metadata of the checkout or order."""

_PLACEHOLDER = re.compile(r"\{(\w+|metadata\.[^{}\s]+)\}")


class TemplateError(ValueError):
    """A template that would not be rendered as its author meant; the message states what is wrong."""


def check_template(template: str) -> None:
    """Raise TemplateError for a description that would not be rendered as written."""
    if not template.strip() or not template.isprintable():
        raise TemplateError("a description is printable text in one line")
    if len(template) > LONGEST_TEMPLATE:
        raise TemplateError(f"a description has at most {LONGEST_TEMPLATE} characters, this has {len(template)}")
    _check_placeholders(template, metadata=False)


def check_attribute(line: str) -> None:
    """Raise TemplateError for an attribute, like ``delivery={metadata.delivery}``, that the gateway would not take."""
    key, separator, template = (part.strip() for part in line.partition("="))
    if not separator or not key or not template:
        raise TemplateError(f"{line!r} is not an attribute: write it like delivery={{metadata.delivery}}")
    if not line.isprintable() or len(line) > LONGEST_TEMPLATE:
        raise TemplateError(f"an attribute is printable text of at most {LONGEST_TEMPLATE} characters")
    _check_placeholders(template, metadata=True)
    try:
        Attribute(key=key, value=_PLACEHOLDER.sub("", template)[:1])
    except InvalidRequestError as exc:
        raise TemplateError(f"{key!r} cannot be the key of an attribute: {exc.limit}") from None


def _check_placeholders(template: str, *, metadata: bool) -> None:
    known = ", ".join(f"{{{name}}}" for name in (*PLACEHOLDERS, *([f"{METADATA}KEY"] if metadata else [])))
    for name in _PLACEHOLDER.findall(template):
        if name not in PLACEHOLDERS and not (metadata and name.startswith(METADATA)):
            raise TemplateError(f"there is no {{{name}}}; there are {known}")
    if re.search(r"[{}]", _PLACEHOLDER.sub("", template)):
        raise TemplateError(f"braces stand around placeholders only; there are {known}")


def description_of(event: SessionEvent, template: str | None, order_id: str, store: str) -> str:
    """Return the description of the payment. ``store`` is the value of ``{store}``; ``order_id`` is the gateway's."""
    number = event.source.number
    return render_description(
        template, _values(event, order_id, store), f"Order {number}" if number else f"Payment {order_id}"
    )


def render_description(template: str | None, values: Mapping[str, str], default: str) -> str:
    """Return the description, at most 2048 characters; ``default`` when there is no template or its result is empty.

    ``values`` are those of ``PLACEHOLDERS``; one without a value is left out. Never fails: a shopper is paying.
    """
    return _render(template or "", values)[:LONGEST_DESCRIPTION] or default[:LONGEST_DESCRIPTION]


def attributes_of(event: SessionEvent, own: Sequence[str], order_id: str, store: str) -> list[Attribute]:
    """Return the attributes that staff can search for, at most 20 (gateway interface, Payment attributes).

    ``own`` are the store's, as ``check_attribute`` accepts them, and come first; one without a value is left out.
    """
    metadata = {f"{METADATA}{item.key}": item.value for item in event.source.metadata}
    values = metadata | _values(event, order_id, store)
    texts: dict[str, str] = {}
    for line in own:
        key, _, template = (part.strip() for part in line.partition("="))
        if text := _render(template, values):
            texts[key] = text
    for name, value in _references(event).items():
        texts.setdefault(f"saleor_{name}", value)
    return [Attribute.fitting(key, text) for key, text in texts.items()][:MOST_ATTRIBUTES]


def payload_of(event: SessionEvent) -> str:
    """Return our references as compact JSON, at most 4000 characters (gateway interface, Limits)."""
    references = {name: value[:_LONGEST_REFERENCE] for name, value in _references(event).items()}
    app = {"app": event.recipient.identifier[:_LONGEST_REFERENCE]} if event.recipient.identifier else {}
    return json.dumps(references | app, ensure_ascii=False, separators=(",", ":"))


def _render(template: str, values: Mapping[str, str]) -> str:
    text = _PLACEHOLDER.sub(lambda found: values.get(found[1], ""), template)
    return one_line(text)


def _values(event: SessionEvent, order_id: str, store: str) -> dict[str, str]:
    return {
        "order": event.source.number or order_id,
        "checkout": "" if isinstance(event.source, Order) else event.source.id,
        "channel": event.source.channel.slug,
        "transaction": event.transaction.id,
        "store": store,
    }


def _references(event: SessionEvent) -> dict[str, str]:
    """Return Saleor's ids and numbers for what is paid, without those that are missing."""
    source = event.source
    source_ids = (
        {"order": source.number, "order_id": source.id} if isinstance(source, Order) else {"checkout": source.id}
    )
    references = {"transaction": event.transaction.id, **source_ids, "channel": source.channel.slug}
    return {name: value for name, value in references.items() if value}
