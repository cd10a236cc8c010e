"""PostgreSQL as administrators set it up for a country or for other programs: what we rely on, we set."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from app.store.connection_errors import EncodingError, NoRightsError, NoSchemaError, describe_connection_error
from app.store.database import Database, Timeouts, create_engine
from app.store.migrate import current_revision, migrate
from integration_base_tests.tls_server import write_certificate
from integration_base_tests.waiting import eventually
from tests.postgresql import Program, by_socket, run_statements

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


def _server_of(url: str) -> str:
    return make_url(url).set(drivername="postgresql", database="postgres").render_as_string(hide_password=False)


@pytest.mark.parametrize("habit", HABITS)
async def test_what_an_administrator_has_set_changes_nothing(new_postgresql: Callable[[], str], habit: str) -> None:
    url = new_postgresql()
    name = make_url(url).database
    run_statements(_server_of(url), f"ALTER DATABASE \"{name}\" SET {habit} = '{HABITS[habit]}'")
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


@pytest.mark.parametrize(("habit", "ours"), [("off", "local"), ("local", "local"), ("remote_apply", "remote_apply")])
async def test_a_commit_is_on_disk_whatever_an_administrator_has_given_up_for_speed(
    new_postgresql: Callable[[], str], habit: str, ours: str
) -> None:
    """With ``off``, a server that loses power forgets requests that the gateway has carried out."""
    url = new_postgresql()
    run_statements(_server_of(url), f'ALTER DATABASE "{make_url(url).database}" SET synchronous_commit = {habit}')
    database = Database(create_engine(url))
    try:
        async with database.transaction() as session:
            connection = await session.connection()
            assert (await connection.execute(text("SHOW synchronous_commit"))).scalar_one() == ours
    finally:
        await database.close()


async def test_a_database_that_cannot_hold_all_names_is_refused_before_anything_is_in_it(
    new_postgresql: Callable[[], str],
) -> None:
    url = new_postgresql()
    name = make_url(url).database
    run_statements(
        _server_of(url),
        f'DROP DATABASE "{name}"',
        f"CREATE DATABASE \"{name}\" ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0",
    )
    with pytest.raises(EncodingError, match=r"encoding is LATIN1.*ENCODING 'UTF8'"):
        await migrate(url)
    with pytest.raises(EncodingError, match="encoding is LATIN1"):
        await current_revision(url)  # of what starts, and of doctor
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (0,)


@contextmanager
def stranger_to(url: str) -> Iterator[str]:
    """Give the address for a role that has no rights on the schema, with its name."""
    name = make_url(url).database
    role = f"{name}_r"
    run_statements(url, "REVOKE ALL ON SCHEMA public FROM PUBLIC")
    run_statements(_server_of(url), f"CREATE ROLE \"{role}\" LOGIN PASSWORD 'secret'")
    try:
        yield make_url(url).set(username=role, password="secret").render_as_string(hide_password=False)
    finally:
        run_statements(_server_of(url), f'DROP ROLE "{role}"')


def assert_names_missing_rights(url: str, error: NoRightsError | DBAPIError) -> None:
    role, name = make_url(url).username, make_url(url).database
    said = describe_connection_error(url, error)
    assert said.startswith(f"the user {role!r} may not use tables in {name!r}: in that database, as its admin")


async def test_missing_rights_are_named(new_postgresql: Callable[[], str]) -> None:
    with stranger_to(new_postgresql()) as theirs:
        with pytest.raises(DBAPIError) as caught:
            await migrate(theirs)
        assert_names_missing_rights(theirs, caught.value)


async def test_tables_that_a_user_may_not_see_do_not_look_like_an_empty_database(
    new_postgresql: Callable[[], str],
) -> None:
    url = new_postgresql()
    await migrate(url)
    name = make_url(url).database
    with stranger_to(url) as theirs:
        with pytest.raises(NoRightsError) as caught:
            await current_revision(theirs)
        assert_names_missing_rights(theirs, caught.value)
        run_statements(_server_of(url), f'REVOKE CONNECT ON DATABASE "{name}" FROM PUBLIC')
        with pytest.raises(DBAPIError) as refused:
            await current_revision(theirs)
        assert f"may not connect to {name!r}" in describe_connection_error(theirs, refused.value)


@pytest.mark.parametrize("path", ["shop", '"$user", shop', "''"])
async def test_a_search_path_that_leads_nowhere_is_not_taken_for_missing_rights(
    new_postgresql: Callable[[], str], path: str
) -> None:
    """Whoever follows the advice to grant rights on the schema public changes nothing."""
    url = new_postgresql()
    run_statements(url, f'ALTER DATABASE "{make_url(url).database}" SET search_path TO {path}')
    for asks in (migrate, current_revision):
        with pytest.raises(
            NoSchemaError, match="names no schema that exists: create the schema, or correct the search"
        ):
            await asks(url)


@pytest.mark.parametrize("path", ["nowhere, shop", '"$user", public', '"a shop"', '"a,shop"'])
async def test_a_search_path_of_which_one_schema_exists_is_used(new_postgresql: Callable[[], str], path: str) -> None:
    url = new_postgresql()
    run_statements(
        url, "CREATE SCHEMA shop", 'CREATE SCHEMA "a shop"', 'CREATE SCHEMA "a,shop"',
        f'ALTER DATABASE "{make_url(url).database}" SET search_path TO {path}',
    )  # fmt: skip
    await migrate(url)
    assert await current_revision(url) is not None


@pytest.mark.parametrize(
    ("rule", "sslmode", "words"),
    [
        ("hostssl all all all trust", "disable", " without TLS: write `sslmode=require` in the address"),
        ("hostnossl all all all trust", "require", " with TLS: leave out `sslmode`"),
        ("hostnossl all nobody all trust", "prefer", ""),
        ("host all all all reject", "prefer", ""),
        ("host all all all reject", "disable", " without TLS: write `sslmode=require` in the address"),
    ],
)
async def test_a_server_that_demands_or_refuses_tls_is_named(
    tls_server: Program, rule: str, sslmode: str, words: str
) -> None:
    url = f"{tls_server.url}?sslmode={sslmode}"
    (tls_server.folder / "data" / "pg_hba.conf").write_text(f"local all all trust\n{rule}\n")
    run_statements(by_socket(tls_server), "SELECT pg_reload_conf()")
    accepted = make_url(tls_server.url)
    said = ""

    async def is_refused() -> bool:
        nonlocal said
        try:
            await current_revision(url)
        except DBAPIError as error:
            said = describe_connection_error(url, error)
        return bool(said)

    await eventually(is_refused)
    refused = (
        f"the server at {accepted.host}:{accepted.port} does not accept connections from this machine as this user"
    )
    assert said.startswith(refused + words)
    assert words or said == refused


async def test_a_certificate_that_is_not_trusted_is_named(tls_server: Program, tmp_path: Path) -> None:
    for options, words in (
        (f"sslmode=verify-full&sslrootcert={tmp_path / 'none.crt'}", "the file of certificates to trust is missing"),
        (
            f"sslmode=verify-full&sslrootcert={write_certificate('localhost', tmp_path)}",
            "is from no authority that is trusted",
        ),
    ):
        url = f"{tls_server.url}?{options}"
        with pytest.raises(DBAPIError) as caught:
            await current_revision(url)
        assert words in describe_connection_error(url, caught.value)


async def test_a_certificate_for_another_name_is_named(tls_server: Program, tmp_path: Path) -> None:
    port = make_url(tls_server.url).port
    url = f"postgresql://postgres@localhost:{port}/postgres?sslmode=verify-full&sslrootcert={tmp_path / 'server.pem'}"
    with pytest.raises(DBAPIError) as caught:
        await current_revision(url)
    said = describe_connection_error(url, caught.value)
    assert said == (
        f"the certificate of the server at localhost:{port} is for another name: use that name in the address"
    )
    assert await current_revision(url.replace("@localhost:", "@127.0.0.1:")) is None


async def test_a_server_that_demands_a_certificate_is_named_and_gets_one(tls_server: Program, tmp_path: Path) -> None:
    file = tls_server.folder / "data" / "server.pem"
    (tls_server.folder / "data" / "pg_hba.conf").write_text("local all all trust\nhostssl all all all cert map=any\n")
    (tls_server.folder / "data" / "pg_ident.conf").write_text("any /^.*$ postgres\n")
    run_statements(by_socket(tls_server), f"ALTER SYSTEM SET ssl_ca_file = '{file}'", "SELECT pg_reload_conf()")
    url, said = f"{tls_server.url}?sslmode=require", ""

    async def is_refused() -> bool:
        nonlocal said
        try:
            await current_revision(url)
        except DBAPIError as error:
            said = describe_connection_error(url, error)
        return bool(said)

    await eventually(is_refused)
    place = f"{make_url(url).host}:{make_url(url).port}"
    assert said == f"the server at {place} demands a certificate: add `sslcert` and `sslkey`"
    ours = tmp_path / "server.pem"
    given = f"{url}&sslcert={ours}"
    for key in (tmp_path / "none.key", ours):  # one that is not there, and one that everybody may read
        with pytest.raises(DBAPIError) as caught:
            await current_revision(f"{given}&sslkey={key}")
        assert describe_connection_error(url, caught.value).startswith("the private key in `sslkey` is missing, or")
    ours.chmod(0o600)
    assert await current_revision(f"{given}&sslkey={ours}") is None


async def test_a_server_that_never_responds_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://me@127.0.0.1:{silent.getsockname()[1]}/shop"
        database = Database(create_engine(url, timeouts=Timeouts(connect=2)))
        with pytest.raises(DBAPIError) as caught:
            async with database.engine.connect():
                pass
        await database.close()
    assert describe_connection_error(url, caught.value) == f"no response from {make_url(url).host}:{make_url(url).port}"


async def test_a_server_without_tls_is_named(new_postgresql: Callable[[], str]) -> None:
    url = new_postgresql() + "?sslmode=require"
    with pytest.raises(DBAPIError) as caught:
        await migrate(url)
    assert "does not speak TLS: leave out `sslmode`" in describe_connection_error(url, caught.value)
