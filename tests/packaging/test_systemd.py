"""A server without containers: units, users, folders, settings and the command agree, among them and with the app."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from io import StringIO
from pathlib import Path

import pytest
from dotenv import dotenv_values
from typer.testing import CliRunner

from app.cli import cli
from app.settings import PREFIX, Settings, read_settings
from integration_base_tests.pages import DOCS, blocks
from integration_base_tests.places import REPOSITORY
from integration_base_tests.waiting import LONGEST_WAIT

FOLDER = REPOSITORY / "packaging" / "systemd"
PAGE = DOCS / "operators" / "systemd.md"
SERVICES = sorted(path.name for path in FOLDER.glob("*.service"))
COMMON = (FOLDER / "saleor-gateway-.service.d" / "common.conf").read_text()
COMMAND = FOLDER / "saleor-gateway"
SETTINGS_FILE = FOLDER / "settings.env"
INSTALL_LINES = [line for block in blocks("sh", among=[PAGE]) for line in block.code.splitlines()]
EXPOSURE = 20  # tenths, of which a service without any precaution has about 96

every_service = pytest.mark.parametrize("service", SERVICES)


def values(unit: str, name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", unit, re.MULTILINE)


def value(unit: str, name: str) -> str:
    (found,) = values(unit, name)
    return found


def text_of(service: str) -> str:
    return (FOLDER / service).read_text()


def systemd(program: str, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run one of systemd's programs."""
    found = shutil.which(program)
    if found is None:
        if os.environ.get("CI"):
            pytest.fail(f"there is no {program}")
        pytest.skip(f"there is no {program}")
    return subprocess.run(
        [found, *words], env={**os.environ, **variables}, capture_output=True, text=True, check=False,
        timeout=LONGEST_WAIT,
    )  # fmt: skip


@pytest.fixture
def installed_units(tmp_path: Path) -> Path:
    """The units as they lie in /etc/systemd/system, with a program that exists in this file system."""
    folder = tmp_path / "units"
    shutil.copytree(FOLDER, folder, ignore=lambda _folder, names: [name for name in names if ".service" not in name])
    shutil.copytree(FOLDER / "saleor-gateway-.service.d", folder / "saleor-gateway-.service.d", dirs_exist_ok=True)
    for unit in folder.glob("*.service"):
        unit.write_text(re.sub(r"/opt/saleor-gateway/bin/saleor-gateway", sys.executable, unit.read_text()))
    return folder


def test_the_services() -> None:
    assert SERVICES == [
        "saleor-gateway-migrate.service", "saleor-gateway-web@.service", "saleor-gateway-worker.service",
    ]  # fmt: skip


@every_service
def test_systemd_understands_them(service: str, installed_units: Path) -> None:
    unit = installed_units / service.replace("@", "@8100")
    said = systemd("systemd-analyze", "verify", "--man=no", str(unit), SYSTEMD_UNIT_PATH=f"{installed_units}:")
    assert (said.returncode, said.stderr) == (0, "")


@every_service
def test_nobody_has_more_rights_than_needed(service: str, installed_units: Path) -> None:
    """The common part reaches each of them by its name alone."""
    words = ("security", "--offline=yes", f"--threshold={EXPOSURE}", str(installed_units / service))
    said = systemd("systemd-analyze", *words, SYSTEMD_UNIT_PATH=f"{installed_units}:")
    assert said.returncode == 0, said.stdout
    for line in ("NoNewPrivileges=yes", "ProtectSystem=strict", "CapabilityBoundingSet=", "PrivateDevices=yes"):
        assert line in COMMON.splitlines()


@every_service
def test_each_runs_a_command_that_exists_as_the_command_of_people_does(service: str) -> None:
    program, *words = value(text_of(service), "ExecStart").split()
    assert f"program={program}\n" in COMMAND.read_text()
    assert CliRunner().invoke(cli, [*words, "--help"]).exit_code == 0


