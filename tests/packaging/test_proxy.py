"""The proxies before web processes, as we set them up: Caddy, which compose starts too, and nginx."""

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

from app.demo.processes import free_port
from app.ops.connections import bounded_protocol
from integration_base_tests.loopback import serve_app
from integration_base_tests.places import REPOSITORY
from integration_base_tests.tls_server import write_certificate
from integration_base_tests.waiting import eventually
from saleor_app_sdk.signature import MAX_BODY_BYTES

FOLDER = REPOSITORY / "packaging" / "proxy"
CADDY = Path(os.environ.get("CADDY", "/usr/bin/caddy"))
CADDYFILE = FOLDER / "Caddyfile"
NGINX = Path(os.environ.get("NGINX", "/usr/sbin/nginx"))
NGINX_PAGE = FOLDER / "nginx.conf"
HOST = "payments.example.com"

# What Debian's /etc/nginx/nginx.conf says, as far as a page of a site needs it, with all files in one folder.
NGINX_ITSELF = """
user root;
daemon off;
error_log {folder}/error.log;
pid {folder}/nginx.pid;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""


@dataclass
class WebProcess:
    """What stands behind the proxy."""

    name: str
    ready: bool = True
    url: str = ""

    async def readyz(self, _request: Request) -> Response:
        return Response(status_code=200 if self.ready else 503)

    async def refuse(self, _request: Request) -> Response:
        return Response(status_code=401)  # without reading anything, as the app does when it knows enough

    async def anything(self, request: Request) -> Response:
        await request.body()  # as the app does, before it answers
        return JSONResponse({"by": self.name, "from": request.headers.getlist("x-forwarded-for")})


@dataclass
class Proxied:
    """Two web processes and whoever asks them through the proxy."""

    web: tuple[WebProcess, WebProcess]
    http: httpx2.AsyncClient

    async def asked(self, times: int) -> set[str]:
        """Who answers, of so many requests."""
        return {(await self.http.post("/api/webhooks")).json()["by"] for _ in range(times)}


def installed(program: Path) -> str:
    """The program, without which a test is skipped, or fails in CI."""
    if not program.exists():
        if os.environ.get("CI"):
            pytest.fail(f"there is no {program}")
        pytest.skip(f"there is no {program} ({program.name.upper()} names another)")
    return str(program)


async def until_it_answers(process: asyncio.subprocess.Process, http: httpx2.AsyncClient, log: Path) -> None:
    async def answers() -> bool:
        assert process.returncode is None, f"its log is {log}"
        try:
            return (await http.get("/healthz")).is_success
        except httpx2.ConnectError:
            return False

    await eventually(answers)


@pytest.fixture
async def proxied(tmp_path: Path) -> AsyncIterator[Proxied]:
    web = WebProcess("web-1"), WebProcess("web-2")
    async with AsyncExitStack() as ending:
        for web_process in web:
            routes = [
                Route("/readyz", web_process.readyz),
                Route("/{path:path}", web_process.anything, methods=["GET", "POST"]),
            ]
            web_process.url = await ending.enter_async_context(serve_app(Starlette(routes=routes)))
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
        words = [installed(CADDY), "run", "--config", str(CADDYFILE), "--adapter", "caddyfile"]
        with (tmp_path / "caddy.log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(*words, env=environment, stdout=log, stderr=log)
        ending.push_async_callback(process.wait)
        ending.callback(process.terminate)
        http = await ending.enter_async_context(httpx2.AsyncClient(base_url=url, trust_env=False))
        await until_it_answers(process, http, tmp_path / "caddy.log")
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
    by = [answer.json()["by"] for answer in answers]
    assert min(by.count("web-1"), by.count("web-2")) >= 10


def test_compose_has_what_the_proxy_stands_before() -> None:
    services = yaml.safe_load((REPOSITORY / "compose.yaml").read_text())["services"]
    assert services["proxy"]["profiles"] == services["web-2"]["profiles"] == ["scale"]
    assert "scale" in services["worker"]["profiles"]
    assert "./packaging/proxy/Caddyfile:/etc/caddy/Caddyfile:ro" in services["proxy"]["volumes"]
    for name in ("app", "web-2"):
        assert f"{name}:8100" in CADDYFILE.read_text()
        assert services[name]["environment"]["APP_SHUTDOWN_DELAY_SECONDS"], "longer than the proxy needs to notice"


@pytest.fixture
async def behind_nginx(tmp_path: Path) -> AsyncIterator[Proxied]:
    """nginx with the page as it is, but for ports, the second process, which does not run, and the certificate."""
    certificate, port = write_certificate(HOST, tmp_path), free_port()
    async with AsyncExitStack() as ending:
        web = WebProcess("web-1")
        routes = [
            Route("/refused", web.refuse, methods=["POST"]),
            Route("/{path:path}", web.anything, methods=["GET", "POST"]),
        ]
        web.url = await ending.enter_async_context(serve_app(Starlette(routes=routes), protocol=bounded_protocol(500)))
        page = NGINX_PAGE.read_text()
        for here, there in {
            "127.0.0.1:8100": web.url.removeprefix("http://"),
            "127.0.0.1:8101": f"127.0.0.1:{free_port()}",
            "listen 443 ": f"listen 127.0.0.1:{port} ",
            "listen [::]:443 ": f"listen 127.0.0.2:{port} ",
            f"/etc/letsencrypt/live/{HOST}/fullchain.pem": str(certificate),
            f"/etc/letsencrypt/live/{HOST}/privkey.pem": str(certificate),
        }.items():
            assert here in page
            page = page.replace(here, there)
        (tmp_path / "site.conf").write_text(page)
        (tmp_path / "nginx.conf").write_text(NGINX_ITSELF.format(folder=tmp_path))
        with (tmp_path / "nginx.log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                *(installed(NGINX), "-e", str(tmp_path / "error.log"), "-c", str(tmp_path / "nginx.conf")),
                stdout=log, stderr=log,
            )  # fmt: skip
        ending.push_async_callback(process.wait)
        ending.callback(process.terminate)
        http = await ending.enter_async_context(
            httpx2.AsyncClient(
                base_url=f"https://127.0.0.1:{port}", headers={"Host": HOST}, trust_env=False, verify=False
            )
        )
        await until_it_answers(process, http, tmp_path / "nginx.log")
        yield Proxied((web, web), http)


async def test_nginx_sends_everything_to_the_process_that_runs_and_believes_no_address(behind_nginx: Proxied) -> None:
    assert await behind_nginx.asked(6) == {"web-1"}
    forged = {"X-Forwarded-For": "8.8.8.8", "Host": HOST}
    answer = await behind_nginx.http.post("/api/webhooks", headers=forged, content=b"x" * 7_000_000)
    assert answer.json() == {"by": "web-1", "from": ["127.0.0.1"]}


@pytest.mark.threat("huge-body")
async def test_nginx_hands_on_an_early_answer_and_others_are_served(behind_nginx: Proxied) -> None:
    """It answered 502, and sent the process nothing for seconds: anybody could shut all others out."""
    for _ in range(5):
        answer = await behind_nginx.http.post("/refused", content=b"x" * 7_000_000)
        assert answer.status_code == 401
        assert await behind_nginx.asked(1) == {"web-1"}


async def test_nginx_refuses_what_the_app_would_not_read(behind_nginx: Proxied) -> None:
    answer = await behind_nginx.http.post("/api/webhooks", content=b"x" * (MAX_BODY_BYTES + 1))
    assert answer.status_code == 413
