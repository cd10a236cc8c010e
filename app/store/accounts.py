"""Merchant accounts and the routes from Saleor's channels to them. Secrets are opened only on request."""

import hmac
import secrets
import string
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TypeAlias

from sqlalchemy import exists, or_
from sqlalchemy.exc import SQLAlchemyError
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession
from sqlmodel.sql.expression import SelectOfScalar

from app.store.account_names import find_namesake
from app.store.attention import clear_orders_of_others
from app.store.channel_routes import find_route_changes, select_route
from app.store.columns import fingerprint
from app.store.database import Database
from app.store.errors import DatabaseError
from app.store.reconciliations import delete_comparisons, plan_run
from app.store.replaced_secrets import (
    NONE_REPLACED,
    OLDER,
    keep_previous_secret,
    older_secrets,
    place_of,
    previous_secret,
)
from app.store.sealed_column import SealedColumn
from app.store.summed_days import store_empty_days
from app.store.tables import ChannelRoute, MerchantAccount, Notification, Payment
from app.store.ttl_cache import TtlCache
from app.store.vault import Vault, VaultError

_ID_ALPHABET = string.ascii_lowercase + string.digits
_ID_LENGTH = 12

GRACE = timedelta(hours=24)
"""How long a replaced API secret still verifies notifications, by default."""


class AccountError(Exception):
    """An account or route cannot be changed as requested; the message explains why, for staff."""


class NameTakenError(AccountError):
    """Another account of the same Saleor has that name."""

    def __init__(self, other: MerchantAccount) -> None:
        super().__init__(f"this Saleor has a merchant account {other.name!r} already ({other.id})")
        self.other = other


class ChangedMeanwhileError(AccountError):
    """Somebody else has changed what was to be changed, since it was read: nothing was stored."""

    def __init__(self) -> None:
        super().__init__("somebody else has changed this meanwhile")


@dataclass(frozen=True, slots=True)
class AccountKeys:
    """The secrets of a point of sale. Never shown."""

    api_key: str = field(repr=False)
    api_secret: str = field(repr=False)
    endpoints_key: str = field(repr=False)
    previous_api_secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class NewAccount:
    """A point of sale to be added; ``order_timeout`` in seconds, ``options`` further columns of the account's row."""

    installation_id: int
    name: str
    pos_id: str
    base_url: str
    scheme_word: str
    keys: AccountKeys
    currencies: Sequence[str]
    storefront_origins: Sequence[str]
    order_timeout: int = 3600
    names_required: bool = False
    options: Mapping[str, object] = field(default_factory=dict)


_CacheKey: TypeAlias = str | tuple[int, str, str | None]


