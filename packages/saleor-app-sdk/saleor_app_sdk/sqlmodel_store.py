"""Installations in a database: two SQLModel tables, and an ``InstallationStore`` over an asynchronous engine.

It needs ``saleor-app-sdk[sqlmodel]``, a driver (``aiosqlite``, ``asyncpg`` or ``psycopg``), and keys with which the
tokens are sealed (``generate_sealing_key``). ``create_tables`` creates the tables; for Alembic there is ``metadata``,
which is the package's own, so that it never mixes with that of the app (``target_metadata`` can be a list).

Each call is one transaction. Whatever several processes do at once, an installation is the work of one of them: the
first statement of each transaction that writes takes the lock of the row, or on SQLite of the file.
"""

import hmac
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from saleor_app_sdk.in_memory import StoredInstallation
from saleor_app_sdk.installation import Installation
from saleor_app_sdk.pending_tokens import (
    MAX_PENDING_TOKENS,
    MAX_UNPROVEN_INSTALLATIONS,
    choose_token_to_replace,
    find_most_crowded,
)
from saleor_app_sdk.sealing import SealedValueError, Sealer, generate_sealing_key

try:
    from sqlalchemy import JSON, DateTime, MetaData, Row, Select, Text, delete, exists, select, update
    from sqlalchemy.dialects import postgresql, sqlite
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
    from sqlalchemy.orm import registry
    from sqlmodel import Field, SQLModel, col
except ModuleNotFoundError as exc:
    msg = 'installations in a database need SQLModel: pip install "saleor-app-sdk[sqlmodel]"'
    raise ModuleNotFoundError(msg, name=exc.name) from exc

__all__ = [
    "InstallationRow",
    "PendingTokenRow",
    "SQLModelInstallationStore",
    "SealedValueError",
    "create_tables",
    "generate_sealing_key",
    "metadata",
]

_INSERTS: Mapping[str, Callable[[Any], Any]] = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}

_registry = registry()

metadata: MetaData = _registry.metadata
"""The tables, for Alembic's ``target_metadata``."""


class _Table(SQLModel, registry=_registry):
    """The base class of the tables. Their types are SQLAlchemy's own, so that migrations need no import of others."""


class InstallationRow(_Table, table=True):
    """One Saleor that installed the app, or that wants to. Read and write it through the store."""

    __tablename__ = "saleor_installation"

    saleor_api_url: str = Field(primary_key=True, sa_type=Text)
    saleor_domain: str = Field(sa_type=Text)
    schema_version: str | None = Field(default=None, sa_type=Text)
    app_id: str | None = Field(default=None, sa_type=Text)
    token_sealed: str | None = Field(default=None, sa_type=Text)
    jwks: dict[str, Any] | None = Field(default=None, sa_type=JSON(none_as_null=True))
    jwks_fetched_at: datetime | None = Field(default=None, sa_type=DateTime(timezone=True))
    created_at: datetime = Field(sa_type=DateTime(timezone=True))
    updated_at: datetime = Field(sa_type=DateTime(timezone=True))


class PendingTokenRow(_Table, table=True):
    """A token that has not been proven yet."""

    __tablename__ = "saleor_pending_token"

    id: int | None = Field(default=None, primary_key=True)
    saleor_api_url: str = Field(sa_type=Text, foreign_key="saleor_installation.saleor_api_url", index=True)
    token_sealed: str = Field(sa_type=Text)
    received_at: datetime = Field(sa_type=DateTime(timezone=True))


async def create_tables(engine: AsyncEngine) -> None:
    """Create the tables that do not exist yet. An app that uses Alembic needs no such call."""
    async with engine.begin() as connection:
        await connection.run_sync(metadata.create_all)


def _utc_now() -> datetime:
    return datetime.now(UTC)


