"""The public names of the SDK, which are for ever: whoever changes one changes the listing beside this test too.

``python -m tests.saleor.test_public_names`` writes the listing anew.
"""

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import saleor_app_sdk

LISTING = Path(__file__).with_name("public_names.txt")
SOURCE = Path(saleor_app_sdk.__file__)


def parameters_of(function: Any) -> str:
    """Return names, kinds and defaults, without annotations: those are mypy's business."""
    try:
        signature = inspect.signature(function)
    except ValueError:  # an exception that takes what Exception takes
        return "(*args)"
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    shown = [parameter.replace(default=...) if _has_default(parameter) else parameter for parameter in bare]
    return str(inspect.Signature(shown)).replace("Ellipsis", "...")


def _has_default(parameter: inspect.Parameter) -> bool:
    return parameter.default is not inspect.Parameter.empty


def listing() -> str:
    return "".join(f"{line}\n" for name in saleor_app_sdk.__all__ for line in lines_for(name))


def lines_for(name: str) -> Iterator[str]:
    value: Any = getattr(saleor_app_sdk, name)
    if not inspect.isclass(value):
        yield f"{name}{parameters_of(value)}" if inspect.isfunction(value) else f"{name}: {type(value).__name__}"
        return
    if issubclass(value, Enum):
        yield f"{name}: {' '.join(value.__members__)}"
        return
    yield name if issubclass(value, BaseModel) else f"{name}{parameters_of(value)}"
    members: dict[str, str] = {}
    for base in reversed(value.__mro__):
        if base.__module__.startswith("saleor_app_sdk"):
            members |= {key: line for key, part in vars(base).items() if (line := line_for_member(value, key, part))}
            fields = getattr(base, "model_fields", {})
            members |= {key: key if field.is_required() else f"{key}=..." for key, field in fields.items()}
            members |= {key: key for key in inspect.get_annotations(base) if not key.startswith("_")} | members
    yield from (f"    {members[key]}" for key in sorted(members))


def line_for_member(owner: type, name: str, member: Any) -> str:
    if name.startswith("_") or name == "model_config":
        return ""
    if isinstance(member, classmethod | staticmethod):
        return f"{name}{parameters_of(getattr(owner, name))}"
    return f"{name}{parameters_of(member)}" if inspect.isfunction(member) else name


def test_public_names_are_the_listed_ones() -> None:
    assert listing().splitlines() == LISTING.read_text(encoding="utf-8").splitlines()


def test_type_checkers_and_python_see_the_same_names() -> None:
    [typed] = [node for node in ast.parse(SOURCE.read_text()).body if isinstance(node, ast.If) and not node.orelse][:1]
    imported = {
        alias.name: statement.module
        for statement in typed.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    assert imported == {name: f"saleor_app_sdk.{module}" for name, module in saleor_app_sdk._MODULES.items()}
    assert set(imported) == set(saleor_app_sdk.__all__) <= set(dir(saleor_app_sdk))


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        _ = saleor_app_sdk.Nonsense  # type: ignore[attr-defined] # that is the point


def test_an_error_is_imported_without_the_web_framework() -> None:
    code = "import sys; from saleor_app_sdk import SaleorError; sys.exit('fastapi' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


if __name__ == "__main__":
    LISTING.write_text(listing(), encoding="utf-8")
