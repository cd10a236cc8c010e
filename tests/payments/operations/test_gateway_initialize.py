"""What a storefront is told before a shopper chooses to pay with us."""

from typing import Any

import pytest

from app.flows.gateway_initialize import answer_gateway_initialize
from saleor_app_sdk.events import PaymentGatewayInitializeSession
from tests.payments.shop import Shop, source_object


def event(data: Any = None, **changed: Any) -> PaymentGatewayInitializeSession:
    return PaymentGatewayInitializeSession.model_validate(
        {
            "issuedAt": "2026-11-21T12:00:00+00:00",
            "recipient": {"id": "QXBwOjE=", "identifier": "gateway.payments.app"},
            "sourceObject": source_object(**changed),
            "amount": None,
            "data": data,
        }
    )


async def test_how_a_checkout_can_be_paid(shop: Shop) -> None:
    answer = await answer_gateway_initialize(shop.services, event(), shop.installation)
    assert answer.data == {
        "available": True,
        "mode": "hosted",
        "modes": ["hosted"],
        "flows": ["CHARGE", "AUTHORIZATION"],
        "currencies": ["UAH"],
        "expiresInSeconds": 3600,
        "subscriptions": False,
        "saveCard": False,
    }
    assert shop.gateway.requests == []


@pytest.mark.parametrize(
    ("channel", "code"),
    [
        ({"slug": "pln", "currencyCode": "PLN"}, "CHANNEL_NOT_MAPPED"),
        ({"slug": "uah", "currencyCode": "PLN"}, "CURRENCY_NOT_SUPPORTED"),
    ],
)
async def test_why_it_cannot_be_paid(shop: Shop, channel: dict[str, str], code: str) -> None:
    answer = await answer_gateway_initialize(shop.services, event(channel=channel), shop.installation)
    assert answer.data["available"] is False
    assert [error["code"] for error in answer.data["errors"]] == [code]
