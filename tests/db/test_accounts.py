"""Merchant accounts and channel routes: keys sealed, changed, never lost while a payment needs them."""

import asyncio
import re
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import text

from app.store.accounts import AccountError, AccountKeys, AccountRepository, ChangedMeanwhileError
from app.store.columns import fingerprint
from app.store.database import Database, is_sqlite
from app.store.inbox import Inbox
from app.store.installations import InstallationRepository, OpenInstallation
from app.store.tables import MerchantAccount
from app.store.vault import VaultError
from integration_base_tests.clock import Clock
from tests.db.rows import KEYS, NOON, a_payment, an_account, an_installation, read_raw
from tests.payments.test_at_once import queue_for_the_lock


async def test_an_account_with_a_public_id_that_nobody_guesses(
    accounts: AccountRepository, account: MerchantAccount
) -> None:
    assert re.fullmatch(r"[a-z0-9]{12}", account.id)
    found = await accounts.find(account.id)
    assert found is not None
    assert (found.name, found.currencies, found.enabled) == ("Main", ["UAH"], True)
    assert await accounts.find("nobody") is None


@pytest.mark.threat("stolen-database")
async def test_its_keys_are_sealed_and_shown_to_nobody(
    database: Database, accounts: AccountRepository, account: MerchantAccount
) -> None:
    row = str(await read_raw(database, "SELECT * FROM merchant_account"))
    for secret in (KEYS.api_key, KEYS.api_secret, KEYS.endpoints_key):
        assert secret not in row
        assert secret not in repr(accounts.keys(account))
    assert accounts.keys(account) == KEYS


async def test_of_two_that_replace_the_secret_at_once_the_second_replaces_the_firsts(
    database: Database, accounts: AccountRepository, account: MerchantAccount, database_url: str
) -> None:
    """Each reads what is there under a lock: else the first one's secret would verify nothing, though it was in use."""
    if is_sqlite(database_url):
        pytest.skip("SQLite has one connection")
    async with database.transaction() as session:
        await session.get_one(MerchantAccount, account.id, with_for_update=True)
        changing = []
        for number, secret in enumerate(("second", "third"), 1):
            changing.append(asyncio.create_task(accounts.change_keys(account.id, api_secret=secret)))
            await queue_for_the_lock(database, number)
    _, changed = await asyncio.gather(*changing)
    assert accounts.keys(changed).previous_api_secret == "second"


async def test_of_two_that_have_seen_the_same_rules_only_one_replaces_them(
    accounts: AccountRepository, account: MerchantAccount
) -> None:
    """They are compared where the row is locked: else the later of two saves undoes the other without a word."""
    seen = {"split_rules": fingerprint(account.split_rules)}
    rules = [{"mode": "percentages", "percentages": {who: 100}} for who in ("a", "b")]
    saves = (accounts.change_keys(account.id, columns={"split_rules": one}, seen=seen) for one in rules)
    outcomes = await asyncio.gather(*saves, return_exceptions=True)
    (kept,) = await accounts.all()
    assert [isinstance(outcome, ChangedMeanwhileError) for outcome in outcomes] == [
        kept.split_rules != one for one in rules
    ]
    assert kept.split_rules in rules


@pytest.mark.threat("swapped-ciphertext")
async def test_keys_of_one_account_do_not_open_in_another(
    accounts: AccountRepository, installation: OpenInstallation, account: MerchantAccount
) -> None:
    other = await an_account(accounts, installation, name="Other")
    other.api_key_sealed = account.api_key_sealed
    with pytest.raises(VaultError):
        accounts.keys(other)


@pytest.mark.threat("swapped-ciphertext")
async def test_nor_in_another_place_of_the_same_account(accounts: AccountRepository, account: MerchantAccount) -> None:
    account.endpoints_key_sealed = account.api_secret_sealed
    with pytest.raises(VaultError):
        accounts.keys(account)


