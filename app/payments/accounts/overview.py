"""Accounts with what belongs to them: everything that is shown of them but their secrets."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.ledger.tables import MerchantAccount
from app.payments.desk import Desk


@dataclass(frozen=True, slots=True)
class AccountView:
    """An account with what belongs to it. ``saleor`` is an API address, ``channels`` are slugs."""

    account: MerchantAccount
    saleor: str
    channels: tuple[str, ...]
    notification_address: str


async def views(
    desk: Desk, accounts: Sequence[MerchantAccount] | None = None, *, installation_id: int | None = None
) -> list[AccountView]:
    """Return the views of ``accounts``; else of those of one store; else of all, oldest first."""
    if accounts is None:
        accounts = await desk.accounts.all(installation_id)
    saleors = {each.id: each.saleor_api_url for each in await desk.installations.all()}
    routes = await desk.accounts.routes(installation_id)
    return [
        AccountView(
            account=account,
            saleor=saleors[account.installation_id],
            channels=tuple(route.channel for route in routes if route.account_id == account.id),
            notification_address=desk.addresses.notifications(account.id),
        )
        for account in accounts
    ]


async def view(desk: Desk, account: MerchantAccount) -> AccountView:
    """Return the view of one account."""
    return (await views(desk, [account], installation_id=account.installation_id))[0]
