"""Whether an address can be a page on which somebody pays (gateway interface, 1b)."""

import posixpath
from urllib.parse import unquote, urlsplit

from app.gateway.hosts import on_private_network
from app.gateway.models.values import absolute_url

# All that the gateway serves under these is for programs, but for the pages of a checkout.
_FOR_PROGRAMS = ("/api/v1", "/streaming-report")
_PAGES = "/api/v1/checkout/"


def payment_page(url: str, base_url: str) -> str:
    """``url`` if shoppers can be sent there by the gateway at ``base_url``; ``ValueError`` otherwise.

    It is an https address (http only where the gateway itself is asked over http, and on this machine or a private
    network) without user or password, and none of the interface's own but a checkout's.
    """
    parts = urlsplit(absolute_url(url))
    plain_http_is_fine = base_url.startswith("http:") and on_private_network(url)
    if "@" in parts.netloc or not (parts.scheme == "https" or plain_http_is_fine):
        raise ValueError("an https address")
    path = posixpath.normpath(unquote(parts.path)).lower()
    for_programs = any(f"{path}/".find(f"{each}/") >= 0 for each in _FOR_PROGRAMS)
    if for_programs and _PAGES not in path:
        raise ValueError("an address for people, not one of the interface")
    return url
