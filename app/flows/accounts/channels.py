"""Accounts with their related data, and which account takes the money of which sales channel.

Before shoppers can pay in a channel, something may be missing: this module names that, too.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from app.i18n.messages import LazyMessage, gettext_noop
from app.rules.decisions.placed_order import ChannelWentLive
from app.services import Services
from app.store.aggregates import ById
from app.store.channel_routes import payment_ids_of_test_projects
from app.store.installations import OpenInstallation
from app.store.tables import MerchantAccount
from saleor_app_sdk.channels import Channel, fetch_channels
from saleor_app_sdk.errors import SaleorError
from saleor_app_sdk.graphql import SaleorClient

_SLUG = re.compile(r"[-a-zA-Z0-9_]{1,255}")
_TIMEOUT = timedelta(seconds=5)  # a page waits for it


class Missing(StrEnum):
    """What is missing, as text for the person who sets the app up."""

    ACCOUNT = gettext_noop("no merchant account is assigned: shoppers are not offered this payment method")
    SWITCHED_ON = gettext_noop("the account is switched off")
    CURRENCY = gettext_noop("the account does not accept its currency")
    STOREFRONT = gettext_noop("the account has no storefront that shoppers may be sent back to")
    CHANNEL = gettext_noop("the channel no longer exists in Saleor")
    ACTIVE = gettext_noop("the channel is not active in Saleor")


@dataclass(frozen=True, slots=True)
class ChannelStatus:
    """A channel with the account that takes its money, if one does.

    ``name`` and ``currency`` are None where Saleor did not report the channel.
    """

    slug: str
    name: str | None
    currency: str | None
    account: MerchantAccount | None
    missing: tuple[Missing, ...]

    @property
    def works(self) -> bool:
        """Whether shoppers can pay in the channel."""
        return self.account is not None and not {*self.missing} - {Missing.STOREFRONT}

    def choices(self, accounts: Sequence[MerchantAccount]) -> list[MerchantAccount]:
        """Return those accounts that accept the channel's currency, and the one that it has."""
        present = self.account.id if self.account else None
        return [
            account
            for account in accounts
            if account.id == present or self.currency is None or self.currency in account.currencies
        ]


@dataclass(frozen=True, slots=True)
class ChannelMap:
    """All channels of a store. ``unreachable``: Saleor did not report its channels, so only mapped ones are known."""

    channels: Sequence[ChannelStatus]
    unreachable: bool

    @property
    def in_saleor(self) -> list[str]:
        """The slugs of the channels that Saleor reported."""
        if self.unreachable:
            return []
        return [known.slug for known in self.channels if Missing.CHANNEL not in known.missing]


def is_slug(text: str) -> bool:
    """Return whether the text can be the slug of a channel."""
    return _SLUG.fullmatch(text) is not None


async def read_channels(services: Services, saleor: SaleorClient, installation: OpenInstallation) -> ChannelMap:
    """Query a Saleor for its channels, and match them with the store's accounts."""
    known: Sequence[Channel] | None
    try:
        known = await fetch_channels(saleor, installation, timeout=_TIMEOUT)
    except SaleorError:
        known = None
    if known is not None:
        slugs = {channel.id: channel.slug for channel in known if channel.id is not None}
        await services.accounts.follow_channels(installation.id, slugs)
    accounts = {account.id: account for account in await services.accounts.all(installation.id)}
    routes = {route.channel: accounts[route.account_id] for route in await services.accounts.routes(installation.id)}
    return ChannelMap(match_channels(known, routes), unreachable=known is None)


def match_channels(known: Sequence[Channel] | None, routes: dict[str, MerchantAccount]) -> list[ChannelStatus]:
    """Return the status of each channel: first those that Saleor has, then those that only the app knows. Pure.

    ``known`` None: it is not known which channels Saleor has.
    """
    reported = {channel.slug: channel for channel in known or ()}
    slugs = [*reported, *sorted(slug for slug in routes if slug not in reported)]
    return [_channel_status(slug, reported.get(slug), routes.get(slug), reachable=known is not None) for slug in slugs]


