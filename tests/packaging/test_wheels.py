"""What is installed: the app, and the packages that it stands on, which others install alone."""

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

from integration_base_tests.places import REPOSITORY
from integration_base_tests.waiting import LONGEST_WAIT
from tests.commands.conftest import clean_environment
from tests.packaging.conftest import DISTRIBUTIONS, PACKAGES, build

ENTRY_POINT = "saleor_gateway.py"
BESIDE_FOLDERS = {"product": {ENTRY_POINT}, "saleor-app-sdk": {"pytest_saleor_app_sdk.py"}}
FOLDERS = {"product": (REPOSITORY, ("app", "manifest"))} | {
    name: (REPOSITORY / "packages" / name, (name.replace("-", "_"),)) for name in PACKAGES
}

EVERY_MODULE = """
import importlib, pkgutil, app, gateway_client, integration_base, saleor_app_sdk
houses = (app, gateway_client, integration_base, saleor_app_sdk)
names = [module.name for house in houses for module in pkgutil.walk_packages(house.__path__, f"{house.__name__}.")]
for name in names:
    if not name.startswith("app.store.migrations") and not name.endswith("__main__"):  # run by Alembic, by people
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
    """A folder in which the app and its packages are installed."""
    return installed(tmp_path_factory.mktemp("installed"), *wheels.values())


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
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_wheel_has_the_files_of_its_folders_and_no_other(name: str, wheels: dict[str, Path]) -> None:
    home, folders = FOLDERS[name]
    here = {
        path.relative_to(home).as_posix()
        for folder in folders
        for path in (home / folder).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert files_in(wheels[name]) == here | BESIDE_FOLDERS.get(name, set())


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_type_checkers_of_others_are_told_that_it_is_typed(name: str, wheels: dict[str, Path]) -> None:
    (marker,) = {file for file in files_in(wheels[name]) if file.endswith("py.typed")}  # PEP 561
    assert marker.count("/") == 1


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
    assert said.keywords
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
        # Debian 12's Python has no filters yet; newer ones warn without one.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(tmp_path)  # noqa: S202 - of our own making, and files alone
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


@pytest.mark.long
@pytest.mark.parametrize(("command", "option"), [("demo", "--free-ports"), ("sandbox", "--dialect")])
def test_what_one_plays_with_is_there(product: Path, tmp_path: Path, command: str, option: str) -> None:
    said = run(product, tmp_path, "-m", "app.cli", command, "--help")
    assert said.returncode == 0, said.stderr
    assert option in said.stdout


EVERY_MODULE_OF = """
import importlib, pkgutil, sys
house = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(house.__path__, f"{house.__name__}."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(*sorted({name.partition(".")[0] for name in sys.modules} & {"app", "saleor_app_sdk", "gateway_client"}))
"""


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_needs_nothing_of_the_others(name: str, wheels: dict[str, Path], tmp_path: Path) -> None:
    """Beside a foreign package ``app``, which it must not touch."""
    alone = installed(tmp_path / "alone", *{wheels[name], wheels["integration-base"]})
    (alone / "app").mkdir()
    (alone / "app" / "__init__.py").write_text('raise SystemExit("the bakery has begun")')
    module = name.replace("-", "_")
    imported = run(alone, tmp_path, "-c", EVERY_MODULE_OF, module)
    assert (imported.returncode, imported.stderr) == (0, "")
    assert imported.stdout.split() == ([] if name == "integration-base" else [module])
