"""PostgreSQL as administrators set it up for a country or for other programs: what we rely on, we set."""

from collections.abc import Callable
from datetime import UTC, datetime

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from app.db.connection_errors import EncodingError, describe_connection_error
from app.db.database import Database, create_engine
from app.db.migrate import migrate

HABITS = {
    "datestyle": "SQL, DMY",
    "timezone": "Europe/Kyiv",
    "intervalstyle": "sql_standard",
    "bytea_output": "escape",
    "extra_float_digits": "-3",
    "client_encoding": "LATIN1",
    "default_transaction_isolation": "serializable",
    "standard_conforming_strings": "off",
}


def _run(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def _server_of(url: str) -> str:
    return make_url(url).set(drivername="postgresql", database="postgres").render_as_string(hide_password=False)


@pytest.mark.parametrize("habit", HABITS)
async def test_what_an_administrator_has_set_changes_nothing(new_postgresql: Callable[[], str], habit: str) -> None:
    url = new_postgresql()
    name = make_url(url).database
    _run(_server_of(url), f"ALTER DATABASE \"{name}\" SET {habit} = '{HABITS[habit]}'")
    await migrate(url)
    database = Database(create_engine(url))
    moment, name_of_shopper = datetime(2026, 11, 25, 12, 30, 15, 250000, tzinfo=UTC), "Ганна Łódź 😀 \\'"
    try:
        async with database.transaction() as session:
            connection = await session.connection()
            row = (
                await connection.execute(
                    text("SELECT CAST(:moment AS timestamptz), CAST(:name AS text), CAST(:raw AS bytea)"),
                    {"moment": moment, "name": name_of_shopper, "raw": b"\x00\xff"},
                )
            ).one()
            assert tuple(row) == (moment, name_of_shopper, b"\x00\xff")
            isolation = (await connection.execute(text("SHOW transaction_isolation"))).scalar_one()
            assert isolation == "read committed"
    finally:
        await database.close()


async def test_a_database_that_cannot_hold_all_names_is_refused_before_anything_is_in_it(
    new_postgresql: Callable[[], str],
) -> None:
    url = new_postgresql()
    name = make_url(url).database
    _run(
        _server_of(url),
        f'DROP DATABASE "{name}"',
        f"CREATE DATABASE \"{name}\" ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0",
    )
    with pytest.raises(EncodingError, match=r"encoding is LATIN1.*ENCODING 'UTF8'"):
        await migrate(url)
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (0,)


async def test_missing_rights_are_named(new_postgresql: Callable[[], str]) -> None:
    url = new_postgresql()
    name = make_url(url).database
    role = f"{name}_r"
    _run(url, "REVOKE ALL ON SCHEMA public FROM PUBLIC")
    _run(_server_of(url), f"CREATE ROLE \"{role}\" LOGIN PASSWORD 'secret'")
    theirs = make_url(url).set(username=role, password="secret").render_as_string(hide_password=False)
    try:
        with pytest.raises(DBAPIError) as caught:
            await migrate(theirs)
        said = describe_connection_error(theirs, caught.value)
        assert said.startswith(f"the user {role!r} may not use tables in {name!r}: make it the owner, or grant CREATE")
    finally:
        _run(_server_of(url), f'DROP ROLE "{role}"')


async def test_a_server_without_tls_is_named(new_postgresql: Callable[[], str]) -> None:
    url = new_postgresql() + "?sslmode=require"
    with pytest.raises(DBAPIError) as caught:
        await migrate(url)
    assert "does not speak TLS: leave out `sslmode`" in describe_connection_error(url, caught.value)
