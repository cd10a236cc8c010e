"""A card typed into the storefront is opened, to be sent on to the gateway as a direct payment.

The card lives in memory for this one call. The intent that is committed before it holds everything but the card, so
a call whose outcome is not known is looked up, and never sent again (laws of money, 1 and 2).
"""

import asyncio

from app.ledger.installations import OpenInstallation
from app.ledger.tables import MerchantAccount
from app.payments.cards.keys import opening_keys
from app.payments.cards.means import Means
from app.payments.cards.sealed_card import open_sealed
from app.payments.desk import Desk
from app.payments.plan.direct import DirectPlan, browser_of, check_cards_taken, check_names, plan_direct
from app.payments.plan.terms import Terms, terms_of
from app.saleor.events import TransactionInitializeSession, TransactionProcessSession


async def direct_request(
    desk: Desk,
    event: TransactionInitializeSession | TransactionProcessSession,
    installation: OpenInstallation,
    account: MerchantAccount | None,
) -> DirectPlan:
    """Return what the gateway is to be asked. Everything else is checked before the card is opened. Raises Refusal."""
    terms = terms_of(event, account, desk.addresses, installation.saleor_api_url)
    check_cards_taken(terms.account)
    check_names(terms)
    browser = browser_of(terms, event.customer_ip_address)
    return plan_direct(terms, browser, await _opened(desk, terms, installation, event.source.id))


async def _opened(desk: Desk, terms: Terms, installation: OpenInstallation, source_id: str) -> Means:
    now, book = desk.now(), desk.card_keys.of(installation.id)
    keys = {key.kid: key for key in await opening_keys(book, now)}

    def private_jwk(kid: str) -> str | None:
        return book.private_jwk(keys[kid]) if kid in keys else None

    sealed = terms.data.card or ""
    # Reading the key and opening with it takes the processor a moment, in which others are served.
    return await asyncio.to_thread(
        open_sealed, sealed, private_jwk, paid_for=source_id, language=terms.language, now=now
    )
