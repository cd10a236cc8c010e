"""What an operator has set wrongly is one line on standard error, which says what to do, and the status is 2."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import make_url

from app.demo.processes import free_port
from app.store.migrate import migrate, newest_revision
from tests.commands.conftest import Run

PASSWORD = "pass-word-of-mine"
LIKE = "write it like postgresql://user:password@host/name or sqlite:///path"
NO_SUCH_PARAMETER = (
    "the address has a parameter that PostgreSQL does not know: leave out what is for other programs, like "
    "`pgbouncer` and `schema`"
)


def said(outcome: tuple[int | None, str, str]) -> str:
    """What a command has said, which must have ended as it should."""
    status, out, err = outcome
    assert (status, out) == (2, ""), outcome
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert PASSWORD not in err
    return err.removeprefix("error: ").rstrip()


@pytest.mark.parametrize("command", ["migrate", "run", "worker"])
async def test_every_process_says_so(tmp_path: Path, command: str, run: Run) -> None:
    environment = {"APP_DATA_DIR": str(tmp_path), "APP_DATABASE_URL": f"mysql://me:{PASSWORD}@127.0.0.1/shop"}
    assert said(await run(environment, command)) == "APP_DATABASE_URL: 'mysql' is neither sqlite nor postgresql"


@pytest.mark.fault("database-away-at-start")
@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("shop", f"is not a database address: {LIKE}"),
        (f"postgresql://me:{PASSWORD}@127.0.0.1:54x/shop", f"is not a database address: {LIKE}"),
        (f"postgresql://me:{PASSWORD}@127.0.0.1", f"names no database: {LIKE}"),
        ("sqlite://", f"names no database: {LIKE}"),
        (
            "sqlite:////data/shop.sqlite?mode=ro",
            "has parameters, which a file of SQLite does not take here: end it before the question mark",
        ),
        (f"PostgreSQL://me:{PASSWORD}@127.0.0.1:9/shop", "no server is listening at 127.0.0.1:9: is it running?"),
        (
            f"postgresql://me:{PASSWORD}@127.0.0.1:9,[::1]:10/shop?target_session_attrs=read-write",
            "no server is listening at 127.0.0.1:9,::1:10: is it running?",
        ),
        (f"postgresql://me:{PASSWORD}@127.0.0.1:9,127.0.0.2:x/shop", f"is not a database address: {LIKE}"),
        (
            f"postgresql://me:{PASSWORD}@/shop?host=127.0.0.1:9&host=127.0.0.2:10",
            "no server is listening at 127.0.0.1:9,127.0.0.2:10: is it running?",
        ),
        (
            f"postgresql://me:{PASSWORD}@/shop?host=127.0.0.1:9,[::1]:10",
            "no server is listening at 127.0.0.1:9,::1:10: is it running?",
        ),
        (
            f"postgresql://me:{PASSWORD}@/shop?host=127.0.0.1:9,::1",
            f"has hosts or ports that do not fit: {LIKE}",
        ),
        (
            f"postgresql://me:{PASSWORD}@/shop?host=127.0.0.1:9,127.0.0.2&port=9",
            f"has hosts or ports that do not fit: {LIKE}",
        ),
        (
            f"postgresql://me:{PASSWORD}@/shop?host=127.0.0.1:9&host=::1",
            f"has hosts or ports that do not fit: {LIKE}",
        ),
        (
            f"postgresql://me:{PASSWORD}@/shop?host=[::1]:10&host=127.0.0.1:9",
            "no server is listening at ::1:10,127.0.0.1:9: is it running?",
        ),
        (f"postgresql://me:{PASSWORD}@db..example.com/shop", f"has hosts or ports that do not fit: {LIKE}"),
        (f"postgresql://me:{PASSWORD}@127.0.0.1:9,.example.com/shop", f"has hosts or ports that do not fit: {LIKE}"),
        (f"postgresql://me:{PASSWORD}@{'db' * 32}/shop", f"has hosts or ports that do not fit: {LIKE}"),
        (
            f"postgresql://me:{PASSWORD}@%2Frun%2F{'db' * 32}/shop",
            f"no server is listening at /run/{'db' * 32}:5432: is it running?",
        ),
        ("sqlite:///:memory:", f"names no database: {LIKE}"),
        (f"postgresql://me:{PASSWORD}@127.0.0.1:9/shop", "no server is listening at 127.0.0.1:9: is it running?"),
        (
            f"postgresql://me:{PASSWORD}@host.invalid/shop",
            (
                "this host does not exist; "
                "in a password, write @ as %40, / as %2F, : as %3A, # as %23, ? as %3F and % as %25"
            ),
        ),
        (
            f"postgresql://me:{PASSWORD}@127.0.0.1/x?colour=1",
            NO_SUCH_PARAMETER,
        ),
    ],
)
async def test_an_address_that_leads_to_no_database(tmp_path: Path, address: str, words: str, run: Run) -> None:
    environment = {"APP_DATA_DIR": str(tmp_path), "APP_DATABASE_URL": address}
    assert said(await run(environment, "migrate")) == f"APP_DATABASE_URL: {words}"


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_a_database_and_a_user_that_the_server_does_not_have(database_url: str, tmp_path: Path, run: Run) -> None:
    there = make_url(database_url)
    place = f"{there.host}:{there.port or 5432}"
    missing = there.set(database="no_such_database").render_as_string(hide_password=False)
    assert said(await run({"APP_DATA_DIR": str(tmp_path), "APP_DATABASE_URL": missing}, "migrate")) == (
        f"APP_DATABASE_URL: the server at {place} has no database 'no_such_database': create it or correct the name"
    )
    stranger = there.set(username="nobody_of_that_name", password=PASSWORD).render_as_string(hide_password=False)
    assert said(await run({"APP_DATA_DIR": str(tmp_path), "APP_DATABASE_URL": stranger}, "migrate")) == (
        f"APP_DATABASE_URL: the server at {place} does not accept this user and password"
    )


@pytest.mark.parametrize(("command", "migrated"), [("migrate", False), ("run", True), ("worker", True)])
async def test_a_server_that_accepts_no_changes(
    new_postgresql: Callable[[], str], tmp_path: Path, run: Run, command: str, migrated: bool
) -> None:
    """As a standby does not. A process that started there would refuse every payment, and be ready."""
    url = new_postgresql()
    if migrated:
        await migrate(url)
    there = make_url(url).update_query_dict({"options": "-c default_transaction_read_only=on"})
    address = there.render_as_string(hide_password=False)
    settings = {"APP_DATA_DIR": str(tmp_path), "APP_DATABASE_URL": address, "APP_PORT": str(free_port())}
    assert said(await run(settings, command)) == (
        f"APP_DATABASE_URL: the server at {there.host}:{there.port or 5432} accepts no changes, like a standby: "
        "use the address of the primary"
    )


@pytest.mark.fault("database-restarts")
async def test_of_several_servers_the_one_that_accepts_changes_is_used(
    new_postgresql: Callable[[], str], tmp_path: Path, run: Run
) -> None:
    """Listed as PostgreSQL's documentation writes it: it was no address of a database."""
    url = make_url(new_postgresql())
    primary = f"{url.host}:{url.port or 5432}"
    for servers in (f"127.0.0.1:9,{primary}", f"{primary},127.0.0.1:9"):
        user = url.render_as_string(hide_password=False).partition("://")[2].rpartition("@")[0]
        address = f"postgresql://{user}@{servers}/{url.database}?target_session_attrs=read-write"
        status, out, err = await run({"APP_DATA_DIR": str(tmp_path), "APP_DATABASE_URL": address}, "migrate")
        assert (status, err) == (0, "")
        assert newest_revision() in out


