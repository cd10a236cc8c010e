"""What is kept of a customer: whom an e-mail address leads to, the payments with it, the cards that are kept."""

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any

from app.db.aggregates import PaymentAggregate, aggregates_of
from app.db.personal import SEALED
from app.db.retention import erase_payments_of
from app.db.search import Wanted, payments_page
from app.db.tables import Operation, Payment, SavedCard
from app.db.vault import VaultError
from app.payments.core.details import Details
from app.payments.services import Services

_AT_ONCE = 200


async def payments_of(services: Services, installation_id: int, email: str) -> AsyncIterator[PaymentAggregate]:
    """Give the payments of a store that were made with that address, the newest first."""
    digests = services.emails.sought([installation_id], email)
    wanted = Wanted(installation_id=installation_id, email_digests=digests)
    last: Payment | None = None
    while True:
        async with services.database.transaction() as session:
            found = await payments_page(session, wanted, most=_AT_ONCE, after=last)
            aggregates = await aggregates_of(session, found)
        for each in aggregates:
            yield each
        if len(found) < _AT_ONCE:
            return
        last = found[-1]


async def customers_of(services: Services, installation_id: int, email: str) -> set[str]:
    """Return whom of Saleor's customers the payments with that address are of; guests are nobody's."""
    payments = payments_of(services, installation_id, email)
    asked = [opened(services, each.payment, each.create) async for each in payments]
    return {str(each["customer_id"]) for each in asked if each.get("customer_id")}


async def erase_payments_with(services: Services, installation_id: int, email: str) -> tuple[int, int]:
    """Erase what a store's finished payments with that address say of their shopper; what moved money stays.

    Return of how many, and how many are left as they were because they are not finished.
    """
    digests = services.emails.sought([installation_id], email)
    async with services.database.transaction() as session:
        return await erase_payments_of(session, installation_id, digests, services.now())


def opened(services: Services, payment: Payment, create: Operation) -> Mapping[str, Any]:
    """Return what the gateway was asked, what it says of the shopper too; nothing when that does not open."""
    try:
        return services.personal.opened(payment.transaction_id, create)
    except VaultError:
        return {}


def facts_of_payment(aggregate: PaymentAggregate) -> dict[str, Any]:
    """Return a payment for a file: of what is kept encrypted the names alone."""
    payment, create = aggregate.payment, aggregate.create
    erased_at = payment.erased_at
    return {
        "order_id": payment.order_id,
        "transaction": payment.transaction_id,
        "order_number": payment.order_number,
        "amount": payment.amount,
        "currency": payment.currency,
        "state": create.state.value,
        "card": Details.kept(create.details).card_mask or payment.saved_card_mask,
        "begun_at": _moment(payment.created_at),
        "encrypted": sorted(name for name, value in create.request.items() if value == SEALED and not erased_at),
        "erased_at": None if erased_at is None else _moment(erased_at),
    }


def facts_of_card(card: SavedCard) -> dict[str, Any]:
    """Return a saved card for a file, without its token."""
    return {
        "id": card.id,
        "customer": card.user_id,
        "account": card.account_id,
        "card": card.mask,
        "brand": card.brand,
        "kept_at": _moment(card.created_at),
        "expires_at": None if card.expires_at is None else _moment(card.expires_at),
        "usable": card.unusable_since is None,
    }


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
