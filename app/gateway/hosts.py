"""Where the gateway is. The interface names no host; operators of it differ in address, keys scheme and sender.

Presets are only a help for filling in a form: whatever is entered there wins.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import urlsplit

from app.gateway.errors import InvalidRequestError
from app.gateway.models.values import absolute_url
from app.outbound import is_private

# Targets of webhooks without an arrangement with the provider (gateway interface, Limits).
WEBHOOK_PORTS = frozenset({443, 8443})


@dataclass(frozen=True, slots=True)
class KnownGateway:
    """The published addresses of one operator of this interface.

    ``register_url`` is ``None`` where no host is published: the payments host is tried then.
    """

    name: str
    base_url: str
    balances_url: str
    register_url: str | None
    scheme_word: str
    webhook_senders: tuple[str, ...]


PRESETS: Mapping[str, KnownGateway] = MappingProxyType(
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
    """``url`` without a slash at its end, if requests with keys may go there; ``InvalidRequestError`` otherwise.

    It must be absolute, without query, fragment, user or password. Plain http is for this machine and private
    networks only: the keys are in every request.
    """
    try:
        parts = urlsplit(absolute_url(url))
    except ValueError as refusal:
        raise InvalidRequestError(field, str(refusal), _plain(url)) from None
    if parts.query or parts.fragment or "?" in url or "#" in url or "@" in parts.netloc:
        raise InvalidRequestError(field, "no query, fragment, user or password in it", _plain(url))
    if parts.scheme == "http" and not is_private(parts.hostname or ""):
        raise InvalidRequestError(field, "https, unless it is this machine or a private network", _plain(url))
    return url.rstrip("/")


def reachable_by_webhook(url: str) -> bool:
    """Whether the gateway delivers webhooks to ``url`` without an arrangement: https on port 443 or 8443."""
    try:
        parts = urlsplit(absolute_url(url))
    except ValueError:
        return False
    return parts.scheme == "https" and (parts.port or 443) in WEBHOOK_PORTS and not is_private(parts.hostname or "")


def on_private_network(url: str) -> bool:
    """Whether ``url`` names this machine or a private network, by its words: nobody is asked where a name leads.

    What is no address at all counts as one.
    """
    try:
        return is_private(urlsplit(absolute_url(url)).hostname or "")
    except ValueError:
        return True


def _plain(url: str) -> str:
    """``url`` fit to be shown: nothing from before an ``@``."""
    return url.rpartition("@")[2][:100]