class AccountRepository:
    """Finds and stores merchant accounts and channel routes. What every payment looks up is cached briefly."""

    def __init__(self, database: Database, vault: Vault, now: Callable[[], datetime]) -> None:
        self._database = database
        self._vault = vault
        self._now = now
        self._cache: TtlCache[_CacheKey, MerchantAccount] = TtlCache(now)

    async def add(self, new: NewAccount) -> MerchantAccount:
        """Add a point of sale and return its row. Raises NameTakenError."""
        now = self._now()
        account_id = "".join(secrets.choice(_ID_ALPHABET) for _ in range(_ID_LENGTH))
        row = MerchantAccount(
            id=account_id,
            installation_id=new.installation_id,
            name=new.name,
            pos_id=new.pos_id,
            base_url=new.base_url,
            scheme_word=new.scheme_word,
            api_key_sealed=self._seal(new.keys.api_key, account_id, "api_key"),
            api_secret_sealed=self._seal(new.keys.api_secret, account_id, "api_secret"),
            endpoints_key_sealed=self._seal(new.keys.endpoints_key, account_id, "endpoints_key"),
            currencies=list(new.currencies),
            storefront_origins=list(new.storefront_origins),
            order_timeout=new.order_timeout,
            names_required=new.names_required,
            created_at=now,
            updated_at=now,
        )
        for name, value in new.options.items():
            setattr(row, name, value)
        async with self._database.transaction() as session:
            if namesake := await find_namesake(session, new.installation_id, new.name, account_id):
                raise NameTakenError(namesake)
            session.add(row)
            await session.flush()
            await plan_run(session, row, now)
            await store_empty_days(session, account_id, now)
        return row

    async def find(self, account_id: str) -> MerchantAccount | None:
        """Return the account with that public id, or None."""
        return await self._cache.get(
            account_id, lambda: self._read(account_id, select(MerchantAccount).where(MerchantAccount.id == account_id))
        )

    async def all(self, installation_id: int | None = None) -> Sequence[MerchantAccount]:
        """Return all accounts (only that Saleor's, if one is given), oldest first."""
        query = select(MerchantAccount).order_by(col(MerchantAccount.created_at))
        if installation_id is not None:
            query = query.where(MerchantAccount.installation_id == installation_id)
        async with self._database.transaction() as session:
            return (await session.exec(query)).all()

    async def routes(self, installation_id: int | None = None) -> Sequence[ChannelRoute]:
        """Return all routes from a channel to an account (only that Saleor's, if one is given)."""
        query = select(ChannelRoute).order_by(col(ChannelRoute.channel))
        if installation_id is not None:
            query = query.where(ChannelRoute.installation_id == installation_id)
        async with self._database.transaction() as session:
            return (await session.exec(query)).all()

    async def apple_pay_association(self, origins: Set[str]) -> str | None:
        """Return the domain file of the oldest account that offers Apple Pay at one of these storefronts; or None."""
        offering = (
            select(MerchantAccount.id, MerchantAccount.storefront_origins)
            .where(col(MerchantAccount.apple_pay).is_(True), col(MerchantAccount.apple_pay_association).is_not(None))
            .where(col(MerchantAccount.enabled).is_(True))
            .order_by(col(MerchantAccount.created_at), col(MerchantAccount.id))
        )
        async with self._database.transaction() as session:
            rows = (await session.exec(offering)).all()
            found = next((account_id for account_id, named in rows if not origins.isdisjoint(named)), None)
            account = None if found is None else await session.get(MerchantAccount, found)
        return None if account is None else account.apple_pay_association

    def keys(self, account: MerchantAccount) -> AccountKeys:
        """Return the account's opened secrets; the previous one only during its grace period. Raises VaultError."""
        return AccountKeys(
            api_key=self._open(account.api_key_sealed, account.id, "api_key"),
            api_secret=self._open(account.api_secret_sealed, account.id, "api_secret"),
            endpoints_key=self._open(account.endpoints_key_sealed, account.id, "endpoints_key"),
            previous_api_secret=previous_secret(self._vault, account, self._now()),
        )

    def older_api_secrets(self, account: MerchantAccount) -> tuple[str, ...]:
        """Return the API secrets replaced before the previous one, during their grace periods. Raises VaultError."""
        return tuple(secret for secret, _ in older_secrets(self._vault, account, self._now()))

    async def change(self, account_id: str, **columns: object) -> MerchantAccount:
        """Set plain columns of an account (name, base_url, currencies, enabled...). Raises AccountError."""
        async with self._database.transaction() as session:
            row = await _get_locked(session, account_id)
            _set_columns(row, columns)
            row.updated_at = self._now()
            if "other_orders" in columns:
                await clear_orders_of_others(session, row)
        self._cache.invalidate()
        return row

    async def pin_payout_staff(self, account_id: str, email: str, user_id: str) -> MerchantAccount:
        """Store, once, whose address a named one is; return the account as it is now. Raises AccountError."""
        async with self._database.transaction() as session:
            row = await _get_locked(session, account_id)
            if email in row.payout_staff and email not in row.payout_staff_ids:
                row.payout_staff_ids = row.payout_staff_ids | {email: user_id}
        self._cache.invalidate()
        return row

    async def change_keys(
        self,
        account_id: str,
        *,
        api_key: str | None = None,
        api_secret: str | None = None,
        endpoints_key: str | None = None,
        grace: timedelta = GRACE,
        columns: Mapping[str, object] | None = None,
        seen: Mapping[str, str] | None = None,
    ) -> MerchantAccount:
        """Replace secrets, and set plain ``columns`` in the same transaction. Raises AccountError.

        For ``grace`` the old API secret still verifies notifications: those on their way were signed with it. ``seen``
        are columns by the fingerprints of their values when they were read: ChangedMeanwhileError if one has another.
        """
        async with self._database.transaction() as session:
            if columns and "name" in columns:
                await _require_free_name(session, account_id, columns["name"])
            row = await _get_locked(session, account_id)
            if any(fingerprint(getattr(row, name)) != known for name, known in (seen or {}).items()):
                raise ChangedMeanwhileError
            _set_columns(row, columns or {})
            if api_key is not None:
                row.api_key_sealed = self._seal(api_key, account_id, "api_key")
            if endpoints_key is not None:
                row.endpoints_key_sealed = self._seal(endpoints_key, account_id, "endpoints_key")
            if api_secret is not None:
                self._replace_api_secret(row, api_secret, grace)
            row.updated_at = self._now()
        self._cache.invalidate()
        return row

    def _replace_api_secret(self, row: MerchantAccount, api_secret: str, grace: timedelta) -> None:
        """Replace the API secret; the same one again neither lengthens nor ends the grace of those before it."""
        if not grace:
            _set_columns(row, NONE_REPLACED)
        elif not self._is_api_secret(row, api_secret):
            keep_previous_secret(self._vault, row, self._now())
            row.previous_api_secret_sealed = row.api_secret_sealed
            row.previous_api_secret_until = self._now() + grace
        row.api_secret_sealed = self._seal(api_secret, row.id, "api_secret")

    def _is_api_secret(self, row: MerchantAccount, api_secret: str) -> bool:
        try:
            return hmac.compare_digest(
                self._open(row.api_secret_sealed, row.id, "api_secret").encode(), api_secret.encode()
            )
        except VaultError:
            return False  # no key opens it

    async def revoke_previous_secret(self, account_id: str) -> MerchantAccount:
        """Stop accepting notifications that were signed with replaced API secrets. Raises AccountError."""
        return await self.change(account_id, **NONE_REPLACED)

    async def remove(self, account_id: str) -> bool:
        """Delete an account that nothing refers to (True), or else disable it (False); delete its routes in any case.

        Payments refer to their account, and so do notifications, also those about payments that are not ours. Raises
        AccountError when there is no such account.
        """
        async with self._database.transaction() as session:
            row = await _get_locked(session, account_id)
            routes = await session.exec(select(ChannelRoute).where(ChannelRoute.account_id == account_id))
            for route in routes.all():
                await session.delete(route)
            await session.flush()
            paid = exists().where(col(Payment.account_id) == account_id)
            notified = exists().where(col(Notification.account_id) == account_id)
            used = (await session.exec(select(or_(paid, notified)))).one()
            if used:
                row.enabled = False
                row.updated_at = self._now()
            else:
                await delete_comparisons(session, account_id)
                await session.delete(row)
        self._cache.invalidate()
        return not used

    async def map_channel(self, channel: str, account_id: str) -> None:
        """Send the money of ``channel`` to the account, in the account's own Saleor. Raises AccountError."""
        async with self._database.transaction() as session:
            account = await _get_locked(session, account_id)
            query = select(ChannelRoute).where(
                ChannelRoute.installation_id == account.installation_id, ChannelRoute.channel == channel
            )
            route = (await session.exec(query.with_for_update())).first()
            if route is None:
                session.add(
                    ChannelRoute(installation_id=account.installation_id, channel=channel, account_id=account_id)
                )
            else:
                route.account_id = account_id
        self._cache.invalidate()

    async def unmap_channel(self, installation_id: int, channel: str) -> bool:
        """Stop offering payments in ``channel``; return False when it had no account."""
        query = select(ChannelRoute).filter_by(installation_id=installation_id, channel=channel)
        async with self._database.transaction() as session:
            route = (await session.exec(query.with_for_update())).first()
            if route is not None:
                await session.delete(route)
        self._cache.invalidate()
        return route is not None

    async def for_channel(
        self, installation_id: int, channel: str, channel_id: str | None = None
    ) -> MerchantAccount | None:
        """Return the account that takes the money of the channel with that slug, or None.

        What Saleor identifies the channel by, ``channel_id``, goes before its slug, which staff may change: the route
        follows. Only an account that staff have chosen for the new slug goes before both.
        """
        name = (installation_id, channel, channel_id)
        account = await self._cache.get(name, lambda: self._read_routed(name))
        if account is not None and account.test_project:  # another process may have gone live a moment ago
            account = (await self._read_routed(name)).get(name)
        return account

    async def follow_channels(self, installation_id: int, slugs: Mapping[str, str], *, all_known: bool = True) -> None:
        """Let routes follow their channels, whose ``slugs`` are given by what Saleor identifies them by.

        ``all_known``: Saleor has no other channels, so one that was created anew with an old slug is the same to us.
        """
        if not find_route_changes(await self.routes(installation_id), slugs, all_known=all_known):
            return
        async with self._database.transaction() as session:
            query = select(ChannelRoute).where(ChannelRoute.installation_id == installation_id).with_for_update()
            rows = (await session.exec(query.order_by(col(ChannelRoute.id)))).all()
            changes = find_route_changes(rows, slugs, all_known=all_known)
            for row, slug, _ in changes:
                if row.channel != slug:  # channels may have exchanged their slugs, which are unique
                    row.channel = f"~{row.id}"
            await session.flush()
            for row, slug, channel_id in changes:
                row.channel, row.channel_id = slug, channel_id
        self._cache.invalidate()

    async def _read_routed(self, name: tuple[int, str, str | None]) -> Mapping[_CacheKey, MerchantAccount]:
        installation_id, channel, channel_id = name
        async with self._database.transaction() as session:
            found = (await session.exec(select_route(*name))).first()
        if found is None:
            return {}
        account, slug, known_as = found
        if channel_id is not None and (slug, known_as) != (channel, channel_id):
            with suppress(DatabaseError, SQLAlchemyError):  # whoever wants to pay does not need it
                await self.follow_channels(installation_id, {channel_id: channel}, all_known=False)
        return {name: account}

    async def _read(
        self, name: _CacheKey, query: SelectOfScalar[MerchantAccount]
    ) -> Mapping[_CacheKey, MerchantAccount]:
        async with self._database.transaction() as session:
            row = (await session.exec(query)).first()
        return {} if row is None else {name: row}

    def _seal(self, secret: str, account_id: str, name: str) -> str:
        return self._vault.seal(secret, place_of(name, account_id))

    def _open(self, sealed: str, account_id: str, name: str) -> str:
        return self._vault.open(sealed, place_of(name, account_id))