def _channel_status(
    slug: str, channel: Channel | None, account: MerchantAccount | None, *, reachable: bool
) -> ChannelStatus:
    currency = channel.currency if channel else None
    missing = {
        Missing.CHANNEL: reachable and channel is None,
        Missing.ACTIVE: channel is not None and not channel.active,
        Missing.ACCOUNT: account is None,
        Missing.SWITCHED_ON: account is not None and not account.enabled,
        Missing.CURRENCY: account is not None and currency is not None and currency not in account.currencies,
        Missing.STOREFRONT: account is not None and not account.storefront_origins,
    }
    name = channel.name if channel else None
    return ChannelStatus(
        slug, name, currency, account, tuple(requirement for requirement, is_so in missing.items() if is_so)
    )


@dataclass(frozen=True, slots=True)
class ProjectMove:
    """A channel whose money is to go from an account of a test project to one of a live project, or back."""

    channel: str
    name: str
    before: MerchantAccount
    after: MerchantAccount

    @property
    def consequence(self) -> LazyMessage:
        """What changes for the store and its shoppers, as text for the person who moves the channel."""
        return LazyMessage(
            _TO_TEST if self.after.test_project else _TO_LIVE,
            channel=self.name,
            before=self.before.name,
            after=self.after.name,
        )


_TO_TEST = gettext_noop(
    "%(channel)s moves from %(before)s, where real money moves, to the test project %(after)s: shoppers' cards are "
    "no longer charged, and orders count as paid without any money for you. Payments that have been started are "
    "completed with %(before)s."
)
_TO_LIVE = gettext_noop(
    "%(channel)s moves from the test project %(before)s to %(after)s, where real money moves: from the next payment "
    "on, shoppers' cards are really charged. Payment pages of the test project that are still open are closed."
)


def find_project_moves(found: ChannelMap, wanted: Mapping[str, MerchantAccount | None]) -> list[ProjectMove]:
    """Return the channels that would move between a test and a live project, if they got the ``wanted`` account."""
    return [
        ProjectMove(status.slug, status.name or status.slug, status.account, after)
        for status in found.channels
        if status.account is not None
        and (after := wanted.get(status.slug)) is not None
        and after.test_project != status.account.test_project
    ]


async def assign_channel(services: Services, channel: str, account: MerchantAccount) -> None:
    """Send the money of a channel to an account. Raises AccountError.

    If that is real money, the pages of test projects that are still open in the channel are closed: a test card must
    not pay a real order. Staff are shown the subscriptions of test projects that go on.
    """
    routes = await services.accounts.routes(account.installation_id)
    before = next((route.account_id for route in routes if route.channel == channel), None)
    await services.accounts.map_channel(channel, account.id)
    if account.test_project:
        return
    async with services.database.transaction() as session:
        found = await payment_ids_of_test_projects(session, account.installation_id, channel, before)
    for payment_id in found:
        await services.payments.record(ById(payment_id), ChannelWentLive(services.now()))


def successors(found: ChannelMap) -> dict[str, list[str]]:
    """Return, for each mapped channel that Saleor has no more, the unmapped ones that its account could serve. Pure."""
    free = [status for status in found.channels if status.account is None and Missing.ACTIVE not in status.missing]
    return {
        gone.slug: [status.slug for status in free if status.currency in gone.account.currencies]
        for gone in found.channels
        if gone.account is not None and Missing.CHANNEL in gone.missing
    }


@dataclass(frozen=True, slots=True)
class AccountView:
    """An account with its related data. ``saleor`` is an API address, ``channels`` are slugs."""

    account: MerchantAccount
    saleor: str
    channels: tuple[str, ...]
    notification_address: str


async def load_views(
    services: Services, accounts: Sequence[MerchantAccount] | None = None, *, installation_id: int | None = None
) -> list[AccountView]:
    """Return the views of ``accounts``; without them of one store's accounts, or of all accounts, oldest first."""
    if accounts is None:
        accounts = await services.accounts.all(installation_id)
    saleors = {installation.id: installation.saleor_api_url for installation in await services.installations.all()}
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


async def load_view(services: Services, account: MerchantAccount) -> AccountView:
    """Return the view of one account."""
    return (await load_views(services, [account], installation_id=account.installation_id))[0]
