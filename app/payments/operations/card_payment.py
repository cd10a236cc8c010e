"""A card typed into the storefront is opened, to be sent on to the gateway as a direct payment.

The card lives in memory for this one call. The intent that is committed before it holds everything but the card, so
a call whose outcome is not known is looked up, and never sent again (laws of money, 1 and 2).
"""

import asyncio

from app.db.installations import OpenInstallation
from app.db.tables import MerchantAccount
from app.payments.cards.encrypted_card import open_sealed
from app.payments.cards.keys import opening_keys
from app.payments.cards.payment_instrument import PaymentInstrument
from app.payments.requests.direct import DirectPlan, browser_of, check_cards_taken, check_names, plan_direct
from app.payments.requests.payment import Terms, terms_of
from app.payments.services import Services
from app.saleor.events import TransactionInitializeSession, TransactionProcessSession


async def direct_request(
    services: Services,
    event: TransactionInitializeSession | TransactionProcessSession,
    installation: OpenInstallation,
    account: MerchantAccount | None,
) -> DirectPlan:
    """Return what the gateway is to be asked.

    Everything else is checked before the card is opened. Raises RefusalError.
    """
    terms = terms_of(event, account, services.addresses, installation.saleor_api_url)
    check_cards_taken(terms.account)
    check_names(terms)
    browser = browser_of(terms, event.customer_ip_address)
    return plan_direct(terms, browser, await _opened(services, terms, installation, event.source.id))


async def _opened(
    services: Services, terms: Terms, installation: OpenInstallation, source_id: str
) -> PaymentInstrument:
    now, book = services.now(), services.card_keys.of(installation.id)
    keys = {key.kid: key for key in await opening_keys(book, now)}

    def private_jwk(kid: str) -> str | None:
        return book.private_jwk(keys[kid]) if kid in keys else None

    sealed = terms.data.card or ""
    # Reading the key and opening with it takes the processor a moment, in which others are served.
    return await asyncio.to_thread(
        open_sealed, sealed, private_jwk, paid_for=source_id, language=terms.language, now=now
    )