SEALED_COLUMNS = tuple(
    SealedColumn(column, place_columns=(col(MerchantAccount.id),), place=partial(place_of, name))
    for column, name in (
        (col(MerchantAccount.api_key_sealed), "api_key"),
        (col(MerchantAccount.api_secret_sealed), "api_secret"),
        (col(MerchantAccount.previous_api_secret_sealed), "api_secret"),
        (col(MerchantAccount.older_api_secrets_sealed), OLDER),
        (col(MerchantAccount.endpoints_key_sealed), "endpoints_key"),
    )
)
"""The sealed columns of an account."""


def _set_columns(row: MerchantAccount, columns: Mapping[str, object]) -> None:
    for name, value in columns.items():
        setattr(row, name, value)
    # Who is named again after having been removed may be somebody else.
    row.payout_staff_ids = {name: user for name, user in row.payout_staff_ids.items() if name in row.payout_staff}


async def _require_free_name(session: AsyncSession, account_id: str, name: object) -> None:
    store_id = select(MerchantAccount.installation_id).where(MerchantAccount.id == account_id)
    for installation_id in (await session.exec(store_id)).all():
        if namesake := await find_namesake(session, installation_id, name, account_id):
            raise NameTakenError(namesake)


async def _get_locked(session: AsyncSession, account_id: str) -> MerchantAccount:
    if (row := await session.get(MerchantAccount, account_id, with_for_update=True)) is None:
        raise AccountError(f"There is no merchant account {account_id!r}: see `saleor-gateway accounts list`.")
    return row
