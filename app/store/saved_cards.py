"""The cards that customers save for later payments. The gateway's tokens are sealed, and opened only to pay with one.

A card belongs to one customer of one store at one merchant account: every query names all three, so that an id alone
finds nothing.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from secrets import token_urlsafe
from typing import Any

from sqlalchemy import ColumnElement, delete, tuple_, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.core.payment import CardToSave, RefusedCard
from app.core.vocabulary import PaymentStatus
from app.store.database import Database
from app.store.sealed_column import SealedColumn
from app.store.tables import DeletedCustomer, Payment, SavedCard
from app.store.vault import Vault

_ID_BYTES = 24  # enough that an id cannot be guessed


@dataclass(frozen=True, slots=True)
class DeletedCards:
    """What was deleted so that a store keeps no card of a customer.

    ``cards``: how many were deleted; ``consents``: from how many unfinished payments a card would have been saved.
    """

    cards: int
    consents: int


class SavedCards:
    """Stores the cards of all stores, each customer's separately."""

    def __init__(self, database: Database, vault: Vault) -> None:
        self._database = database
        self._vault = vault

    def seal_token(self, token: str, account_id: str, owner: str) -> str:
        """Return the gateway's token of a card, sealed for that account and that customer (``open_token``)."""
        return self._vault.seal(token, _place(account_id, owner))

    async def usable_cards(
        self, installation_id: int, account_id: str, user_id: str, now: datetime
    ) -> Sequence[SavedCard]:
        """Return the cards that a customer can pay with at an account, the newest first."""
        theirs = _usable_conditions(installation_id, account_id, user_id, now)
        query = select(SavedCard).where(*theirs).order_by(col(SavedCard.created_at).desc(), col(SavedCard.id))
        async with self._database.transaction() as session:
            return (await session.exec(query)).all()

    async def find(
        self, installation_id: int, account_id: str, user_id: str, card_id: str, now: datetime
    ) -> SavedCard | None:
        """Return one of the customer's usable cards; None when none has that id, even if another customer's has."""
        theirs = _usable_conditions(installation_id, account_id, user_id, now)
        query = select(SavedCard).where(*theirs, col(SavedCard.id) == card_id)
        async with self._database.transaction() as session:
            return (await session.exec(query)).first()

    def open_token(self, card: SavedCard) -> str:
        """Return the gateway's token of a card, opened. Raises VaultError."""
        return self._vault.open(card.token_sealed, _place(card.account_id, card.user_id))

    async def delete(self, installation_id: int, user_id: str, card_id: str) -> bool:
        """Delete a card of a customer, at any account of the store; return False when the customer has no such card.

        The customer's payments at that account which are over save no card any more: a token that the gateway states
        late would bring this one back.
        """
        theirs = (
            col(SavedCard.installation_id) == installation_id,
            col(SavedCard.user_id) == user_id,
            col(SavedCard.id) == card_id,
        )
        agreed = (col(Payment.installation_id) == installation_id, col(Payment.card_owner) == user_id)
        statement: Any = delete(SavedCard).where(*theirs).returning(col(SavedCard.id))
        async with self._database.transaction() as session:
            account_id = (await session.exec(select(SavedCard.account_id).where(*theirs))).first()
            if account_id is None:
                return False
            is_over = (col(Payment.account_id) == account_id, col(Payment.status) != PaymentStatus.PENDING)
            await _withdraw_consents(session, *agreed, *is_over)
            return (await session.exec(statement)).first() is not None

    async def cards_of_customer(self, installation_id: int, user_id: str) -> Sequence[SavedCard]:
        """Return all cards that a store keeps of a customer, including unusable ones, the oldest first."""
        query = select(SavedCard).where(*_customer_conditions(installation_id, user_id))
        async with self._database.transaction() as session:
            return (await session.exec(query.order_by(col(SavedCard.created_at), col(SavedCard.id)))).all()

    async def delete_all(self, installation_id: int, user_id: str) -> DeletedCards:
        """Delete all cards of a customer of a store, and save none from payments that were begun until now."""
        agreed = (col(Payment.installation_id) == installation_id, col(Payment.card_owner) == user_id)
        cards: Any = delete(SavedCard).where(*_customer_conditions(installation_id, user_id))
        async with self._database.transaction() as session:
            consents = await _withdraw_consents(session, *agreed)
            gone = (await session.exec(cards.returning(col(SavedCard.id)))).all()
        return DeletedCards(cards=len(gone), consents=consents)

    async def delete_customer(self, installation_id: int, user_id: str, now: datetime) -> DeletedCards:
        """Do the same, permanently, for a customer whom Saleor has deleted; safe to repeat, if Saleor reports it again.

        An event that Saleor sent earlier can still be on its way, so the deletion is recorded first: a payment that
        such an event begins saves no card either (``write_cards``).
        """
        row = {"installation_id": installation_id, "user_id": user_id, "deleted_at": now}
        async with self._database.transaction() as session:
            await session.exec(_insert(session)(DeletedCustomer).values(row).on_conflict_do_nothing())
        return await self.delete_all(installation_id, user_id)


