"""An operator at a terminal: commands as they are typed, a database that the app has made, a gateway on loopback."""

import asyncio
import json
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pytest
import structlog
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from typer.testing import CliRunner

from app.bootstrap import open_services, utc_now
from app.cli import cli
from app.demo.processes import free_port
from app.services import Services
from app.settings import Settings
from app.store.accounts import AccountKeys, NewAccount
from app.store.tables import MerchantAccount
from integration_base_tests.loopback import serve_app
from integration_base_tests.places import REPOSITORY
from tests.fork_server import ForkServer

# For what is decided before the database matters.
one_database = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

SALEOR = "https://shop.example.com/graphql/"
APP = "https://payments.example.com"
POS_ID = "5a9db0c5-7d1f-4c2b-9b60-3b1f2a4c5d6e"
STOREFRONT = "https://shop.example.com"
KEYS = {
    "GATEWAY_API_KEY": "key-4f1c",
    "GATEWAY_API_SECRET": "secret-9be2",
    "GATEWAY_ENDPOINTS_KEY": "endpoints-77aa",
}
NEW_KEYS = {
    "GATEWAY_API_KEY": "key-new-1",
    "GATEWAY_API_SECRET": "secret-new-2",
    "GATEWAY_ENDPOINTS_KEY": "endpoints-new-3",
}


@dataclass(frozen=True)
class CommandResult:
    """The output of a command and its exit status."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The JSON on standard output, which must hold nothing else."""
        return json.loads(self.out, parse_float=Decimal)

    def failed(self, words: str, status: int = 1) -> None:
        """It ended in one line on standard error, with these words in it, and said nothing else."""
        assert (self.status, self.out) == (status, ""), self
        assert words in self.err
        assert self.err.count("\n") == 1, self.err