async def test_after_a_change_of_the_secret_the_old_one_still_verifies(
    accounts: AccountRepository, account: MerchantAccount, clock: Clock
) -> None:
    """Notifications that were signed with it are on their way."""
    await accounts.find(account.id)  # as every payment does
    clock.forward(minutes=1)
    changed = await accounts.change_keys(account.id, api_secret="the-new-secret")
    assert accounts.keys(changed) == AccountKeys("the-api-key", "the-new-secret", "the-endpoints-key", "the-api-secret")
    found = await accounts.find(account.id)
    assert found is not None
    assert accounts.keys(found) == accounts.keys(changed)
    assert changed.updated_at == clock.now  # so that every process makes a new client
    again = await accounts.change_keys(account.id, api_key="k", endpoints_key="e")
    assert accounts.keys(again) == AccountKeys("k", "the-new-secret", "e", "the-api-secret")


async def test_the_old_secret_verifies_nothing_after_its_grace(
    accounts: AccountRepository, account: MerchantAccount, clock: Clock
) -> None:
    changed = await accounts.change_keys(account.id, api_secret="second")
    clock.forward(hours=24, microseconds=-1)
    assert accounts.keys(changed).previous_api_secret == "the-api-secret"
    clock.forward(microseconds=1)
    assert accounts.keys(changed).previous_api_secret is None

    changed = await accounts.change_keys(account.id, api_secret="third", grace=timedelta(hours=1))
    assert accounts.keys(changed).previous_api_secret == "second"
    clock.forward(hours=1)
    assert accounts.keys(changed).previous_api_secret is None


async def test_the_same_secret_again_leaves_the_old_one_its_grace(
    accounts: AccountRepository, account: MerchantAccount, clock: Clock
) -> None:
    """All keys are entered once more because another one of them was wrong: notifications are still on their way."""
    changed = await accounts.change_keys(account.id, api_key="mistyped", api_secret="second")
    until = changed.previous_api_secret_until
    clock.forward(hours=1)
    changed = await accounts.change_keys(account.id, api_key="correct", api_secret="second")
    assert accounts.keys(changed) == AccountKeys("correct", "second", "the-endpoints-key", "the-api-secret")
    assert changed.previous_api_secret_until == until
    changed = await accounts.change_keys(account.id, api_secret="second", grace=timedelta(0))
    assert accounts.keys(changed).previous_api_secret is None


def replaced(accounts: AccountRepository, account: MerchantAccount) -> list[str]:
    """Return the replaced API secrets that still verify notifications, newest first."""
    previous = accounts.keys(account).previous_api_secret
    return [secret for secret in (previous, *accounts.older_api_secrets(account)) if secret is not None]


async def test_each_replaced_secret_has_its_own_grace(
    accounts: AccountRepository, account: MerchantAccount, clock: Clock
) -> None:
    """A wrong one was entered, and then the right one: the gateway has signed with the first until now."""
    hour = timedelta(hours=1)
    await accounts.change_keys(account.id, api_secret="mistyped", grace=4 * hour)
    clock.forward(hours=1)
    await accounts.change_keys(account.id, api_secret="third", grace=hour)
    changed = await accounts.change_keys(account.id, api_secret="fourth", grace=2 * hour)
    assert replaced(accounts, changed) == ["third", "mistyped", "the-api-secret"]
    assert changed.replaced_secrets_until == clock.now + 3 * hour
    clock.forward(hours=1)
    assert replaced(accounts, changed) == ["third", "the-api-secret"]
    clock.forward(hours=1)
    assert replaced(accounts, changed) == ["the-api-secret"]
    changed = await accounts.change_keys(account.id, api_secret="fifth", grace=hour)
    assert replaced(accounts, changed) == ["fourth", "the-api-secret"]
    clock.forward(hours=1)
    assert replaced(accounts, changed) == []
    changed = await accounts.change_keys(account.id, api_secret="sixth")
    assert replaced(accounts, changed) == ["fifth"]
    assert changed.older_api_secrets_sealed is None


@pytest.mark.fault("key-lost")
@pytest.mark.parametrize("lost", ["previous_api_secret_sealed", "older_api_secrets_sealed"])
async def test_replaced_secrets_that_no_key_opens_are_dropped(
    database: Database, accounts: AccountRepository, account: MerchantAccount, lost: str
) -> None:
    for secret in ("second", "third"):
        await accounts.change_keys(account.id, api_secret=secret)
    async with database.transaction() as session:
        change = text(f"UPDATE merchant_account SET {lost} = replace({lost}, 'v1.', 'v1.lost-')")  # noqa: S608
        await (await session.connection()).execute(change)
    changed = await accounts.change_keys(account.id, api_secret="fourth")
    kept = "the-api-secret" if lost.startswith("previous") else "second"
    assert replaced(accounts, changed) == ["third", kept]


