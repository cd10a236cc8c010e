"""Changes of a function that is named: what is taken out of it, and what it does instead.

They are made in the function's syntax tree, so the layout of the code and what stands around it do not matter. What is
changed is found by a name: a variable's, or the last parts of a dotted one, so that ``events`` and ``aggregate.events``
both name ``payment.aggregate.events``. It must be there exactly once.
"""

import ast
import builtins
import symtable
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path

from tests.mutations.mutants import Function, Place, functions_in, places_in

_CONDITIONS = {
    (ast.If, "test"),
    (ast.While, "test"),
    (ast.IfExp, "test"),
    (ast.comprehension, "ifs"),
    (ast.match_case, "guard"),
    (ast.BoolOp, "values"),
}


class FunctionChange(ABC):
    """A change of one function."""

    @abstractmethod
    def make(self, function: Function) -> None:
        """Change the function. Raises LookupError if what is changed is not there, or is there more than once."""


@dataclass(frozen=True)
class Returns(FunctionChange):
    """The function returns this expression, and does nothing else."""

    value: str

    def make(self, function: Function) -> None:
        function.body[:] = [ast.Return(_expression(self.value))]


@dataclass(frozen=True)
class BeginsWith(FunctionChange):
    """The function does this first."""

    code: str

    def make(self, function: Function) -> None:
        function.body[:0] = ast.parse(self.code).body


@dataclass(frozen=True)
class Condition(FunctionChange):
    """A condition becomes another: the smallest that mentions all of these names. Each part of an ``and`` is one."""

    mentions: Set[str]
    becomes: str

    def make(self, function: Function) -> None:
        found = [place for place in places_in(function) if _is_condition(place) and self._is_meant(place.child)]
        larger = {id(place.child) for place in found for part in found if part is not place and _holds(place, part)}
        smallest = [place for place in found if id(place.child) not in larger]
        what = f"condition that mentions {' and '.join(sorted(self.mentions))}"
        _only(smallest, what).change(_expression(self.becomes))()

    def _is_meant(self, condition: ast.AST) -> bool:
        return all(any(_is_named(node, name) for node in ast.walk(condition)) for name in self.mentions)


@dataclass(frozen=True)
class Assigned(FunctionChange):
    """Something else is assigned to a variable or an attribute."""

    name: str
    becomes: str

    def make(self, function: Function) -> None:
        found = [place for place in places_in(function) if self.name in set(_assigned_names(place.child))]
        statement = _only(found, f"assignment to {self.name}").child
        assert isinstance(statement, ast.Assign | ast.AnnAssign)
        statement.value = _expression(self.becomes)


@dataclass(frozen=True)
class Name(FunctionChange):
    """Where a name is used there is another expression: what is called then, if it is the name of a function."""

    name: str
    becomes: str

    def make(self, function: Function) -> None:
        used = [place for place in places_in(function) if _is_named(place.child, self.name)]
        _only(used, f"use of {self.name}").change(_expression(self.becomes))()


@dataclass(frozen=True)
class Call(FunctionChange):
    """A call, with its arguments, becomes another expression."""

    name: str
    becomes: str

    def make(self, function: Function) -> None:
        _only(_calls(function, self.name), f"call of {self.name}").change(_expression(self.becomes))()


@dataclass(frozen=True)
class WithoutCall(FunctionChange):
    """A call is left out: a statement, or a link of a chain of calls."""

    name: str

    def make(self, function: Function) -> None:
        place = _only(_calls(function, self.name), f"call of {self.name}")
        match place:
            case Place(node=ast.Expr()):
                place.change(ast.Constant(None))()
            case Place(child=ast.Call(func=ast.Attribute(value=ast.Call() as before))):
                place.change(before)()
            case _:
                raise LookupError(f"the value of the call of {self.name} is used: say what there is instead")


def changed_sources(root: Path, changes: Mapping[str, FunctionChange]) -> dict[Path, str]:
    """Return the sources of the modules below ``root`` after these changes, each of the function of that name.

    A name is that of a module and a qualified one, ``app.rules.schedule:Schedule.next_poll``. Raises
    LookupError if there is no such function, or its change cannot be made.
    """
    trees: dict[Path, ast.Module] = {}
    for name, change in changes.items():
        module, _, qualified_name = name.partition(":")
        file = f"{module.replace('.', '/')}.py"
        path = next((path for house in (root, *root.glob("packages/*")) if (path := house / file).is_file()), None)
        if path is None:
            raise LookupError(f"{name}: there is no module {module}")
        if path not in trees:
            trees[path] = ast.parse(path.read_text())
        before = ast.unparse(trees[path])
        try:
            change.make(_only_function(trees[path], qualified_name))
            _check(before, ast.unparse(ast.fix_missing_locations(trees[path])))
        except LookupError as error:
            raise LookupError(f"{name}: {error.args[0]}") from None
    return {path: ast.unparse(tree) for path, tree in trees.items()}


def _only_function(module: ast.Module, name: str) -> Function:
    found = [function for qualified_name, function in functions_in(module) if qualified_name == name]
    if len(found) != 1:
        raise LookupError(f"there are {len(found)} functions {name}, not one" if found else "there is no such function")
    return found[0]


def _check(before: str, after: str) -> None:
    if before == after:
        raise LookupError("the change leaves it as it is")
    if unknown := set(_unknown_names(after)) - set(_unknown_names(before)):
        raise LookupError(f"what is put there uses names that are not known there: {', '.join(sorted(unknown))}")


def _unknown_names(source: str) -> Iterator[str]:
    """Give the names that functions and classes look up in their module, and that it does not have."""
    module = symtable.symtable(source, "<changed>", "exec")
    known = {symbol.get_name() for symbol in module.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    tables = module.get_children()
    while tables:
        table = tables.pop()
        tables += table.get_children()
        for symbol in table.get_symbols():
            name = symbol.get_name()
            if symbol.is_global() and symbol.is_referenced() and name not in known and not hasattr(builtins, name):
                yield name


def _only(found: list[Place], what: str) -> Place:
    if not found:
        raise LookupError(f"there is no {what}")
    if len(found) > 1:
        lines = ", ".join(map(str, sorted(place.child.lineno for place in found)))
        raise LookupError(f"there is more than one {what}, in lines {lines}")
    return found[0]


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _dotted(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            return f"{_dotted(value)}.{name}"
        case _:
            return ""


def _is_named(node: ast.AST, name: str) -> bool:
    return f".{_dotted(node)}".endswith(f".{name}") and isinstance(getattr(node, "ctx", None), ast.Load)


def _calls(function: Function, name: str) -> list[Place]:
    return [
        place
        for place in places_in(function)
        if isinstance(place.child, ast.Call) and _is_named(place.child.func, name)
    ]


def _is_condition(place: Place) -> bool:
    return (type(place.node), place.field) in _CONDITIONS


def _holds(place: Place, part: Place) -> bool:
    return any(node is part.child for node in ast.walk(place.child))


def _assigned_names(statement: ast.AST) -> Iterable[str]:
    match statement:
        case ast.Assign(targets=targets):
            return [_dotted(target) for target in targets]
        case ast.AnnAssign(target=target, value=ast.expr()):
            return [_dotted(target)]
        case _:
            return []
