"""Whoever does what ``doctor`` says, to the letter, has an app that is fine: commands are taken from its own output."""

import os
import re
import shlex
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.engine import URL, make_url

from app.bootstrap import open_deployment
from app.i18n.messages import LazyMessage
from app.ops.doctor.findings import Finding, Level
from app.ops.doctor.storage import check_database, check_disk, check_key_file
from app.settings import Settings
from app.store.migrate import migrate
from integration_base_tests.loopback import serve_app
from integration_base_tests.tls_server import write_certificate
from integration_base_tests.waiting import eventually
from tests.commands.conftest import Shell, one_database
from tests.doctor.conftest import DoctorEnvironment
from tests.postgresql import Program, by_socket, run_statements

_QUOTED = re.compile(r"[“`]([^”`]+)[”`]")
OTHER_USER = 10001


def quoted(*texts: object) -> Sequence[str]:
    """Return the commands in what was said, as an operator copies them."""
    return [command for text in texts for command in _QUOTED.findall(str(text or ""))]


def run(command: str) -> None:
    """Run chmod or chown, as ``doctor`` says it."""
    subprocess.run(shlex.split(command), check=True)


async def follow(around: DoctorEnvironment, check: str, **environment: str) -> Sequence[str]:
    """Run the commands that ``doctor`` says of a check, in a terminal; return them."""
    found = [finding for finding in await around.findings(**environment) if finding["check"] == check]
    commands = quoted(*(finding["to_do"] for finding in found if finding["level"] != "fine"))
    for command in commands:
        program, *words = shlex.split(command)
        if program == "saleor-gateway":
            said = await Shell(around.environment)(*words, **environment)
            assert said.status == 0, said.err
        else:
            run(command)
    return commands


@one_database
async def test_a_key_file_that_others_may_read(around: DoctorEnvironment, tmp_path: Path) -> None:
    file = tmp_path / "keys of the app" / "secret.key"
    file.parent.mkdir()
    around.stack.settings.key_file.rename(file)
    file.chmod(0o644)
    elsewhere = {"APP_SECRET_KEY_FILE": str(file)}
    assert await follow(around, "key-file", **elsewhere) == [f"chmod 600 '{file}'"]
    assert await around.faults(**elsewhere) == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("mode", [0o644, 0o600])
async def test_a_key_file_of_somebody_else(tmp_path: Path, mode: int) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    settings.open_vault()
    settings.key_file.chmod(mode)
    os.chown(settings.key_file, OTHER_USER + 1, OTHER_USER + 1)
    async with open_deployment(settings) as deployment:
        (found,) = await check_key_file(deployment, user=OTHER_USER, groups=())
        assert found.level is Level.WARNING
        for command in quoted(found.remedy):
            run(command)
        (then,) = await check_key_file(deployment, user=OTHER_USER, groups=())
    assert then.level is Level.FINE


async def test_a_database_that_was_never_migrated(around: DoctorEnvironment, tmp_path: Path) -> None:
    (tmp_path / "empty.sqlite").touch()
    empty = {"APP_DATABASE_URL": f"sqlite:///{tmp_path / 'empty.sqlite'}"}
    assert await follow(around, "migrations", **empty) == ["saleor-gateway migrate"]
    assert not any("migrations" in fault for fault in await around.faults(**empty))


@one_database
async def test_a_database_of_a_newer_version_is_not_to_be_migrated(around: DoctorEnvironment) -> None:
    """``migrate`` cannot do anything for it."""
    async with around.services.database.transaction() as session:
        await (await session.connection()).exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    (found,) = [finding for finding in await around.findings() if finding["check"] == "migrations"]
    assert quoted(found["to_do"]) == []
    assert "Run the newer version of the app, or restore the backup" in found["to_do"]


