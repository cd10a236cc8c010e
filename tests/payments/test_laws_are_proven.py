"""What docs/laws-of-money.md names is there: every test, every module, every function."""

import re
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

PAGE = (REPOSITORY / "docs" / "laws-of-money.md").read_text()
LAWS = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
_TEST = re.compile(r"`(tests/[a-z_/]+\.py)::(\w+)`")
_MODULE = re.compile(r"`((?:payments|ledger|worker|gateway|saleor)/[\w/]+\.py)`")
_FUNCTIONS = re.compile(r"`((?:payments|ledger)/[\w/]+\.py)`\s+\(([^)]*)\)")


def named(path: Path, name: str) -> bool:
    return re.search(rf"\b(def|class) {name}\b|^    {name}:", path.read_text(), flags=re.MULTILINE) is not None


def test_there_are_fourteen() -> None:
    assert [law.partition(".")[0] for law in LAWS] == [str(number) for number in range(1, 15)]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.partition(".")[0])
def test_each_law_is_kept_somewhere_and_proven_by_tests_that_exist(law: str) -> None:
    tests, modules = _TEST.findall(law), _MODULE.findall(law)
    assert tests
    assert modules
    assert [f"{file}::{name}" for file, name in tests if not named(REPOSITORY / file, name)] == []
    assert [module for module in modules if not (REPOSITORY / "app" / module).exists()] == []


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.partition(".")[0])
def test_the_functions_that_keep_it_have_these_names(law: str) -> None:
    for module, words in _FUNCTIONS.findall(law):
        for name in re.findall(r"`(\w+)`", words):
            assert named(REPOSITORY / "app" / module, name), f"{module} has no {name}"
