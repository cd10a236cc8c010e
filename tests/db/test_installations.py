"""Who installed us: what a re-install changes and what it keeps; tokens sealed."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import make_url
from sqlmodel import col, select

from app.store.database import Database, is_sqlite
from app.store.installations import InstallationRepository
from app.store.summed_days import next_summing_time
from app.store.tables import Installation, MerchantAccount, ReportedProblem
from app.store.vault import KEY_BYTES, Vault, VaultError
from integration_base_tests.clock import Clock
from saleor_app_sdk.pending_tokens import MAX_PENDING_TOKENS, MAX_UNPROVEN_INSTALLATIONS
from tests.db.rows import URL, an_installation, read_raw

OTHER = "https://other.example.com/graphql/"


async def test_a_saleor_that_never_installed_us(installations: InstallationRepository) -> None:
    assert await installations.find(URL) is None
    await installations.save_jwks(URL, {"keys": []}, installations._now())  # nobody to keep them for
    assert await installations.all() == []


async def test_a_proven_token(installations: InstallationRepository, clock: Clock) -> None:
    found = await an_installation(installations)
    assert (found.token, found.app_id, found.pending_token, found.verified) == ("the-token", "QXBwOjE=", None, True)
    assert (found.jwks, found.jwks_fetched_at, found.schema_version) == ({"keys": ["one"]}, clock.now, "3.23")
    assert await installations.get(found.id) == found
    assert "the-token" not in repr(found)


async def test_a_token_that_cannot_be_proven_yet_stands_beside_the_proven_one(
    installations: InstallationRepository,
) -> None:
    """Anybody can post a token to us: it must not push the proven one aside."""
    before = await an_installation(installations)
    await installations.save_pending(
        saleor_api_url=URL, saleor_domain="shop.example.com", schema_version="3.23", token="unproven"
    )
    found = await installations.find(URL)
    assert found is not None
    assert (found.token, found.app_id, found.pending_token) == ("the-token", before.app_id, "unproven")
    assert found.jwks == before.jwks


async def bring(installations: InstallationRepository, token: str, address: str = URL) -> bool:
    return await installations.save_pending(
        saleor_api_url=address, saleor_domain="s", schema_version="3.99", token=token
    )


async def pending_tokens(installations: InstallationRepository) -> tuple[str, ...]:
    found = await installations.find(URL)
    assert found is not None
    return found.pending_tokens


async def test_unproven_tokens_change_nothing_else_and_only_so_many_are_kept(
    installations: InstallationRepository, clock: Clock
) -> None:
    before = await an_installation(installations)
    tokens = [f"token-{number}" for number in range(MAX_PENDING_TOKENS)]
    for token in tokens:
        assert await bring(installations, token)
    assert await bring(installations, tokens[3]), "Saleor tries again with the same"
    found = await installations.find(URL)
    assert found is not None
    assert found.pending_tokens == tuple(reversed(tokens))
    assert replace(found, pending_tokens=()) == before
    assert await bring(installations, "one-more")
    assert len(await pending_tokens(installations)) == MAX_PENDING_TOKENS
    await installations.delete_pending(URL, "one-more")
    assert "one-more" not in await pending_tokens(installations)
    clock.forward(days=7)
    assert await bring(installations, "a-week-later")
    assert await bring(installations, "and-another")
    assert "token-0" not in await pending_tokens(installations)


@pytest.mark.threat("stranger-installs")
async def test_a_flood_of_unproven_tokens_displaces_itself(installations: InstallationRepository, clock: Clock) -> None:
    """Neither what came before it, nor in the middle of a slow one, nor what comes after it."""
    for number in range(MAX_PENDING_TOKENS):
        clock.forward(seconds=1)
        await bring(installations, f"yesterday-{number}")
    clock.forward(days=1)
    assert await bring(installations, "genuine")
    clock.forward(minutes=1)
    for number in range(2 * MAX_PENDING_TOKENS):
        clock.forward(seconds=1)
        await bring(installations, f"today-{number}")
    tokens = await pending_tokens(installations)
    assert "genuine" in tokens
    assert len(tokens) == MAX_PENDING_TOKENS
    assert await bring(installations, "after it")
    assert {"after it", "genuine"} <= set(await pending_tokens(installations))


@pytest.mark.threat("stranger-installs")
async def test_saleors_of_which_only_unproven_tokens_are_known_are_only_so_many(
    installations: InstallationRepository, clock: Clock
) -> None:
    """The places that strangers take in the names of others are not lost for a store that comes later."""
    assert await bring(installations, "genuine", "https://first.example.com/graphql/")
    clock.forward(hours=1)
    for number in range(MAX_UNPROVEN_INSTALLATIONS):
        clock.forward(seconds=1)
        assert await bring(installations, "garbage", f"https://s{number}.example.com/graphql/")
    clock.forward(hours=1)
    assert await bring(installations, "genuine", "https://last.example.com/graphql/")
    await an_installation(installations)
    assert await bring(installations, "garbage"), "one that works is counted by itself"
    kept = [installation.saleor_api_url for installation in await installations.all()]
    assert len(kept) == MAX_UNPROVEN_INSTALLATIONS + 1
    assert {"https://first.example.com/graphql/", "https://last.example.com/graphql/", URL} <= set(kept)


async def test_a_saleor_that_is_set_up_already_keeps_its_place(
    database: Database, installations: InstallationRepository, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    monkeypatch.setattr("app.store.installations.MAX_UNPROVEN_INSTALLATIONS", 2)
    for name in ("a", "b"):
        assert await bring(installations, "token", f"https://{name}.example.com/graphql/")
        found = await installations.find(f"https://{name}.example.com/graphql/")
        assert found is not None
        async with database.transaction() as session:
            session.add(ReportedProblem(installation_id=found.id, app_id="x", key="k", told_at=clock.now))
    assert not await bring(installations, "token", "https://c.example.com/graphql/")
    assert len(await installations.all()) == 2


async def test_the_first_token_of_all_can_be_pending(installations: InstallationRepository) -> None:
    await installations.save_pending(
        saleor_api_url=URL, saleor_domain="shop.example.com", schema_version=None, token="unproven"
    )
    found = await installations.find(URL)
    assert found is not None
    assert (found.token, found.verified, found.pending_token) == ("", False, "unproven")


async def test_a_proven_token_ends_the_pending_one(installations: InstallationRepository) -> None:
    await installations.save_pending(
        saleor_api_url=URL, saleor_domain="shop.example.com", schema_version="3.23", token="unproven"
    )
    found = await an_installation(installations, proven="unproven")
    assert (found.token, found.pending_token) == ("unproven", None)


async def test_a_re_install_keeps_everything_else(
    database: Database, installations: InstallationRepository, account: MerchantAccount, clock: Clock
) -> None:
    """Transactions survive an uninstall at Saleor; so must what we know of them."""
    before = await installations.find(URL)
    assert before is not None
    clock.forward(days=30)
    await installations.save(
        saleor_api_url=URL,
        saleor_domain="moved.example.com",
        schema_version="3.24",
        app_id="QXBwOjI=",
        token="the-new-token",
        jwks=None,
    )
    found = await installations.find(URL)
    assert found is not None
    assert (found.id, found.app_id, found.token) == (before.id, "QXBwOjI=", "the-new-token")
    assert found.jwks == before.jwks  # none were brought, so the old ones stay
    async with database.transaction() as session:
        row = (await session.exec(select(Installation))).one()
        kept = (await session.exec(select(MerchantAccount))).one()
    assert (row.saleor_domain, row.schema_version) == ("moved.example.com", "3.24")
    assert row.updated_at - row.created_at == timedelta(days=30)
    assert kept.id == account.id
    assert kept.installation_id == before.id


async def test_what_a_new_store_needs_each_night_is_planned_once(
    database: Database, installations: InstallationRepository, clock: Clock
) -> None:
    """Its days are summed and what is outdated is erased, also where Saleor installs the app each evening."""
    first_night = next_summing_time(clock.now)
    for _ in range(2):
        await an_installation(installations)
        async with database.transaction() as session:
            row = (await session.exec(select(Installation))).one()
        assert (row.days_due_at, row.retention_due_at) == (first_night, first_night)
        clock.forward(days=1)


async def test_two_saleors_have_nothing_in_common(installations: InstallationRepository) -> None:
    one, other = await an_installation(installations), await an_installation(installations, OTHER, "other-token")
    assert [found.token for found in await installations.all()] == ["the-token", "other-token"]
    assert one.id != other.id


async def test_new_keys_of_saleor(installations: InstallationRepository, clock: Clock) -> None:
    await an_installation(installations)
    await installations.save_jwks(URL, {"keys": ["two"]}, clock.forward(hours=1))
    found = await installations.find(URL)
    assert found is not None
    assert (found.jwks, found.jwks_fetched_at, found.token) == ({"keys": ["two"]}, clock.now, "the-token")


@pytest.mark.threat("stolen-database")
async def test_no_token_is_in_the_database(
    database_url: str, database: Database, installations: InstallationRepository
) -> None:
    await an_installation(installations)
    await installations.save_pending(
        saleor_api_url=URL, saleor_domain="shop.example.com", schema_version="3.23", token="unproven-token"
    )
    rows = str(
        [
            await read_raw(database, "SELECT * FROM installation"),
            await read_raw(database, "SELECT * FROM pending_token"),
        ]
    )
    assert URL in rows
    assert "the-token" not in rows
    assert "unproven-token" not in rows
    await database.close()
    url = make_url(database_url)
    if url.database and url.get_backend_name() == "sqlite":
        for file in Path(url.database).parent.glob("payments.sqlite*"):
            content = file.read_bytes()
            assert b"the-token" not in content
            assert b"unproven-token" not in content
            assert URL.encode() in content or file.suffix != ".sqlite"  # it would be found if it were there


@pytest.mark.threat("stolen-database", "stolen-backup")
async def test_another_key_opens_nothing(
    database: Database, installations: InstallationRepository, clock: Clock
) -> None:
    await an_installation(installations)
    stranger = InstallationRepository(database, Vault([b"\x08" * KEY_BYTES]), clock)
    with pytest.raises(VaultError, match="secret key file"):
        await stranger.find(URL)


@pytest.mark.threat("swapped-ciphertext")
async def test_a_token_moved_to_another_row_does_not_open(
    database: Database, installations: InstallationRepository
) -> None:
    """Whoever can write to the database must not be able to make us use one Saleor's token for another."""
    await an_installation(installations)
    await an_installation(installations, OTHER, "other-token")
    async with database.transaction() as session:
        rows = (await session.exec(select(Installation).order_by(col(Installation.id)))).all()
        rows[0].token_sealed = rows[1].token_sealed
    with pytest.raises(VaultError):
        await installations.find(URL)