@one_database
async def test_a_database_that_is_lost_is_not_to_be_replaced_by_an_empty_one(
    around: DoctorEnvironment, tmp_path: Path
) -> None:
    lost = {"APP_DATABASE_URL": f"sqlite:///{tmp_path / 'lost.sqlite'}"}
    (found,) = [finding for finding in await around.findings(**lost) if finding["check"] == "database"]
    assert found["to_do"].startswith("If the app has run before, put the database back from its backup")


@one_database
async def test_an_app_at_another_port(around: DoctorEnvironment) -> None:
    """Its webhooks follow it with the command; what the Dashboard opens follows with a new installation."""
    moved = f"http://127.0.0.1:{int(around.stack.app.url.rpartition(':')[2]) + 1}"
    wrong = [finding for finding in await around.findings(APP_BASE_URL=moved) if finding["level"] == "error"]
    assert {finding["check"] for finding in wrong} == {"address", "webhooks", "extensions"}
    for finding in wrong:
        assert "correct APP_BASE_URL" in finding["to_do"] or "have APP_BASE_URL corrected" in finding["to_do"]
    async with serve_app(around.application, int(moved.rpartition(":")[2])):
        (update,) = await follow(around, "webhooks", APP_BASE_URL=moved)
        assert update.startswith("saleor-gateway installations update")
        assert list(await around.faults(APP_BASE_URL=moved)) == ["error extensions"]


@one_database
async def test_a_token_that_saleor_no_longer_accepts(around: DoctorEnvironment) -> None:
    """Saleor lets nobody install an app that is installed: it has to be removed first."""
    await around.saleor.set_faults(refuse_token=True)
    (found,) = [finding for finding in await around.findings() if finding["level"] == "error"]
    assert "if it is active, remove it and install it again" in found["to_do"]
    manifest = f"{around.stack.app.url}/api/manifest"
    assert (await around.saleor.install(manifest)).status == "FAILED"
    await around.saleor.uninstall()
    await around.saleor.clear_faults()
    assert (await around.saleor.install(manifest)).status == "INSTALLED"
    assert await around.faults() == {}


def address(url: str, **parts: str) -> str:
    return make_url(url).set(**parts).render_as_string(hide_password=False)  # type: ignore[arg-type] # parts of it


async def examine(settings: Settings) -> Finding:
    async with open_deployment(settings) as deployment:
        return (await check_database(deployment))[0]


def administrator(url: URL) -> str:
    return url.set(drivername="postgresql").render_as_string(hide_password=False)


async def test_a_role_without_rights(new_postgresql: Callable[[], str], tmp_path: Path) -> None:
    url = make_url(new_postgresql())
    role = f"no-rights-{url.database}"
    with psycopg.connect(administrator(url), autocommit=True) as server:
        server.execute(f'CREATE ROLE "{role}" LOGIN'.encode())
        server.execute(b"REVOKE ALL ON SCHEMA public FROM public")
        try:
            settings = Settings(data_dir=tmp_path, database_url=address(str(url), username=role))
            settings.open_vault()
            found = await examine(settings)
            assert found.level is Level.ERROR
            (command,) = quoted(found.detail)
            server.execute(command.encode())
            await migrate(settings.database)
            assert (await examine(settings)).level is Level.FINE
        finally:
            server.execute(f'DROP OWNED BY "{role}"'.encode())
            server.execute(f'DROP ROLE "{role}"'.encode())


async def test_the_tables_of_another_role(new_postgresql: Callable[[], str], tmp_path: Path) -> None:
    """A backup was put back by the administrator: rights on the schema do not help."""
    url = make_url(new_postgresql())
    role = f"no-rights-{url.database}"
    await migrate(administrator(url))
    with psycopg.connect(administrator(url), autocommit=True) as server:
        server.execute(f'CREATE ROLE "{role}" LOGIN'.encode())
        try:
            settings = Settings(data_dir=tmp_path, database_url=address(str(url), username=role))
            settings.open_vault()
            found = await examine(settings)
            assert "make it their owner" in (found.detail or "")
        finally:
            server.execute(f'DROP OWNED BY "{role}"'.encode())
            server.execute(f'DROP ROLE "{role}"'.encode())


