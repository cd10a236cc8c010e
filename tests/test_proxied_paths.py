"""Below a path of a host that it shares: what proxies make of that path before a request reaches the app."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from app.main import create_app
from app.settings import Settings
from app.web.static import version
from integration_base_tests.clock import Clock
from integration_base_tests.loopback import serve_app
from tests.conftest import MigratedDatabases

OVERVIEW, MANIFEST, HEALTH = "data-base", '"id":"gateway.payments.app"', '"status":"ok"'


@asynccontextmanager
async def served(folder: Path, database: str, clock: Clock, base_url: str) -> AsyncIterator[httpx2.AsyncClient]:
    settings = Settings(database_url=database, data_dir=folder, base_url=base_url, worker=False)
    async with (
        serve_app(create_app(settings, clock), lifespan="on") as url,
        httpx2.AsyncClient(base_url=url, trust_env=False) as http,
    ):
        yield http


@pytest.fixture
async def database(migrated: MigratedDatabases) -> str:
    return await migrated.sqlite()


@pytest.mark.parametrize("base", ["/gateway", "/pay", "/payments", "/api", "/shops/one"])
async def test_a_proxy_passes_the_path_on_or_takes_it_off(
    tmp_path: Path, database: str, clock: Clock, base: str
) -> None:
    """Ingresses and load balancers of clouds often cannot take it off; nginx does with a slash at the right place."""
    async with served(tmp_path, database, clock, f"https://shop.example.com{base}") as http:
        for before in ("", base, f"/{base}", f"{base}/"):
            below = str(http.base_url).rstrip("/") + before
            for path, told in (
                ("/api/manifest", MANIFEST),
                ("/healthz", HEALTH),
                ("/", OVERVIEW),
                ("/payments/0123", OVERVIEW),
                ("/set-up/channels", OVERVIEW),
                (f"/static/{version()}/pages.css", "dark"),
                ("/pay/return/nobodysOrder", "lang="),
            ):
                answer = await http.get(below + path)
                assert told in answer.text, before + path
            answer = await http.post(f"{below}/api/webhooks/gateway/nobodys", data={"data": "e30=", "signature": "x"})
            assert (answer.status_code, answer.content) == (404, b"")  # received, of an account that does not exist


async def test_answers_have_the_headers_of_their_page_also_where_the_path_is_passed_on(
    tmp_path: Path, database: str, clock: Clock
) -> None:
    async with served(tmp_path, database, clock, "https://shop.example.com/gateway") as http:
        for path in ("/", "/pay/return/nobodysOrder", "/pay/nobodysOrder.svg", f"/static/{version()}/pages.css"):
            taken_off, passed_on = [(await http.get(before + path)).headers for before in ("", "/gateway")]
            assert {**passed_on, "date": ""} == {**taken_off, "date": ""}


async def test_the_apps_own_pages_are_found_where_the_path_of_the_app_is_called_like_one(
    tmp_path: Path, database: str, clock: Clock
) -> None:
    """The proxy takes the first `/parts` off, as the documentation says: what is left begins with the second."""
    async with served(tmp_path, database, clock, "https://shop.example.com/parts") as http:
        assert (await http.get("/parts/payments")).status_code == 401  # the part, which needs a token, and no page
        assert (await http.get("/parts/")).status_code == 401
    async with served(tmp_path, database, clock, "https://shop.example.com/payments") as http:
        assert OVERVIEW in (await http.get("/payments")).text


@pytest.mark.parametrize("path", ["//api/manifest", "/api//manifest", "//api//manifest", "///healthz"])
async def test_a_proxy_doubles_a_slash(tmp_path: Path, database: str, clock: Clock, path: str) -> None:
    """As nginx does with a location without a slash at its end, and an address behind it that has one."""
    async with served(tmp_path, database, clock, "https://pay.example.com") as http:
        assert (await http.get(str(http.base_url).rstrip("/") + path)).status_code == 200


async def test_nothing_else_is_taken_off(tmp_path: Path, database: str, clock: Clock) -> None:
    async with served(tmp_path, database, clock, "https://shop.example.com/gateway") as http:
        for path in ("/gateways/healthz", "/other/healthz", "/gateway/gateway/healthz", "/gateway/nowhere"):
            assert (await http.get(path)).status_code == 404, path


async def test_pages_in_the_dashboard_may_have_a_path_of_their_own(tmp_path: Path, database: str, clock: Clock) -> None:
    settings = Settings(
        database_url=database,
        data_dir=tmp_path,
        base_url="http://app:8100/inside",
        iframe_base_url="https://shop.example.com/gateway",
        worker=False,
    )
    async with (
        serve_app(create_app(settings, clock), lifespan="on") as url,
        httpx2.AsyncClient(base_url=url, trust_env=False) as http,
    ):
        assert MANIFEST in (await http.get("/inside/api/manifest")).text
        assert OVERVIEW in (await http.get("/gateway/payments/7")).text