@pytest.mark.parametrize("says", ["3.24.1", "3.23.28", "3.22.67"])
async def test_what_a_saleor_says_that_it_is_is_kept_a_lower_version_too(
    installations: InstallationRepository, clock: Clock, says: str
) -> None:
    """A document that is too new would be refused, so a Saleor that was put back is believed as well."""
    before = await an_installation(installations)
    clock.forward(hours=1)
    await installations.record_contact(before, says)
    found = await installations.get(before.id)
    assert found == replace(before, schema_version=says)
    async with installations._database.transaction() as session:
        row = await session.get_one(Installation, before.id)
    assert row.problems_due_at == clock.now, "it may be one that shows problems now"


async def test_a_version_that_is_known_costs_no_look_into_the_database(
    installations: InstallationRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await an_installation(installations)
    await installations.record_contact(before, "3.23.28")
    known = await installations.get(before.id)

    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(installations._database, "transaction", never)
    await installations.record_contact(known, "3.23.28")
    await installations.record_contact(known, None)
    with pytest.raises(AssertionError):
        await installations.record_contact(known, "3.23.29")


@pytest.mark.parametrize("proven", [True, False], ids=["proven", "pending"])
async def test_a_first_installation_overtaken_by_another_one_is_stored(
    installations: InstallationRepository, database: Database, database_url: str, clock: Clock, proven: bool
) -> None:
    """Somebody clicks twice, or Saleor's worker repeats the request: there is no row yet that one could wait for."""
    if is_sqlite(database_url):
        pytest.skip("SQLite lets one write after the other")

    async def save() -> None:
        of_saleor = {"saleor_api_url": URL, "saleor_domain": "shop", "token": "the-token"}
        if proven:
            await installations.save(**of_saleor, schema_version="3.23", app_id="QXBwOjE=", jwks=None)
        else:
            await installations.save_pending(**of_saleor, schema_version="3.23")

    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND database IS NULL"
    async with database.transaction() as session:
        first = Installation(saleor_api_url=URL, saleor_domain="shop", created_at=clock.now, updated_at=clock.now)
        session.add(first)
        await session.flush()
        second = asyncio.create_task(save())
        while await read_raw(database, waiting) == [(0,)]:
            assert not second.done()
    await second
    [found] = await installations.all()
    assert found.token == ("the-token" if proven else "")
    assert found.pending_token == (None if proven else "the-token")
