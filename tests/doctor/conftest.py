"""An app that runs, with its worker, a Saleor that has installed it, and a gateway: all of it over real HTTP."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from sqlmodel import select

from app.bootstrap import open_services
from app.demo.processes import ServerProcess, free_port
from app.main import create_app
from app.services import Services
from app.settings import Settings
from app.store.tables import Process
from gateway_client.sandbox.control.client import SandboxControl
from gateway_client.sandbox.server import running_sandbox
from gateway_client.sandbox.settings import SandboxSettings
from integration_base_tests.loopback import serve_app
from integration_base_tests.waiting import eventually
from saleor_app_sdk.testing import FakeSaleor, SaleorSettings
from saleor_app_sdk.testing import serving as saleor_serving
from tests.commands.conftest import Shell
from tests.journeys.stack import Stack
from tests.payments.shop_fixtures import gateway, paid_shop, shop

__all__ = ["gateway", "paid_shop", "shop"]


@dataclass
class DoctorEnvironment:
    """What the app depends on, and the terminal in which somebody asks whether all of it is as it should be."""

    stack: Stack
    services: Services
    application: FastAPI
    account_id: str = ""
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def saleor(self) -> FakeSaleor:
        return self.stack.saleor

    async def findings(self, *words: str, **environment: str) -> Sequence[dict[str, Any]]:
        """Return everything that the command has found."""
        said = await Shell(self.environment)("doctor", "--json", *words, **environment)
        assert said.err == ""
        errors = [finding for finding in said.json if finding["level"] == "error"]
        assert said.status == (1 if errors else 0)
        found: Sequence[dict[str, Any]] = said.json
        for secret in await self.secrets():
            assert secret not in said.out
        return found

    async def faults(self, *words: str, **environment: str) -> dict[str, str]:
        """Return what is not as it should be: ``level check`` and the words."""
        found = await self.findings(*words, **environment)
        return {
            f"{finding['level']} {finding['check']}": finding["what"] for finding in found if finding["level"] != "fine"
        }

    async def secrets(self) -> list[str]:
        """Return what must never be shown."""
        tokens = [installation.token for installation in await self.services.installations.all() if installation.token]
        account = await self.services.accounts.find(self.account_id)
        keys = [] if account is None else secrets_of(self.services.accounts.keys(account))
        return [*tokens, *keys]

    async def account(self, **changed: Any) -> None:
        """Change the merchant account."""
        await self.services.accounts.change(self.account_id, **changed)

    async def processes(self) -> Sequence[Process]:
        async with self.services.database.transaction() as session:
            return (await session.exec(select(Process))).all()


def secrets_of(keys: object) -> list[str]:
    """Return the secrets of an account."""
    return [str(getattr(keys, name)) for name in ("api_key", "api_secret", "endpoints_key")]


@asynccontextmanager
async def open_doctor_environment(
    folder: Path, database_url: str, saleor: SaleorSettings | None = None, **different: Any
) -> AsyncIterator[DoctorEnvironment]:
    """Start everything, and set up one store in which shoppers can pay. ``different`` are settings of the app."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    settings = Settings(base_url=url, port=port, data_dir=folder / "data", database_url=database_url, **different)
    application = create_app(settings)
    async with (
        running_sandbox(SandboxSettings(port=0)) as (gateway_url, _),
        saleor_serving(saleor) as here_is,
        application.router.lifespan_context(application),
        serve_app(application, port),
        SandboxControl(gateway_url) as gateway,
        open_services(settings) as services,
    ):
        here = ServerProcess("app", [], url, "/readyz", folder / "app.log", {})
        stack = Stack(saleor=here_is.saleor, gateway=gateway, app=here, settings=settings, gateway_url=gateway_url)
        environment = {
            "APP_DATABASE_URL": settings.database,
            "APP_DATA_DIR": str(settings.data_dir),
            "APP_BASE_URL": url,
        }
        surroundings = DoctorEnvironment(stack, services, application, environment=environment)
        await eventually(surroundings.processes)
        installed = await here_is.saleor.install(f"{url}/api/manifest")
        assert installed.status == "INSTALLED", installed.message
        surroundings.account_id = await stack.open_account()
        yield surroundings


@pytest.fixture
async def around(tmp_path: Path, database_url: str) -> AsyncIterator[DoctorEnvironment]:
    """The app with all that it depends on, as it should be."""
    async with open_doctor_environment(tmp_path, database_url) as surroundings:
        yield surroundings
