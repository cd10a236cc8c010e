"""The data stored about a customer: the customers and payments of an e-mail address, and their saved cards."""

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any

from app.core.payment import Operation, Payment, PaymentAggregate
from app.rules.details import Details
from app.rules.subscription import has_running_subscription
from app.services import Services
from app.store.aggregates import load_aggregates
from app.store.personal import SEALED
from app.store.retention import erase_payments_of_shopper
from app.store.search import PaymentFilter, payments_page
from app.store.tables import SavedCard
from app.store.vault import VaultError

_BATCH_SIZE = 200


async def payments_by_email(services: Services, installation_id: int, email: str) -> AsyncIterator[PaymentAggregate]:
    """Yield the payments of a store that were made with that address, the newest first."""
    digests = services.emails.digests_to_search([installation_id], email)
    wanted = PaymentFilter(installation_id=installation_id, email_digests=digests)
    last: Payment | None = None
    while True:
        async with services.database.transaction() as session:
            found = await payments_page(session, wanted, most=_BATCH_SIZE, after=last)
            aggregates = await load_aggregates(session, found)
        for aggregate in aggregates:
            yield aggregate
        if len(found) < _BATCH_SIZE:
            return
        last = found[-1]


async def customer_ids_of(services: Services, installation_id: int, email: str) -> set[str]:
    """Return the ids of the Saleor customers whose payments have that address; guests have no id."""
    payments = payments_by_email(services, installation_id, email)
    requests = [open_request(services, payment.payment, payment.create) async for payment in payments]
    return {str(request["customer_id"]) for request in requests if request.get("customer_id")}


async def erase_payments_by_email(services: Services, installation_id: int, email: str) -> tuple[int, int]:
    """Erase the shopper's data from a store's finished payments with that address; records of money moved stay.

    Return how many payments were erased, and how many are unchanged because they are not finished.
    """
    digests = services.emails.digests_to_search([installation_id], email)
    async with services.database.transaction() as session:
        return await erase_payments_of_shopper(session, installation_id, digests, services.now())


async def running_subscriptions_of(services: Services, installation_id: int, email: str) -> AsyncIterator[Payment]:
    """Yield the payments with that address which have begun a subscription that is not cancelled."""
    async for aggregate in payments_by_email(services, installation_id, email):
        if has_running_subscription(aggregate.payment):
            yield aggregate.payment


def open_request(services: Services, payment: Payment, create: Operation) -> Mapping[str, Any]:
    """Return the request to the gateway with the shopper's data opened; an empty mapping when that does not open."""
    try:
        return services.personal.open_request(payment.transaction_id, create)
    except VaultError:
        return {}


def facts_of_payment(aggregate: PaymentAggregate) -> dict[str, Any]:
    """Return a payment for a file: of the members that are stored encrypted, only their names."""
    payment, create = aggregate.payment, aggregate.create
    erased_at = payment.erased_at
    return {
        "order_id": payment.order_id,
        "transaction": payment.transaction_id,
        "order_number": payment.order_number,
        "amount": payment.amount,
        "currency": payment.currency,
        "state": create.state.value,
        "card": Details.from_row(create.details).card_mask or payment.saved_card_mask,
        "begun_at": _format_moment(payment.created_at),
        "encrypted": sorted(name for name, value in create.request.items() if value == SEALED and not erased_at),
        "erased_at": None if erased_at is None else _format_moment(erased_at),
    }


def facts_of_card(card: SavedCard) -> dict[str, Any]:
    """Return a saved card for a file, without its token."""
    return {
        "id": card.id,
        "customer": card.user_id,
        "account": card.account_id,
        "card": card.mask,
        "brand": card.brand,
        "kept_at": _format_moment(card.created_at),
        "expires_at": None if card.expires_at is None else _format_moment(card.expires_at),
        "usable": card.unusable_since is None,
    }


def _format_moment(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
