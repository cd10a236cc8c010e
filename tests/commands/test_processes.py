"""Commands as processes: a terminal that asks, a wrong folder, a database that is busy or gone."""

import asyncio
import os
import pty
import select
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import text

from app.core.vocabulary import Kind, State
from app.services import Services
from app.settings import Settings
from app.store.migrate import newest_revision
from app.store.tables import MerchantAccount
from integration_base_tests.waiting import LONGEST_WAIT
from tests.commands.books import ORDER, operation, store_payment
from tests.commands.conftest import (
    KEYS,
    NEW_KEYS,
    POS_ID,
    SALEOR,
    STOREFRONT,
    PointOfSale,
    Run,
    clean_environment,
    one_database,
)

COMMAND = (sys.executable, "-m", "app.cli")


def type_in(environment: dict[str, str], words: tuple[str, ...], typed: list[tuple[str, str]]) -> tuple[int, str]:
    """Run a command in a terminal, answer each question when it is asked; return its status and all that was seen.

    A question is waited for up to its last letter: what is typed before a secret can be hidden is thrown away.
    """
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=clean_environment(environment),
        start_new_session=True,
    )
    os.close(theirs)
    seen = b""
    try:
        for question, answer in typed:
            while question.encode() not in seen and (piece := _read(ours)):
                seen += piece
            os.write(ours, f"{answer}\n".encode())
        while piece := _read(ours):
            seen += piece
        return process.wait(LONGEST_WAIT), seen.decode()
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def _read(terminal: int) -> bytes:
    """Return what is said next; nothing when the command has ended, or says nothing any more."""
    if not select.select([terminal], [], [], LONGEST_WAIT)[0]:
        return b""
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other side is closed: that is how a terminal ends
        return b""


@one_database
async def test_in_a_terminal_secrets_are_asked_for_and_not_shown(
    environment: dict[str, str], services: Services, installed: int, pos: PointOfSale
) -> None:
    add = ("accounts", "add", "--pos-id", POS_ID, "--base-url", pos.url, "--storefront", STOREFRONT)
    key, secret, endpoints = KEYS.values()
    typed = [("API key: ", key), ("API secret: ", f" {secret} "), ("Endpoints key: ", endpoints)]
    status, seen = await asyncio.to_thread(type_in, environment, add, typed)

    assert status == 0, seen
    assert "The gateway accepts its keys." in seen
    assert not any(value in seen for value in KEYS.values())
    (account,) = await services.accounts.all()
    assert services.accounts.keys(account).api_secret == secret

    pos.keys["GATEWAY_API_SECRET"] = NEW_KEYS["GATEWAY_API_SECRET"]
    keep = "(Enter keeps the current one): "
    new = NEW_KEYS["GATEWAY_API_SECRET"]
    typed = [(f"New API key {keep}", ""), (f"New API secret {keep}", new), (f"New Endpoints key {keep}", "")]
    rotate = ("accounts", "set", account.id, "--rotate-secrets")
    status, seen = await asyncio.to_thread(type_in, environment, rotate, typed)
    assert status == 0, seen
    assert NEW_KEYS["GATEWAY_API_SECRET"] not in seen
    (account,) = await services.accounts.all()
    keys = services.accounts.keys(account)
    assert (keys.api_key, keys.api_secret, keys.endpoints_key) == (key, NEW_KEYS["GATEWAY_API_SECRET"], endpoints)


@one_database
async def test_in_a_terminal_it_is_asked_before_an_account_is_removed(
    environment: dict[str, str], services: Services, account: MerchantAccount
) -> None:
    remove = ("accounts", "remove", "Shop")
    question = "Remove the merchant account 'Shop'? [y/N]: "
    status, seen = await asyncio.to_thread(type_in, environment, remove, [(question, "n")])
    assert status == 1
    assert "nothing was done" in seen
    assert len(await services.accounts.all()) == 1

    status, seen = await asyncio.to_thread(type_in, environment, remove, [(question, "y")])
    assert status == 0, seen
    assert await services.accounts.all() == []


@one_database
async def test_in_a_terminal_it_is_asked_before_an_operation_is_settled_by_hand(
    environment: dict[str, str], services: Services, account: MerchantAccount
) -> None:
    """Whatever is told to Saleor so cannot be taken back."""
    await store_payment(services, account, [operation(), operation(Kind.REFUND, State.PENDING)])
    settle = ("payments", "settle", ORDER, "--as", "success", "--reason", "seen in the portal")
    question = f"Settle the refund of 100.00 UAH of order {ORDER} as success, and report this to Saleor? [y/N]: "
    for answer, ends in (("n", (1, "nothing was done")), ("y", (0, "refunded"))):
        status, seen = await asyncio.to_thread(type_in, environment, settle, [(question, answer)])
        assert (status, ends[1] in seen) == (ends[0], True), seen


