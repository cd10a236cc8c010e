"""When the gateway refuses a saved card itself, and not the payment with it."""

from typing import Any

import pytest

from app.rules.saved_cards import is_card_refused
from gateway_client.errors import RefusedError, Violation


@pytest.mark.parametrize(
    ("said", "of_card"),
    [
        ({"status_code": "4001"}, True),
        ({"code": "4144"}, True),
        ({"violations": (Violation("cc_token", "is unknown"),)}, True),
        ({"status_code": "4002", "code": "P-412"}, False),
        ({"violations": (Violation("order_amount", "is too low"),)}, False),
        ({}, False),
    ],
)
def test_wherever_the_gateway_names_the_card(said: dict[str, Any], *, of_card: bool) -> None:
    assert is_card_refused(RefusedError("refused", **said)) is of_card
