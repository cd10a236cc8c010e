"""What is said of a database that responds and cannot be used."""

from collections.abc import Callable
from pathlib import Path

import psycopg
from sqlalchemy.engine import make_url

from app.bootstrap import open_deployment
from app.i18n.messages import LazyMessage
from app.ops.doctor.findings import Level, Subject
from app.ops.doctor.storage import check_database
from app.settings import Settings


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
