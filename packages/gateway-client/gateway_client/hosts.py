"""The gateway's hosts. The interface names none; its operators differ in address, scheme of keys and webhook sender.

Presets only help to fill in a form: the values entered there take precedence. Addresses are validated here: those
of the gateway itself, of its payment pages (gateway interface, 1b) and of our webhooks.
"""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import unquote, urljoin, urlsplit

from gateway_client.dialect import DialectName
from gateway_client.errors import InvalidRequestError
from gateway_client.models.values import absolute_url
from integration_base.outbound import is_private

# Ports to which webhooks are sent without an arrangement with the provider (gateway interface, Limits).
WEBHOOK_PORTS = frozenset({443, 8443})

# The gateway's API paths: nothing below them is a page, except the pages of a checkout.
_API_PATHS = ("/api/v1", "/streaming-report")
_CHECKOUT_PATH = "/api/v1/checkout/"


@dataclass(frozen=True, slots=True)
class KnownGateway:
    """The published addresses of one operator of this interface.

    ``register_url`` is ``None`` where no host is published: then the payments host is tried.
    """

    name: str
    base_url: str
    balances_url: str
    register_url: str | None
    scheme_word: str
    webhook_senders: tuple[str, ...]
    dialect: DialectName = DialectName.PUBLIC


KNOWN_GATEWAYS: Mapping[str, KnownGateway] = MappingProxyType(
    {
        "tranzzo": KnownGateway(
            name="Tranzzo",
            base_url="https://cpay.tranzzo.com",
            balances_url="https://api.tranzzo.com",
            register_url=None,
            scheme_word="CPAY",
            webhook_senders=("35.187.74.148",),
        ),
        "finline": KnownGateway(
            name="Financial Line",
            base_url="https://api.finline.io",
            balances_url="https://api.finline.io",
            register_url=None,
            scheme_word="CPAY",
            webhook_senders=(),
        ),
    }
)


def safe_base_url(field: str, url: str) -> str:
    """Return ``url`` without a trailing slash. Raises ``InvalidRequestError`` if no request with keys may go there.

    It must be absolute, without query, fragment, user or password. Plain http is for this machine and private
    networks only, because every request contains the keys.
    """
    try:
        parts = urlsplit(absolute_url(url))
    except ValueError as refusal:
        raise InvalidRequestError(field, str(refusal), _displayable(url)) from None
    if parts.query or parts.fragment or "?" in url or "#" in url or "@" in parts.netloc:
        raise InvalidRequestError(field, "no query, fragment, user or password in it", _displayable(url))
    if not url.isprintable():
        raise InvalidRequestError(field, "printable characters only", ascii(_displayable(url)))
    if parts.scheme == "http" and not is_private(parts.hostname or ""):
        raise InvalidRequestError(field, "https, unless it is this machine or a private network", _displayable(url))
    return url.rstrip("/")


def check_payment_page(url: str, base_url: str) -> str:
    """Return ``url`` if the gateway at ``base_url`` may send shoppers there. Raises ``ValueError`` otherwise.

    It must be an https address (http only where the gateway itself is reached over http, and only on this machine or a
    private network) without user or password, and no address of the interface other than a checkout's.
    """
    parts = urlsplit(absolute_url(url))
    http_allowed = base_url.startswith("http:") and is_on_private_network(url)
    if "@" in parts.netloc or not (parts.scheme == "https" or http_allowed):
        raise ValueError("an https address")
    path = posixpath.normpath(unquote(parts.path)).lower()
    is_api_path = any(f"{path}/".find(f"{api_path}/") >= 0 for api_path in _API_PATHS)
    if is_api_path and _CHECKOUT_PATH not in path:
        raise ValueError("an address for people, not one of the interface")
    return url


def resolve_location(location: str, request_url: str) -> str:
    """Return a ``Location`` as an absolute address: HTTP allows it to be relative to the request's (RFC 9110, 10.2.2).

    One that names a scheme or a host, or has what only browsers overlook, is returned as it is, for the check of it.
    """
    try:
        parts = urlsplit(location)
    except ValueError:
        return location
    is_relative = bool(location) and not parts.scheme and not parts.netloc
    is_read_alike = location.isprintable() and "\\" not in location and " " not in location
    return urljoin(request_url, location) if is_relative and is_read_alike else location


def is_webhook_reachable(url: str) -> bool:
    """Return True if the gateway delivers webhooks to ``url`` without an arrangement: https on port 443 or 8443."""
    try:
        parts = urlsplit(absolute_url(url))
    except ValueError:
        return False
    return parts.scheme == "https" and (parts.port or 443) in WEBHOOK_PORTS and not is_private(parts.hostname or "")


def is_on_private_network(url: str) -> bool:
    """Return True if ``url`` names this machine or a private network, judging by its text alone: no name is resolved.

    An invalid URL counts as private.
    """
    try:
        return is_private(urlsplit(absolute_url(url)).hostname or "")
    except ValueError:
        return True


def _displayable(url: str) -> str:
    """Return ``url`` safe to show: without anything before an ``@``."""
    return url.rpartition("@")[2][:100]
