"""The SDK's names are imported lazily, and are the same to type checkers and to Python."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import saleor_app_sdk

SOURCE = Path(saleor_app_sdk.__file__)


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