def test_what_starts_comes_after_the_migration_and_is_started_again_for_ever() -> None:
    for service in SERVICES[1:]:
        unit = text_of(service)
        for name in ("Wants", "After"):
            assert "saleor-gateway-migrate.service" in value(unit, name).split()
        assert value(unit, "Type") == "notify"  # so a restart of one after the other leaves nobody out
        assert value(unit, "Restart") == "always"
        assert value(unit, "StartLimitIntervalSec") == "0"
        assert (
            float(value(unit, "TimeoutStopSec")) >= 40 + 60
        )  # docs/operators/processes.md, Stopping; the longest drain


def test_services_and_command_share_user_settings_key_and_folder() -> None:
    command = dict(re.findall(r"^(\w+)=(\S+)$", COMMAND.read_text(), re.MULTILINE))
    sysusers = (FOLDER / "sysusers.conf").read_text()
    (user, home) = re.findall(r'^u (\S+) - "[^"]+" (\S+) ', sysusers, re.MULTILINE)[0]
    assert user == command["user"] == value(COMMON, "User") == value(COMMON, "Group")
    assert command["settings"] == value(COMMON, "EnvironmentFile")
    assert value(COMMON, "LoadCredential") == f"secret.key:{command['key']}"
    assert value(COMMON, "Environment") == "APP_SECRET_KEY_FILE=%d/secret.key"
    state = f"/var/lib/{value(COMMON, 'StateDirectory')}"
    assert state == home == value(COMMON, "WorkingDirectory") == dotenv_values(SETTINGS_FILE)["APP_DATA_DIR"]
    folders = {
        row[1]: row for row in map(str.split, (FOLDER / "tmpfiles.conf").read_text().splitlines()) if len(row) == 6
    }
    assert {state, command["settings"], command["key"], str(Path(command["key"]).parent)} == folders.keys()
    assert folders[state][2:5] == [value(COMMON, "StateDirectoryMode"), user, user]
    # What root lends, and the doctor accepts: the app can read it and not change it.
    assert folders[command["key"]][2:5] == ["0440", "root", user]
    assert folders[command["settings"]][2:5] == ["0640", "root", user]


def test_the_settings_are_ones_that_the_app_accepts(monkeypatch: pytest.MonkeyPatch) -> None:
    text = SETTINGS_FILE.read_text()
    examples = dotenv_values(stream=StringIO(re.sub(r"^#(?=[A-Z_]+=)", "", text, flags=re.MULTILINE)))
    for name, setting in examples.items():
        monkeypatch.setenv(name, setting or "")
    assert read_settings().database_url == examples["APP_DATABASE_URL"]
    # systemd lets this file win over what a unit says.
    of_units = {
        line.partition("=")[0] for unit in (COMMON, *map(text_of, SERVICES)) for line in values(unit, "Environment")
    }
    assert of_units == {"APP_PORT", "APP_SECRET_KEY_FILE"}
    assert not of_units & examples.keys()
    assert {name.removeprefix(PREFIX).lower() for name in examples} <= Settings.model_fields.keys()


def test_the_journal_has_limits_and_the_services_write_to_it() -> None:
    limits = (FOLDER / "journald.conf").read_text()
    assert f"/etc/systemd/journald@{value(COMMON, 'LogNamespace')}.conf" in limits
    assert values(limits, "SystemMaxUse")
    assert values(limits, "MaxRetentionSec")


