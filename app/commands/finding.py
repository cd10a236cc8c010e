"""Finds what an operator names: a Saleor by its address, an account by its id or name, a payment by its order."""

from contextlib import suppress
from uuid import UUID

from sqlmodel.ext.asyncio.session import AsyncSession

from app.commands.failure import CommandFailed
from app.ledger.installations import OpenInstallation
from app.ledger.sheets import Sheet, find_by_order
from app.ledger.tables import MerchantAccount
from app.payments.desk import Desk
from app.payments.references import order_id_of


async def find_installation(desk: Desk, saleor: str | None) -> OpenInstallation:
    """Return the installation of that Saleor; the only one there is when none is named. Raises CommandFailed."""
    installations = await desk.installations.all()
    known = ", ".join(each.saleor_api_url for each in installations)
    if not installations:
        raise CommandFailed(
            "no Saleor has installed this app yet: install it in the Saleor Dashboard, from "
            f"{desk.addresses.base_url}/api/manifest"
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


async def find_account(desk: Desk, given: str) -> MerchantAccount:
    """Return the account with that id, or else the only one with that name. Raises CommandFailed."""
    accounts = await desk.accounts.all()
    named = [each for each in accounts if each.name.casefold() == given.casefold()]
    meant = [each for each in accounts if each.id == given] or named
    if not meant:
        raise CommandFailed(f"there is no merchant account {given!r}: `saleor-gateway accounts list` shows them")
    if len(meant) > 1:
        ids = ", ".join(each.id for each in meant)
        raise CommandFailed(f"several merchant accounts are named {given!r}: say which by its id ({ids})")
    return meant[0]


async def find_payment(session: AsyncSession, given: str) -> Sheet:
    """Return the sheet of an order id, of a transaction's global id, or of the UUID in that. Raises CommandFailed."""
    names = [given, order_id_of(given)]
    with suppress(ValueError):
        names.append(UUID(given).hex)
    for name in names:
        sheet = await find_by_order(session, name)
        if sheet is not None:
            return sheet
    raise CommandFailed(
        f"there is no payment {given!r}: give the gateway's order id or the transaction id of Saleor; "
        "`saleor-gateway payments list` shows the newest"
    )
