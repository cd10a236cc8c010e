"""The tests of a package know the package, what it stands on, and nothing of the app."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration_base_tests.places import PACKAGES, REPOSITORY

BASE = {"integration_base", "integration_base_tests"}
OTHERS = {name.replace("-", "_") for name in PACKAGES} | {"app", "bench", "manifest", "saleor_gateway", "tests"}


@pytest.mark.parametrize("package", PACKAGES)
def test_tests_of_a_package_import_nothing_of_another_house(package: str) -> None:
    own = package.replace("-", "_")
    forbidden = (OTHERS | {f"{name}_tests" for name in OTHERS}) - BASE - {own, f"{own}_tests"}
    files = sorted((REPOSITORY / "packages" / package / "tests").rglob("*.py"))
    assert files
    assert [(path.name, name) for path in files for name in imported_by(path) if name in forbidden] == []


def imported_by(path: Path) -> Iterator[str]:
    """Yield the top-level names of what a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, path
            yield (node.module or "").partition(".")[0]
        elif isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
