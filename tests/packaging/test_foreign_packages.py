"""An environment that is shared with others: packages `app` and `manifest` that are not ours are named, never run."""

import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

from integration_base_tests.waiting import LONGEST_WAIT
from tests.commands.conftest import clean_environment
from tests.packaging.conftest import build

FOREIGN_PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "bakery"
version = "1.0"

[tool.hatch.build.targets.wheel]
packages = ["app"]
"""


@dataclass(frozen=True)
class Environment:
    """A virtual environment. What it installs, pip installs: from files, without their dependencies."""

    folder: Path

    @property
    def packages(self) -> Path:
        (found,) = self.folder.glob("lib/python*/site-packages")
        return found

    def pip(self, *words: str) -> None:
        python = str(self.folder / "bin" / "python")
        command = [sys.executable, "-m", "pip", "--python", python, "--quiet", *words]
        subprocess.run(command, check=True, capture_output=True, timeout=LONGEST_WAIT)

    def install(self, *wheels: Path) -> None:
        self.pip("install", "--no-index", "--no-deps", "--no-compile", "--force-reinstall", *map(str, wheels))

    def run(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the installed command. What this process finds its modules by is not handed on."""
        inherited = {name: value for name, value in clean_environment({}).items() if name != "PYTHONPATH"}
        return subprocess.run(
            [str(self.folder / "bin" / "saleor-gateway"), *words],
            cwd=self.folder, env=inherited | variables, capture_output=True, text=True, check=False,
            timeout=LONGEST_WAIT,
        )  # fmt: skip

    def refuses(self, *words: str, **variables: str) -> None:
        """The command ends as for a wrong setting, with one line that has these words."""
        said = self.run("--version", **variables)
        assert (said.returncode, said.stdout, said.stderr.count("\n")) == (2, "", 1), said
        assert said.stderr.startswith("error: ")
        assert "an environment of its own" in said.stderr
        for word in words:
            assert word in said.stderr


@pytest.fixture(scope="module")
def template(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The wheels of the app and its packages in an environment, in which this one's libraries can be imported."""
    made = Environment(tmp_path_factory.mktemp("template") / "env")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(made.folder)], check=True, timeout=LONGEST_WAIT)
    made.install(*wheels.values())
    (made.packages / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    return made


@pytest.fixture
def environment(template: Environment, tmp_path: Path) -> Environment:
    """A copy of the template, which a test may spoil. Its command names its own Python, as pip has written it."""
    copied = Environment(tmp_path / "env")
    shutil.copytree(template.folder, copied.folder, symlinks=True)
    command = copied.folder / "bin" / "saleor-gateway"
    command.write_text(command.read_text().replace(str(template.folder), str(copied.folder)))
    assert str(copied.folder) in command.read_text()
    return copied


def foreign_wheel(tmp_path: Path, *modules: str) -> Path:
    """Build another project's wheel with these modules in its package ``app``."""
    project = tmp_path / "bakery"
    (project / "app").mkdir(parents=True)
    (project / "pyproject.toml").write_text(FOREIGN_PROJECT)
    for module in modules:
        (project / "app" / module).write_text('raise SystemExit("the bakery has begun")\n')
    return build(project, "wheel", tmp_path / "dist")


def test_an_environment_of_its_own_is_in_order(environment: Environment) -> None:
    said = environment.run("--version")
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout.startswith("saleor-gateway ")


@pytest.mark.parametrize("module", ["__init__.py", "settings.py"])
def test_a_project_installed_over_it_is_named(environment: Environment, tmp_path: Path, module: str) -> None:
    environment.install(foreign_wheel(tmp_path, module))
    environment.refuses(str(environment.packages / "app" / module), "has been replaced by bakery")


def test_what_that_project_took_away_with_it_is_named(environment: Environment, tmp_path: Path) -> None:
    environment.install(foreign_wheel(tmp_path, "__init__.py", "bread.py"))
    environment.pip("uninstall", "--yes", "bakery")
    environment.refuses(str(environment.packages / "app" / "__init__.py"), "is missing")


@pytest.mark.parametrize("package", ["app", "manifest"])
def test_a_package_that_python_finds_before_ours_is_named_and_not_run(
    environment: Environment, tmp_path: Path, package: str
) -> None:
    foreign = tmp_path / "shop" / package / "__init__.py"
    foreign.parent.mkdir(parents=True)
    foreign.write_text('raise SystemExit("the shop has begun")\n')
    environment.refuses(f"`{package}`", str(foreign), "without PYTHONPATH", PYTHONPATH=str(tmp_path / "shop"))


def test_a_package_of_its_own_that_was_changed_is_named(environment: Environment) -> None:
    replaced = environment.packages / "gateway_client" / "signature.py"
    replaced.write_text("")
    environment.refuses(f"{replaced} of gateway-client has been replaced:")