async def _withdraw_consents(session: AsyncSession, *which: ColumnElement[bool]) -> int:
    """Let these payments save no card; return how many would have.

    A transaction that is about to save a card has locked its payment: locking first the payments, then deleting the
    cards, leaves none behind.
    """
    query = select(Payment.id).where(*which).order_by(col(Payment.id)).with_for_update()
    payments = (await session.exec(query)).all()
    await session.exec(update(Payment).where(col(Payment.id).in_(payments)).values(card_owner=None))
    return len(payments)


async def write_cards(session: AsyncSession, saved: Iterable[CardToSave], refused: Iterable[RefusedCard]) -> None:
    """Write newly saved cards, each once, and mark those that the gateway no longer accepts.

    In the same order everywhere, so that no two processes deadlock. A card that was saved again since it was refused
    has another token, and stays usable. The late token of an earlier payment replaces a newer one only if that is of no
    use any more, or expires earlier. No card is saved for a customer whom Saleor has since deleted.
    """
    for refusal in sorted(refused, key=lambda refused: refused.card_id):
        meant = (col(SavedCard.id) == refusal.card_id, col(SavedCard.updated_at) <= refusal.paid_at)
        usable = (*meant, col(SavedCard.unusable_since).is_(None))
        await session.exec(update(SavedCard).where(*usable).values(unusable_since=refusal.since))
    latest = {(card.account_id, card.owner, card.mask): card for card in sorted(saved, key=lambda card: card.paid_at)}
    cards = [latest[key] for key in sorted(latest)]
    deleted = await _deleted_customers(session, {(card.installation_id, card.owner) for card in cards})
    unique_columns = ("account_id", "user_id", "mask")
    for card in cards:
        if (card.installation_id, card.owner) in deleted:
            continue
        statement = _insert(session)(SavedCard).values(_row_of(card).model_dump())
        newer = ("brand", "token_sealed", "expires_at", "unusable_since", "updated_at")
        again = {name: statement.excluded[name] for name in newer}
        is_older = (
            (col(SavedCard.updated_at) <= card.paid_at)
            | col(SavedCard.unusable_since).is_not(None)
            | (col(SavedCard.expires_at) <= card.saved_at)
            | (col(SavedCard.expires_at) < statement.excluded["expires_at"])
        )
        await session.exec(statement.on_conflict_do_update(index_elements=unique_columns, set_=again, where=is_older))


def _row_of(card: CardToSave) -> SavedCard:
    return SavedCard(
        # Must contain no colon: Saleor builds its own ids from ours with colons as separators.
        id=token_urlsafe(_ID_BYTES),
        installation_id=card.installation_id,
        account_id=card.account_id,
        user_id=card.owner,
        mask=card.mask,
        brand=card.brand,
        token_sealed=card.token_sealed,
        expires_at=card.expires_at,
        created_at=card.saved_at,
        updated_at=card.saved_at,
    )


async def _deleted_customers(session: AsyncSession, owners: Collection[tuple[int, str]]) -> set[tuple[int, str]]:
    """Return those of these customers, each with its store, whom Saleor has deleted."""
    if not owners:
        return set()
    both = (col(DeletedCustomer.installation_id), col(DeletedCustomer.user_id))
    query = select(DeletedCustomer).where(tuple_(*both).in_(owners))
    return {(card.installation_id, card.user_id) for card in (await session.exec(query)).all()}


def _insert(session: AsyncSession) -> Any:
    return postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert


def _customer_conditions(installation_id: int, user_id: str) -> tuple[ColumnElement[bool], ...]:
    return col(SavedCard.installation_id) == installation_id, col(SavedCard.user_id) == user_id


def _usable_conditions(
    installation_id: int, account_id: str, user_id: str, now: datetime
) -> tuple[ColumnElement[bool], ...]:
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
    SealedColumn(
        col(SavedCard.token_sealed), place_columns=(col(SavedCard.account_id), col(SavedCard.user_id)), place=_place
    ),
)
"""The sealed columns of a saved card."""
