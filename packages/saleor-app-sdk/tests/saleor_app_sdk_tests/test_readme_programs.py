"""The programs in the README of the SDK, taken out of it and run against a Saleor over HTTP, as a stranger would."""

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from sqlalchemy.ext.asyncio import create_async_engine

from integration_base_tests.places import SALEOR_APP_SDK
from integration_base_tests.programs import Runner, programs_of, python_environment, write_programs
from saleor_app_sdk.sqlmodel_store import SQLModelInstallationStore, generate_sealing_key
from saleor_app_sdk.testing import FakeSaleor, find_webhook_errors, serving_app_in_thread
from saleor_app_sdk.versions import Version
from saleor_app_sdk_tests.schemas import id_of, schema_file

PROGRAMS = programs_of(SALEOR_APP_SDK.parent / "README.md")
LOOP_SCOPE = "asyncio_default_fixture_loop_scope=function"  # pytest-asyncio warns where it is not set
WARNINGS = ("-W", "error::ResourceWarning", "-W", "error::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Import a program under the name that the README gives it."""
    monkeypatch.syspath_prepend(tmp_path)
    known = set(sys.modules)

    def import_program(name: str) -> ModuleType:
        write_programs(PROGRAMS, tmp_path)
        spec = spec_from_file_location(name, tmp_path / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    yield import_program
    for name in set(sys.modules) - known:
        if f"{name}.py" in PROGRAMS:
            del sys.modules[name]


async def test_payment_app_is_tested_as_the_readme_says(tmp_path: Path) -> None:
    """In a project of its own: pytest finds the fixtures by itself."""
    names = ("payments.py", "test_payments.py")
    write_programs({name: PROGRAMS[name] for name in names}, tmp_path)
    options = ("-q", "-p", "no:cacheprovider", *WARNINGS, "-o", "asyncio_mode=auto", "-o", LOOP_SCOPE)
    _, said = await Runner(tmp_path, python_environment()).run("-m", "pytest", *options)
    assert "1 passed" in said, said


async def test_repeated_payment_keeps_its_reference(
    load: Callable[[str], ModuleType],
    saleor_url: str,
) -> None:
    create: Callable[[str], FastAPI] = load("payments").create_app
    with serving_app_in_thread(create) as app_url:
        async with FakeSaleor(saleor_url) as saleor:
            await saleor.install(f"{app_url}/api/manifest")
            checkout = await saleor.create_checkout()
            await saleor.set_faults(webhooks_twice=True)
            payment = (await saleor.initialize(checkout.id, idempotency_key="key-1")).required_transaction
            assert payment.psp_reference == "payment-key-1"
            assert payment.amounts.charged == checkout.total


async def test_order_webhook_writes_metadata_back_and_the_page_shows_it(
    load: Callable[[str], ModuleType],
    saleor_url: str,
) -> None:
    create: Callable[[str], FastAPI] = load("gifts").create_app
    with serving_app_in_thread(create) as app_url:
        async with FakeSaleor(saleor_url) as saleor, httpx2.AsyncClient(base_url=app_url) as browser:
            installed = await saleor.install(f"{app_url}/api/manifest", ["MANAGE_ORDERS"])
            assert installed.status == "INSTALLED", installed.message
            order = await saleor.create_order()
            await saleor.wait_for_background()
            [delivery] = await saleor.deliveries("order_created")
            assert (delivery.status, delivery.unplayed) == (200, [])
            assert (await saleor.order(order.id)).metadata == {"gift_code": f"GIFT-{order.number}"}

            assert "notifyReady" in (await browser.get("/")).text
            assert (await browser.get("/codes")).status_code == 401
            await saleor.sign_in("clerk@example.com", ["MANAGE_ORDERS"])
            assert await codes(browser, saleor, installed.app_id) == (200, {order.number: f"GIFT-{order.number}"})
            await saleor.sign_in("intern@example.com", [])
            status, refused = await codes(browser, saleor, installed.app_id)
            assert (status, refused["detail"]["code"]) == (403, "NOT_PERMITTED")


async def test_installation_is_in_the_database_until_the_app_is_removed(
    load: Callable[[str], ModuleType],
    saleor_url: str,
    lasting_database: SQLModelInstallationStore,
) -> None:
    create: Callable[[str], FastAPI] = load("lasting").create_app
    with serving_app_in_thread(create) as app_url:
        async with FakeSaleor(saleor_url) as saleor:
            installed = await saleor.install(f"{app_url}/api/manifest", ["MANAGE_ORDERS"])
            assert installed.status == "INSTALLED", installed.message
            [stored] = await lasting_database.all()
            assert (stored.saleor_api_url, stored.app_id) == (saleor.api_url, installed.app_id)
            assert (stored.token, stored.verified) == (installed.token, True)
            await saleor.uninstall()
            await saleor.wait_for_background()
            assert await lasting_database.all() == []


@pytest.fixture
async def lasting_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SQLModelInstallationStore]:
    """Set what the program reads from its environment, and give its database as another process opens it."""
    url, key = f"sqlite+aiosqlite:///{tmp_path}/app.sqlite", generate_sealing_key()
    monkeypatch.setenv("DATABASE_URL", url)
    monkeypatch.setenv("SEALING_KEYS", key)
    engine = create_async_engine(url)
    yield SQLModelInstallationStore(engine, keys=[key])
    await engine.dispose()


async def codes(browser: httpx2.AsyncClient, saleor: FakeSaleor, app_id: str | None) -> tuple[int, Any]:
    token = await saleor.access_token(app_id or "")
    headers = {"Authorization": f"Bearer {token}", "Saleor-Api-Url": saleor.api_url}
    response = await browser.get("/codes", headers=headers)
    return response.status_code, response.json()


@pytest.mark.parametrize("version", [(3, 21), (3, 22), (3, 23), (3, 24)], ids=id_of)
@pytest.mark.parametrize("name", ["payments", "gifts", "lasting"])
@pytest.mark.usefixtures("lasting_database")
async def test_every_saleor_accepts_the_subscriptions(
    load: Callable[[str], ModuleType], name: str, version: Version
) -> None:
    accepted = schema_file(version)
    app = load(name).create_app("https://app.example.com")
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="https://app.example.com") as client:
        manifest = (
            await client.get("/api/manifest", headers={"Saleor-Schema-Version": f"{version[0]}.{version[1]}"})
        ).json()
    assert manifest["webhooks"]
    assert find_webhook_errors(manifest, accepted) == []


@pytest.mark.parametrize("name", ["payments", "gifts", "lasting"])
def test_program_has_about_fifty_lines(name: str) -> None:
    assert len(PROGRAMS[f"{name}.py"].splitlines()) <= 55


async def test_pytest_imports_no_saleor_for_tests_without_one(tmp_path: Path) -> None:
    program = "import sys, pytest_saleor_app_sdk; sys.exit('saleor_app_sdk' in sys.modules)"
    status, said = await Runner(tmp_path, python_environment()).run("-c", program)
    assert status == 0, said