class SQLModelInstallationStore:
    """An ``InstallationStore`` in an SQLite or PostgreSQL database.

    ``keys`` seal the tokens, newest first (``generate_sealing_key``). To rotate: put a new key first, restart every
    process, call ``reseal``, and remove the old key. ``now`` is aware and in UTC. Raises ValueError for an engine of
    another database, and without a usable key.
    """

    def __init__(self, engine: AsyncEngine, *, keys: Sequence[str], now: Callable[[], datetime] = _utc_now) -> None:
        backend = engine.dialect.name
        if backend not in _INSERTS:
            msg = f"installations are stored in SQLite or PostgreSQL, not in {backend}"
            raise ValueError(msg)
        self._insert = _INSERTS[backend]
        # Under a stricter level a concurrent transaction would be an error instead of a wait.
        self._engine = engine if backend == "sqlite" else engine.execution_options(isolation_level="READ COMMITTED")
        self._sealer = Sealer(keys)
        self._now = now

    async def find(self, saleor_api_url: str) -> StoredInstallation | None:
        """Return the installation of that GraphQL address, or None. Raises SealedValueError if no key opens it."""
        found = await self._read(col(InstallationRow.saleor_api_url) == saleor_api_url)
        return found[0] if found else None

    async def all(self) -> list[StoredInstallation]:
        """Return all installations, oldest first."""
        return await self._read()

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
        """Store a proven token: overwrites app id, token and keys, deletes pending tokens."""
        now = self._now()
        values: dict[str, Any] = {
            "saleor_domain": saleor_domain,
            "schema_version": schema_version,
            "app_id": app_id,
            "token_sealed": self._sealer.seal(token, saleor_api_url),
        }
        if jwks is not None:
            values |= {"jwks": dict(jwks), "jwks_fetched_at": now}
        async with self._engine.begin() as connection:
            await self._upsert(connection, saleor_api_url, now, values, overwrite=True)
            await connection.execute(_delete_pending_of(saleor_api_url))

    async def save_pending(
        self, *, saleor_api_url: str, saleor_domain: str, schema_version: str | None, token: str
    ) -> bool:
        """Store a token that cannot be proven yet, beside the proven one.

        Where there are too many of them, or too many Saleors without a proven one, one of those that came in quick
        succession makes way.
        """
        now = self._now()
        values = {"saleor_domain": saleor_domain, "schema_version": schema_version}
        async with self._engine.begin() as connection:
            await self._upsert(connection, saleor_api_url, now, values, overwrite=False)
            pending = await _read_pending(connection, saleor_api_url)
            if any(self._is_token(row, token) for row in pending):
                return True
            if len(pending) >= MAX_PENDING_TOKENS:
                replaced = pending[choose_token_to_replace([_utc(row.received_at) for row in pending], now)]
                await connection.execute(delete(PendingTokenRow).where(col(PendingTokenRow.id) == replaced.id))
            row = {
                "saleor_api_url": saleor_api_url,
                "token_sealed": self._sealer.seal(token, saleor_api_url),
                "received_at": now,
            }
            await connection.execute(self._insert(PendingTokenRow).values(row))
            await _limit_unproven(connection, saleor_api_url, now)
        return True

    async def delete_pending(self, saleor_api_url: str, token: str) -> None:
        """Delete a pending token that Saleor rejects although the app is active."""
        async with self._engine.begin() as connection:
            for row in await _read_pending(connection, saleor_api_url):
                if self._is_token(row, token):
                    await connection.execute(delete(PendingTokenRow).where(col(PendingTokenRow.id) == row.id))

    async def delete(self, saleor_api_url: str, *, app_id: str) -> bool:
        """Delete what is stored of an app that was removed from its Saleor; return False if there is nothing of it.

        ``app_id`` is the app's id there: a later installation has another one, and stays. Tokens that may be those of
        a later installation stay too.
        """
        is_it = (col(InstallationRow.saleor_api_url) == saleor_api_url, col(InstallationRow.app_id) == app_id)
        async with self._engine.begin() as connection:
            removed = update(InstallationRow).where(*is_it).values(app_id=None, token_sealed=None)
            was_there = (await connection.execute(removed)).rowcount > 0
            if was_there:
                has_pending = exists().where(col(PendingTokenRow.saleor_api_url) == saleor_api_url)
                await connection.execute(
                    delete(InstallationRow).where(col(InstallationRow.saleor_api_url) == saleor_api_url, ~has_pending)
                )
        return was_there

    async def record_contact(self, installation: Installation, saleor_version: str | None) -> None:
        """Store the release that a verified request reports, if it differs."""
        if saleor_version not in {None, installation.schema_version}:
            await self._change(installation.saleor_api_url, schema_version=saleor_version)

    async def save_jwks(self, saleor_api_url: str, jwks: Mapping[str, Any], fetched_at: datetime) -> None:
        """Store the keys with which that Saleor signs, and when they were fetched (aware, UTC)."""
        await self._change(saleor_api_url, jwks=dict(jwks), jwks_fetched_at=fetched_at.astimezone(UTC))

    async def reseal(self) -> int:
        """Seal with the newest key what an older one has sealed, and return how many tokens that were.

        Raises SealedValueError if no key opens one of them; then nothing is changed.
        """
        count = 0
        async with self._engine.begin() as connection:
            for table, key in (
                (InstallationRow, InstallationRow.saleor_api_url),
                (PendingTokenRow, PendingTokenRow.id),
            ):
                sealed = col(table.token_sealed)
                rows = await connection.execute(
                    select(col(key), col(table.saleor_api_url), sealed).where(sealed.is_not(None))
                )
                for row_key, address, old in rows.all():
                    if self._sealer.is_newest(old):
                        continue
                    new = self._sealer.seal(self._sealer.open(old, address), address)
                    # Not if it was replaced in the meantime.
                    changed = update(table).where(col(key) == row_key, sealed == old).values(token_sealed=new)
                    count += (await connection.execute(changed)).rowcount
        return count

    async def _read(self, *where: Any) -> list[StoredInstallation]:
        query: Select[Any] = (
            select(InstallationRow, col(PendingTokenRow.token_sealed).label("pending_sealed"))
            .outerjoin(PendingTokenRow, col(PendingTokenRow.saleor_api_url) == col(InstallationRow.saleor_api_url))
            .where(*where)
            .order_by(
                col(InstallationRow.created_at), col(InstallationRow.saleor_api_url), col(PendingTokenRow.id).desc()
            )
        )
        async with self._engine.connect() as connection:
            rows = (await connection.execute(query)).all()
        by_address: dict[str, list[Row[Any]]] = {}
        for row in rows:
            by_address.setdefault(row.saleor_api_url, []).append(row)
        return [self._open(same) for same in by_address.values()]

    def _open(self, rows: Sequence[Row[Any]]) -> StoredInstallation:
        """Return an installation from its rows, of which there is one for each pending token, and at least one."""
        row = rows[0]
        address = row.saleor_api_url
        sealed_tokens = (same.pending_sealed for same in rows if same.pending_sealed is not None)
        return StoredInstallation(
            saleor_api_url=address,
            saleor_domain=row.saleor_domain,
            schema_version=row.schema_version,
            app_id=row.app_id,
            token="" if row.token_sealed is None else self._sealer.open(row.token_sealed, address),
            pending_tokens=tuple(self._sealer.open(sealed, address) for sealed in sealed_tokens),
            jwks=row.jwks,
            jwks_fetched_at=None if row.jwks_fetched_at is None else _utc(row.jwks_fetched_at),
        )

    async def _upsert(
        self,
        connection: AsyncConnection,
        saleor_api_url: str,
        now: datetime,
        values: Mapping[str, Any],
        *,
        overwrite: bool,
    ) -> None:
        """Insert the row, or ``overwrite`` that of the same address; in either case it is locked."""
        row = {"saleor_api_url": saleor_api_url, "created_at": now, "updated_at": now, **values}
        changed = {"updated_at": now, **(values if overwrite else {})}
        insertion = self._insert(InstallationRow).values(row)
        await connection.execute(insertion.on_conflict_do_update(index_elements=["saleor_api_url"], set_=changed))

    async def _change(self, saleor_api_url: str, **values: Any) -> None:
        change = update(InstallationRow).where(col(InstallationRow.saleor_api_url) == saleor_api_url)
        async with self._engine.begin() as connection:
            await connection.execute(change.values(updated_at=self._now(), **values))

    def _is_token(self, row: Row[Any], token: str) -> bool:
        """Return whether a pending row holds that token. The comparison takes constant time."""
        try:
            opened = self._sealer.open(row.token_sealed, row.saleor_api_url)
        except SealedValueError:
            return False  # its key is gone: a new installation must be possible nevertheless
        return hmac.compare_digest(opened.encode(), token.encode())


