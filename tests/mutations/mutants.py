"""The mutants of a module: its syntax tree with one small change, which a test should notice."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}
_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
_LOCKS = {"with_for_update"}
_ABOUT_A_LOCK = {"with_for_update", "lock=", "skip_locked"}
_LOGGERS = {"log", "logger"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change, in ``function`` (its qualified name) of the module at ``path``; ``number`` is its place there.

    ``text`` is the line of code on which it is made.
    """

    path: Path
    number: int
    line: int
    text: str
    function: str
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.function}: {self.what}"

    @property
    def needs_row_locks(self) -> bool:
        """Whether only a database with locks on rows can tell it from the original."""
        return any(word in self.what for word in _ABOUT_A_LOCK)

    @property
    def place(self) -> str:
        """Where it is, in words that other changes of the module leave as they are."""
        return f"{self.path}:{self.function}"


def mutants_of(path: Path) -> list[Mutant]:
    """Return all mutants of the functions of a module."""
    source = path.read_text()
    lines = source.splitlines()
    return [
        Mutant(path, number, node.lineno, lines[node.lineno - 1].strip(), name, what)
        for number, (name, node, what, _) in enumerate(_changes(ast.parse(source)))
    ]


def compile_mutant(mutant: Mutant, path: Path) -> CodeType:
    """Return the code of the module at ``path`` with the change made."""
    tree = ast.parse(path.read_text())
    for number, (_, _, _, change) in enumerate(_changes(tree)):
        if number == mutant.number:
            change()
            break
    return compile(ast.fix_missing_locations(tree), str(path), "exec")


Function = ast.FunctionDef | ast.AsyncFunctionDef


def _changes(tree: ast.Module) -> Iterator[tuple[str, ast.stmt | ast.expr, str, "Change"]]:
    for name, function in functions_in(tree):
        yield from ((name, *change) for change in _in_function(function))


def functions_in(node: ast.AST, within: str = "") -> Iterator[tuple[str, Function]]:
    """Give all functions in ``node`` with their qualified names, which Python makes in the same way."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            yield f"{within}{child.name}", child
            yield from functions_in(child, f"{within}{child.name}.<locals>.")
        elif isinstance(child, ast.ClassDef):
            yield from functions_in(child, f"{within}{child.name}.")
        else:
            yield from functions_in(child, within)


class Change:
    """Sets a field of a node, or an item of it, when it is called."""

    def __init__(self, node: ast.AST, field: str, value: object, index: int | None = None) -> None:
        self._node, self._field, self._value, self._index = node, field, value, index

    def __call__(self) -> None:
        if self._index is None:
            setattr(self._node, self._field, self._value)
        else:
            getattr(self._node, self._field)[self._index] = self._value


@dataclass(frozen=True, slots=True)
class Place:
    """Where a statement or an expression stands: in a field of ``node``, or in the list there, at ``index``."""

    node: ast.AST
    field: str
    index: int | None
    child: ast.stmt | ast.expr

    def change(self, value: ast.stmt | ast.expr) -> Change:
        """Return the change that puts something else there."""
        return Change(self.node, self.field, value, self.index)


def places_in(function: Function) -> Iterator[Place]:
    """Give the places of all statements and expressions of a function, but for what ``_own_nodes`` leaves out."""
    for node in _own_nodes(function):
        for field, value in ast.iter_fields(node):
            for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(child, ast.stmt | ast.expr):
                    yield Place(node, field, index, child)


def _in_function(function: Function) -> Iterator[tuple[ast.stmt | ast.expr, str, Change]]:
    for place in places_in(function):
        changes = _of_statement(place) if isinstance(place.child, ast.stmt) else _of_expression(place)
        yield from ((place.child, *change) for change in changes)


def _own_nodes(function: Function) -> Iterator[ast.AST]:
    """Give the nodes of a function without those of functions in it, nor what is evaluated where it is defined.

    What is logged is left out, and what is asserted: that two lists are equally long (``strict``), too. Neither
    changes what becomes of a payment.
    """
    todo: list[ast.AST] = [ast.Module(body=function.body, type_ignores=[])]
    while todo:
        node = todo.pop()
        yield node
        todo += [child_node for child_node in ast.iter_child_nodes(node) if not _is_left_out(child_node)]


def _is_left_out(node: ast.AST) -> bool:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Assert() | ast.keyword(arg="strict"):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
            return name in _LOGGERS
        case _:
            return False


def _of_statement(place: Place) -> Iterator[tuple[str, Change]]:
    drop = place.change(ast.Pass())
    match child := place.child:
        case ast.Expr(value=ast.Constant()):
            return
        # What an error says is a text for people.
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="__init__"))):
            return
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))) if name in _LOGGERS:
            return
        case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break():
            yield f"without `{_short(child)}`", drop
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield f"without `{_short(child)}`", drop
        case ast.If(test=test) if not _is_negated_by_expression(test):
            yield f"if not `{_short(test)}`", Change(child, "test", ast.UnaryOp(ast.Not(), test))


def _is_negated_by_expression(test: ast.expr) -> bool:
    """Return whether a change of the expression gives the opposite already: the same mutant counts once."""
    match test:
        case ast.Compare(ops=[operator]):
            return isinstance(operator, ast.Eq | ast.NotEq | ast.Is | ast.IsNot | ast.In | ast.NotIn)
        case ast.UnaryOp(op=ast.Not()):
            return True
        case _:
            return False


def _of_expression(place: Place) -> Iterator[tuple[str, Change]]:
    match child := place.child:
        case ast.Compare(ops=[operator]) if type(operator) in _OPPOSITES:
            other = _OPPOSITES[type(operator)]
            yield f"{other.__name__} in `{_short(child)}`", Change(child, "ops", [other()])
        case ast.BoolOp(op=operator):
            other_op: ast.boolop = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield f"{type(other_op).__name__.lower()} in `{_short(child)}`", Change(child, "op", other_op)
            for number, value in enumerate(child.values, 1):
                rest = [other for other in child.values if other is not value]
                changed = rest[0] if len(rest) == 1 else ast.BoolOp(operator, rest)
                yield f"without part {number} of `{_short(child)}`", place.change(changed)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield f"without not: `{_short(child)}`", place.change(operand)
        case ast.Constant(value=bool() as value):
            yield f"{not value} for {value} in `{_short(place.node)}`", place.change(ast.Constant(not value))
        case ast.BinOp(op=operator_) if type(operator_) in _ARITHMETIC:
            swapped = _ARITHMETIC[type(operator_)]
            yield f"{swapped.__name__} in `{_short(child)}`", Change(child, "op", swapped())
        case ast.Call(func=ast.Name(id=name)) if name in _NAMES:
            yield f"{_NAMES[name]} for {name} in `{_short(child)}`", Change(child, "func", _name(_NAMES[name]))
        case ast.Call(func=ast.Attribute(value=receiver, attr=name)) if name in _LOCKS:
            yield f"without {name} in `{_short(child)}`", place.change(receiver)


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _short(node: ast.AST) -> str:
    named = isinstance(node, ast.expr | ast.stmt | ast.keyword)
    text = " ".join(ast.unparse(node).split()) if named else type(node).__name__
    return text if len(text) <= 70 else f"{text[:67]}..."