@pytest.mark.threat("leaked-key")
async def test_a_secret_that_has_leaked_is_given_no_grace(
    database: Database, accounts: AccountRepository, account: MerchantAccount
) -> None:
    changed = await accounts.change_keys(account.id, api_secret="second", grace=timedelta(0))
    assert accounts.keys(changed).previous_api_secret is None
    changed = await accounts.change_keys(account.id, api_secret="third")
    assert accounts.keys(changed).previous_api_secret == "second"
    columns = "previous_api_secret_sealed, older_api_secrets_sealed"
    for revoke in (
        accounts.revoke_previous_secret,
        partial(accounts.change_keys, api_secret="fifth", grace=timedelta(0)),
    ):
        changed = await accounts.change_keys(account.id, api_secret="fourth")
        assert replaced(accounts, changed) == ["third", "second"]
        changed = await revoke(account.id)
        assert replaced(accounts, changed) == []
        assert await read_raw(database, f"SELECT {columns} FROM merchant_account") == [(None, None)]  # noqa: S608
        await accounts.change_keys(account.id, api_secret="second", grace=timedelta(0))
        await accounts.change_keys(account.id, api_secret="third")


async def test_plain_facts_are_changed(accounts: AccountRepository, account: MerchantAccount, clock: Clock) -> None:
    clock.forward(minutes=1)
    changed = await accounts.change(account.id, name="New name", order_timeout=600)
    assert (changed.name, changed.order_timeout, changed.updated_at) == ("New name", 600, clock.now)


@pytest.mark.parametrize("what", ["change", "change_keys", "remove"])
async def test_an_account_that_is_not_there(accounts: AccountRepository, what: str) -> None:
    call: Any = getattr(accounts, what)
    with pytest.raises(AccountError, match="no merchant account 'nobody'"):
        await call("nobody")


class TestChannels:
    async def test_a_channel_leads_to_one_account(
        self, accounts: AccountRepository, installation: OpenInstallation, account: MerchantAccount
    ) -> None:
        assert await accounts.for_channel(installation.id, "uah") is None
        await accounts.map_channel("uah", account.id)
        found = await accounts.for_channel(installation.id, "uah")
        assert found is not None
        assert found.id == account.id
        other = await an_account(accounts, installation, name="Other")
        await accounts.map_channel("uah", other.id)
        found = await accounts.for_channel(installation.id, "uah")
        assert found is not None
        assert found.id == other.id
        assert len(await accounts.routes()) == 1

    async def test_a_channel_of_the_same_name_in_another_saleor_is_another_channel(
        self, accounts: AccountRepository, installations: InstallationRepository, account: MerchantAccount
    ) -> None:
        await accounts.map_channel("uah", account.id)
        other = await an_installation(installations, "https://other.example.com/graphql/")
        assert await accounts.for_channel(other.id, "uah") is None

    async def test_a_channel_is_taken_off(
        self, accounts: AccountRepository, installation: OpenInstallation, account: MerchantAccount
    ) -> None:
        await accounts.map_channel("uah", account.id)
        assert await accounts.unmap_channel(installation.id, "uah") is True
        assert await accounts.for_channel(installation.id, "uah") is None
        assert await accounts.unmap_channel(installation.id, "uah") is False


class TestRemoving:
    async def test_what_nothing_refers_to_is_deleted_with_its_routes(
        self, accounts: AccountRepository, account: MerchantAccount
    ) -> None:
        await accounts.map_channel("uah", account.id)
        assert await accounts.remove(account.id) is True
        assert await accounts.all() == []
        assert await accounts.routes() == []

    async def test_what_a_payment_needs_is_switched_off(
        self, database: Database, accounts: AccountRepository, account: MerchantAccount
    ) -> None:
        """It can still be refunded, and its notifications verified."""
        await accounts.map_channel("uah", account.id)
        await a_payment(database, account)
        assert await accounts.remove(account.id) is False
        found = await accounts.find(account.id)
        assert found is not None
        assert found.enabled is False
        assert accounts.keys(found) == KEYS
        assert await accounts.routes() == []

    async def test_what_a_notification_refers_to_is_switched_off(
        self, accounts: AccountRepository, account: MerchantAccount, inbox: Inbox
    ) -> None:
        await inbox.store(account_id=account.id, digest="d" * 64, data="data", order_id="not-ours", now=NOON)
        assert await accounts.remove(account.id) is False