async def test_a_script_in_a_process_of_its_own(
    environment: dict[str, str], account: MerchantAccount, run: Run
) -> None:
    status, out, err = await run(environment, "channels", "map", "default-channel", account.id, "--json")
    assert status == 0
    assert err.startswith("warning: Saleor does not list its channels right now")
    assert err.count("\n") == 1
    assert out == (
        f'{{"saleor":"{SALEOR}","channel":"default-channel","account":"{account.id}","account_name":"Shop",'
        '"account_enabled":true,"instead_of":null}\n'
    )


async def test_in_the_wrong_folder_nothing_is_made(tmp_path: Path, run: Run) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    status, out, err = await run({}, "accounts", "list", folder=folder)

    assert (status, out) == (2, "")
    assert f"there is no database {folder}/data/payments.sqlite: run this command with the app's settings" in err
    assert "if the app is new, start it once, or run `saleor-gateway migrate`" in err
    assert list(folder.iterdir()) == []


async def test_a_key_file_is_never_made_by_a_command(
    environment: dict[str, str], settings: Settings, tmp_path: Path, run: Run
) -> None:
    """With another key than the app's, an account would be sealed so that the app cannot open it."""
    elsewhere = environment | {"APP_DATA_DIR": str(tmp_path / "other")}
    status, out, err = await run(elsewhere, "accounts", "list")

    assert (status, out) == (2, "")
    assert f"there is no secret key file {tmp_path}/other/secret.key" in err
    assert not (tmp_path / "other").exists()


@pytest.mark.fault("key-lost")
@one_database
async def test_another_key_than_the_apps_is_told(
    environment: dict[str, str], account: MerchantAccount, tmp_path: Path, run: Run
) -> None:
    other = Settings(data_dir=tmp_path / "other")
    other.open_vault()
    status, _, err = await run(environment | {"APP_SECRET_KEY_FILE": str(other.key_file)}, "accounts", "check")

    assert status == 1
    assert "no key decrypts the value stored at" in err
    assert str(other.key_file) in err
    assert err.count("\n") == 1


@one_database
async def test_a_database_that_is_not_migrated_or_not_there(
    environment: dict[str, str], settings: Settings, tmp_path: Path, run: Run
) -> None:
    (tmp_path / "empty.sqlite").touch()
    empty = environment | {"APP_DATABASE_URL": f"sqlite:///{tmp_path / 'empty.sqlite'}"}
    stands = (
        f"error: APP_DATABASE_URL: the database is at revision none, not {newest_revision()}: "
        "run `saleor-gateway migrate`\n"
    )
    assert (await run(empty, "accounts", "list"))[::2] == (2, stands)
    migrated = empty | {"APP_DATA_DIR": str(tmp_path)}
    assert (await run(migrated, "migrate"))[0] == 0
    with sqlite3.connect(tmp_path / "empty.sqlite") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    for settings_of, words in ((migrated, ("migrate",)), (empty, ("accounts", "list"))):
        status, _, err = await run(settings_of, *words)
        assert status == 2
        assert err.startswith("error: APP_DATABASE_URL: the database belongs to another version of the app (")
        assert err.count("\n") == 1
    with sqlite3.connect(tmp_path / "empty.sqlite") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0999.0001'")
    connection.close()
    newer = "The database is at revision 0999.0001, which is newer than this version of the app but works with it"
    assert await run(migrated, "migrate") == (0, f"{newer}: nothing to do.\n", "")
    assert (await run(empty, "accounts", "list"))[0] == 0
    gone = environment | {"APP_DATABASE_URL": "postgresql://postgres:pass-word@127.0.0.1:9/postgres"}
    for words in (("accounts", "list"), ("migrate",)):
        assert (await run(gone, *words))[::2] == (
            2,
            "error: APP_DATABASE_URL: no server is listening at 127.0.0.1:9: is it running?\n",
        )
    wrong = environment | {"APP_PORT": "eighty"}
    status, _, err = await run(wrong, "accounts", "list")
    assert status == 2
    assert err.startswith("error: APP_PORT: ")


@pytest.mark.fault("database-slow")
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_while_the_app_writes_a_command_waits(
    environment: dict[str, str], services: Services, account: MerchantAccount, run: Run
) -> None:
    async with services.database.transaction() as session:
        await (await session.connection()).execute(text("SELECT 1"))  # takes SQLite's write lock
        command = asyncio.create_task(run(environment, "channels", "map", "default-channel", account.id))
        done, _ = await asyncio.wait({command}, timeout=3)
        assert not done
    status, _, _ = await command
    assert status == 0
    assert len(await services.accounts.routes()) == 1


async def test_migrate_makes_what_commands_ask_for(tmp_path: Path, run: Run) -> None:
    here = {"APP_DATA_DIR": str(tmp_path / "data")}
    assert (await run(here, "migrate"))[0] == 0
    Settings(data_dir=tmp_path / "data").open_vault()
    status, out, _ = await run(here, "accounts", "list", "--json")
    assert (status, out) == (0, "[]\n")
