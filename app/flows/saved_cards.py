"""Saved cards of customers: lists them, finds them for payments, and deletes them on request, or with the customer.

The customer is always taken from an event that Saleor has signed, never from a storefront.
"""

import structlog

from app.core.payment import row_id_of
from app.reports.customers import running_subscriptions_of
from app.rules.decisions.subscription_end import CustomerWasDeleted
from app.rules.refusal import RefusalCode, RefusalError, shopper_message_of
from app.services import Services
from app.store.aggregates import ById
from app.store.installations import OpenInstallation
from app.store.tables import MerchantAccount, SavedCard
from app.store.vault import VaultError
from saleor_app_sdk.events import CustomerEvent, ListStoredPaymentMethods, StoredPaymentMethodDeleteRequested
from saleor_app_sdk.responses import Acknowledgement
from saleor_app_sdk.stored_methods import MethodDeletedResponse, StoredCard, StoredMethodsResponse

log = structlog.get_logger(__name__)

_NO_SUCH_CARD = "There is no such saved card."  # for the storefront's developer: Saleor does not document who reads it


async def list_saved_cards(
    services: Services, event: ListStoredPaymentMethods, installation: OpenInstallation
) -> StoredMethodsResponse:
    """Return the cards that the customer can pay with in the event's channel, newest first."""
    account = await services.accounts.for_channel(installation.id, event.channel.slug, event.channel.id)
    if account is None or not account.enabled or not account.saved_cards:
        return StoredMethodsResponse()
    cards = await services.saved_cards.usable_cards(installation.id, account.id, event.user.id, services.now())
    return StoredMethodsResponse(cards=tuple(_to_stored_card(card) for card in cards))


async def delete_saved_card(
    services: Services, event: StoredPaymentMethodDeleteRequested, installation: OpenInstallation
) -> MethodDeletedResponse:
    """Delete a card of the customer. Another customer's card gets the same response as one that does not exist.

    Independent of the store's current settings: owners can delete a card even where it cannot be used to pay.
    """
    if await services.saved_cards.delete(installation.id, event.user.id, event.payment_method_id):
        return MethodDeletedResponse.deleted()
    return MethodDeletedResponse.failure(_NO_SUCH_CARD)


async def delete_customer_cards(
    services: Services, event: CustomerEvent, installation: OpenInstallation
) -> Acknowledgement:
    """Delete all cards of a deleted customer, and save none from payments in progress. Payment records stay.

    So do subscriptions: staff are shown those that go on, of payments with the customer's present address.
    """
    forgotten = await services.saved_cards.delete_customer(installation.id, event.user.id, services.now())
    log.info("customer.deleted", saleor=installation.saleor_api_url, cards=forgotten.cards, consents=forgotten.consents)
    if event.user.email:  # a Saleor that has not fetched this version's subscription sends none
        async for payment in running_subscriptions_of(services, installation.id, event.user.email):
            deleted = CustomerWasDeleted(services.decision_context())
            await services.payments.record(ById(row_id_of(payment)), deleted)
    return Acknowledgement()


async def get_saved_card(
    services: Services, account: MerchantAccount, user_id: str | None, card_id: str, language: str
) -> tuple[SavedCard, str]:
    """Return a customer's card by its id in the storefront, and its token; ``user_id`` None: the requester has none.

    Raises RefusalError. The error is the same for a card that does not exist, belongs to another customer, account or
    store, has expired, is refused by the gateway or cannot be decrypted, and for a store that saves no cards any more.
    """
    card = None
    if user_id is not None and account.saved_cards:
        store, now = account.installation_id, services.now()
        card = await services.saved_cards.find(store, account.id, user_id, card_id, now)
    token = None if card is None else open_token(services, card)
    if card is None or token is None:
        raise RefusalError(
            RefusalCode.SAVED_CARD_UNUSABLE,
            "The shopper has no saved card with that id that can be used here: nothing was sent to the gateway.",
            "data.savedCardId",
            shopper_message=shopper_message_of(RefusalCode.SAVED_CARD_UNUSABLE, language),
        )
    return card, token


def open_token(services: Services, card: SavedCard) -> str | None:
    """Return the gateway's token of a card; None when no key decrypts it."""
    try:
        return services.saved_cards.open_token(card)
    except VaultError as error:
        log.error("saved_card.not_opened", account=card.account_id, error=str(error))  # noqa: TRY400 - the message suffices
        return None


def _to_stored_card(card: SavedCard) -> StoredCard:
    brand, last_digits = card.brand or "Card", card.mask[-4:]
    expires = None if card.expires_at is None else (card.expires_at.year, card.expires_at.month)
    return StoredCard(
        id=card.id, name=f"{brand} ****{last_digits}", brand=brand, last_digits=last_digits, expires=expires
    )