async def test_accounts_are_listed_oldest_first(
    accounts: AccountRepository, installation: OpenInstallation, account: MerchantAccount, clock: Clock
) -> None:
    clock.forward(days=1)
    await an_account(accounts, installation, name="Second")
    assert [account.name for account in await accounts.all()] == ["Main", "Second"]


async def test_a_route_follows_its_channel_when_its_slug_is_changed(
    accounts: AccountRepository, installation: OpenInstallation, account: MerchantAccount
) -> None:
    """Saleor's id stays."""
    store = installation.id
    await accounts.map_channel("uah", account.id)
    assert await accounts.for_channel(store, "ukraine", "Q2g6MQ==") is None
    await accounts.for_channel(store, "uah", "Q2g6MQ==")
    found = await accounts.for_channel(store, "ukraine", "Q2g6MQ==")
    assert found is not None
    assert found.id == account.id
    await accounts.for_channel(store, "ukraine", "Q2g6MQ==")
    assert [(route.channel, route.channel_id) for route in await accounts.routes(store)] == [("ukraine", "Q2g6MQ==")]
    assert await accounts.for_channel(store, "uah") is None


async def test_what_saleor_identifies_a_channel_by_goes_before_its_slug(
    accounts: AccountRepository, installation: OpenInstallation, account: MerchantAccount
) -> None:
    store = installation.id
    other = await an_account(accounts, installation, name="Other")
    await accounts.map_channel("uah", account.id)
    await accounts.map_channel("eur", other.id)
    await accounts.follow_channels(store, {"1": "uah", "2": "eur"})
    found = await accounts.for_channel(store, "eur", "1")  # they have exchanged their slugs
    assert found is not None
    assert found.id == account.id
    await accounts.follow_channels(store, {"1": "eur", "2": "uah"})
    routes = {route.channel: (route.channel_id, route.account_id) for route in await accounts.routes(store)}
    assert routes == {"eur": ("1", account.id), "uah": ("2", other.id)}


async def test_a_slug_that_another_route_has_is_left_to_it(
    accounts: AccountRepository, installation: OpenInstallation, account: MerchantAccount
) -> None:
    store = installation.id
    await accounts.map_channel("uah", account.id)
    await accounts.for_channel(store, "uah", "1")
    await accounts.map_channel("ukraine", account.id)
    await accounts.for_channel(store, "ukraine", "1")
    assert sorted(route.channel for route in await accounts.routes(store)) == ["uah", "ukraine"]


async def test_the_account_that_staff_choose_for_the_new_slug_is_the_one(
    accounts: AccountRepository, installation: OpenInstallation, account: MerchantAccount
) -> None:
    store = installation.id
    other = await an_account(accounts, installation, name="Other")
    await accounts.map_channel("uah", account.id)
    await accounts.for_channel(store, "uah", "1")
    await accounts.map_channel("ukraine", other.id)  # before a shopper or a page has shown that it was renamed
    for _ in range(2):
        found = await accounts.for_channel(store, "ukraine", "1")
        assert found is not None
        assert found.id == other.id
    routes = {route.channel: route.channel_id for route in await accounts.routes(store)}
    assert routes == {"uah": None, "ukraine": "1"}


async def test_a_channel_that_was_created_anew_is_the_same_to_us_once_the_old_one_is_gone(
    accounts: AccountRepository, installation: OpenInstallation, account: MerchantAccount
) -> None:
    store = installation.id
    await accounts.map_channel("uah", account.id)
    await accounts.follow_channels(store, {"1": "uah"})
    await accounts.for_channel(store, "uah", "2")  # it is not known whether the old one is gone
    assert [route.channel_id for route in await accounts.routes(store)] == ["1"]
    assert await accounts.for_channel(store, "uah", "2") is not None
    await accounts.follow_channels(store, {"2": "uah"})
    assert [route.channel_id for route in await accounts.routes(store)] == ["2"]
