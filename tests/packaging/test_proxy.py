"""The proxy that compose starts before several web processes: Caddy as we set it up, from Debian's package."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
import yaml
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.sandbox.processes import free_port
from tests.conftest import REPOSITORY
from tests.loopback import serve_app
from tests.waiting import eventually

CADDY = Path(os.environ.get("CADDY", "/usr/bin/caddy"))
CADDYFILE = REPOSITORY / "packaging" / "proxy" / "Caddyfile"


@dataclass
class WebProcess:
    """What stands behind the proxy."""

    name: str
    ready: bool = True
    url: str = ""

    async def readyz(self, _request: Request) -> Response:
        return Response(status_code=200 if self.ready else 503)

    async def anything(self, request: Request) -> Response:
        return JSONResponse({"by": self.name, "from": request.headers.getlist("x-forwarded-for")})


@dataclass
class Proxied:
    """Two web processes and whoever asks them through the proxy."""

    web: tuple[WebProcess, WebProcess]
    http: httpx2.AsyncClient

    async def asked(self, times: int) -> set[str]:
        """Who answers, of so many requests."""
        return {(await self.http.post("/api/webhooks")).json()["by"] for _ in range(times)}


@pytest.fixture(scope="module")
def caddy() -> str:
    """The program."""
    if not CADDY.exists():
        if os.environ.get("CI"):
            pytest.fail(f"there is no Caddy at {CADDY}")
        pytest.skip(f"there is no Caddy at {CADDY} (CADDY names another)")
    return str(CADDY)


@pytest.fixture
async def proxied(caddy: str, tmp_path: Path) -> AsyncIterator[Proxied]:
    web = WebProcess("web-1"), WebProcess("web-2")
    async with AsyncExitStack() as ending:
        for each in web:
            routes = [Route("/readyz", each.readyz), Route("/{path:path}", each.anything, methods=["GET", "POST"])]
            each.url = await ending.enter_async_context(serve_app(Starlette(routes=routes)))
        url = f"http://127.0.0.1:{free_port()}"
        environment = {
            **os.environ,
            "PROXY_DOMAIN": url,
            "WEB_1": web[0].url.removeprefix("http://"),
            "WEB_2": web[1].url.removeprefix("http://"),
            "HOME": str(tmp_path),
            "XDG_DATA_HOME": str(tmp_path),
            "XDG_CONFIG_HOME": str(tmp_path),
        }
        words = [caddy, "run", "--config", str(CADDYFILE), "--adapter", "caddyfile"]
        with (tmp_path / "caddy.log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(*words, env=environment, stdout=log, stderr=log)
        ending.push_async_callback(process.wait)
        ending.callback(process.terminate)
        http = await ending.enter_async_context(httpx2.AsyncClient(base_url=url, trust_env=False))

        async def answers() -> bool:
            assert process.returncode is None, (tmp_path / "caddy.log").read_text()
            try:
                return (await http.get("/healthz")).is_success
            except httpx2.ConnectError:
                return False

        await eventually(answers)
        yield Proxied(web, http)


async def test_both_are_asked_and_one_that_ends_is_not(proxied: Proxied) -> None:
    async def only(*names: str) -> bool:
        return await proxied.asked(4) == set(names)

    await eventually(lambda: only("web-1", "web-2"))
    proxied.web[0].ready = False
    await eventually(lambda: only("web-2"))
    proxied.web[0].ready = True
    await eventually(lambda: only("web-1", "web-2"))


async def test_nobody_chooses_the_address_that_the_app_believes(proxied: Proxied) -> None:
    answer = await proxied.http.get("/", headers={"X-Forwarded-For": "8.8.8.8", "X-Real-IP": "8.8.8.8"})
    assert answer.json()["from"] == ["127.0.0.1"]


async def test_a_flood_of_requests_is_shared(proxied: Proxied) -> None:
    answers = await asyncio.gather(*(proxied.http.post("/api/webhooks") for _ in range(40)))
    by = [each.json()["by"] for each in answers]
    assert min(by.count("web-1"), by.count("web-2")) >= 10


def test_compose_has_what_the_proxy_stands_before() -> None:
    services = yaml.safe_load((REPOSITORY / "compose.yaml").read_text())["services"]
    assert services["proxy"]["profiles"] == services["web-2"]["profiles"] == ["scale"]
    assert "scale" in services["worker"]["profiles"]
    assert "./packaging/proxy/Caddyfile:/etc/caddy/Caddyfile:ro" in services["proxy"]["volumes"]
    for name in ("app", "web-2"):
        assert f"{name}:8100" in CADDYFILE.read_text()
        assert services[name]["environment"]["APP_DRAIN"], "longer than the proxy needs to notice"
