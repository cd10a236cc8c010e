"""The client as a library: one place to import from, cheap, typed, and nothing of the app."""

import ast
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import gateway_client
from gateway_client import models, sandbox
from gateway_client_tests.examples import hosted
from integration_base_tests.places import GATEWAY_CLIENT, REPOSITORY

NOT_NEEDED = {
    *("app", "saleor_app_sdk", "gateway_client.sandbox"),
    *("babel", "fastapi", "starlette", "sqlalchemy", "sqlmodel", "gql", "typer", "structlog", "jinja2"),
}


def python(code: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return done.stdout.split()


def imported_for_type_checkers(package: Path) -> dict[str, str]:
    """Each name with the module that type checkers take it from."""
    tree = ast.parse((package / "__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or "" for node in imports for alias in node.names}


@pytest.mark.parametrize(
    ("package", "folder"), [(gateway_client, GATEWAY_CLIENT), (sandbox, GATEWAY_CLIENT / "sandbox")]
)
def test_every_public_name_is_what_type_checkers_take_it_for(package: ModuleType, folder: Path) -> None:
    promised = imported_for_type_checkers(folder)
    assert sorted(promised) == sorted(package.__all__)
    for name, module in promised.items():
        assert getattr(package, name) is getattr(sys.modules[module], name), name
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="no attribute 'Wrong'"):
        _ = package.Wrong


def test_every_error_and_every_model_for_programs_is_public() -> None:
    tree = ast.parse((GATEWAY_CLIENT / "errors.py").read_text())
    errors = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    assert errors <= set(gateway_client.__all__)
    of_readers = {"UnreadableError", "read_record", "read_records"}  # for whoever reads what the gateway wrote
    assert set(models.__all__) - of_readers <= set(gateway_client.__all__)


def test_importing_it_costs_nothing_until_a_name_is_asked_for() -> None:
    families = ("app", "gateway_client", "integration_base", "pydantic", "httpx2")
    ours = f"print(*[name for name in sys.modules if name.startswith({families})])"
    assert set(python(f"import sys, gateway_client; {ours}")) == {"gateway_client"}
    of_errors = python(f"import sys; from gateway_client import GatewayError; {ours}")
    assert set(of_errors) == {"gateway_client", "gateway_client.errors"}


def test_it_needs_nothing_of_the_app_nor_of_its_own_sandbox() -> None:
    loaded = set(python("import sys\nfrom gateway_client import *\nprint(*sys.modules)"))
    assert loaded >= {"gateway_client.client", "integration_base"}
    assert loaded.isdisjoint(NOT_NEEDED)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"currency": " uah "}, {"currency": "UAH"}),
        ({"customer_lang": "uk"}, {"customer_lang": "UK"}),
        ({"customer_lang": "zh-ha"}, {"customer_lang": "ZH_HA"}),
        ({"customer_country": "ua"}, {"customer_country": "UA"}),
        ({"amount": 10}, {"amount": "10.00"}),
        ({"amount": "569.5"}, {"amount": "569.50"}),
        ({"amount": "10.50"}, {"amount": "10.50"}),
        ({"amount": "6E+2"}, {"amount": "600.00"}),  # as programs write 600 without its zeros
        ({"amount": "+5.695e2"}, {"amount": "569.50"}),
        ({"method": "auth"}, {"method": "auth"}),
        ({"customer_birthday": "1991-08-24"}, {"customer_birthday": "1991-08-24"}),
    ],
)
def test_what_people_write_is_taken_for_what_it_means(written: dict[str, object], meant: dict[str, str]) -> None:
    sent = hosted(**written).to_wire()
    assert {name: str(sent[name]) for name in meant} == meant