def test_users_and_folders_are_made_as_they_are_written(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give folders to others")
    (tmp_path / "etc").mkdir()
    assert systemd("systemd-sysusers", f"--root={tmp_path}", str(FOLDER / "sysusers.conf")).returncode == 0
    passwd = (tmp_path / "etc" / "passwd").read_text()
    assert re.search(r"^saleor-gateway:.*:/var/lib/saleor-gateway:/usr/sbin/nologin$", passwd, re.MULTILINE)
    for name in ("settings.env", "secret.key"):
        file = tmp_path / "etc" / "saleor-gateway" / name
        file.parent.mkdir(exist_ok=True)
        file.touch()
    made = systemd("systemd-tmpfiles", "--create", f"--root={tmp_path}", str(FOLDER / "tmpfiles.conf"))
    assert (made.returncode, made.stderr) == (0, "")
    modes = {
        path: oct((tmp_path / path).stat().st_mode & 0o7777)
        for path in ("etc/saleor-gateway", "etc/saleor-gateway/settings.env", "etc/saleor-gateway/secret.key")
    }
    assert list(modes.values()) == ["0o750", "0o640", "0o440"]


def run_command(
    tmp_path: Path, settings: str | None, *words: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a copy of the command in which files and user are this test's, and the program shows what it is given."""
    program, file = tmp_path / "program", tmp_path / "settings.env"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$APP_NAME" "$APP_SECRET_KEY_FILE" "${LOGNAME-}" "$@"\n')
    program.chmod(0o755)
    if settings is not None:
        file.write_text(settings)
    user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    text = COMMAND.read_text()
    for name, replacement in {"user": user, "settings": file, "program": program}.items():
        text = re.sub(rf"^{name}=.*$", f"{name}={replacement}", text, flags=re.MULTILINE)
    environment: Mapping[str, str] = {"PATH": os.environ["PATH"], "LOGNAME": "ann", **variables}
    return subprocess.run(
        ["sh", "-c", text, "saleor-gateway", *words],
        env=environment, capture_output=True, text=True, check=False, timeout=LONGEST_WAIT,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("APP_NAME=Payments", "Payments"),
        ("APP_NAME=a $HOME `id` \"b\" 'c' = d # e", "a $HOME `id` \"b\" 'c' = d # e"),
        ('APP_NAME="two words"', "two words"),
        ("APP_NAME='two words'", "two words"),
        ("APP_NAME=", ""),
        ("APP_NAME=once\nAPP_NAME=again", "again"),
    ],
)
def test_the_command_reads_the_settings_of_the_services(tmp_path: Path, line: str, name: str) -> None:
    said = run_command(tmp_path, f"# a comment\n; another\n\n{line}", "payments", "show", "a b")
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout.splitlines() == [name, "/etc/saleor-gateway/secret.key", "ann", "payments", "show", "a b"]


@pytest.mark.parametrize("given", ["for this once", ""])
def test_what_is_set_for_one_command_wins_over_the_settings(tmp_path: Path, given: str) -> None:
    """``APP_DATABASE_URL=... saleor-gateway migrate``, before a move, is never to migrate the database in use."""
    said = run_command(tmp_path, "APP_NAME=settled\nAPP_NAME_TOO=x", APP_NAME=given)
    assert said.stdout.splitlines()[0] == given


def test_a_key_file_of_ones_own_reaches_the_command(tmp_path: Path) -> None:
    said = run_command(tmp_path, "APP_SECRET_KEY_FILE=/srv/key\nAPP_NAME=x\n")
    assert said.stdout.splitlines()[1] == "/srv/key"


def test_without_settings_the_command_says_how_to_run_it(tmp_path: Path) -> None:
    said = run_command(tmp_path, None, "doctor")
    assert (said.returncode, said.stdout) == (2, "")
    assert "run sudo saleor-gateway" in said.stderr


def test_what_the_page_installs_exists_and_nothing_is_left_out() -> None:
    taken = {
        path
        for line in INSTALL_LINES
        if line.startswith("install ")
        for word in line.split()[1:-1]
        for path in (REPOSITORY / "packaging").glob(word)
    }
    lines = "\n".join(INSTALL_LINES)
    assert {path for path in FOLDER.rglob("*") if path.is_file()} <= taken
    for installed in re.findall(
        r"^# (/etc/\S+)", "".join(path.read_text() for path in taken if path.is_file()), re.MULTILINE
    ):
        assert installed.rstrip(":") in lines, installed