def _delete_pending_of(saleor_api_url: str) -> Any:
    return delete(PendingTokenRow).where(col(PendingTokenRow.saleor_api_url) == saleor_api_url)


async def _read_pending(connection: AsyncConnection, saleor_api_url: str) -> Sequence[Row[Any]]:
    """Return the unproven tokens of that Saleor, newest first."""
    query = select(PendingTokenRow).where(col(PendingTokenRow.saleor_api_url) == saleor_api_url)
    return (await connection.execute(query.order_by(col(PendingTokenRow.id).desc()))).all()


async def _limit_unproven(connection: AsyncConnection, saleor_api_url: str, now: datetime) -> None:
    """Delete one of the other Saleors without a proven token, if there are too many."""
    query = select(col(InstallationRow.saleor_api_url), col(InstallationRow.created_at))
    query = query.where(col(InstallationRow.app_id).is_(None)).order_by(col(InstallationRow.created_at).desc())
    # A row that somebody else writes at this moment is not the one to delete; waiting for it could be a deadlock.
    rows = (await connection.execute(query.with_for_update(skip_locked=True))).all()
    if len(rows) <= MAX_UNPROVEN_INSTALLATIONS:
        return
    rows = [row for row in rows if row.saleor_api_url != saleor_api_url]
    address = rows[find_most_crowded([_utc(row.created_at) for row in rows], now)].saleor_api_url
    await connection.execute(_delete_pending_of(address))
    await connection.execute(delete(InstallationRow).where(col(InstallationRow.saleor_api_url) == address))


def _utc(moment: datetime) -> datetime:
    """Return a moment as aware: SQLite forgets the time zone, which is always UTC here."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
