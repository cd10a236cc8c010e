"""Types of values that Saleor accepts in responses and reports without refusing or failing (Saleor contract, A.4, A.7).

Over these lengths Saleor fails *after* the money moved, so they are checked before anything is sent.
"""

import re
from decimal import Decimal
from ipaddress import IPv6Address
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from integration_base.amounts import quantize_to_cents

REFERENCE_LENGTH = 512
MESSAGE_LENGTH = 512
LINK_LENGTH = 200

# Saleor validates links in reports with Django's pattern: localhost, an IP address or a name with a dot.
_HOST = re.compile(
    r"localhost|([0-9]{1,3}\.){3}[0-9]{1,3}|([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])"
)


def usable_link(url: str | None) -> str | None:
    """Return ``url`` if Saleor accepts it as ``externalUrl``, else None: a link is never worth a refused charge."""
    try:
        return None if url is None else _validate_link(url)
    except ValueError:
        return None


def _is_linked_host(host: str) -> bool:
    """Return whether Saleor takes a host in a link; an address of IPv6 comes without its brackets, and has no zone."""
    if ":" not in host:
        return _HOST.fullmatch(host) is not None
    try:
        return IPv6Address(host).scope_id is None
    except ValueError:
        return False


def _validate_link(url: str) -> str:
    if not url.isascii() or not url.isprintable() or re.search(r'[\s<>"{}|\\^`]', url):
        msg = "a link for Saleor must be plain ASCII"
        raise ValueError(msg)
    if len(url) > LINK_LENGTH:
        msg = f"a link for Saleor must have at most {LINK_LENGTH} characters"
        raise ValueError(msg)
    parts = urlsplit(url)
    port = parts.port  # raises ValueError when it is invalid
    if (
        parts.scheme not in {"http", "https"}
        or parts.username is not None
        or not _is_linked_host(parts.hostname or "")
        or (port is not None and not 10 <= port <= 65535)
    ):
        msg = "a link for Saleor must be an absolute http(s) address"
        raise ValueError(msg)
    return url


def _validate_reference(text: str) -> str:
    if not text.isprintable() or text.isspace():
        msg = "a reference must be printable"
        raise ValueError(msg)
    return text


def printable(text: str) -> str:
    """Return ``text`` with a space for each non-printable character.

    Saleor's database cannot store a NUL or half a surrogate pair: the whole response would be lost.
    """
    return "".join(character if character.isprintable() else " " for character in text)


def _clean_message(text: object) -> object:
    return printable(text)[:MESSAGE_LENGTH] if isinstance(text, str) else text


Reference = Annotated[str, Field(min_length=1, max_length=REFERENCE_LENGTH), AfterValidator(_validate_reference)]
Message = Annotated[str, BeforeValidator(_clean_message)]
Link = Annotated[str, AfterValidator(_validate_link)]
Amount = Annotated[Decimal, Field(strict=True, ge=0, lt=Decimal(10) ** 12), AfterValidator(quantize_to_cents)]
