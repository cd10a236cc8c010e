"""Accounts with what belongs to them, and which of them takes the money of which sales channel.

Before shoppers can pay in a channel, something may be missing: what that is, is said here, too.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from app.db.installations import OpenInstallation
from app.db.tables import MerchantAccount
from app.i18n.messages import gettext_noop
from app.payments.services import Services
from app.saleor.channels import Channel, channels
from app.saleor.errors import SaleorError
from app.saleor.graphql import SaleorClient

_SLUG = re.compile(r"[-a-zA-Z0-9_]{1,255}")
_WITHIN = timedelta(seconds=5)  # somebody waits for the page


class Missing(StrEnum):
    """What is missing, in words for whoever sets the app up."""

    ACCOUNT = gettext_noop("no account takes its money: shoppers are not offered this way to pay")
    SWITCHED_ON = gettext_noop("the account is switched off")
    CURRENCY = gettext_noop("the account does not take its currency")
    STOREFRONT = gettext_noop("the account names no storefront to which shoppers may be sent back")
    CHANNEL = gettext_noop("Saleor has no such channel any more")
    ACTIVE = gettext_noop("the channel is not active in Saleor")


@dataclass(frozen=True, slots=True)
class ChannelStanding:
    """A channel with the account that takes its money, if one does.

    ``name`` and ``currency`` are None where Saleor did not tell of it.
    """

    slug: str
    name: str | None
    currency: str | None
    account: MerchantAccount | None
    missing: tuple[Missing, ...]

    @property
    def works(self) -> bool:
        """Whether shoppers can pay there."""
        return self.account is not None and not {*self.missing} - {Missing.STOREFRONT}


@dataclass(frozen=True, slots=True)
class ChannelMap:
    """All channels of a store. ``unreachable``: Saleor did not tell of its channels, so only mapped ones are known."""

    channels: Sequence[ChannelStanding]
    unreachable: bool


def is_slug(text: str) -> bool:
    """Return whether a channel can be called so."""
    return _SLUG.fullmatch(text) is not None


async def read_channels(services: Services, saleor: SaleorClient, installation: OpenInstallation) -> ChannelMap:
    """Ask a Saleor for its channels, and lay them beside the store's accounts."""
    known: Sequence[Channel] | None
    try:
        known = await channels(saleor, installation, within=_WITHIN)
    except SaleorError:
        known = None
    accounts = {each.id: each for each in await services.accounts.all(installation.id)}
    routes = {each.channel: accounts[each.account_id] for each in await services.accounts.routes(installation.id)}
    return ChannelMap(lay_beside(known, routes), unreachable=known is None)


def lay_beside(known: Sequence[Channel] | None, routes: dict[str, MerchantAccount]) -> list[ChannelStanding]:
    """Return how each channel stands: those that Saleor has, then those that only we know. Pure.

    ``known`` None: nobody can say which there are.
    """
    told = {each.slug: each for each in known or ()}
    slugs = [*told, *sorted(slug for slug in routes if slug not in told)]
    return [_standing(slug, told.get(slug), routes.get(slug), asked=known is not None) for slug in slugs]


def _standing(slug: str, channel: Channel | None, account: MerchantAccount | None, *, asked: bool) -> ChannelStanding:
    currency = channel.currency if channel else None
    missing = {
        Missing.CHANNEL: asked and channel is None,
        Missing.ACTIVE: channel is not None and not channel.active,
        Missing.ACCOUNT: account is None,
        Missing.SWITCHED_ON: account is not None and not account.enabled,
        Missing.CURRENCY: account is not None and currency is not None and currency not in account.currencies,
        Missing.STOREFRONT: account is not None and not account.storefront_origins,
    }
    name = channel.name if channel else None
    return ChannelStanding(slug, name, currency, account, tuple(each for each, is_so in missing.items() if is_so))


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
