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
