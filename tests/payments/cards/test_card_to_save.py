"""A card is saved once for each consent of its owner. Pure."""

import pytest
from pydantic import SecretStr

from app.core.payment import PaymentAggregate
from app.core.vocabulary import Flow, State
from app.rules.saved_cards import CardToken, update_cards
from tests.payments.aggregates import NOON, an_aggregate

CARD = CardToken(SecretStr("token"), "424242******4242")


def record_arrives(aggregate: PaymentAggregate, card: CardToken | None = CARD) -> list[str]:
    """Return the masks of the cards that are to be saved after a record of the payment with this card."""
    update_cards(aggregate, card, lambda token, *_whose: f"sealed {token}", NOON, ended=None)
    return [saved.mask for saved in aggregate.cards_to_save]


def agreed(state: State) -> PaymentAggregate:
    """Return a payment whose owner has agreed that the card is saved."""
    aggregate = an_aggregate(Flow.CHARGE, state)
    aggregate.payment.card_owner = "customer"
    return aggregate


def test_card_is_saved_once_although_the_gateway_repeats_its_record() -> None:
    """Its owner may have deleted it in between."""
    aggregate = agreed(State.SUCCESS)
    assert record_arrives(aggregate, None) == []  # the token can come later
    assert record_arrives(aggregate) == [CARD.mask]
    assert record_arrives(aggregate) == [CARD.mask]


@pytest.mark.parametrize(("state", "saved"), [(State.PENDING, [CARD.mask]), (State.FAILURE, [])])
def test_consent_ends_with_a_payment_that_has_failed(state: State, saved: list[str]) -> None:
    aggregate = agreed(state)
    assert record_arrives(aggregate) == []
    aggregate.create.state = State.SUCCESS
    assert record_arrives(aggregate) == saved


def test_nothing_is_saved_without_consent() -> None:
    assert record_arrives(an_aggregate(Flow.CHARGE, State.SUCCESS)) == []
