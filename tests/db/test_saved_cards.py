"""Saved cards in the database, by many hands at once."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from sqlmodel import col, select

from app.core.payment import CardToSave, RefusedCard
from app.store.database import Database, create_engine
from app.store.saved_cards import SavedCards, write_cards
from app.store.tables import MerchantAccount, Payment, SavedCard
from app.store.vault import Vault, VaultError
from tests.db.rows import NOON, a_new_payment
from tests.saved_cards import card_to_save

MASKS = ("424242******4242", "545454******5454")


@pytest.fixture
def cards(database: Database, vault: Vault) -> SavedCards:
    return SavedCards(database, vault)


@pytest.fixture
async def other(database_url: str) -> AsyncIterator[Database]:
    """Another process."""
    other = Database(create_engine(database_url))
    yield other
    await other.close()


def card(
    cards: SavedCards,
    account: MerchantAccount,
    mask: str,
    token: str,
    *,
    owner: str = "VXNlcjox",
    now: datetime = NOON,
) -> CardToSave:
    return card_to_save(cards, account, owner, token=token, mask=mask, now=now)


async def write(database: Database, kept: Sequence[CardToSave] = (), refused: Sequence[RefusedCard] = ()) -> None:
    async with database.transaction() as session:
        await write_cards(session, kept, refused)


async def rows(database: Database) -> list[SavedCard]:
    async with database.transaction() as session:
        return list((await session.exec(select(SavedCard).order_by(col(SavedCard.mask)))).all())


async def test_two_processes_that_keep_the_same_cards_wait_for_each_other_and_keep_each_once(
    database: Database, other: Database, account: MerchantAccount, cards: SavedCards
) -> None:
    """However each of them has come by the cards: they are written in one order."""
    for number in range(5):
        first = [card(cards, account, mask, f"first-{number}") for mask in MASKS]
        second = [card(cards, account, mask, f"second-{number}") for mask in reversed(MASKS)]
        await asyncio.gather(write(database, first), write(other, second))
    assert [row.mask for row in await rows(database)] == list(MASKS)


async def test_of_one_card_kept_twice_in_one_transaction_the_newest_token_stays(
    database: Database, account: MerchantAccount, cards: SavedCards
) -> None:
    await write(database, [card(cards, account, MASKS[0], "first"), card(cards, account, MASKS[0], "second")])
    [kept] = await rows(database)
    assert cards.open_token(kept) == "second"


@pytest.mark.parametrize(("years", "token"), [(3, "late"), (1, "newer"), (None, "newer")])
async def test_a_late_token_replaces_a_newer_one_that_expires_earlier(
    database: Database, account: MerchantAccount, cards: SavedCards, years: int | None, token: str
) -> None:
    """Where both were stated late, their expiry says which of them is the newer."""
    a_year = timedelta(days=365)
    expires = None if years is None else NOON + years * a_year
    await write(database, [replace(card(cards, account, MASKS[0], "newer"), expires_at=NOON + 2 * a_year)])
    late = card(cards, account, MASKS[0], "late", now=NOON + timedelta(hours=1))
    await write(database, [replace(late, paid_at=NOON - timedelta(hours=1), expires_at=expires)])
    [kept] = await rows(database)
    assert cards.open_token(kept) == token


async def test_a_card_of_another_customer_is_another_card(
    database: Database, account: MerchantAccount, cards: SavedCards
) -> None:
    await write(
        database, [card(cards, account, MASKS[0], "one"), card(cards, account, MASKS[0], "two", owner="VXNlcjoy")]
    )
    assert len(await rows(database)) == 2


async def test_a_token_opens_for_its_owner_alone(
    database: Database, account: MerchantAccount, cards: SavedCards
) -> None:
    await write(database, [card(cards, account, MASKS[0], "one")])
    [kept] = await rows(database)
    kept.user_id = "VXNlcjoy"
    with pytest.raises(VaultError):
        cards.open_token(kept)


async def test_a_card_kept_anew_after_the_payment_that_was_refused_stays_good(
    database: Database, account: MerchantAccount, cards: SavedCards
) -> None:
    await write(database, [card(cards, account, MASKS[0], "one")])
    [kept] = await rows(database)
    late = RefusedCard(kept.id, NOON - timedelta(seconds=1), NOON)
    await write(database, refused=[late])
    assert [row.unusable_since for row in await rows(database)] == [None]
    await write(database, refused=[RefusedCard(kept.id, NOON, NOON)])
    assert [row.unusable_since for row in await rows(database)] == [NOON]
    await write(database, [card(cards, account, MASKS[0], "two", now=NOON + timedelta(days=1))])
    assert [row.unusable_since for row in await rows(database)] == [None]


async def test_whoever_keeps_a_card_and_whoever_forgets_its_owner_leave_none(
    database: Database, other: Database, account: MerchantAccount, cards: SavedCards, vault: Vault
) -> None:
    """At the same moment, in two processes: the payment is locked by whoever is about to keep its card."""
    owner = "VXNlcjox"
    forgetting = SavedCards(other, vault)
    for number in range(1, 6):
        async with database.transaction() as session:
            begun = a_new_payment(account, number)
            begun.card_owner = owner
            session.add(begun)

        async def keep(number: int = number) -> None:
            async with database.transaction() as session:
                query = select(Payment).where(Payment.transaction_id == a_new_payment(account, number).transaction_id)
                payment = (await session.exec(query.with_for_update())).one()
                await asyncio.sleep(0)
                if payment.card_owner is not None:
                    payment.card_owner = None
                    await write_cards(session, [card(cards, account, MASKS[0], "one", owner=owner)], [])

        _, done = await asyncio.gather(keep(), forgetting.delete_all(account.installation_id, owner))
        assert done.cards + done.consents == 1
        assert await rows(database) == []


async def test_what_saleor_says_twice_at_once_is_written_down_once(
    database: Database, other: Database, account: MerchantAccount, cards: SavedCards, vault: Vault
) -> None:
    store, owner = account.installation_id, "VXNlcjox"
    await write(database, [card(cards, account, MASKS[0], "one"), card(cards, account, MASKS[0], "two", owner="other")])
    done = await asyncio.gather(
        cards.delete_customer(store, owner, NOON), SavedCards(other, vault).delete_customer(store, owner, NOON)
    )
    assert sorted(deleted_cards.cards for deleted_cards in done) == [0, 1]
    await write(database, [card(cards, account, MASKS[1], "late")])
    assert [row.user_id for row in await rows(database)] == ["other"]
