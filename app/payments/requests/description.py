"""What a payment is called at the gateway: the store's own words with the payment's references in them. Pure.

Shoppers read it on the payment page, staff in the merchant portal. It names no person: there is no placeholder for one.
"""

import re
from collections.abc import Mapping

LONGEST_TEMPLATE = 500
LONGEST = 2048  # gateway interface, Limits
PLACEHOLDERS = ("order", "checkout", "channel", "transaction", "store")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


class TemplateError(ValueError):
    """A template that does not say what its author meant; the message says what is wrong."""


def check_template(template: str) -> None:
    """Raise TemplateError for anything that would not turn out as written."""
    if not template.strip() or not template.isprintable():
        raise TemplateError("a description is printable text in one line")
    if len(template) > LONGEST_TEMPLATE:
        raise TemplateError(f"a description has at most {LONGEST_TEMPLATE} characters, this has {len(template)}")
    known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
    for name in _PLACEHOLDER.findall(template):
        if name not in PLACEHOLDERS:
            raise TemplateError(f"there is no {{{name}}}; there are {known}")
    if re.search(r"[{}]", _PLACEHOLDER.sub("", template)):
        raise TemplateError(f"braces stand around placeholders only; there are {known}")


def describe(template: str | None, values: Mapping[str, str], default: str) -> str:
    """Return the description, at most 2048 characters; ``default`` when there is no template or nothing comes of it.

    ``values`` are those of ``PLACEHOLDERS``; one without a value is left out. Never fails: somebody is paying.
    """
    told = _PLACEHOLDER.sub(lambda found: values.get(found[1], ""), template or "")
    return " ".join(told.split())[:LONGEST] or default[:LONGEST]
