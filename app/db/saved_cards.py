"""The cards that customers keep for the next time. The gateway's tokens are sealed, and opened only to pay with one.

A card belongs to one customer of one store at one merchant account: every question names all of them, so that no id
alone finds anything.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from secrets import token_urlsafe
from typing import Any, Protocol

from sqlalchemy import ColumnElement, delete, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.db.database import Database
from app.db.tables import Payment, SavedCard
from app.db.vault import Vault

_ID_BYTES = 24  # nobody guesses so many


@dataclass(frozen=True, slots=True)
class RefusedCard:
    """A card that the gateway takes no more, as a payment has shown that was begun at ``paid_at``."""

    card_id: str
    paid_at: datetime
    since: datetime


class NewCard(Protocol):
    """Makes the row of a card that its owner agreed to keep (``SavedCards.of_payment``)."""

    def __call__(
        self,
        payment: Payment,
        owner: str,
        *,
        token: str,
        mask: str,
        brand: str | None,
        expires_at: datetime | None,
        now: datetime,
    ) -> SavedCard:
        """Return the row, its token sealed."""


class SavedCards:
    """Keeps cards of all stores, each customer's apart."""

    def __init__(self, database: Database, vault: Vault) -> None:
        self._database = database
        self._vault = vault

    def of_payment(
        self,
        payment: Payment,
        owner: str,
        *,
        token: str,
        mask: str,
        brand: str | None,
        expires_at: datetime | None,
        now: datetime,
    ) -> SavedCard:
        """Return the row of a card that a payment was made with, to be written with the payment (``write_cards``)."""
        return SavedCard(
            # Saleor takes no colon in it: it makes its own ids of ours with colons between.
            id=token_urlsafe(_ID_BYTES),
            installation_id=payment.installation_id,
            account_id=payment.account_id,
            user_id=owner,
            mask=mask,
            brand=brand,
            token_sealed=self._vault.seal(token, _place(payment.account_id, owner)),
            expires_at=expires_at,
            created_at=now,
            updated_at=now,
        )

    async def usable(self, installation_id: int, account_id: str, user_id: str, now: datetime) -> Sequence[SavedCard]:
        """Return what a customer can pay with at an account, the newest first."""
        theirs = _usable(installation_id, account_id, user_id, now)
        query = select(SavedCard).where(*theirs).order_by(col(SavedCard.created_at).desc(), col(SavedCard.id))
        async with self._database.transaction() as session:
            return (await session.exec(query)).all()

    async def find(
        self, installation_id: int, account_id: str, user_id: str, card_id: str, now: datetime
    ) -> SavedCard | None:
        """Return one of these; None when there is none of that id among them, whoever else may have it."""
        theirs = _usable(installation_id, account_id, user_id, now)
        query = select(SavedCard).where(*theirs, col(SavedCard.id) == card_id)
        async with self._database.transaction() as session:
            return (await session.exec(query)).first()

    def token(self, card: SavedCard) -> str:
        """Return the gateway's token of a card, opened. Raises VaultError."""
        return self._vault.open(card.token_sealed, _place(card.account_id, card.user_id))

    async def delete(self, installation_id: int, user_id: str, card_id: str) -> bool:
        """Delete a card of a customer, at whichever account of the store; return False when they have none such."""
        theirs = (
            col(SavedCard.installation_id) == installation_id,
            col(SavedCard.user_id) == user_id,
            col(SavedCard.id) == card_id,
        )
        statement: Any = delete(SavedCard).where(*theirs).returning(col(SavedCard.id))
        async with self._database.transaction() as session:
            return (await session.exec(statement)).first() is not None


async def write_cards(session: AsyncSession, kept: Iterable[SavedCard], refused: Iterable[RefusedCard]) -> None:
    """Write the cards that are kept, each once, and mark those that the gateway takes no more.

    In one order everywhere, so that no two processes wait for each other's row. A card that was kept anew since it was
    refused has another token, and stays.
    """
    for each in sorted(refused, key=lambda refused: refused.card_id):
        meant = (col(SavedCard.id) == each.card_id, col(SavedCard.updated_at) <= each.paid_at)
        usable = (*meant, col(SavedCard.unusable_since).is_(None))
        await session.exec(update(SavedCard).where(*usable).values(unusable_since=each.since))
    insert: Any = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
    known_by = ("account_id", "user_id", "mask")
    for card in sorted(kept, key=lambda each: (each.account_id, each.user_id, each.mask)):
        statement = insert(SavedCard).values(card.model_dump())
        newer = ("brand", "token_sealed", "expires_at", "unusable_since", "updated_at")
        again = {name: statement.excluded[name] for name in newer}
        await session.exec(statement.on_conflict_do_update(index_elements=known_by, set_=again))


def _usable(installation_id: int, account_id: str, user_id: str, now: datetime) -> tuple[ColumnElement[bool], ...]:
    return (
        col(SavedCard.installation_id) == installation_id,
        col(SavedCard.account_id) == account_id,
        col(SavedCard.user_id) == user_id,
        col(SavedCard.unusable_since).is_(None),
        col(SavedCard.expires_at).is_(None) | (col(SavedCard.expires_at) > now),
    )


def _place(account_id: str, user_id: str) -> str:
    return f"account/{account_id}/saved-card/{user_id}"
