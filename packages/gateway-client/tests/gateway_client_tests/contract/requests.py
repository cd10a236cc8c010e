"""What the stories ask for. Small amounts: somebody may have to pay them."""

from decimal import Decimal
from typing import Any

from gateway_client.models import DirectPayment, HostedPayment, Payout, Product, SplitItem
from gateway_client_tests.contract.harness import Harness
from gateway_client_tests.examples import CARD, direct, hosted, payout

AMOUNT = Decimal("1.50")
PARTS = (Decimal("1.00"), Decimal("0.50"))


def a_page(harness: Harness, name: str, **changes: Any) -> HostedPayment:
    """A payment on the gateway's page."""
    return hosted(**_common(harness, name) | changes)


def a_card(harness: Harness, name: str, **changes: Any) -> DirectPayment:
    """A payment with a card, unless a token or a cryptogram is given."""
    means = CARD if changes.keys().isdisjoint({"cc_token", "cryptogram"}) else {}
    return direct(**_common(harness, name) | means | changes)


def a_payout(harness: Harness, name: str, **changes: Any) -> Payout:
    """Money sent to a card."""
    return payout(**_common(harness, name) | changes)


def shares(harness: Harness) -> list[SplitItem]:
    """``AMOUNT`` for two sub-merchants, each with the product that it sells."""
    return [
        SplitItem(
            sub_merchant_id=payee, amount=part, products=(Product(id=f"mug-{part}", name="Mug", amount=part, qty=1),)
        )
        for payee, part in zip(harness.sub_merchants, PARTS, strict=True)
    ]


def _common(harness: Harness, name: str) -> dict[str, Any]:
    return {
        "order_id": harness.order_id(name),
        "amount": AMOUNT,
        "currency": harness.currency,
        "server_url": harness.webhooks.url,
    }
