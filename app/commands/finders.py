"""Finds what an operator refers to: a Saleor by its address, an account by its id or name, a payment by any name."""

from sqlmodel.ext.asyncio.session import AsyncSession

from app.commands.failure import CommandFailed
from app.core.payment import PaymentAggregate
from app.reports.search_query import any_name
from app.services import Services
from app.store.aggregates import load_aggregates
from app.store.installations import OpenInstallation
from app.store.search import find_by_name
from app.store.tables import MerchantAccount


async def find_installation(services: Services, saleor: str | None) -> OpenInstallation:
    """Return the installation of that Saleor; the only installation when none is named. Raises CommandFailed."""
    installations = await services.installations.all()
    known = ", ".join(installation.saleor_api_url for installation in installations)
    if not installations:
        raise CommandFailed(
            "no store has installed this app yet: install it in the Saleor Dashboard, from "
            f"{services.addresses.base_url}/api/manifest"
        )
    if saleor is None:
        if len(installations) > 1:
            raise CommandFailed(f"several stores have installed this app: choose one with --saleor ({known})")
        return installations[0]
    address = saleor.strip().rstrip("/")
    matches = {f"{address}/", f"{address}/graphql/"}
    for installation in installations:
        if installation.saleor_api_url in matches:
            return installation
    raise CommandFailed(f"the store {saleor!r} has not installed this app; these have: {known}")


async def find_account(services: Services, reference: str) -> MerchantAccount:
    """Return the account with that id, otherwise the only one with that name. Raises CommandFailed."""
    accounts = await services.accounts.all()
    named = [account for account in accounts if account.name.casefold() == reference.casefold()]
    matches = [account for account in accounts if account.id == reference] or named
    if not matches:
        raise CommandFailed(f"there is no merchant account {reference!r}: `saleor-gateway accounts list` shows them")
    if len(matches) > 1:
        ids = ", ".join(match.id for match in matches)
        raise CommandFailed(f"several merchant accounts are named {reference!r}: use one of their IDs ({ids})")
    return matches[0]


async def find_payments(session: AsyncSession, reference: str, *, kind: str = "payment") -> list[PaymentAggregate]:
    """Return the payments that this reference names, the newest first. Raises CommandFailed if there are none.

    ``kind`` is what the operator looks for: a payment or a payout.
    """
    named = await find_by_name(session, any_name(reference.strip()))
    aggregates: list[PaymentAggregate] = [*await load_aggregates(session, named)]
    if not aggregates:
        raise CommandFailed(
            f"there is no {kind} {reference!r}: use an order ID, an order number, a transaction or a reference; "
            f"`saleor-gateway {kind}s list` shows the newest"
        )
    return aggregates


async def find_payment(session: AsyncSession, reference: str, *, kind: str = "payment") -> PaymentAggregate:
    """Return the only payment or payout that this reference names. Raises CommandFailed."""
    aggregates = await find_payments(session, reference, kind=kind)
    if len(aggregates) > 1:
        orders = ", ".join(aggregate.payment.order_id for aggregate in aggregates)
        raise CommandFailed(f"several payments match {reference!r}: use one of their gateway orders ({orders})")
    return aggregates[0]
