"""Cards that customers have saved, without paying with them first."""

from datetime import datetime

from sqlmodel import select

from app.core.payment import CardToSave
from app.store.database import Database
from app.store.saved_cards import SavedCards, write_cards
from app.store.tables import MerchantAccount, SavedCard


def card_to_save(
    cards: SavedCards, account: MerchantAccount, owner: str, *, token: str, mask: str, now: datetime
) -> CardToSave:
    """Return a card that its owner agreed to save, as a decision about a payment does."""
    return CardToSave(
        installation_id=account.installation_id,
        account_id=account.id,
        owner=owner,
        token_sealed=cards.seal_token(token, account.id, owner),
        mask=mask,
        brand="Visa",
        expires_at=None,
        saved_at=now,
        paid_at=now,
    )


async def save_card(database: Database, card: CardToSave) -> SavedCard:
    """Write a card; return its row."""
    async with database.transaction() as session:
        await write_cards(session, [card], [])
        query = select(SavedCard).where(SavedCard.user_id == card.owner, SavedCard.mask == card.mask)
        return (await session.exec(query.where(SavedCard.account_id == card.account_id))).one()
