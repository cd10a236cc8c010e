"""The image: two layers on a pinned base, nothing to install with, and only what the app uses."""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path

import babel
import pytest
import yaml

from app.i18n.translation import LANGUAGES
from integration_base_tests.loopback import ReceivedRequest, Reply, serve_replies
from integration_base_tests.places import REPOSITORY
from integration_base_tests.waiting import LONGEST_WAIT
from tests.packaging.test_release import project

IMAGE = (REPOSITORY / "Dockerfile").read_text().replace("\\\n", " ")
STAGES = {stage.split()[0]: stage for stage in re.split(r"^FROM \S+ AS ", IMAGE, flags=re.MULTILINE)[1:]}
HEALTHY = REPOSITORY / "packaging" / "image" / "healthy"
LOCALES = Path(babel.__file__).parent / "locale-data"

# Every format of every language, as `Translation` writes it.
FORMATTING = """
from datetime import date, timedelta
from decimal import Decimal
from app.i18n.translation import LANGUAGES, translation

first, last = date(2026, 11, 1), date(2026, 11, 27)
for language in LANGUAGES:
    words = translation(language)
    print(
        words.money(Decimal("1234.5"), "UAH"), words.day(last), words.day_and_month(last), words.span(first, last),
        words.number(1234), words.percent(Decimal("0.983")), words.points(Decimal("0.012")),
        words.compact(Decimal(2500)), words.month(last), words.ago(timedelta(days=3)), sep="; ",
    )
"""


def test_dependencies_and_app_are_two_layers_and_only_the_second_changes_with_the_app() -> None:
    assert not re.search(r"^COPY (?:app|manifest|packag\w+|pyproject.toml|\.) ", STAGES["dependencies"], re.MULTILINE)
    assert "COPY --from=dependencies /opt/app /opt/app" in STAGES["base"].splitlines()
    for stage, source in {"production": "build", "sandbox": "build"}.items():
        copied = re.findall(r"^COPY (.+)$", STAGES[stage], re.MULTILINE)
        assert copied == [f"--from={source} /own /"]
        assert all(" --root /own " in line for line in re.findall(r"pip .*install.*--no-deps.*$", STAGES[source]))