async def test_a_database_that_cannot_hold_all_letters(new_postgresql: Callable[[], str], tmp_path: Path) -> None:
    url = make_url(new_postgresql())
    settings = Settings(data_dir=tmp_path, database_url=administrator(url))
    settings.open_vault()
    database, server = url.database, administrator(url.set(database="postgres"))

    def create_anew(terms: str) -> None:
        run_statements(server, f'DROP DATABASE "{database}"', f'CREATE DATABASE "{database}" {terms}')

    create_anew("ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    (terms,) = re.findall(r"create a new one with (.+)", (await examine(settings)).detail or "")
    create_anew(terms)
    await migrate(settings.database)
    assert (await examine(settings)).level is Level.FINE


async def test_a_server_that_demands_tls(tls_server: Program, tmp_path: Path) -> None:
    (tls_server.folder / "data" / "pg_hba.conf").write_text("local all all trust\nhostssl all all all trust\n")
    run_statements(by_socket(tls_server), "SELECT pg_reload_conf()")
    without = Settings(data_dir=tmp_path, database_url=f"{tls_server.url}?sslmode=disable")
    without.open_vault()

    async def refusal() -> Finding | None:
        found = await examine(without)
        return found if "does not accept connections" in (found.detail or "") else None

    (parameter,) = [words for words in quoted((await eventually(refusal)).detail) if "=" in words]
    with_tls = Settings(data_dir=tmp_path, database_url=f"{tls_server.url}?{parameter}")
    await migrate(with_tls.database)
    assert (await examine(with_tls)).level is Level.FINE


async def test_a_certificate_that_no_authority_has_signed(tls_server: Program, tmp_path: Path) -> None:
    """The operator gives the certificate by hand, under the name that was said."""
    (other := tmp_path / "other").mkdir()
    url = f"{tls_server.url}?sslmode=verify-full&sslrootcert={write_certificate('localhost', other)}"
    strict = Settings(data_dir=tmp_path, database_url=url)
    strict.open_vault()
    found = await examine(strict)
    assert found.level is Level.ERROR
    (parameter,) = quoted(found.detail)
    trusted = {"sslmode": "verify-full", parameter: str(tmp_path / "server.pem")}
    with_file = make_url(tls_server.url).set(query=trusted).render_as_string(hide_password=False)
    trusting = Settings(data_dir=tmp_path, database_url=with_file)
    await migrate(trusting.database)
    assert (await examine(trusting)).level is Level.FINE


@pytest.fixture
def deployed(tmp_path: Path) -> Settings:
    settings = Settings(data_dir=tmp_path / "data", database_url=f"sqlite:///{tmp_path / 'data' / 'app.sqlite'}")
    settings.open_vault()
    return settings


@pytest.mark.fault("disk-full")
@pytest.mark.parametrize(
    ("free", "level"), [(10_000_000_000, None), (150_000_000, Level.WARNING), (1_000_000, Level.ERROR)]
)
async def test_a_disk_that_is_nearly_full(deployed: Settings, free: int, level: Level | None) -> None:
    await migrate(deployed.database)
    async with open_deployment(deployed) as deployment:
        found = await check_disk(deployment, free_bytes=lambda _: free)
    assert [finding.level for finding in found] == ([] if level is None else [level])
    for finding in found:
        assert str(finding.what).endswith(f"{free // 1_000_000} MB are free.")
        assert isinstance(finding.remedy, LazyMessage)


async def test_the_disk_that_is_looked_at_is_that_of_the_database(deployed: Settings) -> None:
    await migrate(deployed.database)
    asked: list[Path] = []

    def free_bytes(folder: Path) -> int:
        asked.append(folder)
        return 10**12

    async with open_deployment(deployed) as deployment:
        assert await check_disk(deployment, free_bytes=free_bytes) == []
    assert asked == [deployed.data_dir.absolute()]
