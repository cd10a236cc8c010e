"""A release is of one version, says what has changed, and is not built of anything else."""

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from app.web.static import KIT_FOLDER
from integration_base_tests.places import REPOSITORY
from integration_base_tests.waiting import LONGEST_WAIT
from tests.packaging.conftest import PACKAGES

BUILD = Path("packaging/release/build")


def project(folder: Path = REPOSITORY) -> dict[str, Any]:
    return dict(tomllib.loads((folder / "pyproject.toml").read_text())["project"])


def test_everything_is_of_one_version() -> None:
    version = project()["version"]
    for name in PACKAGES:
        package = project(REPOSITORY / "packages" / name)
        assert (package["name"], package["version"]) == (name, version)
        assert sum(f"{name}[" in wanted or f"{name}==" in wanted for wanted in project()["dependencies"]) == 1
        ours = [wanted for wanted in package["dependencies"] if wanted.startswith(PACKAGES)]
        assert ours == ([] if name == "integration-base" else [f"integration-base=={version}"])
    assert json.loads((KIT_FOLDER / "package.json").read_text())["version"] == version
    said = (REPOSITORY / "README.md").read_text().partition("\nVersion ")[2].split()[0]
    assert version.startswith(said)


def test_the_changelog_has_a_chapter_of_this_version_with_its_day_and_how_to_come_to_it() -> None:
    text = (REPOSITORY / "CHANGELOG.md").read_text()
    chapters = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", text, re.MULTILINE)
    assert [name for name, day in chapters if not day] in ([], ["Unreleased"])
    released = [name for name, day in chapters if day]
    assert released[0] == project()["version"]
    days = [day for _, day in chapters if day]
    assert days == sorted(days, reverse=True)


def test_a_version_that_the_changelog_does_not_know_is_not_built(tmp_path: Path) -> None:
    """The program is run in a copy that has nothing but what it reads first."""
    for name in (str(BUILD), "pyproject.toml", "CHANGELOG.md"):
        copy = tmp_path / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((REPOSITORY / name).read_bytes())
    changed = (tmp_path / "pyproject.toml").read_text().replace(f'"{project()["version"]}"', '"9.9.9"')
    (tmp_path / "pyproject.toml").write_text(changed)
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "yesterday.whl").touch()
    python = subprocess.run(["which", "python3"], capture_output=True, text=True, check=True).stdout.strip()
    ran = subprocess.run(
        ["bash", str(tmp_path / BUILD), python, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST_WAIT,
    )
    assert (ran.returncode, ran.stderr) == (1, "CHANGELOG.md has no chapter for 9.9.9\n")
    assert [path.name for path in (tmp_path / "dist").iterdir()] == ["yesterday.whl"]


@pytest.mark.threat("supply-chain")
def test_what_is_pinned_is_what_is_audited() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    audited = re.search(r"^AUDITED := (.+)$", makefile, re.MULTILINE)
    assert audited is not None
    assert sorted(audited[1].split()) == sorted(path.name for path in REPOSITORY.glob("requirements*.txt"))
    # Without it a package that cannot be looked up is only mentioned, and nothing has been audited.
    assert "pip-audit --strict --require-hashes" in makefile
