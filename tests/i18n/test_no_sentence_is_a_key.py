"""Codes are stored, compared and hashed; sentences are for people: a text worded anew changes no decision."""

import ast
from collections.abc import Iterator

import pytest

from tests.sources import name_of, source_files

_MAKERS = {"LazyMessage", "gettext_noop", "StoredMessage"}
_ATTRIBUTES = {"message", "shopper_message", "failure", "problem"}
_HASHES = {"sha1", "sha256", "sha512", "md5", "blake2b"}


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for path in source_files():
        yield name_of(path), ast.parse(path.read_text())


def _is_made(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _MAKERS


def _constants(module: ast.Module) -> set[str]:
    """Return the names of the sentences that a module defines."""
    assignments = [node for node in module.body if isinstance(node, ast.Assign)]
    made = [target for node in assignments if _is_made(node.value) for target in node.targets]
    return {target.id for target in made if isinstance(target, ast.Name)}


def _imported(module: ast.Module, constants: dict[str, set[str]]) -> set[str]:
    """Return the names of the sentences that a module imports from another one of the app."""
    imports = [node for node in ast.walk(module) if isinstance(node, ast.ImportFrom) and node.module is not None]
    defined = {node: constants.get(f"{(node.module or '').replace('.', '/')}.py", set()) for node in imports}
    return {alias.asname or alias.name for node in imports for alias in node.names if alias.name in defined[node]}


def find_keys(source: ast.AST, constants: set[str]) -> list[str]:
    """Return the expressions that compare sentences, hash them or look something up by them."""

    def is_sentence(node: ast.expr | None) -> bool:
        is_constant = isinstance(node, ast.Name) and node.id in constants
        return is_constant or _is_made(node) or (isinstance(node, ast.Attribute) and node.attr in _ATTRIBUTES)

    found: list[ast.AST] = []
    for node in ast.walk(source):
        match node:
            case ast.Compare(left=left, ops=operators, comparators=others):
                is_compared = any(map(is_sentence, [left, *others]))
                with_none = all(isinstance(other, ast.Constant) and other.value is None for other in others)
                is_identity = all(isinstance(operator, ast.Is | ast.IsNot) for operator in operators)
                if is_compared and not (with_none and is_identity):
                    found.append(node)
            case ast.Dict(keys=keys):
                found += [key for key in keys if is_sentence(key) and key is not None]
            case ast.Subscript(slice=ast.expr() as key) if is_sentence(key):
                found.append(node)
            case ast.Call(func=ast.Attribute(attr=name)) if name in _HASHES:
                found += [part for part in ast.walk(node) if isinstance(part, ast.expr) and is_sentence(part)]
    return [ast.unparse(node) for node in found]


def test_nothing_compares_hashes_or_keys_by_a_sentence() -> None:
    modules = dict(_modules())
    constants = {name: _constants(module) for name, module in modules.items()}
    assert sum(map(len, constants.values())) > 100
    found = {
        name: find_keys(module, constants[name] | _imported(module, constants)) for name, module in modules.items()
    }
    assert {name: keys for name, keys in found.items() if keys} == {}


@pytest.mark.parametrize(
    "source",
    [
        "operation.message == _TOO_LATE",
        "why is _NOT_READY",
        "LazyMessage.from_json(run.failure) == _TOO_LATE",
        "error.message in known",
        "known = {_TOO_LATE: 1}",
        "known[event.message]",
        "hashlib.sha256(f'{about}:{problem.message}'.encode())",
    ],
)
def test_a_sentence_that_decides_is_found(source: str) -> None:
    assert find_keys(ast.parse(source), {"_TOO_LATE", "_NOT_READY"}) != []


def test_whether_there_is_a_sentence_may_decide() -> None:
    assert find_keys(ast.parse("operation.message is None or run.failure is not None"), set()) == []
