"""``python -m tests.public_names``: writes the listings of the public names of the packages that others install.

They are read from the source code, so that they are the same on every Python. What a class inherits from another of its
package is listed with it, in the order of definition, which is that of a dataclass's parameters; groups of calls
(``client.reports``) are listed as the client's own.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx2

import gateway_client
import saleor_app_sdk
from gateway_client import Credentials, GatewayClient, sandbox
from integration_base_tests.places import REPOSITORY
from saleor_app_sdk import sqlmodel_store

LISTINGS: Mapping[Path, tuple[ModuleType, ...]] = {
    REPOSITORY / "packages" / "gateway-client" / "tests" / "public_names.txt": (gateway_client, sandbox),
    REPOSITORY / "packages" / "saleor-app-sdk" / "tests" / "public_names.txt": (saleor_app_sdk, sqlmodel_store),
}
"""The modules whose names are for ever, by the file that lists them."""
_CONSTRUCTORS = {"__init__", "__new__"}
_KINDS = {"classmethod", "staticmethod", "property"}


def listing(*packages: ModuleType) -> str:
    """Return one line for each public name, and indented below it one for each of its members."""
    lines: list[str] = []
    for package in packages:
        lines.append(f"# {package.__name__}")
        for name in sorted(package.__all__):
            lines.extend(_describe(name, getattr(package, name)))
    return "".join(f"{line}\n" for line in lines)


def _describe(name: str, value: object) -> Iterator[str]:
    if isinstance(value, type):
        yield f"class {name}({', '.join(base.__name__ for base in value.__bases__)})"
        yield from (f"    {member}" for member in members_of(value))
        if value is GatewayClient:
            yield from (f"    {member}" for member in _groups())
    elif isinstance(value, Mapping):
        yield f"{name}: {', '.join(map(str, value))}"
    elif inspect.isfunction(value):
        yield _signature(_parse(value))
    else:
        yield f"{name}: {type(value).__name__}"


def members_of(kind: type) -> list[str]:
    """Return the public members of a class, and of those of the package that it inherits from."""
    members: dict[str, str] = {}
    for parent in reversed(kind.__mro__):
        if parent.__module__.partition(".")[0] == kind.__module__.partition(".")[0]:
            members |= dict(_own_members(parent))
    return list(members.values())


def _own_members(kind: type) -> Iterator[tuple[str, str]]:
    for node in _parse(kind).body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                if name in _CONSTRUCTORS or _is_public(name):
                    yield name, _signature(node)
                if name == "__init__":
                    yield from _attributes(node)
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                if _is_public(name):
                    yield name, ast.unparse(node)


def _attributes(constructor: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the public attributes that a constructor sets."""
    for node in ast.walk(constructor):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()) if _is_public(name):
                yield name, f"self.{name}"


def _is_public(name: str) -> bool:
    return not name.startswith("_") and name != "model_config"


def client_groups() -> list[tuple[str, type]]:
    """Return the groups of calls of a client: the attribute's name, and its class."""
    account = Credentials("5a9db0c5-0000-4000-8000-000000000001", "k", "s", "e", "https://gateway.example")
    client = GatewayClient(httpx2.AsyncClient(), account)
    return [(name, type(group)) for name, group in sorted(vars(client).items()) if not name.startswith("_")]


def _groups() -> Iterator[str]:
    for name, group in client_groups():
        yield from (f"{name}.{member}" for member in members_of(group) if "__init__" not in member)


def _signature(node: Any) -> str:
    """Return a function's name, parameters and result; before them its kind, if it is not a plain method."""
    kinds = [word.id for word in node.decorator_list if isinstance(word, ast.Name) and word.id in _KINDS]
    if isinstance(node, ast.AsyncFunctionDef):
        kinds.append("async")
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{node.name}({ast.unparse(node.args)}){result}" + (f"  # {' '.join(kinds)}" if kinds else "")


def _parse(value: type | Callable[..., object]) -> Any:
    [node] = ast.parse(textwrap.dedent(inspect.getsource(value))).body
    return node


if __name__ == "__main__":
    for file, packages in LISTINGS.items():
        file.write_text(listing(*packages), encoding="utf-8")
