"""What is said of a database that responds and cannot be used."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.engine import make_url

from app.bootstrap import open_deployment
from app.i18n.messages import LazyMessage
from app.ops.doctor.findings import Level, Subject
from app.ops.doctor.storage import check_database
from app.settings import Settings
from app.store.migrate import migrate
from tests.postgresql import open_postgresql_server

OTHER_USER = 10001


async def test_an_encoding_that_has_not_all_letters_is_named(new_postgresql: Callable[[], str], tmp_path: Path) -> None:
    url = new_postgresql()
    name = make_url(url).database
    server = make_url(url).set(drivername="postgresql", database="postgres").render_as_string(hide_password=False)
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}"'.encode())
        create = f"CREATE DATABASE \"{name}\" ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        connection.execute(create.encode())
    settings = Settings(data_dir=tmp_path / "data", database_url=url)
    settings.open_vault()
    async with open_deployment(settings) as deployment:
        (found,) = await check_database(deployment)
    assert (found.level, found.subject) == (Level.ERROR, Subject.DATABASE)
    assert "encoding is SQL_ASCII" in (found.detail or "")
    assert "Set the database up as the detail says" in (found.remedy or LazyMessage("")).message


async def test_only_a_database_that_is_away_is_to_be_started(new_postgresql: Callable[[], str], tmp_path: Path) -> None:
    url = make_url(new_postgresql())
    no_file = tmp_path / "text.sqlite"
    no_file.write_text("This is no database. " * 100)
    remedies = {}
    for address in (url.set(database="nothing"), url.set(port=9), make_url(f"sqlite:///{no_file}")):
        settings = Settings(data_dir=tmp_path, database_url=address.render_as_string(hide_password=False))
        settings.open_vault()
        async with open_deployment(settings) as deployment:
            (found,) = await check_database(deployment)
        remedies[found.detail] = (found.remedy or LazyMessage("")).message.partition(",")[0]
    assert remedies == {
        f"the server at {url.host}:{url.port or 5432} has no database 'nothing': create it or correct the name": (
            "Set the database up as the detail says"
        ),
        f"no server is listening at {url.host}:9: is it running?": "Start the database",
        f"the file {no_file} is not an SQLite database": "Set the database up as the detail says",
    }


async def test_a_server_that_accepts_no_changes_is_named(new_postgresql: Callable[[], str], tmp_path: Path) -> None:
    """It answers, and every payment is refused: all was fine, it said."""
    url = new_postgresql()
    await migrate(url)
    there = make_url(url).update_query_dict({"options": "-c default_transaction_read_only=on"})
    settings = Settings(data_dir=tmp_path / "data", database_url=there.render_as_string(hide_password=False))
    settings.open_vault()
    async with open_deployment(settings) as deployment:
        (found,) = await check_database(deployment)
    assert found.level is Level.ERROR
    assert "accepts no changes" in (found.detail or "")
    assert "Set the database up as the detail says" in (found.remedy or LazyMessage("")).message


@pytest.mark.parametrize(("fsync", "level"), [("off", Level.WARNING), ("on", Level.FINE)])
async def test_a_server_that_does_not_wait_for_its_disk_is_named(fsync: str, level: Level, tmp_path: Path) -> None:
    """After a loss of power it has forgotten payments, or is damaged; until then nobody notices."""
    with open_postgresql_server(fsync=fsync) as server:
        await migrate(server.url)
        settings = Settings(data_dir=tmp_path / "data", database_url=server.url)
        settings.open_vault()
        async with open_deployment(settings) as deployment:
            found = (await check_database(deployment))[0]
    assert (found.level, found.subject) == (level, Subject.DATABASE)
    assert ("fsync = off" in found.what.message) is (level is Level.WARNING)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Give a folder that another user can be given: others may not enter the folders of pytest."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.parametrize("what", ["file", "folder"])
async def test_a_file_that_can_only_be_read_is_named(open_folder: Path, what: str) -> None:
    """SQLite says so when it writes, and ``doctor`` writes nothing."""
    folder = open_folder / "data"
    settings = Settings(data_dir=folder, database_url=f"sqlite:///{folder / 'app.sqlite'}")
    settings.open_vault()
    await migrate(settings.database)
    async with open_deployment(settings) as deployment:
        with read_only(folder / "app.sqlite", folder if what == "folder" else folder / "app.sqlite"):
            found = (await check_database(deployment))[0]
    assert (found.level, found.subject) == (Level.ERROR, Subject.DATABASE)
    assert "may not " in (found.detail or "")
    assert str(folder / "app.sqlite") in (found.detail or "")
    assert "Set the database up as the detail says" in (found.remedy or LazyMessage("")).message


@contextmanager
def read_only(file: Path, place: Path) -> Iterator[None]:
    """Forbid to write to ``place``, the file or its folder. Nothing is forbidden to root: be another user meanwhile."""
    place.chmod(0o500 if place.is_dir() else 0o400)
    is_root = os.geteuid() == 0
    if is_root:
        for path in (file.parent.parent, file.parent, file):
            os.chown(path, OTHER_USER, OTHER_USER)
    try:
        if is_root:
            os.seteuid(OTHER_USER)
        yield
    finally:
        if is_root:
            os.seteuid(0)
        place.chmod(0o700)
