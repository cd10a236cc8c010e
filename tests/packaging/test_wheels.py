"""What is installed: the product without anything to play with, and beside it, where it is asked for, the sandbox."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest
from packaging.metadata import Metadata
from packaging.requirements import Requirement

from tests.commands.conftest import clean_environment
from tests.conftest import REPOSITORY
from tests.packaging.conftest import DISTRIBUTIONS, build
from tests.waiting import LONGEST_WAIT

ENTRY_POINT = "saleor_gateway.py"
PLAYED = ("packages/gateway-client/gateway_client/sandbox/", "packages/saleor-app-sdk/saleor_app_sdk/testing/")

EVERY_MODULE = """
import importlib, pkgutil, app
names = [each.name for each in pkgutil.walk_packages(app.__path__, "app.")]
for name in names:
    if not name.startswith("app.db.migrations"):  # Alembic runs those
        importlib.import_module(name)
print(len(names))
"""
SERVING = """
import asyncio, httpx2
from app.main import create_app
from app.settings import Settings

async def ask():
    app = create_app(Settings(data_dir="data"))
    async with app.router.lifespan_context(app):
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://app.test") as http:
            for path in ("/readyz", "/api/manifest"):
                print((await http.get(path)).status_code)

asyncio.run(ask())
"""


def installed(folder: Path, *wheels: Path) -> Path:
    """Lay wheels down as pip would."""
    for wheel in wheels:
        shutil.unpack_archive(wheel, folder, "zip")
    return folder


@pytest.fixture(scope="module")
def product(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which only the product is installed."""
    return installed(tmp_path_factory.mktemp("installed"), wheels["product"])


def run(folder: Path, where: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python with what is installed in ``folder``, and with the libraries of this environment.

    ``-S`` leaves out whatever the environment adds by ``.pth`` files: a checkout that is installed in place.
    """
    libraries = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
    environment = clean_environment({"PYTHONPATH": os.pathsep.join([str(folder), *libraries])})
    command = [sys.executable, "-S", *words]
    return subprocess.run(
        command, cwd=where, env=environment, capture_output=True, text=True, check=False, timeout=LONGEST_WAIT
    )


def files_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name and ".data/" not in name}


def metadata_file(distribution: Path) -> bytes:
    """Return what a wheel or a source distribution says of itself."""
    if distribution.suffix == ".whl":
        with zipfile.ZipFile(distribution) as archive:
            (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
            return archive.read(name)
    with tarfile.open(distribution) as sources:
        file = sources.extractfile(f"{distribution.name.removesuffix('.tar.gz')}/PKG-INFO")
        assert file is not None
        return file.read()


def metadata(distribution: Path) -> Metadata:
    """Read it as a registry does: whatever is not as specified is an error."""
    return Metadata.from_email(metadata_file(distribution), validate=True)


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.threat("supply-chain")
def test_each_file_is_in_one_of_the_two_and_what_one_plays_with_is_not_in_the_product(wheels: dict[str, Path]) -> None:
    product, sandbox = files_in(wheels["product"]), files_in(wheels["sandbox"])
    assert ENTRY_POINT in product  # what the command begins with
    assert [name for name in product if name.startswith(PLAYED)] == []
    assert [name for name in sandbox if not name.startswith(PLAYED)] == []
    here = {
        path.relative_to(REPOSITORY).as_posix()
        for folder in ("app", "manifest")
        for path in (REPOSITORY / folder).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert product | sandbox == here | {ENTRY_POINT}


def test_type_checkers_of_others_are_told_that_it_is_typed(wheels: dict[str, Path]) -> None:
    assert "app/py.typed" in files_in(wheels["product"])  # PEP 561


def test_the_extra_brings_the_sandbox_of_the_same_version(wheels: dict[str, Path]) -> None:
    product, sandbox = metadata(wheels["product"]), metadata(wheels["sandbox"])
    assert sandbox.version == product.version
    brought = Requirement(f"saleor-gateway-sandbox=={product.version}; extra == 'sandbox'")
    assert brought in (product.requires_dist or [])
    assert sandbox.requires_dist == [Requirement(f"saleor-gateway=={product.version}")]


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_registry_accepts_the_metadata_and_readers_find_what_they_look_for(
    name: str, wheels: dict[str, Path], sources: dict[str, Path]
) -> None:
    said = metadata(wheels[name])
    assert metadata_file(sources[name]) == metadata_file(wheels[name])
    assert said.license_expression == "BSD-3-Clause"
    assert said.license_files == ["LICENSE"]
    licences = [content for file, content in contents(wheels[name]).items() if file.endswith("/licenses/LICENSE")]
    assert licences == [(REPOSITORY / "LICENSE").read_bytes()]
    assert said.author == "The Saleor Gateway authors"
    assert {"saleor", "payments"} <= set(said.keywords or [])
    assert said.project_urls
    assert said.description_content_type == "text/markdown"
    assert said.description == (DISTRIBUTIONS[name] / "README.md").read_text()


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_wheel_built_from_the_source_distribution_is_the_same(
    name: str, wheels: dict[str, Path], sources: dict[str, Path], tmp_path: Path
) -> None:
    """Outside of the repository: nothing is found in it by chance."""
    with tarfile.open(sources[name]) as archive:
        assert [member.name for member in archive.getmembers() if not member.isfile()] == []
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.iterdir()
    assert contents(build(unpacked, "wheel", tmp_path / "dist")) == contents(wheels[name])


@pytest.mark.long
@pytest.mark.threat("supply-chain")
def test_the_product_needs_nothing_else(product: Path, tmp_path: Path) -> None:
    version = run(product, tmp_path, "-m", "app.cli", "--version")
    assert re.fullmatch(r"saleor-gateway [0-9.]+\n", version.stdout), version

    imported = run(product, tmp_path, "-c", EVERY_MODULE)
    assert (imported.returncode, imported.stderr) == (0, "")
    assert int(imported.stdout) > 200

    migrated = run(product, tmp_path, "-m", "app.cli", "migrate")
    assert migrated.returncode == 0, migrated.stderr
    assert (tmp_path / "data" / "payments.sqlite").exists()

    served = run(product, tmp_path, "-c", SERVING)
    statuses = [line for line in served.stdout.splitlines() if line.isdigit()]  # among its log
    assert statuses == ["200", "200"], served


@pytest.mark.parametrize("words", [("demo", "--once"), ("demo", "--help"), ("sandbox", "--port", "0")])
def test_what_is_not_installed_says_in_one_line_how_to_install_it(
    product: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    said = run(product, tmp_path, "-m", "app.cli", *words)
    assert (said.returncode, said.stdout) == (1, "")
    assert said.stderr.splitlines() == [
        "error: this command is not installed here. Install it with: pip install 'saleor-gateway[sandbox]'"
    ]


@pytest.mark.long
def test_with_the_sandbox_beside_it_everything_is_there(wheels: dict[str, Path], tmp_path: Path) -> None:
    both = installed(tmp_path / "both", *wheels.values())
    said = run(both, tmp_path, "-m", "app.cli", "demo", "--help")
    assert said.returncode == 0, said.stderr
    assert "--free-ports" in said.stdout
    imported = run(
        both,
        tmp_path,
        "-c",
        "import gateway_client.sandbox.application, saleor_app_sdk.testing as it; print(it.__file__)",
    )
    assert imported.stdout.strip() == str(both / "app" / "saleor" / "testing" / "__init__.py"), imported.stderr
