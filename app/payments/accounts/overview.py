"""Accounts with what belongs to them: everything that is shown of them but their secrets."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.db.tables import MerchantAccount
from app.payments.services import Services


@dataclass(frozen=True, slots=True)
class AccountView:
    """An account with what belongs to it. ``saleor`` is an API address, ``channels`` are slugs."""

    account: MerchantAccount
    saleor: str
    channels: tuple[str, ...]
    notification_address: str


async def views(
    services: Services, accounts: Sequence[MerchantAccount] | None = None, *, installation_id: int | None = None
) -> list[AccountView]:
    """Return the views of ``accounts``; else of those of one store; else of all, oldest first."""
    if accounts is None:
        accounts = await services.accounts.all(installation_id)
    saleors = {each.id: each.saleor_api_url for each in await services.installations.all()}
    routes = await services.accounts.routes(installation_id)
    return [
        AccountView(
            account=account,
            saleor=saleors[account.installation_id],
            channels=tuple(route.channel for route in routes if route.account_id == account.id),
            notification_address=services.addresses.notifications(account.id),
        )
        for account in accounts
    ]


async def view(services: Services, account: MerchantAccount) -> AccountView:
    """Return the view of one account."""
    return (await views(services, [account], installation_id=account.installation_id))[0]
