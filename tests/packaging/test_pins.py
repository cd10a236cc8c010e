"""What is installed is what was looked at: every dependency pinned with its hashes, and no way around them."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from integration_base_tests.places import REPOSITORY
from integration_base_tests.waiting import LONGEST_WAIT

pytestmark = pytest.mark.threat("supply-chain")

PINS = sorted(REPOSITORY.glob("requirements*.txt"))
_PIN = re.compile(r"[a-z0-9][a-z0-9._-]*(\[[a-z0-9,-]+\])?==[^\s;]+( ;[^\\]+)?")
_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


@pytest.mark.parametrize("file", PINS, ids=lambda file: file.name)
def test_every_dependency_is_one_version_with_its_hashes(file: Path) -> None:
    lines = [line for line in file.read_text().replace("\\\n", "").splitlines() if not line.startswith("#")]
    assert len(lines) > 5
    for line in lines:
        pin, *hashes = re.split(r" {4,}", line.strip())
        assert _PIN.fullmatch(pin.strip()), pin
        assert hashes, pin
        assert all(_HASH.fullmatch(digest.strip()) for digest in hashes), pin


@pytest.mark.parametrize("file", ["Makefile", "Dockerfile", "docs/operators/systemd.md"])
def test_whoever_installs_from_a_registry_asks_for_the_hashes(file: str) -> None:
    installs = [
        line
        for line in (REPOSITORY / file).read_text().replace("\\\n", "").splitlines()
        if re.search(r"\bpip install\b", line)
    ]
    assert installs
    for line in installs:
        for command in re.split(r"&&|;", line):
            if "pip install" in command:
                # What is built here has no dependency fetched beside it.
                assert "--require-hashes" in command or "--no-deps" in command, command


def test_the_image_stands_on_one_that_is_named_by_its_digest() -> None:
    image = (REPOSITORY / "Dockerfile").read_text()
    base = re.findall(r"^ARG PYTHON_IMAGE=python:3\.\d+-slim@sha256:[0-9a-f]{64}$", image, re.MULTILINE)
    stages = re.findall(r"^FROM (\S+)(?: AS (\S+))?$", image, re.MULTILINE)
    assert len(base) == 1
    assert {of for of, _ in stages} - {name for _, name in stages} == {"${PYTHON_IMAGE}"}


def test_what_runs_beside_the_image_is_named_by_its_digest_too() -> None:
    services = yaml.safe_load((REPOSITORY / "compose.yaml").read_text())["services"]
    images = {service["image"] for service in services.values()} - {"saleor-gateway"}
    assert {image.partition(":")[0] for image in images} == {"caddy", "postgres"}
    assert all(re.fullmatch(r"[a-z]+:\d+-alpine@sha256:[0-9a-f]{64}", image) for image in images)


def test_the_image_runs_as_nobody_in_particular_and_the_container_cannot_change_itself() -> None:
    image = (REPOSITORY / "Dockerfile").read_text()
    production = image.partition("AS base\n")[2]
    assert re.findall(r"^USER (.*)$", image, re.MULTILINE) == ["10001:10001"]
    assert "groupadd --system --gid 10001 " in production
    assert "useradd --system --uid 10001 --gid 10001 " in production
    assert "/usr/sbin/nologin" in production
    assert "--owner=10001 --group=0 --mode=0770 /data" in production, "where a container of any user begins, too"
    assert "USER root" not in image
    services = yaml.safe_load((REPOSITORY / "compose.yaml").read_text())["services"]
    ours = {name: service for name, service in services.items() if service.get("image") == "saleor-gateway"}
    assert {"app", "worker", "migrate"} <= ours.keys()
    for name, service in ours.items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name


@pytest.mark.parametrize("file", ["requirements-dev.txt", "requirements-docs.txt", "requirements-release.txt"])
def test_whoever_waits_for_the_installation_sees_how_far_it_is(file: str) -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    assert f"--require-hashes -r {file} | $(call SHOW_PROGRESS,{file})" in makefile
    said = (
        "".join(f"{verb} package\nDownloading it\n" for verb in ["Collecting", *["Processing"] * 2] * 8)
        + "Installing them all"
    )
    rule = f"shown:\n\t@cat | $(call SHOW_PROGRESS,{file})\n"
    shown = subprocess.run(
        ["make", "--no-print-directory", f"--eval={rule}", "shown"],
        cwd=REPOSITORY, input=said, capture_output=True, text=True, check=True, timeout=LONGEST_WAIT,
    )  # fmt: skip
    begun, *progress = shown.stdout.splitlines()
    packages = re.fullmatch(rf"Fetching at least (\d+) packages of {file}, .*", begun)
    assert packages is not None
    assert 20 < int(packages[1]) <= len(_packages(REPOSITORY / file))
    assert progress == [f"  10 of {packages[1]}", f"  20 of {packages[1]}", "  installing them"]


def _packages(file: Path) -> list[str]:
    return re.findall(r"^([a-z0-9][\w.-]*)(?:\[.*\])?==", file.read_text(), re.MULTILINE)
