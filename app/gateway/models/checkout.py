"""Where the shopper pays (gateway interface, 1b: the ``location`` of the 303, and the QR page beside it)."""

from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from app.gateway.models.values import absolute_url


@dataclass(frozen=True, slots=True)
class Checkout:
    """The hosted page and the page that shows it as a QR code. ``None``: not told and not to be derived.

    ``payment_id`` is there only if the gateway names it along with the link (the interface's 303 does not).
    """

    checkout_url: str | None
    qr_url: str | None
    payment_id: str | None = None

    @classmethod
    def from_form(cls, url: str, *, payment_id: str | None = None) -> "Checkout":
        """Of the checkout URL. ``ValueError`` unless it is an absolute http(s) address."""
        return cls(absolute_url(url), _swapped(url, "form", "qr"), payment_id)

    @classmethod
    def from_qr(cls, url: str, *, payment_id: str | None = None) -> "Checkout":
        """Of the QR page's URL. ``ValueError`` unless it is an absolute http(s) address."""
        return cls(_swapped(url, "qr", "form"), absolute_url(url), payment_id)


def _swapped(url: str, last: str, other: str) -> str | None:
    """``url`` with the last step of its path replaced, if that is ``last``."""
    parts = urlsplit(url)
    if not parts.path.endswith(f"/{last}"):
        return None
    return urlunsplit(parts._replace(path=parts.path.removesuffix(last) + other))
