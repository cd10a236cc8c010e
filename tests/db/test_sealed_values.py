"""A key is retired: everything that it has sealed is sealed anew, while the app goes on."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest
from sqlalchemy import Text
from sqlmodel import SQLModel

from app.core.vocabulary import Kind
from app.store.accounts import AccountKeys, AccountRepository
from app.store.card_keys import StoreCardKeys
from app.store.columns import BoundedText
from app.store.database import Database
from app.store.errors import DatabaseUnavailableError
from app.store.inbox import Inbox
from app.store.installations import InstallationRepository
from app.store.personal import BlindIndex, PersonalData
from app.store.saved_cards import SavedCards
from app.store.sealed_values import SEALED_COLUMNS, ResealProgress, SealedValues
from app.store.tables import MerchantAccount, Operation, Payment, SavedCard
from app.store.vault import KEY_BYTES, Vault
from integration_base_tests.clock import Clock
from tests.db.rows import KEYS, NOON, URL, a_new_payment, an_account, an_installation, an_operation, read_raw
from tests.saved_cards import card_to_save, save_card

OLD, NEW, LOST = b"\x01" * KEY_BYTES, b"\x02" * KEY_BYTES, b"\x03" * KEY_BYTES
BEFORE, ROTATED, AFTER = Vault([OLD]), Vault([NEW, OLD]), Vault([NEW])
OWNER, OLENA, BACK = "VXNlcjox", "olena@example.com", "https://shop.example.com/back?order=1042"
PAYMENTS = 3


class Store:
    """What is kept of a store, as a process sees it that has these keys."""

    def __init__(self, database: Database, vault: Vault, clock: Clock) -> None:
        self.database = database
        self.installations = InstallationRepository(database, vault, clock)
        self.accounts = AccountRepository(database, vault, clock)
        self.inbox = Inbox(database, vault)
        self.saved_cards = SavedCards(database, vault)
        self.personal = PersonalData(vault)
        self.emails = BlindIndex(vault)
        self.card_keys = StoreCardKeys(database, vault, 1)

    async def filled(self) -> MerchantAccount:
        """Keep something in every column that can be sealed."""
        account = await an_account(self.accounts, await an_installation(self.installations))
        for secret in ("a-newer-secret", "the-newest-secret"):
            account = await self.accounts.change_keys(account.id, api_secret=secret)
        await self.installations.save_pending(
            saleor_api_url=URL, saleor_domain="shop.example.com", schema_version="3.23", token="pending"
        )
        await self.card_keys.add({"kid": "a"}, "private", now=NOON, unless_since=None)
        for number in range(PAYMENTS):
            await self.inbox.store(
                account_id=account.id, digest=f"{number}", data=f"word {number}", order_id=f"order{number}", now=NOON
            )
            payment = a_new_payment(account, number)
            payment.return_url_sealed = self.personal.seal_return_url(payment.transaction_id, BACK)
            payment.email_digest = self.emails.digest_to_store(account.installation_id, OLENA)
            told, sealed = self.personal.seal_request(
                payment.transaction_id, {"customer_email": OLENA, "amount": "569.50"}
            )
            owner, mask = f"{OWNER}{number}", "424242******4242"
            card = card_to_save(self.saved_cards, account, owner, token="tok", mask=mask, now=NOON)
            async with self.database.transaction() as session:
                session.add(payment)
                await session.flush()
                more = {"request": told, "personal_sealed": sealed}
                session.add(an_operation(payment.id or 0, Kind.CREATE, "create", **more))
            await save_card(self.database, card)
        return account

    async def all(self) -> dict[str, object]:
        """Return all of it, opened."""
        account = (await self.accounts.all())[0]
        card_key = (await self.card_keys.all())[0]
        found = await self.installations.find(URL)
        said: dict[str, object] = {
            "keys": self.accounts.keys(account),
            "older secrets": self.accounts.older_api_secrets(account),
            "tokens": (found and found.token, found and found.pending_token),
            "card key": self.card_keys.private_jwk(card_key),
            "notifications": [
                notification.data
                for notification in await self.inbox.find_for_order(account.id, "order0", "order1", "order2")
            ],
        }
        async with self.database.transaction() as session:
            for number in range(1, PAYMENTS + 1):
                payment, create = await session.get_one(Payment, number), await session.get_one(Operation, number)
                request = self.personal.open_request(payment.transaction_id, create)
                by_mail = payment.email_digest in self.emails.digests_to_search([1], OLENA)
                said[f"payment {number}"] = (request, self.personal.open_return_url(payment), by_mail)
        for number in range(PAYMENTS):
            cards: Sequence[SavedCard] = await self.saved_cards.cards_of_customer(1, f"{OWNER}{number}")
            said[f"card {number}"] = [self.saved_cards.open_token(card) for card in cards]
        return said


def only(counted: dict[str, Counter[str]]) -> set[str]:
    return {key for values in counted.values() for key in values}


async def reseal(database: Database, vault: Vault = ROTATED) -> int:
    return (await SealedValues(database, vault).reseal(ResealProgress())).sealed


@pytest.mark.threat("leaked-key")
def test_every_sealed_column_of_every_table_is_known() -> None:
    named = {
        f"{table.name}.{column.name}"
        for table in SQLModel.metadata.tables.values()
        for column in table.columns
        if column.name.endswith("_sealed")
    }
    assert named == {str(sealed_column) for sealed_column in SEALED_COLUMNS}
    assert len(named) == 12


async def test_nothing_is_sealed_in_a_column_of_another_name(database: Database, clock: Clock) -> None:
    await Store(database, BEFORE, clock).filled()
    for table in SQLModel.metadata.tables.values():
        for column in table.columns:
            if isinstance(column.type, Text | BoundedText) and not column.name.endswith("_sealed"):
                values = await read_raw(database, f'SELECT {column.name} FROM "{table.name}"')  # noqa: S608 - our own names
                assert not [value for (value,) in values if str(value).startswith("v1.")], (table.name, column.name)


@pytest.mark.threat("leaked-key")
async def test_after_it_the_old_key_opens_nothing_and_is_needed_for_nothing(database: Database, clock: Clock) -> None:
    await Store(database, BEFORE, clock).filled()
    before = await Store(database, ROTATED, clock).all()
    counted = await SealedValues(database, ROTATED).count()
    assert set(counted) == {str(sealed_column) for sealed_column in SEALED_COLUMNS}
    assert only(counted) == set(BEFORE.key_ids)
    values = sum(sum(counter.values()) for counter in counted.values())
    assert min(sum(counter.values()) for counter in counted.values()) >= 1
    progress = ResealProgress()
    done = await SealedValues(database, ROTATED).reseal(progress)
    assert (done.sealed, sum(done.unopened.values()), progress.rows) == (values, 0, progress.total)
    assert only(await SealedValues(database, ROTATED).count()) == set(AFTER.key_ids)
    assert await Store(database, AFTER, clock).all() == before
    assert before["payment 1"] == ({"customer_email": OLENA, "amount": "569.50"}, BACK, True)
    assert before["keys"] == AccountKeys(
        api_key=KEYS.api_key,
        api_secret="the-newest-secret",
        endpoints_key=KEYS.endpoints_key,
        previous_api_secret="a-newer-secret",
    )
    assert before["older secrets"] == (KEYS.api_secret,)
    assert await reseal(database) == 0


async def test_whoever_dies_over_it_begins_again_and_comes_to_the_same_end(
    database: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.store.sealed_values._BATCH", 2)
    monkeypatch.setattr("app.store.sealed_values._COUNTED", 2)
    await Store(database, BEFORE, clock).filled()
    before = await Store(database, ROTATED, clock).all()
    counted = await SealedValues(database, ROTATED).count()
    values = sum(sum(counter.values()) for counter in counted.values())
    lives = 0
    while True:  # each of them gets two batches further
        lives += 1
        with suppress(KilledError):
            done = await reseal(database, MortalVault(dies_at=5))
            break
        assert await Store(database, ROTATED, clock).all() == before
    assert 1 <= done < 5
    assert lives > values / 5
    assert only(await SealedValues(database, ROTATED).count()) == set(AFTER.key_ids)
    assert await Store(database, AFTER, clock).all() == before


class KilledError(BaseException):
    """No process gets past it."""


class MortalVault(Vault):
    """A process that is killed at some value."""

    def __init__(self, dies_at: int) -> None:
        super().__init__([NEW, OLD])
        self.left = dies_at

    def seal(self, secret: str, place: str) -> str:
        self.left -= 1
        if not self.left:
            raise KilledError
        return super().seal(secret, place)


async def test_what_somebody_writes_meanwhile_is_not_lost(database: Database, clock: Clock) -> None:
    store = Store(database, BEFORE, clock)  # a process that has not been restarted: it has only the old key
    account = await store.filled()

    class Overtaken(SealedValues):
        async def _reseal(self, column: Any, opened: Any, done: Any) -> int:
            if str(column) == "merchant_account.api_key_sealed" and not written:
                written.append(await store.accounts.change_keys(account.id, api_key="written meanwhile"))
            return await super()._reseal(column, opened, done)

    written: list[MerchantAccount] = []
    await Overtaken(database, ROTATED).reseal(ResealProgress())
    assert written
    after = Store(database, AFTER, clock)
    assert after.accounts.keys((await after.accounts.all())[0]).api_key == "written meanwhile"
    assert only(await SealedValues(database, ROTATED).count()) == set(AFTER.key_ids)


async def test_a_payment_whose_details_are_erased_meanwhile_stays_so(database: Database, clock: Clock) -> None:
    await Store(database, BEFORE, clock).filled()

    class Erasing(SealedValues):
        async def _reseal(self, column: Any, opened: Any, done: Any) -> int:
            if str(column) == "operation.personal_sealed":
                async with database.transaction() as session:
                    (await session.get_one(Operation, 1)).personal_sealed = None
                    (await session.get_one(Payment, 1)).email_digest = None
            return await super()._reseal(column, opened, done)

    await Erasing(database, ROTATED).reseal(ResealProgress())
    assert await read_raw(database, "SELECT personal_sealed FROM operation WHERE id = 1") == [(None,)]
    assert await read_raw(database, "SELECT email_digest FROM payment WHERE id = 1") == [(None,)]


async def test_what_no_key_opens_is_counted_and_left_as_it_is(database: Database, clock: Clock) -> None:
    await Store(database, Vault([LOST]), clock).filled()
    lost = await read_raw(database, "SELECT data_sealed FROM notification ORDER BY id")
    done = await SealedValues(database, ROTATED).reseal(ResealProgress())
    assert (done.sealed, done.unopened["notification.data_sealed"]) == (0, PAYMENTS)
    assert await read_raw(database, "SELECT data_sealed FROM notification ORDER BY id") == lost
    counted = await SealedValues(database, ROTATED).count()
    assert only(counted) == set(Vault([LOST]).key_ids)


async def test_a_database_that_is_away_for_a_moment_is_asked_again(
    database: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.store.sealed_values._PAUSE", 0)
    await Store(database, BEFORE, clock).filled()
    real, times = database.transaction, iter(range(1_000))

    def sometimes() -> Any:
        if next(times) % 3 == 0:
            raise DatabaseUnavailableError("a lock")
        return real()

    monkeypatch.setattr(database, "transaction", sometimes)
    await reseal(database)
    monkeypatch.undo()
    assert only(await SealedValues(database, ROTATED).count()) == set(AFTER.key_ids)