def test_what_the_image_is_built_from_goes_to_the_builder() -> None:
    sent = {line[1:] for line in (REPOSITORY / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {name for words in re.findall(r"^COPY ([^-].*) \S+$", IMAGE, re.MULTILINE) for name in words.split()}
    assert copied == sent


def test_what_is_laid_down_below_a_root_is_complete(wheels: dict[str, Path], tmp_path: Path) -> None:
    """pip does what the image's build asks of it; its environment has no pip of its own."""
    environment, root = tmp_path / "env", tmp_path / "own"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True, timeout=LONGEST_WAIT)
    words = ("--python", str(environment / "bin" / "python"), "install", "--no-index", "--no-deps", "--no-compile")
    command = [sys.executable, "-m", "pip", "--quiet", *words, "--root", str(root), *map(str, wheels.values())]
    subprocess.run(command, check=True, capture_output=True, timeout=LONGEST_WAIT)
    laid_down = root / environment.relative_to("/")
    assert (laid_down / "bin" / "saleor-gateway").read_text().startswith(f"#!{environment}/bin/python")
    (packages,) = laid_down.glob("lib/python*/site-packages")
    assert {"app", "manifest", "saleor_gateway.py"} <= {path.name for path in packages.iterdir()}
    assert {"saleor_app_sdk", "gateway_client", "integration_base"} <= {path.name for path in packages.iterdir()}
    assert not (environment / "bin" / "saleor-gateway").exists()


def test_nothing_can_be_installed_in_it() -> None:
    assert "venv --without-pip /opt/app" in STAGES["dependencies"]
    assert "/opt/app/bin/pip" not in IMAGE
    assert "pip uninstall --yes" in STAGES["base"]


def test_only_the_locales_of_the_apps_languages_are_kept_and_they_suffice(tmp_path: Path) -> None:
    kept = re.findall(r"! -name '?([\w*.]+)'?", STAGES["dependencies"])
    assert set(kept) == {"root.dat"} | {f"{language}*.dat" for language in LANGUAGES}
    shutil.copytree(LOCALES.parent, tmp_path / "babel")
    for file in (tmp_path / "babel" / "locale-data").glob("*.dat"):
        if not any(fnmatch(file.name, pattern) for pattern in kept):
            file.unlink()

    def formatted(*first: Path) -> str:
        path = ":".join(map(str, (*first, REPOSITORY)))
        return subprocess.run(
            [sys.executable, "-c", FORMATTING], cwd=tmp_path, env={"PYTHONPATH": path}, capture_output=True, text=True,
            check=True, timeout=LONGEST_WAIT,
        ).stdout  # fmt: skip

    assert formatted(tmp_path) == formatted()
    assert len(formatted().splitlines()) == len(LANGUAGES)


def test_the_labels_say_what_it_is() -> None:
    labels = dict(re.findall(r'org\.opencontainers\.image\.([\w.]+)="([^"]*)"', STAGES["production"]))
    assert labels["title"] == project()["name"]
    assert labels["description"] == project()["description"]
    assert labels["licenses"] == project()["license"]
    assert re.search(rf"^ARG PYTHON_IMAGE={labels['base.name'].rpartition('/')[2]}@", IMAGE, re.MULTILINE)
    build = (REPOSITORY / "packaging" / "release" / "build").read_text()
    for label in ("version", "revision"):
        argument = labels[label].strip("${}")
        assert argument == label.upper()
        assert re.search(rf"^ARG .*\b{argument}=", STAGES["production"], re.MULTILINE)
        assert f'--build-arg "{argument}=' in build


def test_compose_checks_its_health_as_the_image_does() -> None:
    options, command = re.findall(r"^HEALTHCHECK (.*?) CMD (\[.*\])$", re.sub(r" +", " ", IMAGE), re.MULTILINE)[0]
    told = {name.replace("-", "_"): value for name, value in re.findall(r"--([\w-]+)=(\S+)", options)}
    services = yaml.safe_load((REPOSITORY / "compose.yaml").read_text())["services"]
    for name in ("app", "web-2", "worker"):
        check = services[name]["healthcheck"]
        assert check["test"] == ["CMD", *json.loads(command)]
        assert {key: str(value) for key, value in check.items() if key != "test"} == told
    assert (
        f"install -D {HEALTHY.relative_to(REPOSITORY)} /own/usr/local/bin/{json.loads(command)[0]}" in STAGES["build"]
    )


@pytest.mark.fault("no-worker")
@pytest.mark.parametrize(
    ("command", "port", "path"),
    [("run", "APP_PORT", "/readyz"), ("sandbox", "APP_PORT", "/readyz"), ("worker", "APP_METRICS_PORT", "/healthz")],
)
async def test_a_container_is_healthy_while_its_process_says_so(command: str, port: str, path: str) -> None:
    status, asked = 200, []

    async def answer(received: ReceivedRequest) -> Reply:
        asked.append(received.path)
        return Reply(status)

    async with serve_replies(answer) as url:
        environment = {port: url.rpartition(":")[2]}
        assert await _is_healthy(command, environment)
        status = 503
        assert not await _is_healthy(command, environment)
    assert not await _is_healthy(command, environment), "nothing listens there"
    assert asked == [path] * 2


async def test_a_container_on_a_network_without_ipv4_is_healthy() -> None:
    """There APP_HOST is `::`, which is no address of IPv4: the container was ended for ever."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"HTTP/1.0 200 OK\r\n\r\n")
        writer.close()

    try:
        server = await asyncio.start_server(answer, "::1", 0)
    except OSError:
        pytest.skip("this machine has no IPv6")
    async with server:
        port = server.sockets[0].getsockname()[1]
        assert await _is_healthy("run", {"APP_PORT": str(port)})
    assert not await _is_healthy("run", {"APP_PORT": str(port)})


@pytest.mark.parametrize("command", ["migrate", "worker"])
async def test_nothing_is_asked_of_what_serves_nothing(command: str) -> None:
    """A migration takes as long as it takes; a worker may be told to listen nowhere."""
    assert await _is_healthy(command, {"APP_PORT": "9", "APP_METRICS_PORT": ""})


async def _is_healthy(command: str, environment: Mapping[str, str]) -> bool:
    """Whether a container whose process was started by ``command`` is healthy."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "input()", "saleor-gateway", command, stdin=PIPE, stderr=DEVNULL
    )
    try:
        check = await asyncio.create_subprocess_exec(
            HEALTHY, str(process.pid), env={"PATH": os.environ["PATH"], **environment}
        )
        return await check.wait() == 0
    finally:
        process.kill()
        await process.wait()
