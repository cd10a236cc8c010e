"""``data copy``: a shop that began on SQLite moves to PostgreSQL, and an operator reads that nothing was lost."""

from decimal import Decimal
from pathlib import Path

import pytest
from sqlalchemy import make_url, text

from app.bootstrap import open_services, utc_now
from app.services import Services
from app.settings import Settings
from app.store.database import create_engine, is_sqlite
from app.store.database_copy import DatabaseCopy
from app.store.migrate import newest_revision
from app.store.processes import RunningProcess, record_heartbeat
from app.store.tables import MerchantAccount
from tests.commands.books import event, notification, operation, store_payment
from tests.commands.conftest import Shell, one_database
from tests.db.revisions import stand_at

PASSWORD = "hunter2%40secret"


@pytest.fixture
async def secret_url(other_url: str) -> str:
    """Return the same address, with a password."""
    return other_url if is_sqlite(other_url) else other_url.replace("postgres@", f"postgres:{PASSWORD}@")


@pytest.fixture
async def filled(services: Services, account: MerchantAccount) -> None:
    """Store what a small shop has."""
    await store_payment(services, account, [operation()], [event()], [notification()])
    await store_payment(services, account, problem="It differs.", transaction_id="another", order_id="another")


async def _execute(url: str, statement: str) -> None:
    engine = create_engine(url)
    async with engine.begin() as connection:
        await connection.execute(text(statement))
    await engine.dispose()


async def test_a_shop_moves_with_everything_and_its_secrets_open_there(
    shell: Shell, settings: Settings, services: Services, filled: None, secret_url: str
) -> None:
    said = await shell("data", "copy", "--to", secret_url)
    assert said.status == 0, said
    assert "Everything is equal" in said.out
    assert str(settings.key_file.absolute()) in said.out
    assert "set APP_DATABASE_URL" in said.out
    assert PASSWORD not in said.out + said.err

    listed = await shell("payments", "list", "--json")
    moved = await shell("payments", "list", "--json", APP_DATABASE_URL=secret_url)
    assert moved.json == listed.json
    (account,) = await services.accounts.all()
    async with open_services(settings.model_copy(update={"database_url": secret_url})) as there:
        (same,) = await there.accounts.all()
        assert there.accounts.keys(same) == services.accounts.keys(account)
        assert (await there.installations.all()) == (await services.installations.all())


async def test_a_script_reads_the_comparison(shell: Shell, filled: None, other_url: str) -> None:
    said = await shell("data", "copy", "--to", other_url, "--json")
    assert (said.status, said.err) == (0, "")
    assert (said.json["equal"], said.json["resumed"]) == (True, False)
    tables = {table["table"]: table for table in said.json["tables"]}
    assert tables["payment"] == {
        "table": "payment",
        "equal": True,
        "rows": {"source": 2, "target": 2},
        "differing_rows": 0,
        "sums": {
            "amount": {"source": Decimal("200.00"), "target": Decimal("200.00")},
            "to_pay": {"source": 0, "target": 0},
        },
    }


async def test_a_copy_is_made_once(shell: Shell, filled: None, other_url: str) -> None:
    assert (await shell("data", "copy", "--to", other_url)).status == 0
    (await shell("data", "copy", "--to", other_url)).failed("the target is not empty (there are rows in installation)")


async def test_an_interrupted_copy_continues(
    shell: Shell, filled: None, other_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lose(_copy: DatabaseCopy) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(DatabaseCopy, "compare", lose)
        said = await shell("data", "copy", "--to", other_url)
        said.failed("interrupted: run the same command again, which continues where it stopped", status=130)
    there = {"APP_DATABASE_URL": other_url}
    (await shell("payments", "list", **there)).failed("holds an unfinished copy of", status=2)
    (await shell("migrate", **there)).failed("finish it with `saleor-gateway data copy`", status=2)
    said = await shell("data", "copy", "--to", other_url, "--json")
    assert (said.json["equal"], said.json["resumed"]) == (True, True)
    assert (await shell("payments", "list", **there)).status == 0


async def test_a_difference_is_told_and_the_copy_stays_unfinished(
    shell: Shell, filled: None, other_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = DatabaseCopy.copy

    async def lose_a_row(self: DatabaseCopy) -> None:
        await copy(self)
        await _execute(other_url, "DELETE FROM saleor_event")

    monkeypatch.setattr(DatabaseCopy, "copy", lose_a_row)
    said = await shell("data", "copy", "--to", other_url)
    assert said.status == 1
    assert "the copy differs from its source in saleor_event: do not use it" in said.err
    assert "Everything is equal" not in said.out
    (await shell("payments", "list", APP_DATABASE_URL=other_url)).failed("unfinished copy", status=2)


async def test_a_running_app_is_stopped_first(shell: Shell, services: Services, installed: int, other_url: str) -> None:
    async with services.database.transaction() as session:
        await record_heartbeat(session, RunningProcess("1.0", serves=True, works=True, host="shop"), utc_now())
    (await shell("data", "copy", "--to", other_url)).failed("the app is running (process")


@one_database
async def test_a_target_that_cannot_be_used_is_told_in_one_sentence(
    shell: Shell, settings: Settings, installed: int, tmp_path: Path, new_postgresql: object
) -> None:
    assert callable(new_postgresql)
    empty = new_postgresql()
    port = make_url(empty).port or 5432
    for url, words in (
        ("hunter2secret", "--to: is not a database address: write it like"),
        ("mysql://root:hunter2secret@host/name", "--to: 'mysql' is neither sqlite nor postgresql"),
        (f"sqlite:///{tmp_path / 'none.sqlite'}", "create it by `saleor-gateway migrate`"),
        (settings.database, "--to: this is the database that is to be copied"),
        (empty, "--to: the database has no tables yet: run `saleor-gateway migrate` with the target's address"),
        (f"postgresql://postgres:hunter2secret@127.0.0.1:{port}/nothing", "has no database 'nothing'"),
        ("postgresql://postgres:hunter2secret@127.0.0.1:9/name", "no server is listening at 127.0.0.1:9"),
    ):
        said = await shell("data", "copy", "--to", url)
        said.failed(words, status=2)
        assert "hunter2secret" not in said.err


@one_database
async def test_servers_that_are_parameters_are_told_apart(shell: Shell) -> None:
    """Databases of one name on two servers were one and the same: *this machine*."""
    source, target = (f"postgresql://me@/shop?host=127.0.0.1&port={port}" for port in (9, 10))
    shell.environment["APP_DATABASE_URL"] = source
    (await shell("data", "copy", "--to", source)).failed("--to: this is the database that is to be copied", status=2)
    (await shell("data", "copy", "--to", target)).failed("no server is listening at 127.0.0.1:", status=2)


@one_database
async def test_both_databases_are_at_the_same_revision(shell: Shell, installed: int, other_url: str) -> None:
    for revision, words in (("0001.0001", "is at revision 0001.0001, not"), ("0999.0001", "create the target anew")):
        await stand_at(other_url, revision)
        try:
            (await shell("data", "copy", "--to", other_url)).failed(words, status=2)
        finally:
            await stand_at(other_url, newest_revision())


@one_database
async def test_a_database_of_a_newer_version_is_copied_with_that_version(
    shell: Shell, settings: Settings, installed: int, other_url: str
) -> None:
    await stand_at(settings.database, "0999.0001")
    (await shell("data", "copy", "--to", other_url)).failed("of a newer version of the app: copy it with that version")