@asynccontextmanager
async def refusing(code: str, message: str) -> AsyncIterator[int]:
    """A PostgreSQL server, as far as it lets nobody in; give its port."""
    fields = b"".join(kind + text.encode() + b"\0" for kind, text in ((b"S", "FATAL"), (b"C", code), (b"M", message)))
    error = b"E" + (len(fields) + 5).to_bytes(4, "big") + fields + b"\0"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            length = int.from_bytes(await reader.readexactly(4), "big")
            asked = int.from_bytes((await reader.readexactly(length - 4))[:4], "big")
            if asked not in {80877103, 80877104}:  # neither SSL nor GSS, but the beginning of a session
                break
            writer.write(b"N")
        writer.write(error)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ("sslmode=required", "`sslmode` in the address has a value that PostgreSQL does not know"),
        (
            "ssl_min_protocol_version=9",
            "`ssl_min_protocol_version` in the address has a value that PostgreSQL does not know",
        ),
        ("port=x", f"has hosts or ports that do not fit: {LIKE}"),
        ("port=99999", "`port` in the address has a value that PostgreSQL does not know"),
        ("service=none", "`service` in the address has a value that PostgreSQL does not know"),
        ("options=-c%20lock_timeout%3Dx", "`lock_timeout` in the address has a value that PostgreSQL does not know"),
        ("options=endpoint%3Done", "`options` in the address has a value that PostgreSQL does not know"),
        ("connect_timeout=abc", "`connect_timeout` in the address has a value that PostgreSQL does not know"),
        (
            "connect_timeout=3&connect_timeout=4",
            "`connect_timeout` in the address has a value that PostgreSQL does not know",
        ),
        ("keepalives_idle=5s", "`keepalives_idle` in the address has a value that PostgreSQL does not know"),
        ("options=--foo", "`options` in the address has a value that PostgreSQL does not know"),
        ("pgbouncer=true", NO_SUCH_PARAMETER),
        ("options=-c%20nosuch%3D1", NO_SUCH_PARAMETER),
    ],
)
async def test_a_parameter_that_the_server_does_not_understand_is_named(
    new_postgresql: Callable[[], str], tmp_path: Path, run: Run, parameters: str, words: str
) -> None:
    """It was a database that does not respond, and the doctor's advice to start it."""
    address = f"{new_postgresql()}?{parameters}"
    assert said(await run({"APP_DATA_DIR": str(tmp_path), "APP_DATABASE_URL": address}, "migrate")) == (
        f"APP_DATABASE_URL: {words}"
    )


