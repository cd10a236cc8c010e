"""Decides which cards are saved for later payments, and which saved ones the gateway no longer accepts. Pure.

A card is saved once for each consent of its owner: a card that its owner has deleted does not reappear when the gateway
repeats a record.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from pydantic import SecretStr, TypeAdapter, ValidationError

from app.core.payment import CardToSave, PaymentAggregate, RefusedCard, SealToken
from app.core.vocabulary import State
from app.rules.details import card_brand, card_mask
from app.rules.dialects import dialect_of
from app.rules.refusal import RefusalCode, shopper_message_of
from gateway_client.errors import RefusedError
from gateway_client.models import PaymentRecord
from gateway_client.models.values import ZONE, Timestamp

_CARD_REFUSED_CODES = frozenset({"4001", "4144"})  # the card has expired, its data is wrong (gateway facts, 4)
_LONGEST_DATE = len("yyyy-MM-dd")
_TOKEN = re.compile(r"[\x21-\x7e]{1,512}")
_MOMENT: TypeAdapter[datetime] = TypeAdapter(Timestamp)


@dataclass(frozen=True, slots=True)
class CardToken:
    """The token with which a further payment can be made (gateway interface, Payment record: ``cc_token``).

    ``mask`` is the card's, ``424242******4242``. ``expiration`` is the token's end as the gateway names it, if it does.
    """

    token: SecretStr
    mask: str
    expiration: str | None = None


def card_token_of(record: PaymentRecord) -> CardToken | None:
    """Return the card token in a record; None when there is none, or its card cannot be identified."""
    mask, token = card_mask(record.cc_mask), record.cc_token
    if mask is None or token is None or not _TOKEN.fullmatch(token.get_secret_value()):
        return None
    return CardToken(token, mask, record.cc_token_expiration)


def update_cards(
    aggregate: PaymentAggregate, card: CardToken | None, seal: SealToken | None, now: datetime, *, ended: State | None
) -> None:
    """Save or refuse cards after a gateway record of a payment; ``ended``: the state that it has just reached."""
    store_card(aggregate, card, seal, now)
    if ended is State.FAILURE and aggregate.create.status_code in _CARD_REFUSED_CODES:
        mark_card_refused(aggregate, now)


def is_card_refused(error: RefusedError) -> bool:
    """Return True when the gateway refuses the token itself, not the payment."""
    if error.status_code in _CARD_REFUSED_CODES or error.code in _CARD_REFUSED_CODES:
        return True
    return any(violation.field == "cc_token" for violation in error.violations)


def mark_card_refused(aggregate: PaymentAggregate, now: datetime) -> None:
    """Stop offering the saved card because of which the payment failed, and set the message for its owner."""
    payment = aggregate.payment
    if payment.saved_card_id is None:
        return
    aggregate.refused_cards.append(RefusedCard(payment.saved_card_id, payment.created_at, now))
    aggregate.create.shopper_message = shopper_message_of(RefusalCode.SAVED_CARD_UNUSABLE, payment.language)


def store_card(aggregate: PaymentAggregate, card: CardToken | None, seal: SealToken | None, now: datetime) -> None:
    """Save the card that a payment was made with, if its owner agreed and it is not saved yet."""
    payment, create = aggregate.payment, aggregate.create
    if payment.card_owner is None or not create.state.final or create.inferred:
        return
    if create.state is State.SUCCESS:
        if card is None or seal is None:
            return  # the token can arrive with a later record
        paid_at = max(create.ended_at or now, payment.created_at)
        stated = _expires_at(card.expiration, dialect_of(payment.account).zone)
        # A token with which was just paid had not expired: such a time is none (laws of money, 15).
        expires_at = stated if stated is not None and stated > paid_at else None
        to_save = CardToSave(
            installation_id=payment.installation_id,
            account_id=payment.account_id,
            owner=payment.card_owner,
            token_sealed=seal(card.token.get_secret_value(), payment.account_id, payment.card_owner),
            mask=card.mask,
            brand=card_brand(card.mask),
            expires_at=expires_at,
            saved_at=now,
            paid_at=paid_at,
        )
        aggregate.cards_to_save.append(to_save)
    payment.card_owner = None


def _expires_at(text: str | None, zone: tzinfo) -> datetime | None:
    """Return the moment that the gateway names, in ``zone`` if it names none; a day without a time ends at its end."""
    if text is None:
        return None
    try:
        moment = _MOMENT.validate_python(text, context={ZONE: zone})
        return moment + timedelta(days=1) if len(text.strip()) <= _LONGEST_DATE else moment
    except (ValidationError, OverflowError):
        return None
