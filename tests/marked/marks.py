"""Which tests show what a page claims: those that bear its mark, ``@pytest.mark.law(2)`` say.

A mark stands on a test, on a class of tests or, as ``pytestmark``, on a module. It names one claim or several. The
marks are read from the source, so nothing needs to be imported.
"""

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeGuard

from integration_base_tests.places import REPOSITORY

Name: TypeAlias = int | str
_HOME = {"laws", "marked"}  # where marks are talked about


@dataclass(frozen=True, slots=True)
class MarkedTest:
    """A test and the claims that it shows. ``file`` is from the repository's root, ``name`` is as pytest says it."""

    file: str
    name: str
    claims: frozenset[Name]

    def __str__(self) -> str:
        return f"{self.file}::{self.name}"


def marked_with(claim: Name, among: Sequence[MarkedTest]) -> list[MarkedTest]:
    """Return the tests of one claim."""
    return [test for test in among if claim in test.claims]


@dataclass(frozen=True)
class Mark:
    """A mark of pytest's: ``name`` is what stands behind ``pytest.mark``, ``claims`` what it can name.

    ``bare`` is what it means without a name; None: it must name something.
    """

    name: str
    claims: Collection[Name]
    bare: Name | None = None

    def tests(self, root: Path = REPOSITORY) -> list[MarkedTest]:
        """Return all tests of all houses below ``root`` that bear the mark, by file and in the order of the source.

        Raises ValueError for a mark that is on no test or names what is no claim.
        """
        found = sorted([*(root / "tests").rglob("*.py"), *root.glob("packages/*/tests/**/*.py")])
        files = [path for path in found if path.parent.name not in _HOME]
        return [test for path in files for test in self._marked_in(path.read_text(), path.relative_to(root).as_posix())]

    def _marked_in(self, text: str, file: str) -> list[MarkedTest]:
        if f"mark.{self.name}" not in text:
            return []
        tree, read = ast.parse(text), set[ast.AST]()
        tests = [test for test in self._tests(tree.body, frozenset(), file, "", read) if test.claims]
        stray = sorted(node.lineno for node in ast.walk(tree) if self._is_mark(node) and node not in read)
        if stray:
            raise ValueError(f"{file}: marks named {self.name} that are on no test, in lines {stray}")
        return tests

    def _tests(
        self, body: list[ast.stmt], claims: frozenset[Name], file: str, within: str, read: set[ast.AST]
    ) -> Iterator[MarkedTest]:
        """Give each test in ``body`` with its claims; ``read`` collects the marks that were met on the way."""
        for node in body:
            match node:
                case ast.Assign(targets=[ast.Name(id="pytestmark")], value=value):
                    claims |= self._named([value], file, read)
        for node in body:
            match node:
                case ast.ClassDef(name=name) if name.startswith("Test"):
                    inside = claims | self._named(node.decorator_list, file, read)
                    yield from self._tests(node.body, inside, file, f"{within}{name}::", read)
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name.startswith("test_"):
                    yield MarkedTest(file, within + name, claims | self._named(node.decorator_list, file, read))

    def _named(self, marks: list[ast.expr], file: str, read: set[ast.AST]) -> frozenset[Name]:
        """Return the claims that are named in these expressions."""
        nodes = [node for mark in marks for node in ast.walk(mark)]
        calls = [node for node in nodes if isinstance(node, ast.Call) and self._is_mark(node.func)]
        bare = {node for node in nodes if self._is_mark(node)} - {call.func for call in calls}
        if bare and self.bare is None:
            raise ValueError(f"{file}: a mark named {self.name} without a name")
        named = {self.bare} if bare and self.bare is not None else set[Name]()
        for call in calls:
            known = {claim for claim in self.claims for argument in call.args if ast.unparse(argument) == repr(claim)}
            if call.keywords or not call.args or len(known) != len(call.args):
                raise ValueError(f"{file}, line {call.lineno}: docs/ has no such {self.name}: {ast.unparse(call)}")
            named |= known
        read |= bare | {call.func for call in calls}
        return frozenset(named)

    def _is_mark(self, node: ast.AST) -> TypeGuard[ast.Attribute]:
        return isinstance(node, ast.Attribute) and ast.unparse(node) == f"pytest.mark.{self.name}"
