"""A PostgreSQL server for one test, and PgBouncer in front of a server: the machine's programs, on free ports."""

import atexit
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import make_url

from app.demo.processes import HOST, free_port
from integration_base_tests.skipping import missing
from integration_base_tests.tls_server import write_certificate
from integration_base_tests.waiting import LONGEST_WAIT, eventually

_USER = "postgres"  # as whom they run where the tests run as root, as which they refuse to
_PLACES = ("/usr/sbin", "/usr/local/sbin", *(str(path) for path in sorted(Path("/usr/lib/postgresql").glob("*/bin"))))
_PATH = os.pathsep.join([os.environ.get("PATH", ""), *_PLACES])


def program(name: str, package: str) -> str:
    """Return the path of a program; the test is skipped (in CI: fails) when there is none."""
    found = shutil.which(name, path=_PATH)
    if found is None:
        missing(f"{name} (Debian's package {package})")
        raise FileNotFoundError(name)
    return found


def _as_whom() -> dict[str, Any]:
    """Return the command prefix that sets a program's user; the test is skipped (in CI: fails) when there is none."""
    if os.geteuid() != 0:
        return {}
    try:
        pwd.getpwnam(_USER)
    except KeyError:
        missing(f"a user {_USER} (as root, no PostgreSQL runs)")
    return {"user": _USER, "group": _USER, "extra_groups": []}


@contextmanager
def _folder() -> Iterator[Path]:
    """Yield a folder that the program can read and write."""
    with tempfile.TemporaryDirectory() as place:
        if _as_whom():
            shutil.chown(place, _USER, _USER)
        yield Path(place)


@dataclass
class Program:
    """A program that serves the database at ``url``; can be started and ended repeatedly."""

    command: Sequence[str]
    url: str
    folder: Path
    ended_by: signal.Signals = signal.SIGQUIT
    process: "subprocess.Popen[bytes] | None" = field(default=None)

    def start(self) -> None:
        """Start it, and wait until it answers. Raises TimeoutError."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command, stdout=log, stderr=log, cwd=self.folder, start_new_session=True, **_as_whom()
            )
        end = time.monotonic() + LONGEST_WAIT
        while True:
            with suppress(psycopg.OperationalError), psycopg.connect(self.url, connect_timeout=20) as connection:
                connection.execute("SELECT 1")
                return
            if time.monotonic() > end or self.process.poll() is not None:
                raise TimeoutError(f"{self.command[0]} does not answer: {(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.1)

    def die(self) -> None:
        """Kill it at once: open transactions break, nothing is cleaned up, all connections are cut."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(self.ended_by)
            self.process.wait(LONGEST_WAIT)


@cache
def _new_cluster() -> Path:
    """Return the data folder of a server that was never started, made once a process; it is for copying."""
    initialise, place = program("initdb", "postgresql"), ExitStack()
    atexit.register(place.close)
    folder = place.enter_context(_folder())
    making = [initialise, "--no-sync", "--auth=trust", "--encoding=UTF8", f"--username={_USER}", str(folder / "data")]
    subprocess.run(making, check=True, capture_output=True, cwd=folder, **_as_whom())
    return folder / "data"


@contextmanager
def open_postgresql_server(*, fsync: str = "off") -> Iterator[Program]:
    """Yield a running server of its own, with an empty database."""
    serve = program("postgres", "postgresql")
    with _folder() as folder:
        data, port = folder / "data", free_port()
        # With its owners and permissions; making one takes five times as long.
        subprocess.run(["cp", "-a", _new_cluster(), data], check=True, capture_output=True)
        options = {"listen_addresses": HOST, "port": port, "unix_socket_directories": folder, "fsync": fsync}
        command = [serve, "-D", str(data), *(f"--{name}={value}" for name, value in options.items())]
        server = Program(command, f"postgresql://{_USER}@{HOST}:{port}/postgres", folder)
        try:
            server.start()
            yield server
        finally:
            server.die()


@contextmanager
def open_pooler(database_url: str, connections: int) -> Iterator[Program]:
    """Yield PgBouncer in front of that database, in transaction mode, with so many connections to the server."""
    bouncer = program("pgbouncer", "pgbouncer")
    address = make_url(database_url)
    with _folder() as folder:
        port = free_port()
        told = f"host={address.host} port={address.port or 5432} user={address.username or _USER}"
        if address.password:
            told += f" password={address.password}"
        config = folder / "pgbouncer.ini"
        config.write_text(
            f"[databases]\n{address.database} = {told}\n"
            f"[pgbouncer]\nlisten_addr = {HOST}\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n"
            f"pool_mode = transaction\ndefault_pool_size = {connections}\nmax_client_conn = 200\n"
        )
        config.chmod(0o644)
        url = address.set(drivername="postgresql", host=HOST, port=port).render_as_string(hide_password=False)
        # It leaves SIGQUIT as it inherits it, and what a shell begins in the background inherits it as ignored.
        pooler = Program([bouncer, str(config)], url, folder, ended_by=signal.SIGKILL)
        try:
            pooler.start()
            yield pooler
        finally:
            pooler.die()


def run_statements(url: str, *statements: str) -> None:
    """Run statements, each in a transaction of its own."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def by_socket(server: Program) -> str:
    """Return the server's address for its administrator, whom no rule about hosts keeps out."""
    return f"postgresql://postgres@/postgres?host={server.folder}&port={make_url(server.url).port}"


@asynccontextmanager
async def open_tls_server(folder: Path) -> AsyncIterator[Program]:
    """Open a server of its own that accepts everybody, with TLS and without; ``folder`` gets its certificate."""
    with open_postgresql_server(fsync="on") as server:  # which the doctor finds nothing wrong with
        file = server.folder / "data" / "server.pem"
        shutil.copy(write_certificate("127.0.0.1", folder), file)
        owner = server.folder.stat()
        shutil.chown(file, owner.st_uid, owner.st_gid)
        file.chmod(0o600)
        settings = {"ssl_cert_file": file, "ssl_key_file": file, "ssl": "on"}
        changes = [f"ALTER SYSTEM SET {name} = '{value}'" for name, value in settings.items()]
        run_statements(by_socket(server), *changes, "SELECT pg_reload_conf()")

        async def speaks_tls() -> bool:
            try:
                run_statements(f"{server.url}?sslmode=require", "SELECT 1")
            except psycopg.OperationalError:
                return False
            return True

        await eventually(speaks_tls)
        yield server
