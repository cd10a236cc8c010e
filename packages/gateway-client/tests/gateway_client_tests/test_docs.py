"""The table of the interface's parts is held to its word."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from integration_base_tests.places import GATEWAY_CLIENT, INTEGRATION_BASE, REPOSITORY

PAGE = (REPOSITORY / "docs" / "gateway.md").read_text()
TABLES = PAGE[PAGE.index("## Part by part") :]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TABLES.splitlines()
    if line.startswith("|") and not line.startswith(("| ---", "| interface"))
]
PARTS = [
    "1a", "1b", "1c", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "Conventions", "Payment record",
    "Secondary operation record", "Split item", "Browser fingerprint", "Payment attributes", "Payout recipient",
    "Balance account", "Transaction-list record", "Transaction-register record", "States", "Delivery", "Signature",
]  # fmt: skip


@cache
def functions_of(path: Path) -> set[str]:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, functions)}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}: {row[1][:40]}")
def test_every_row_names_modules_and_tests_that_exist(row: list[str]) -> None:
    part, what, built, shown = row
    assert part
    assert what
    modules, tests = re.findall(r"`([^`]+)`", built), re.findall(r"`([^`:]+)::([^`]+)`", shown)
    assert modules
    assert tests
    for module in modules:
        assert any((root / module).is_file() for root in (GATEWAY_CLIENT, INTEGRATION_BASE.parent)), module
    for file, name in tests:
        assert name in functions_of(Path(__file__).parent / file), name


@pytest.mark.parametrize("part", PARTS)
def test_no_part_of_the_interface_is_left_out(part: str) -> None:
    assert any(row[0] == part or row[0].startswith(f"{part} ") for row in ROWS)


def test_every_module_is_in_the_table_or_is_a_common_part() -> None:
    paths = (path.relative_to(GATEWAY_CLIENT) for path in GATEWAY_CLIENT.rglob("*.py") if path.name != "__init__.py")
    modules = {str(path) for path in paths if path.parts[0] != "sandbox"}
    named = {name for row in ROWS for name in re.findall(r"`([^`]+)`", row[2])}
    assert modules - named == {"models/subscriptions.py"}


def test_every_error_is_explained() -> None:
    tree = ast.parse((GATEWAY_CLIENT / "errors.py").read_text())
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    common = {"GatewayError", "NotificationError", "Violation", "BrokenRule"}
    assert {name for name in classes if f"| `{name}` |" in PAGE} == classes - common
