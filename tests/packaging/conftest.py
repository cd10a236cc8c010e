"""What is installed elsewhere, built from this checkout once for each process of the tests."""

import subprocess
import sys
from pathlib import Path

import pytest

from integration_base_tests.places import REPOSITORY
from integration_base_tests.waiting import LONGEST_WAIT

PACKAGES = ("integration-base", "saleor-app-sdk", "gateway-client")
DISTRIBUTIONS = {"product": REPOSITORY} | {name: REPOSITORY / "packages" / name for name in PACKAGES}


def build(project: Path, target: str, folder: Path) -> Path:
    """Build the ``wheel`` or the ``sdist`` of a project into an empty folder, without the internet."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=project, check=True, capture_output=True, timeout=LONGEST_WAIT)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """All source distributions."""
    return {name: build(project, "sdist", tmp_path_factory.mktemp(name)) for name, project in DISTRIBUTIONS.items()}


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """All wheels."""
    return {name: build(project, "wheel", tmp_path_factory.mktemp(name)) for name, project in DISTRIBUTIONS.items()}
