"""Who installed us: the rows that the Saleor SDK asks for by its own protocol, with tokens sealed at rest."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.ledger.database import Database
from app.ledger.remembered import Remembered
from app.ledger.tables import Installation
from app.ledger.vault import Vault


@dataclass(frozen=True, slots=True)
class OpenInstallation:
    """An installation with its tokens opened. ``token`` is empty while none was ever proven."""

    id: int
    saleor_api_url: str
    app_id: str | None
    token: str
    pending_token: str | None
    jwks: Mapping[str, Any] | None
    jwks_fetched_at: datetime | None
    schema_version: str | None
    dashboard_url: str | None

    @property
    def verified(self) -> bool:
        """True when Saleor itself has told us whose token this is."""
        return bool(self.token)

    def __repr__(self) -> str:
        return f"<OpenInstallation {self.saleor_api_url} app={self.app_id}>"


class InstallationBook:
    """Finds and keeps installations.

    Every webhook and every report asks for one, so they are remembered for a moment.
    """

    def __init__(self, database: Database, vault: Vault, now: Callable[[], datetime]) -> None:
        self._database = database
        self._vault = vault
        self._now = now
        self._remembered: Remembered[str | int, OpenInstallation] = Remembered(now)

    async def find(self, saleor_api_url: str) -> OpenInstallation | None:
        """Return the installation of that GraphQL address, or None."""
        return await self._remembered.get(
            saleor_api_url, lambda: self._read(col(Installation.saleor_api_url) == saleor_api_url)
        )

    async def all(self) -> list[OpenInstallation]:
        """Return every installation, oldest first."""
        async with self._database.transaction() as session:
            rows = (await session.exec(select(Installation).order_by(col(Installation.id)))).all()
        return [self._open(row) for row in rows]

    async def get(self, installation_id: int) -> OpenInstallation:
        """Return the installation with that row id, which a payment refers to and which therefore exists."""
        found = await self._remembered.get(installation_id, lambda: self._read(col(Installation.id) == installation_id))
        if found is None:
            raise LookupError(f"no installation {installation_id}")
        return found

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
        """Keep a proven token: overwrites the app's id, token and keys, and leaves everything else as it was."""
        async with self._database.transaction() as session:
            row = await self._row_to_write(session, saleor_api_url, saleor_domain, schema_version, jwks)
            row.app_id = app_id
            row.token_sealed = self._vault.seal(token, _place(saleor_api_url))
            row.pending_token_sealed = None
            row.problems_due_at = self._now()
        self._remembered.forget()

    async def save_pending(
        self,
        *,
        saleor_api_url: str,
        saleor_domain: str,
        schema_version: str | None,
        token: str,
        jwks: Mapping[str, Any] | None,
    ) -> None:
        """Keep a token that cannot be proven yet, beside the proven one if there is one."""
        async with self._database.transaction() as session:
            row = await self._row_to_write(session, saleor_api_url, saleor_domain, schema_version, jwks)
            row.pending_token_sealed = self._vault.seal(token, _place(saleor_api_url))
        self._remembered.forget()

    async def save_jwks(self, saleor_api_url: str, jwks: Mapping[str, Any], fetched_at: datetime) -> None:
        """Keep the keys with which that Saleor signs."""
        async with self._database.transaction() as session:
            row = await _locked(session, saleor_api_url)
            if row is not None:
                row.jwks = dict(jwks)
                row.jwks_fetched_at = fetched_at
        self._remembered.forget()

    async def set_dashboard(self, installation_id: int, dashboard_url: str | None) -> None:
        """Keep where that store's Dashboard is; None: forget it."""
        async with self._database.transaction() as session:
            row = await session.get_one(Installation, installation_id, with_for_update=True)
            row.dashboard_url = dashboard_url
            row.updated_at = self._now()
        self._remembered.forget()

    async def _row_to_write(
        self,
        session: AsyncSession,
        saleor_api_url: str,
        saleor_domain: str,
        schema_version: str | None,
        jwks: Mapping[str, Any] | None,
    ) -> Installation:
        now = self._now()
        row = await _locked(session, saleor_api_url)
        if row is None:
            row = Installation(saleor_api_url=saleor_api_url, created_at=now, updated_at=now)
            session.add(row)
        row.saleor_domain = saleor_domain
        row.schema_version = schema_version
        row.updated_at = now
        if jwks is not None:
            row.jwks = dict(jwks)
            row.jwks_fetched_at = now
        return row

    async def _read(self, which: ColumnElement[bool]) -> Mapping[str | int, OpenInstallation]:
        async with self._database.transaction() as session:
            row = (await session.exec(select(Installation).where(which))).first()
        if row is None:
            return {}
        found = self._open(row)
        return {found.id: found, found.saleor_api_url: found}

    def _open(self, row: Installation) -> OpenInstallation:
        assert row.id is not None  # noqa: S101 - a row that was read has its id
        place = _place(row.saleor_api_url)
        return OpenInstallation(
            id=row.id,
            saleor_api_url=row.saleor_api_url,
            app_id=row.app_id,
            token=self._vault.open(row.token_sealed, place) if row.token_sealed else "",
            pending_token=self._vault.open(row.pending_token_sealed, place) if row.pending_token_sealed else None,
            jwks=row.jwks,
            jwks_fetched_at=row.jwks_fetched_at,
            schema_version=row.schema_version,
            dashboard_url=row.dashboard_url,
        )


def _place(saleor_api_url: str) -> str:
    return f"installation/{saleor_api_url}/token"


async def _locked(session: AsyncSession, saleor_api_url: str) -> Installation | None:
    query = select(Installation).where(Installation.saleor_api_url == saleor_api_url)
    return (await session.exec(query.with_for_update())).first()