@pytest.mark.parametrize(
    ("code", "message", "words"),
    [
        (
            "08P01",
            "unsupported startup parameter: options",
            (
                "does not take `options` from the address, as PgBouncer does not: leave it out, and set for the user "
                "what it was to set (ALTER ROLE)"
            ),
        ),
        ("08P01", "no such database: shop", "has no database 'shop': create it or correct the name"),
        ("08P01", "no more connections allowed (max_client_conn)", "has no free connections"),
        ("28P01", 'password authentication failed for user "me"', "does not accept this user and password"),
        (
            "28000",
            'no pg_hba.conf entry for host "10.0.0.9"',
            "does not accept connections from this machine as this user",
        ),
        ("53300", "sorry, too many clients already", "has no free connections"),
    ],
)
async def test_a_server_that_lets_nobody_in(tmp_path: Path, code: str, message: str, words: str, run: Run) -> None:
    async with refusing(code, message) as port:
        address = f"postgresql://me:{PASSWORD}@127.0.0.1:{port}/shop"
        outcome = await run({"APP_DATA_DIR": str(tmp_path), "APP_DATABASE_URL": address}, "migrate")
    assert said(outcome) == f"APP_DATABASE_URL: the server at 127.0.0.1:{port} {words}"


@pytest.mark.fault("database-away-at-start")
@pytest.mark.parametrize("sslmode", ["prefer", "require", "disable"])
async def test_a_server_of_another_kind_is_no_database_that_is_silent(tmp_path: Path, sslmode: str, run: Run) -> None:
    """The doctor's advice was to start the database."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        place = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        address = f"postgresql://me:{PASSWORD}@{place}/shop?sslmode={sslmode}"
        environment = {"APP_DATA_DIR": str(tmp_path), "APP_DATABASE_URL": address}
        assert said(await run(environment, "migrate")) == (
            f"APP_DATABASE_URL: what listens at {place} is no PostgreSQL server: correct the host or the port"
        )


async def test_a_file_that_is_no_database_is_left_as_it_is(tmp_path: Path, run: Run) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear Saleor, " * 100)
    letter.chmod(0o644)
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o755)
    cannot = "cannot be opened: does its folder exist, and may this user write to it?"
    for file, words in (
        (letter, f"the file {letter} is not an SQLite database"),
        (folder, f"the file {folder} {cannot}"),
        (tmp_path / "nowhere" / "shop.sqlite", f"the file {tmp_path / 'nowhere' / 'shop.sqlite'} {cannot}"),
    ):
        environment = {"APP_DATA_DIR": str(tmp_path / "data"), "APP_DATABASE_URL": f"sqlite:///{file}"}
        assert said(await run(environment, "migrate")) == f"APP_DATABASE_URL: {words}"
    assert (letter.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o644, 0o755)


async def test_a_folder_that_cannot_be_made(tmp_path: Path, run: Run) -> None:
    (tmp_path / "file").touch()
    for command in ("migrate", "run"):
        outcome = await run({"APP_DATA_DIR": str(tmp_path / "file" / "data")}, command)
        assert said(outcome) == f"APP_DATA_DIR: the folder {tmp_path}/file/data cannot be created: Not a directory"


@pytest.mark.parametrize("command", ["run", "sandbox"])
async def test_a_port_that_is_in_use(tmp_path: Path, command: str, run: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        environment = {"APP_DATA_DIR": str(tmp_path / "data"), "APP_PORT": str(port)}
        if command == "sandbox":
            words = said(await run({}, command, "--port", str(port)))
            assert words == f"Invalid value for --port: cannot listen on port {port} of 127.0.0.1: is it in use?"
            return
        assert said(await run(environment, command)) == (
            f"APP_PORT: port {port} on 127.0.0.1 is in use: the app may already be running, or choose another"
        )
    assert not (tmp_path / "data").exists()  # nothing is made beside what may be the app itself


# 192.0.2.0/24 is nobody's: it is for documentation.
@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid", "127.0.0..1"])
async def test_an_address_that_this_machine_does_not_have(tmp_path: Path, host: str, run: Run) -> None:
    outcome = await run({"APP_DATA_DIR": str(tmp_path), "APP_HOST": host}, "run")
    assert said(outcome) == f"APP_HOST: this machine cannot listen on {host}"
    outcome = await run({}, "sandbox", "--host", host)
    assert said(outcome) == f"Invalid value for --host: this machine cannot listen on {host}"


async def test_all_that_is_wrong_with_settings_is_said_at_once(tmp_path: Path, run: Run) -> None:
    wrong = {
        "APP_DATABSE_URL": f"postgresql://me:{PASSWORD}@127.0.0.1/shop",
        "APP_XYZZY": PASSWORD,
        "APP_PORT": "many",
        "APP_LOG_LEVEL": "loud",
    }
    for words in (("migrate",), ("run",), ("accounts", "list")):
        assert said(await run({"APP_DATA_DIR": str(tmp_path / "data")} | wrong, *words)).split("; ") == [
            "APP_DATABSE_URL: there is no such setting: did you mean APP_DATABASE_URL?",
            "APP_XYZZY: there is no such setting",
            "APP_PORT: must be a whole number",
            "APP_LOG_LEVEL: must be one of debug, info, warning, error",
        ]
    assert not (tmp_path / "data").exists()


async def test_settings_may_be_written_in_any_case(tmp_path: Path, run: Run) -> None:
    assert (await run({"app_data_dir": str(tmp_path / "data")}, "migrate"))[0] == 0
    assert (tmp_path / "data" / "payments.sqlite").exists()


async def test_white_space_around_a_setting_is_not_part_of_it(tmp_path: Path, run: Run) -> None:
    """A secret that Kubernetes mounts, or an editor saves, ends in a line feed."""
    file = tmp_path / "payments.sqlite"
    wanted = {"APP_DATA_DIR": f"{tmp_path}\n", "APP_DATABASE_URL": f" sqlite:///{file}\n", "APP_LOG_LEVEL": "info "}
    assert (await run(wanted, "migrate"))[0] == 0
    assert file.exists()


async def test_migrate_says_what_it_did(tmp_path: Path, run: Run) -> None:
    newest = newest_revision()
    here = {"APP_DATA_DIR": str(tmp_path)}
    status, out, err = await run(here, "migrate")
    assert (status, err) == (0, "")
    assert out.startswith(f"The database was empty and is now at {newest}: ")
    assert out.endswith(("migrations.\n", " 1 migration.\n"))
    nothing = (0, f"The database is at revision {newest}, the newest: nothing to do.\n", "")
    assert await run(here, "migrate") == nothing


@pytest.mark.parametrize(
    ("words", "suggested"),
    [
        (("migrat",), "'migrate'"),
        (("payments", "refnd"), "'refund'"),
        (("payments", "list", "--problem"), "--problems"),
        (("--verson",), "--version"),
    ],
)
async def test_what_was_mistyped_is_suggested(words: tuple[str, ...], suggested: str, run: Run) -> None:
    assert suggested in said(await run({}, *words))


@pytest.mark.fault("database-away-at-start")
@pytest.mark.parametrize("command", ["worker", "migrate"])
async def test_a_damaged_file_is_named(tmp_path: Path, run: Run, command: str) -> None:
    file = tmp_path / "shop.sqlite"
    await migrate(f"sqlite:///{file}")
    content = file.read_bytes()
    file.write_bytes(content[:100] + b"\xff" * (len(content) - 100))
    outcome = await run({"APP_DATA_DIR": str(tmp_path), "APP_DATABASE_URL": f"sqlite:///{file}"}, command)
    assert said(outcome) == (
        f"APP_DATABASE_URL: the file {file} is damaged: stop the app, remove the files beside it that end in "
        "-wal and -shm, and put the backup back"
    )


async def test_variables_of_services_in_kubernetes_are_no_settings(tmp_path: Path, run: Run) -> None:
    """They are in every container beside Services that are named app, app-web and app-metrics."""
    links = {
        "APP_PORT": "tcp://10.0.0.1:8100",
        "APP_PORT_8100_TCP": "tcp://10.0.0.1:8100",
        "APP_PORT_8100_TCP_ADDR": "10.0.0.1",
        "APP_SERVICE_HOST": "10.0.0.1",
        "APP_WEB_PORT": "tcp://10.0.0.2:80",
        "APP_WEB_SERVICE_PORT_HTTP": "80",
        "APP_METRICS_PORT": "udp://10.0.0.3:9108",
    }
    settings = {"APP_DATA_DIR": str(tmp_path), **links}
    status, *_ = await run(settings, "migrate")
    assert status == 0
    assert said(await run(settings | {"APP_WEB_PORTS": "80"}, "migrate")).startswith("APP_WEB_PORTS: there is no such")
    assert said(await run(settings | {"APP_PORT": "8100/tcp"}, "migrate")) == "APP_PORT: must be a whole number"
