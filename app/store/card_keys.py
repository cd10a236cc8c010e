"""The key pairs for which storefronts encrypt cards. The private half is sealed, and opened only to decrypt a card.

Each store has key pairs of its own: a card that a shopper of one store has encrypted cannot be decrypted for another.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, text
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.store.database import Database
from app.store.sealed_column import SealedColumn
from app.store.tables import CardKey
from app.store.vault import Vault


class StoreCardKeys:
    """Stores one store's card keys. Which of them are offered, and which may still decrypt, is not decided here."""

    def __init__(self, database: Database, vault: Vault, installation_id: int) -> None:
        self._database = database
        self._vault = vault
        self._installation_id = installation_id

    async def all(self) -> Sequence[CardKey]:
        """Return all keys of the store, newest first."""
        async with self._database.transaction() as session:
            return await _newest_first(session, self._installation_id)

    def private_jwk(self, key: CardKey) -> str:
        """Return the private half, opened: a JWK as JSON text. Raises VaultError."""
        return self._vault.open(key.private_sealed, _place(self._installation_id, key.kid))

    async def add(
        self, public_jwk: dict[str, Any], private_jwk: str, *, now: datetime, unless_since: datetime | None
    ) -> CardKey:
        """Store a key pair, unless the store has one created after ``unless_since``; return the newest.

        Processes that need a key at the same moment all get the same one.
        """
        kid = public_jwk["kid"]
        key = CardKey(
            kid=kid,
            installation_id=self._installation_id,
            public_jwk=public_jwk,
            private_sealed=self._vault.seal(private_jwk, _place(self._installation_id, kid)),
            created_at=now,
        )
        async with self._database.transaction() as session:
            await _lock_out_writers(session)
            newest = next(iter(await _newest_first(session, self._installation_id)), None)
            if newest is not None and unless_since is not None and newest.created_at > unless_since:
                return newest
            session.add(key)
        return key

    async def delete(self, kids: Collection[str]) -> None:
        """Delete keys of the store: cards encrypted for them can no longer be decrypted."""
        theirs = (col(CardKey.installation_id) == self._installation_id, col(CardKey.kid).in_(kids))
        async with self._database.transaction() as session:
            await session.exec(delete(CardKey).where(*theirs))


class CardKeyRepository:
    """Stores the card keys of all stores, separately."""

    def __init__(self, database: Database, vault: Vault) -> None:
        self._database = database
        self._vault = vault

    def for_store(self, installation_id: int) -> StoreCardKeys:
        """Return the keys of one store."""
        return StoreCardKeys(self._database, self._vault, installation_id)


async def _newest_first(session: AsyncSession, installation_id: int) -> Sequence[CardKey]:
    theirs = select(CardKey).where(CardKey.installation_id == installation_id)
    return (await session.exec(theirs.order_by(col(CardKey.created_at).desc(), col(CardKey.kid)))).all()


async def _lock_out_writers(session: AsyncSession) -> None:
    """Block other writers of this table, but not readers. On SQLite every transaction does so from its start."""
    connection = await session.connection()
    if connection.dialect.name == "postgresql":
        await connection.execute(text("LOCK TABLE card_key IN EXCLUSIVE MODE"))


def _place(installation_id: int, kid: str) -> str:
    return f"installation/{installation_id}/card-key/{kid}"


SEALED_COLUMNS = (
    SealedColumn(
        col(CardKey.private_sealed), place_columns=(col(CardKey.installation_id), col(CardKey.kid)), place=_place
    ),
)
"""The sealed columns of a card key."""
