"""The cards that customers keep for the next time: shown to them, paid with, and deleted when they wish so.

Whose cards these are is Saleor's word, in an event that it has signed, and never a storefront's.
"""

import structlog

from app.db.installations import OpenInstallation
from app.db.tables import MerchantAccount, SavedCard
from app.payments.core.refusal import RefusalCode, RefusalError, shopper_words
from app.payments.services import Services
from app.saleor.answers import Acknowledgement
from app.saleor.events import CustomerEvent, ListStoredPaymentMethods, StoredPaymentMethodDeleteRequested
from app.saleor.stored_methods import MethodDeletedAnswer, StoredCard, StoredMethodsAnswer

log = structlog.get_logger(__name__)

_NO_SUCH_CARD = "There is no such saved card."  # for a storefront's developer: Saleor does not say who reads it


async def listed(
    services: Services, event: ListStoredPaymentMethods, installation: OpenInstallation
) -> StoredMethodsAnswer:
    """Answer with the cards that the customer can pay with in that channel, the newest first."""
    account = await services.accounts.for_channel(installation.id, event.channel.slug)
    if account is None or not account.enabled or not account.saved_cards:
        return StoredMethodsAnswer()
    cards = await services.saved_cards.usable(installation.id, account.id, event.user.id, services.now())
    return StoredMethodsAnswer(cards=tuple(_shown(each) for each in cards))


async def deleted(
    services: Services, event: StoredPaymentMethodDeleteRequested, installation: OpenInstallation
) -> MethodDeletedAnswer:
    """Delete a card of the customer. Another's is answered as one that nobody has.

    Whatever the store has chosen since: a card is deleted by whoever it belongs to, also where it cannot be paid with.
    """
    if await services.saved_cards.delete(installation.id, event.user.id, event.payment_method_id):
        return MethodDeletedAnswer.deleted()
    return MethodDeletedAnswer.failure(_NO_SUCH_CARD)


async def customer_deleted(services: Services, event: CustomerEvent, installation: OpenInstallation) -> Acknowledgement:
    """Delete all cards of a customer who is no more, and keep none of payments that are under way. Money stays."""
    forgotten = await services.saved_cards.forget_deleted(installation.id, event.user.id, services.now())
    log.info("customer_deleted", saleor=installation.saleor_api_url, cards=forgotten.cards, consents=forgotten.consents)
    return Acknowledgement()


async def card_of(
    services: Services, account: MerchantAccount, user_id: str | None, card_id: str, language: str
) -> SavedCard:
    """Return the card of a customer by what the storefront calls it; ``user_id`` None: nobody who has any asks.

    Raises RefusalError. It sounds the same for a card that nobody has, for somebody else's, of another account or
    store, one that has expired or is refused by the gateway, and where the store keeps none (any more).
    """
    card = None
    if user_id is not None and account.saved_cards:
        store, now = account.installation_id, services.now()
        card = await services.saved_cards.find(store, account.id, user_id, card_id, now)
    if card is None:
        raise RefusalError(
            RefusalCode.SAVED_CARD_UNUSABLE,
            "Whoever asks has no saved card of that id that can be used here: nothing was asked of the gateway.",
            "data.savedCardId",
            shopper=shopper_words(RefusalCode.SAVED_CARD_UNUSABLE, language),
        )
    return card


def _shown(card: SavedCard) -> StoredCard:
    brand, last_digits = card.brand or "Card", card.mask[-4:]
    expires = None if card.expires_at is None else (card.expires_at.year, card.expires_at.month)
    return StoredCard(
        id=card.id, name=f"{brand} ****{last_digits}", brand=brand, last_digits=last_digits, expires=expires
    )
