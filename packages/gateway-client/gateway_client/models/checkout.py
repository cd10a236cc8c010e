"""Where the shopper pays (gateway interface, 1b: the ``location`` of the 303, and the QR page beside it)."""

from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from gateway_client.models.values import absolute_url


@dataclass(frozen=True, slots=True)
class Checkout:
    """The hosted page and the page that shows it as a QR code. ``None``: neither given nor derivable.

    ``payment_id`` is set only if the gateway sends it along with the link (the interface's 303 does not).
    """

    checkout_url: str | None
    qr_url: str | None
    payment_id: str | None = None

    @classmethod
    def from_form(cls, url: str, *, payment_id: str | None = None) -> "Checkout":
        """Return the checkout of a checkout URL. Raises ``ValueError`` unless it is an absolute http(s) address."""
        return cls(absolute_url(url), _replace_last_segment(url, "form", "qr"), payment_id)

    @classmethod
    def from_qr(cls, url: str, *, payment_id: str | None = None) -> "Checkout":
        """Return the checkout of a QR page's URL. Raises ``ValueError`` unless it is an absolute http(s) address."""
        return cls(_replace_last_segment(url, "qr", "form"), absolute_url(url), payment_id)


def _replace_last_segment(url: str, last: str, other: str) -> str | None:
    """Return ``url`` with the last segment of its path replaced by ``other``; None if it is not ``last``."""
    parts = urlsplit(url)
    if not parts.path.endswith(f"/{last}"):
        return None
    return urlunsplit(parts._replace(path=parts.path.removesuffix(last) + other))
