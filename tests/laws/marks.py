"""Which tests show that a law of money holds: those that bear its mark, ``@pytest.mark.law(2)``.

A mark stands on a test, on a class of tests or, as ``pytestmark``, on a module. It names one law or several; without a
number it means all laws together. The marks are read from the source, so nothing needs to be imported.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from tests.conftest import REPOSITORY

LAWS = range(1, 15)
ALL_TOGETHER = 0
_MARK = "pytest.mark.law"


@dataclass(frozen=True, slots=True)
class MarkedTest:
    """A test and the laws that it shows. ``file`` is from the repository's root, ``name`` is as pytest says it."""

    file: str
    name: str
    laws: frozenset[int]

    def __str__(self) -> str:
        return f"{self.file}::{self.name}"


def marked_with(law: int, among: Sequence[MarkedTest]) -> list[MarkedTest]:
    """Return the tests of one law, or of ``ALL_TOGETHER``."""
    return [test for test in among if law in test.laws]


def marked_tests(root: Path = REPOSITORY) -> list[MarkedTest]:
    """Return all tests below ``root/tests`` that bear the mark, by file and in the order of the source.

    Raises ValueError for a mark that is on no test or names no law.
    """
    files = [path for path in sorted((root / "tests").rglob("*.py")) if path.parent.name != "laws"]
    return [test for path in files for test in _marked_in(path.read_text(), path.relative_to(root).as_posix())]


def _marked_in(text: str, file: str) -> list[MarkedTest]:
    if _MARK not in text:
        return []
    tree, read = ast.parse(text), set[ast.AST]()
    tests = [test for test in _tests(tree.body, frozenset(), file, "", read) if test.laws]
    stray = sorted(node.lineno for node in ast.walk(tree) if _is_mark(node) and node not in read)
    if stray:
        raise ValueError(f"{file}: marks of laws that are on no test, in lines {stray}")
    return tests


def _tests(
    body: list[ast.stmt], laws: frozenset[int], file: str, within: str, read: set[ast.AST]
) -> Iterator[MarkedTest]:
    """Give each test in ``body`` with its laws; ``read`` collects the marks that were met on the way."""
    for node in body:
        match node:
            case ast.Assign(targets=[ast.Name(id="pytestmark")], value=value):
                laws |= _numbers([value], file, read)
    for node in body:
        match node:
            case ast.ClassDef(name=name) if name.startswith("Test"):
                inside = laws | _numbers(node.decorator_list, file, read)
                yield from _tests(node.body, inside, file, f"{within}{name}::", read)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name.startswith("test_"):
                yield MarkedTest(file, within + name, laws | _numbers(node.decorator_list, file, read))


def _numbers(marks: list[ast.expr], file: str, read: set[ast.AST]) -> frozenset[int]:
    """Return the laws that are named in these expressions."""
    nodes = [node for mark in marks for node in ast.walk(mark)]
    with_numbers = [node for node in nodes if isinstance(node, ast.Call) and _is_mark(node.func)]
    without = {node for node in nodes if _is_mark(node)} - {call.func for call in with_numbers}
    numbers = {ALL_TOGETHER} if without else set[int]()
    for call in with_numbers:
        named = {law for law in LAWS for argument in call.args if ast.unparse(argument) == str(law)}
        if call.keywords or not call.args or len(named) != len(call.args):
            raise ValueError(f"{file}, line {call.lineno}: there are no such laws: {ast.unparse(call)}")
        numbers |= named
    read |= without | {call.func for call in with_numbers}
    return frozenset(numbers)


def _is_mark(node: ast.AST) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and ast.unparse(node) == _MARK
