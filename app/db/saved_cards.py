"""The cards that customers keep for the next time. The gateway's tokens are sealed, and opened only to pay with one.

A card belongs to one customer of one store at one merchant account: every question names all of them, so that no id
alone finds anything.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from secrets import token_urlsafe
from typing import Any, Protocol

from sqlalchemy import ColumnElement, delete, tuple_, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.db.database import Database
from app.db.sealed_column import SealedColumn
from app.db.tables import DeletedCustomer, Payment, SavedCard
from app.db.vault import Vault

_ID_BYTES = 24  # nobody guesses so many


@dataclass(frozen=True, slots=True)
class RefusedCard:
    """A card that the gateway takes no more, as a payment has shown that was begun at ``paid_at``."""

    card_id: str
    paid_at: datetime
    since: datetime


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was done so that a store keeps no card of a customer.

    ``cards`` are deleted; ``consents``: of so many payments that have not ended a card would have been kept.
    """

    cards: int
    consents: int


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

    async def of_customer(self, installation_id: int, user_id: str) -> Sequence[SavedCard]:
        """Return all that a store keeps of a customer, also what cannot be paid with any more, the oldest first."""
        query = select(SavedCard).where(*_of_customer(installation_id, user_id))
        async with self._database.transaction() as session:
            return (await session.exec(query.order_by(col(SavedCard.created_at), col(SavedCard.id)))).all()

    async def forget(self, installation_id: int, user_id: str) -> Forgotten:
        """Delete all cards of a customer of a store, and keep none of payments that have been begun until now.

        Whoever is about to keep one has locked its payment: first the payments, then the cards, and none is left.
        """
        agreed = (col(Payment.installation_id) == installation_id, col(Payment.card_owner) == user_id)
        under_way = select(Payment.id).where(*agreed).order_by(col(Payment.id)).with_for_update()
        cards: Any = delete(SavedCard).where(*_of_customer(installation_id, user_id))
        async with self._database.transaction() as session:
            payments = (await session.exec(under_way)).all()
            await session.exec(update(Payment).where(col(Payment.id).in_(payments)).values(card_owner=None))
            gone = (await session.exec(cards.returning(col(SavedCard.id)))).all()
        return Forgotten(cards=len(gone), consents=len(payments))

    async def forget_deleted(self, installation_id: int, user_id: str, now: datetime) -> Forgotten:
        """Do the same for a customer whom Saleor has deleted, for ever; as often as Saleor says so.

        An event that Saleor has sent before can still be on its way, so that is written down first: also of a payment
        that is begun by it nothing is kept (``write_cards``).
        """
        row = {"installation_id": installation_id, "user_id": user_id, "deleted_at": now}
        async with self._database.transaction() as session:
            await session.exec(_insert(session)(DeletedCustomer).values(row).on_conflict_do_nothing())
        return await self.forget(installation_id, user_id)


async def write_cards(session: AsyncSession, kept: Iterable[SavedCard], refused: Iterable[RefusedCard]) -> None:
    """Write the cards that are kept, each once, and mark those that the gateway takes no more.

    In one order everywhere, so that no two processes wait for each other's row. A card that was kept anew since it was
    refused has another token, and stays. Of a customer whom Saleor has deleted meanwhile none is kept.
    """
    for each in sorted(refused, key=lambda refused: refused.card_id):
        meant = (col(SavedCard.id) == each.card_id, col(SavedCard.updated_at) <= each.paid_at)
        usable = (*meant, col(SavedCard.unusable_since).is_(None))
        await session.exec(update(SavedCard).where(*usable).values(unusable_since=each.since))
    cards = sorted(kept, key=lambda each: (each.account_id, each.user_id, each.mask))
    deleted = await _deleted(session, {(each.installation_id, each.user_id) for each in cards})
    known_by = ("account_id", "user_id", "mask")
    for card in cards:
        if (card.installation_id, card.user_id) in deleted:
            continue
        statement = _insert(session)(SavedCard).values(card.model_dump())
        newer = ("brand", "token_sealed", "expires_at", "unusable_since", "updated_at")
        again = {name: statement.excluded[name] for name in newer}
        await session.exec(statement.on_conflict_do_update(index_elements=known_by, set_=again))


async def _deleted(session: AsyncSession, owners: Collection[tuple[int, str]]) -> set[tuple[int, str]]:
    """Return which of these customers of these stores Saleor has deleted."""
    if not owners:
        return set()
    both = (col(DeletedCustomer.installation_id), col(DeletedCustomer.user_id))
    query = select(DeletedCustomer).where(tuple_(*both).in_(owners))
    return {(each.installation_id, each.user_id) for each in (await session.exec(query)).all()}


def _insert(session: AsyncSession) -> Any:
    return postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert


def _of_customer(installation_id: int, user_id: str) -> tuple[ColumnElement[bool], ...]:
    return col(SavedCard.installation_id) == installation_id, col(SavedCard.user_id) == user_id


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


SEALED_COLUMNS = (
    SealedColumn(col(SavedCard.token_sealed), of=(col(SavedCard.account_id), col(SavedCard.user_id)), place=_place),
)
"""What of a saved card is sealed."""
