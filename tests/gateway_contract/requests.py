"""What the stories ask for. Small amounts: somebody may have to pay them."""

from decimal import Decimal
from typing import Any

from app.gateway.models import DirectPayment, HostedPayment, Payout, SplitItem
from tests.gateway.examples import CARD, direct, hosted, payout
from tests.gateway_contract.stage import Stage

AMOUNT = Decimal("1.50")
PARTS = (Decimal("1.00"), Decimal("0.50"))


def a_page(stage: Stage, name: str, **changes: Any) -> HostedPayment:
    """A payment on the gateway's page."""
    return hosted(**_common(stage, name) | changes)


def a_card(stage: Stage, name: str, **changes: Any) -> DirectPayment:
    """A payment with a card, unless a token is given."""
    means = {} if "cc_token" in changes else CARD
    return direct(**_common(stage, name) | means | changes)


def a_payout(stage: Stage, name: str, **changes: Any) -> Payout:
    """Money sent to a card."""
    return payout(**_common(stage, name) | changes)


def shares(stage: Stage) -> list[SplitItem]:
    """``AMOUNT`` for two sub-merchants."""
    return [
        SplitItem(sub_merchant_id=payee, amount=part) for payee, part in zip(stage.sub_merchants, PARTS, strict=True)
    ]


def _common(stage: Stage, name: str) -> dict[str, Any]:
    return {
        "order_id": stage.order_id(name),
        "amount": AMOUNT,
        "currency": stage.currency,
        "server_url": stage.webhooks.url,
    }
