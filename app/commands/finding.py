"""Finds what an operator names: a Saleor by its address, an account by its id or name, a payment by any name."""

from sqlmodel.ext.asyncio.session import AsyncSession

from app.commands.failure import CommandFailed
from app.db.aggregates import PaymentAggregate, aggregates_of
from app.db.installations import OpenInstallation
from app.db.search import called
from app.db.tables import MerchantAccount
from app.payments.services import Services
from app.payments.staff.search_query import every_name


async def find_installation(services: Services, saleor: str | None) -> OpenInstallation:
    """Return the installation of that Saleor; the only one there is when none is named. Raises CommandFailed."""
    installations = await services.installations.all()
    known = ", ".join(each.saleor_api_url for each in installations)
    if not installations:
        raise CommandFailed(
            "no Saleor has installed this app yet: install it in the Saleor Dashboard, from "
            f"{services.addresses.base_url}/api/manifest"
        )
    if saleor is None:
        if len(installations) > 1:
            raise CommandFailed(f"several Saleors have installed this app: say which with --saleor ({known})")
        return installations[0]
    address = saleor.rstrip("/")
    meant = {saleor, f"{address}/", f"{address}/graphql/"}
    for installation in installations:
        if installation.saleor_api_url in meant:
            return installation
    raise CommandFailed(f"the Saleor {saleor!r} has not installed this app; these have: {known}")


async def find_account(services: Services, given: str) -> MerchantAccount:
    """Return the account with that id, or else the only one with that name. Raises CommandFailed."""
    accounts = await services.accounts.all()
    named = [each for each in accounts if each.name.casefold() == given.casefold()]
    meant = [each for each in accounts if each.id == given] or named
    if not meant:
        raise CommandFailed(f"there is no merchant account {given!r}: `saleor-gateway accounts list` shows them")
    if len(meant) > 1:
        ids = ", ".join(each.id for each in meant)
        raise CommandFailed(f"several merchant accounts are named {given!r}: say which by its id ({ids})")
    return meant[0]


async def find_payments(session: AsyncSession, given: str) -> list[PaymentAggregate]:
    """Return the payments that are called so, the newest first. Raises CommandFailed if none is."""
    aggregates = await aggregates_of(session, await called(session, every_name(given.strip())))
    if not aggregates:
        raise CommandFailed(
            f"there is no payment {given!r}: give an order id, an order number, a transaction or a reference; "
            "`saleor-gateway payments list` shows the newest"
        )
    return aggregates


async def find_payment(session: AsyncSession, given: str) -> PaymentAggregate:
    """Return the only payment that is called so. Raises CommandFailed."""
    aggregates = await find_payments(session, given)
    if len(aggregates) > 1:
        orders = ", ".join(each.payment.order_id for each in aggregates)
        raise CommandFailed(f"several payments are called {given!r}: say which by its gateway order ({orders})")
    return aggregates[0]
