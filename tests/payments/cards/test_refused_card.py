"""When the gateway refuses a saved card itself, and not the payment with it."""

from typing import Any

import pytest

from app.core.vocabulary import Flow, State
from app.rules.saved_cards import is_card_refused, update_cards
from gateway_client.errors import RefusedError, Violation
from tests.payments.aggregates import NOON, an_aggregate


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


@pytest.mark.parametrize(
    ("ended", "code", "is_refused"),
    [
        (State.FAILURE, "4001", True),
        (State.FAILURE, "4009", False),
        (State.PENDING, "4001", False),  # the bank may still accept it
        (None, "4001", False),  # a repeat says nothing new: the card may have been accepted since
    ],
)
def test_card_is_offered_no_more_once_a_payment_has_failed_for_it(
    ended: State | None, code: str, *, is_refused: bool
) -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.PENDING if ended is State.PENDING else State.FAILURE)
    aggregate.payment.saved_card_id, aggregate.create.status_code = "card", code
    update_cards(aggregate, None, None, NOON, ended=ended)
    assert [card.since for card in aggregate.refused_cards] == [NOON] * is_refused