def _warnings_to_standard_error() -> None:
    """Do what ``cli.main`` does, for one command, as pytest handles the libraries' logs."""
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def clean_environment(environment: dict[str, str]) -> dict[str, str]:
    """Return the environment of a process: this one's without the app's settings, a free port, the given variables."""
    mine = {name: value for name, value in os.environ.items() if not name.startswith(("APP_", "GATEWAY_"))}
    mine["APP_PORT"] = str(free_port())  # an app may run on this machine
    return {**mine, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONPATH": str(REPOSITORY), **environment}


class Run(Protocol):
    """Runs a command as a process; returns its status, its output and its errors."""

    async def __call__(
        self, environment: dict[str, str], *words: str, folder: Path | None = None
    ) -> tuple[int, str, str]: ...


@pytest.fixture
def run(fork_server: ForkServer) -> Run:
    """Return an operator's terminal, in which each command is a process."""

    async def run(environment: dict[str, str], *words: str, folder: Path | None = None) -> tuple[int, str, str]:
        return await fork_server.run(*words, environment=clean_environment(environment), folder=folder)

    return run


@dataclass
class Shell:
    """Runs commands with the app's settings in the environment, 80 columns wide."""

    environment: dict[str, str]
    everything: list[CommandResult] = field(default_factory=list)

    async def __call__(self, *words: str, typed: str | None = None, **environment: str | None) -> CommandResult:
        mine = {name: None for name in os.environ if name.startswith(("APP_", "GATEWAY_"))}
        try:
            result = await asyncio.to_thread(
                CliRunner().invoke,
                cli,
                list(words),
                obj=_warnings_to_standard_error,
                input=typed,
                env={**mine, "COLUMNS": "80", "NO_COLOR": "1", **self.environment, **environment},
                catch_exceptions=False,
            )
        finally:
            structlog.reset_defaults()
        said = CommandResult(result.exit_code, result.stdout, result.stderr)
        self.everything.append(said)
        return said


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    """Return the settings of an app that was started once."""
    settings = Settings(database_url=database_url, data_dir=tmp_path / "data", base_url=APP)
    settings.open_vault()
    return settings


@pytest.fixture
def environment(settings: Settings) -> dict[str, str]:
    """Return the same settings as environment variables."""
    return {
        "APP_DATABASE_URL": settings.database,
        "APP_DATA_DIR": str(settings.data_dir),
        "APP_BASE_URL": settings.base_url,
    }


@pytest.fixture
def clock() -> Callable[[], datetime]:
    """Return the clock of the app and its commands. Tests that name days stop it: no day ends in their midst."""
    return utc_now


@pytest.fixture
def shell(environment: dict[str, str], clock: Callable[[], datetime], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Return a terminal. Whatever a test does in it, no secret may ever be shown."""
    monkeypatch.setattr("app.commands.services.open_services", partial(open_services, now=clock))
    return Shell(environment)


@pytest.fixture(autouse=True)
def no_secret_is_ever_shown(request: pytest.FixtureRequest) -> Any:
    """Check after each test that used a terminal that no output contains a secret."""
    shell = request.getfixturevalue("shell") if "shell" in request.fixturenames else None
    yield
    for said in shell.everything if shell else ():
        for secret in (*KEYS.values(), *NEW_KEYS.values()):
            assert secret not in said.out + said.err


@pytest.fixture
async def services(settings: Settings, clock: Callable[[], datetime]) -> AsyncIterator[Services]:
    """Yield the services of the running app."""
    async with open_services(settings, clock) as services:
        yield services


async def row_of(services: Services, account_id: str) -> MerchantAccount | None:
    """Return the account as it is in the database; the services cache what they have read for a moment."""
    async with services.database.transaction() as session:
        return await session.get(MerchantAccount, account_id)


async def install(services: Services, saleor: str = SALEOR, token: str = "a-token-of-saleor") -> int:  # noqa: S107 - made up
    """Install the app in a Saleor; return the installation's row id."""
    await services.installations.save(
        saleor_api_url=saleor,
        saleor_domain="shop.example.com",
        schema_version="3.23",
        app_id="QXBwOjE=",
        token=token,
        jwks=None,
    )
    installed = await services.installations.find(saleor)
    assert installed is not None
    return installed.id


@pytest.fixture
async def installed(services: Services) -> int:
    """Install the app in one Saleor."""
    return await install(services)


async def add_account(services: Services, installation_id: int, **different: Any) -> MerchantAccount:
    """Add a merchant account past the command line."""
    new: dict[str, Any] = {
        "installation_id": installation_id,
        "name": "Shop",
        "pos_id": POS_ID,
        "base_url": "http://127.0.0.1:9",
        "scheme_word": "CPAY",
        "keys": AccountKeys(
            api_key=KEYS["GATEWAY_API_KEY"],
            api_secret=KEYS["GATEWAY_API_SECRET"],
            endpoints_key=KEYS["GATEWAY_ENDPOINTS_KEY"],
        ),
        "currencies": ["UAH"],
        "storefront_origins": [STOREFRONT],
    }
    return await services.accounts.add(NewAccount(**{**new, **different}))


@pytest.fixture
async def account(services: Services, installed: int, pos: "PointOfSale") -> MerchantAccount:
    """Add a merchant account at the gateway on loopback."""
    return await add_account(services, installed, base_url=pos.url)


@dataclass
class PointOfSale:
    """A gateway that knows one point of sale and no order. ``answer`` overrides its answer, if set.

    ``no_order`` and ``to_others``: only to its own keys, and to others. ``areas``: the same for ``balances``,
    ``register``, ``apple_pay`` and ``google_pay``. ``plain_capture``: whether there is a path for captures without a
    split.
    """

    url: str = ""
    keys: dict[str, str] = field(default_factory=lambda: dict(KEYS))
    scheme_word: str = "CPAY"
    answer: Response | None = None
    no_order: Response | None = None
    to_others: Response | None = None
    asked: list[str] = field(default_factory=list)
    areas: dict[str, Response] = field(default_factory=dict)
    areas_asked: list[str] = field(default_factory=list)
    plain_capture: bool = True

    async def capture(self, _request: Request) -> Response:
        no_order = {"message": "Invalid request", "args": [{"field_name": "order_id", "violation": "is missing"}]}
        return JSONResponse(no_order, 400) if self.plain_capture else PlainTextResponse("Not Found", 404)

    async def order(self, request: Request) -> Response:
        self.asked.append(request.url.path)
        if self.answer is not None:
            return self.answer
        endpoints_key = request.headers.get("X-API-KEY") == self.keys["GATEWAY_ENDPOINTS_KEY"]
        if not (self._knows(request) and endpoints_key and request.path_params["pos_id"] == POS_ID):
            return self.to_others or JSONResponse({"message": "Invalid credentials", "args": {"code": "S-404"}}, 401)
        return self.no_order or JSONResponse({"message": "Order not found", "args": {"code": "P-404"}}, 404)

    async def balances(self, request: Request) -> Response:
        known = self._area("balances")
        if known is None and not self._knows(request):
            return JSONResponse({}, 401)  # gateway interface, 11
        return known or JSONResponse({"accounts": []})

    def _knows(self, request: Request) -> bool:
        """Whether a request has the API key and secret."""
        key, secret = self.keys["GATEWAY_API_KEY"], self.keys["GATEWAY_API_SECRET"]
        return request.headers.get("X-API-AUTH") == f"{self.scheme_word} {key}:{secret}"

    async def register(self, _request: Request) -> Response:
        return self._area("register") or JSONResponse({"report_id": "1", "count": 0})

    async def apple_pay(self, _request: Request) -> Response:
        return self._area("apple_pay") or JSONResponse({"merchantSessionIdentifier": "1"})

    async def google_pay(self, _request: Request) -> Response:
        no_token = {"message": "Invalid token", "args": [{"field_name": "token", "violation": "is no token"}]}
        return self._area("google_pay") or JSONResponse(no_token, 400)

    def _area(self, name: str) -> Response | None:
        """Return the overriding answer of an area, if there is one."""
        self.areas_asked.append(name)
        return self.areas.get(name)


@pytest.fixture
async def pos() -> AsyncIterator[PointOfSale]:
    pos = PointOfSale()
    path = "/api/v1/pos/{pos_id}/orders/{order_id}"
    app = Starlette(
        routes=[
            Route(path, pos.order),
            Route(path + "/{method}", pos.order),
            Route("/api/v1/capture", pos.capture, methods=["POST"]),
            Route("/api/v1/balances/pos/{pos_id}/accounts", pos.balances),
            Route("/streaming-report/start", pos.register, methods=["POST"]),
            Route("/api/v1/applepay/session", pos.apple_pay, methods=["POST"]),
            Route("/api/v1/tokenization/tokenize", pos.google_pay, methods=["POST"]),
        ]
    )
    async with serve_app(app) as pos.url:
        yield pos
