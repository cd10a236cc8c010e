"""What the stories ask for. Small amounts: somebody may have to pay them."""

from decimal import Decimal
from typing import Any

from app.gateway.models import DirectPayment, HostedPayment, Payout, SplitItem
from tests.gateway.examples import CARD, direct, hosted, payout
from tests.gateway_contract.harness import Harness

AMOUNT = Decimal("1.50")
PARTS = (Decimal("1.00"), Decimal("0.50"))


def a_page(harness: Harness, name: str, **changes: Any) -> HostedPayment:
    """A payment on the gateway's page."""
    return hosted(**_common(harness, name) | changes)


def a_card(harness: Harness, name: str, **changes: Any) -> DirectPayment:
    """A payment with a card, unless a token is given."""
    means = {} if "cc_token" in changes else CARD
    return direct(**_common(harness, name) | means | changes)


def a_payout(harness: Harness, name: str, **changes: Any) -> Payout:
    """Money sent to a card."""
    return payout(**_common(harness, name) | changes)


def shares(harness: Harness) -> list[SplitItem]:
    """``AMOUNT`` for two sub-merchants."""
    return [
        SplitItem(sub_merchant_id=payee, amount=part) for payee, part in zip(harness.sub_merchants, PARTS, strict=True)
    ]


def _common(harness: Harness, name: str) -> dict[str, Any]:
    return {
        "order_id": harness.order_id(name),
        "amount": AMOUNT,
        "currency": harness.currency,
        "server_url": harness.webhooks.url,
    }
