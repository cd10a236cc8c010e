"""Which card is kept for the next time, and which kept one the gateway takes no more. Pure.

A card is kept once for each time that its owner agreed: whoever has deleted it does not find it again because the
gateway repeats itself.
"""

import re
from dataclasses import dataclass
from datetime import datetime

from pydantic import SecretStr, TypeAdapter, ValidationError

from app.db.aggregates import PaymentAggregate
from app.db.saved_cards import NewCard, RefusedCard
from app.db.tables import State
from app.gateway.errors import RefusedError
from app.gateway.models import PaymentRecord
from app.gateway.models.values import Timestamp
from app.payments.core.details import card_brand, card_mask
from app.payments.core.refusal import RefusalCode, shopper_words

_NO_TOKEN_ANY_MORE = frozenset({"4001", "4144"})  # the card has expired, its data is wrong (gateway facts, 4)
_TOKEN = re.compile(r"[\x21-\x7e]{1,512}")
_MOMENT: TypeAdapter[datetime] = TypeAdapter(Timestamp)


@dataclass(frozen=True, slots=True)
class CardToken:
    """What a payment like this one can be made with again (gateway interface, Payment record: ``cc_token``).

    ``mask`` is the card's, ``424242******4242``. ``expires_at`` is the token's end; None when the gateway says none.
    """

    token: SecretStr
    mask: str
    expires_at: datetime | None = None


def token_in(record: PaymentRecord) -> CardToken | None:
    """Return the token of a record; None when there is none, or nobody could tell what card it is of."""
    mask, token = card_mask(record.cc_mask), record.cc_token
    if mask is None or token is None or not _TOKEN.fullmatch(token.get_secret_value()):
        return None
    return CardToken(token, mask, _moment(record.cc_token_expiration))


def mind_card(
    aggregate: PaymentAggregate, card: CardToken | None, new_card: NewCard | None, now: datetime, ended: State | None
) -> None:
    """Follow with cards what the gateway says of a payment; ``ended``: the state to which that has just come."""
    keep_card(aggregate, card, new_card, now)
    if ended is State.FAILURE and aggregate.create.status_code in _NO_TOKEN_ANY_MORE:
        refuse_card(aggregate, now)


def is_refused(error: RefusedError) -> bool:
    """Return True when the gateway refuses the token itself, and not the payment."""
    if error.status_code in _NO_TOKEN_ANY_MORE or error.code in _NO_TOKEN_ANY_MORE:
        return True
    return any(each.field == "cc_token" for each in error.violations)


def refuse_card(aggregate: PaymentAggregate, now: datetime) -> None:
    """Offer a saved card no more, and tell its owner: a payment with it has failed because of it."""
    payment = aggregate.payment
    if payment.saved_card_id is None:
        return
    aggregate.refused_cards.append(RefusedCard(payment.saved_card_id, payment.created_at, now))
    aggregate.create.shopper_message = shopper_words(RefusalCode.SAVED_CARD_UNUSABLE, payment.language)


def keep_card(aggregate: PaymentAggregate, card: CardToken | None, new_card: NewCard | None, now: datetime) -> None:
    """Keep the card that a payment was made with, if its owner agreed and nobody has kept it yet."""
    payment, create = aggregate.payment, aggregate.create
    if payment.card_owner is None or not create.state.final or create.inferred:
        return
    if create.state is State.SUCCESS:
        if card is None or new_card is None:
            return  # the token can come with a later word of the gateway's
        row = new_card(
            payment,
            payment.card_owner,
            token=card.token.get_secret_value(),
            mask=card.mask,
            brand=card_brand(card.mask),
            expires_at=card.expires_at,
            now=now,
        )
        aggregate.kept_cards.append(row)
    payment.card_owner = None


def _moment(text: str | None) -> datetime | None:
    try:
        return None if text is None else _MOMENT.validate_python(text)
    except ValidationError:
        return None
