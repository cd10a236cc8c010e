"""The public addresses of the app: for the gateway, for shoppers, and of the page where staff see a payment. Pure."""

from dataclasses import dataclass
from urllib.parse import quote

from saleor_app_sdk.limits import usable_link


@dataclass(frozen=True, slots=True)
class Addresses:
    """The public addresses of the app, without a trailing slash: ``base_url`` is for servers and shoppers.

    ``iframe_base_url`` is for the browsers of staff; None: the same.
    """

    base_url: str
    iframe_base_url: str | None = None

    def notifications(self, account_id: str) -> str:
        """Return the address to which the gateway sends notifications of an account's payments."""
        return f"{self.base_url}/api/webhooks/gateway/{account_id}"

    def pay_page(self, order_id: str) -> str:
        """Return the page from which a customer who received a payment link continues to the payment."""
        return f"{self.base_url}/pay/{order_id}"

    def return_page(self, order_id: str) -> str:
        """Return the address to which the gateway sends the shopper back."""
        return f"{self.base_url}/pay/return/{order_id}"

    def payment_page(self, saleor_api_url: str, order_id: str) -> str | None:
        """Return the page where staff see a payment: Saleor's ``externalUrl``. None when Saleor would reject it.

        It names the store, so that a person who opens it outside the Dashboard can be led there; unless that makes it
        too long for Saleor.
        """
        page = f"{self.iframe_base_url or self.base_url}/payments/{order_id}"
        return usable_link(f"{page}?saleorApiUrl={quote(saleor_api_url, safe=':/')}") or usable_link(page)


@dataclass(frozen=True, slots=True)
class PaymentPage:
    """The page where staff of one store see a payment."""

    addresses: Addresses
    saleor_api_url: str

    def address(self, order_id: str) -> str | None:
        """Return its address (see ``Addresses.payment_page``)."""
        return self.addresses.payment_page(self.saleor_api_url, order_id)
