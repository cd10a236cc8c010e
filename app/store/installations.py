"""The Saleors that installed the app: the store behind the Saleor SDK's protocol, with tokens sealed at rest."""

import hmac
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from sqlalchemy import ColumnElement, delete, exists, func
from sqlalchemy.exc import IntegrityError
from sqlmodel import SQLModel, col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.store.database import Database
from app.store.presence import CHECK_INTERVAL, retry_events_now, revive, row_id, save_version
from app.store.sealed_column import SealedColumn
from app.store.summed_days import next_summing_time
from app.store.tables import Installation, PendingToken
from app.store.ttl_cache import TtlCache
from app.store.vault import Vault
from saleor_app_sdk.pending_tokens import (
    MAX_PENDING_TOKENS,
    MAX_UNPROVEN_INSTALLATIONS,
    choose_token_to_replace,
    find_most_crowded,
)

P = ParamSpec("P")
R = TypeVar("R")


def _repeat_if_overtaken(save: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Repeat ``save`` if another request stored the same Saleor, until then unknown, at the same moment."""

    @wraps(save)
    async def repeat(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return await save(*args, **kwargs)
        except IntegrityError:
            return await save(*args, **kwargs)

    return repeat


@dataclass(frozen=True, slots=True)
class OpenInstallation:
    """An installation with its tokens opened. ``token`` is empty if none was ever proven.

    ``token_sealed`` is the proven one as it is stored: what a request with it has shown is only recorded where that
    token is still the installation's (``store.presence``).
    """

    id: int
    saleor_api_url: str
    app_id: str | None
    token: str
    pending_tokens: tuple[str, ...]
    jwks: Mapping[str, Any] | None
    jwks_fetched_at: datetime | None
    schema_version: str | None
    dashboard_url: str | None
    staff_dashboard_url: str | None = None
    away_since: datetime | None = None
    unauthorised_since: datetime | None = None
    token_sealed: str | None = None

    @property
    def pending_token(self) -> str | None:
        """The newest unproven token, or None."""
        return self.pending_tokens[0] if self.pending_tokens else None

    @property
    def verified(self) -> bool:
        """True when Saleor itself has confirmed whose token this is."""
        return bool(self.token)

    @property
    def is_shut_out(self) -> bool:
        """True when Saleor rejects the app's token, as far as is known: the app was removed there, or deactivated."""
        return self.unauthorised_since is not None

    def __repr__(self) -> str:
        return f"<OpenInstallation {self.saleor_api_url} app={self.app_id}>"


class InstallationRepository:
    """Finds and stores installations.

    Every webhook and every report needs one, so they are cached briefly.
    """

    def __init__(self, database: Database, vault: Vault, now: Callable[[], datetime]) -> None:
        self._database = database
        self._vault = vault
        self._now = now
        self._cache: TtlCache[str | int, OpenInstallation] = TtlCache(now)

    async def find(self, saleor_api_url: str) -> OpenInstallation | None:
        """Return the installation of that GraphQL address, or None."""
        return await self._cache.get(
            saleor_api_url, lambda: self._read(col(Installation.saleor_api_url) == saleor_api_url)
        )

    async def all(self) -> list[OpenInstallation]:
        """Return all installations, oldest first."""
        async with self._database.transaction() as session:
            rows = (await session.exec(select(Installation).order_by(col(Installation.id)))).all()
            pending = await _pending(session, [row.id for row in rows])
        return [self._open(row, pending) for row in rows]

    async def get(self, installation_id: int) -> OpenInstallation:
        """Return the installation with that row id, which a payment refers to and which therefore exists."""
        found = await self._cache.get(installation_id, lambda: self._read(col(Installation.id) == installation_id))
        assert found is not None  # noqa: S101 - as the docstring states
        return found

    @_repeat_if_overtaken
    async def save(
        self,
        *,
        saleor_api_url: str,
        saleor_domain: str,
        schema_version: str | None,
        app_id: str,
        token: str,
        jwks: Mapping[str, Any] | None,
    ) -> None:
        """Store a proven token: overwrite the app's id, token and keys, and leave everything else as it was."""
        async with self._database.transaction() as session:
            now = self._now()
            row = await _get_locked(session, saleor_api_url) or Installation(
                saleor_api_url=saleor_api_url, created_at=now, updated_at=now
            )
            row.saleor_domain = saleor_domain
            row.schema_version = schema_version
            row.app_id = app_id
            row.token_sealed = self._vault.seal(token, _place(saleor_api_url))
            if jwks is not None:
                row.jwks, row.jwks_fetched_at = dict(jwks), now
            row.problems_due_at = row.updated_at = now
            row.days_due_at = row.days_due_at or next_summing_time(now)
            row.retention_due_at = row.retention_due_at or next_summing_time(now)
            row.away_since = row.unauthorised_since = None
            row.next_check_at = now + CHECK_INTERVAL
            session.add(row)
            await session.flush()
            await session.exec(delete(PendingToken).where(col(PendingToken.installation_id) == row.id))
            await retry_events_now(session, row_id(row), now)
        self._cache.invalidate()

    @_repeat_if_overtaken
    async def save_pending(
        self,
        *,
        saleor_api_url: str,
        saleor_domain: str,
        schema_version: str | None,
        token: str,
    ) -> bool:
        """Store a token that cannot be proven yet, beside the proven one.

        A stranger's garbage cannot be told from it. So where there is too much, no new token is refused, and the one
        that makes way is one of many that came at a time: a flood displaces itself. Return False when the Saleor has
        never installed us, and all other such Saleors have to be kept.
        """
        now = self._now()
        async with self._database.transaction() as session:
            row = await _get_locked(session, saleor_api_url)
            if row is None:
                if not await _make_room_for_unproven(session, now):
                    return False
                row = Installation(
                    saleor_api_url=saleor_api_url,
                    saleor_domain=saleor_domain,
                    schema_version=schema_version,
                    created_at=now,
                    updated_at=now,
                )
                session.add(row)
                await session.flush()
            place = _place(saleor_api_url)
            pending = (await _pending(session, [row.id])).get(row.id, [])
            if [token_row for token_row in pending if self._is_token(token_row, token, place)]:
                return True
            if len(pending) >= MAX_PENDING_TOKENS:
                await session.delete(pending[choose_token_to_replace([row.received_at for row in pending], now)])
            session.add(
                PendingToken(
                    installation_id=row_id(row),
                    schema_version=schema_version,
                    token_sealed=self._vault.seal(token, place),
                    received_at=now,
                )
            )
        self._cache.invalidate()
        return True

    async def delete_pending(self, saleor_api_url: str, token: str) -> None:
        """Delete a pending token that Saleor rejects although the app is active."""
        async with self._database.transaction() as session:
            row = await _get_locked(session, saleor_api_url)
            for token_row in (await _pending(session, [row.id])).get(row.id, []) if row is not None else ():
                if self._is_token(token_row, token, _place(saleor_api_url)):
                    await session.delete(token_row)
        self._cache.invalidate()

    async def delete_token(self, installation_id: int, token: str) -> bool:
        """Delete a token that Saleor no longer accepts, and keep the rest; return False if another has replaced it.

        Nothing is reported to that Saleor until somebody installs the app again.
        """
        async with self._database.transaction() as session:
            row = await session.get_one(Installation, installation_id, with_for_update=True)
            if row.token_sealed is None or self._vault.open(row.token_sealed, _place(row.saleor_api_url)) != token:
                return False
            row.token_sealed = row.next_check_at = None
            row.unauthorised_since = row.unauthorised_since or self._now()
            row.updated_at = self._now()
        self._cache.invalidate()
        return True

    async def record_contact(self, installation: object, saleor_version: str | None = None) -> None:
        """Record that a Saleor is reachable: what waited for it is sent now, at most once per ``MIN_REVIVAL_INTERVAL``.

        ``saleor_version``: the release that it reports, stored if it has changed.
        """
        if not isinstance(installation, OpenInstallation):
            raise TypeError("installations come from the db")
        is_news = saleor_version not in {None, installation.schema_version}
        missed = installation.away_since is not None or installation.unauthorised_since is not None
        if not is_news and not missed:
            return
        async with self._database.transaction() as session:
            if saleor_version is not None and is_news:
                await save_version(session, installation.id, saleor_version, self._now())
            if missed:
                await revive(session, installation.id, self._now())
        self._cache.invalidate()

    async def save_jwks(self, saleor_api_url: str, jwks: Mapping[str, Any], fetched_at: datetime) -> None:
        """Store the keys with which that Saleor signs."""
        async with self._database.transaction() as session:
            row = await _get_locked(session, saleor_api_url)
            if row is not None:
                row.jwks = dict(jwks)
                row.jwks_fetched_at = fetched_at
        self._cache.invalidate()

    def invalidate(self) -> None:
        """Invalidate the cache: an installation was changed elsewhere."""
        self._cache.invalidate()

    async def set_dashboard(self, installation_id: int, dashboard_url: str | None) -> None:
        """Store the address of that store's Dashboard as the operator gives it; None: clear it, and the staff's too."""
        async with self._database.transaction() as session:
            row = await session.get_one(Installation, installation_id, with_for_update=True)
            row.dashboard_url = dashboard_url
            row.staff_dashboard_url = None
            row.updated_at = self._now()
        self._cache.invalidate()

    async def set_staff_dashboard(self, installation_id: int, dashboard_url: str | None) -> None:
        """Store the address of the Dashboard as the store's own staff give it; None: clear it."""
        async with self._database.transaction() as session:
            row = await session.get_one(Installation, installation_id, with_for_update=True)
            row.staff_dashboard_url = dashboard_url
            row.updated_at = self._now()
        self._cache.invalidate()

    async def _read(self, which: ColumnElement[bool]) -> Mapping[str | int, OpenInstallation]:
        async with self._database.transaction() as session:
            row = (await session.exec(select(Installation).where(which))).first()
            pending = await _pending(session, [row.id]) if row is not None else {}
        if row is None:
            return {}
        found = self._open(row, pending)
        return {found.id: found, found.saleor_api_url: found}

    def _is_token(self, pending: PendingToken, token: str, place: str) -> bool:
        """Return whether it is that token. The comparison takes constant time."""
        return hmac.compare_digest(self._vault.open(pending.token_sealed, place).encode(), token.encode())

    def _open(self, row: Installation, pending: Mapping[int | None, Sequence[PendingToken]]) -> OpenInstallation:
        place = _place(row.saleor_api_url)
        return OpenInstallation(
            id=row_id(row),
            saleor_api_url=row.saleor_api_url,
            app_id=row.app_id,
            token=self._vault.open(row.token_sealed, place) if row.token_sealed else "",
            pending_tokens=tuple(
                self._vault.open(token_row.token_sealed, place) for token_row in pending.get(row.id, ())
            ),
            jwks=row.jwks,
            jwks_fetched_at=row.jwks_fetched_at,
            schema_version=row.schema_version,
            dashboard_url=row.dashboard_url,
            staff_dashboard_url=row.staff_dashboard_url,
            away_since=row.away_since,
            unauthorised_since=row.unauthorised_since,
            token_sealed=row.token_sealed,
        )


async def _make_room_for_unproven(session: AsyncSession, now: datetime) -> bool:
    """Make room for one more Saleor of which there are only unproven tokens; return False if there is none."""
    unproven = select(Installation).where(col(Installation.app_id).is_(None))
    if (await session.exec(select(func.count()).select_from(unproven.subquery()))).one() < MAX_UNPROVEN_INSTALLATIONS:
        return True
    # Whatever an operator or staff have set up for it stays.
    unused = (~exists().where(column == Installation.id) for column in _INSTALLATION_COLUMNS)
    newest_first = unproven.where(*unused).order_by(col(Installation.id).desc()).with_for_update()
    rows = (await session.exec(newest_first)).all()
    if not rows:
        return False
    row = rows[find_most_crowded([row.created_at for row in rows], now)]
    await session.exec(delete(PendingToken).where(col(PendingToken.installation_id) == row.id))
    await session.delete(row)
    await session.flush()
    return True


def _place(saleor_api_url: str) -> str:
    return f"installation/{saleor_api_url}/token"


async def _get_locked(session: AsyncSession, saleor_api_url: str) -> Installation | None:
    query = select(Installation).where(Installation.saleor_api_url == saleor_api_url)
    return (await session.exec(query.with_for_update())).first()


async def _pending(
    session: AsyncSession, installation_ids: Sequence[int | None]
) -> dict[int | None, list[PendingToken]]:
    """Return the unproven tokens by installation, the newest first."""
    query = select(PendingToken).where(col(PendingToken.installation_id).in_(installation_ids))
    found: dict[int | None, list[PendingToken]] = {}
    for token_row in (await session.exec(query.order_by(col(PendingToken.id).desc()))).all():
        found.setdefault(token_row.installation_id, []).append(token_row)
    return found


_INSTALLATION_COLUMNS = tuple(
    key.parent
    for table in SQLModel.metadata.tables.values()
    for key in table.foreign_keys
    if key.column.table.name == Installation.__tablename__ and table.name != PendingToken.__tablename__
)
"""The columns that refer to an installation, but for that of its pending tokens."""

_ADDRESS_OF_PENDING = (
    select(Installation.saleor_api_url)
    .where(col(Installation.id) == col(PendingToken.installation_id))
    .scalar_subquery()
)

SEALED_COLUMNS = (
    SealedColumn(col(Installation.token_sealed), place_columns=(col(Installation.saleor_api_url),), place=_place),
    SealedColumn(col(PendingToken.token_sealed), place_columns=(_ADDRESS_OF_PENDING,), place=_place),
)
"""The sealed columns of an installation."""
