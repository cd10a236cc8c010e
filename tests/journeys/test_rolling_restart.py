"""Behind a proxy, one process after the other is ended and started anew while people pay: nobody notices."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlalchemy import column, select, table
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.bootstrap import open_services
from app.demo.processes import ServerProcess, app_process, free_port
from app.store.migrate import current_revision, migrate
from integration_base_tests.loopback import serve_app
from integration_base_tests.waiting import LONGEST_WAIT, eventually
from tests.journeys.audit import assert_three_books_agree
from tests.journeys.next_version import BEGUN_BY, REVISION
from tests.journeys.stack import Stack, open_stack
from tests.journeys.stories import begin, order_id_of, paid_order, wait_for_event

_AT_ONCE = 4
_BETWEEN_CHECKS = 0.1
_DRAIN = "6"  # the checks themselves take their time on a busy machine
_OF_ONE_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding", "host"}


@dataclass
class Proxy:
    """Hands each request to a process that says it is ready, which it asks now and then. It repeats no request.

    That is what HAProxy, Caddy, Traefik and Kubernetes do with health checks.
    """

    upstreams: Sequence[str] = ()
    ready: Sequence[str] = ()

    def __post_init__(self) -> None:
        limits = httpx2.Limits(max_keepalive_connections=0)
        self._http = httpx2.AsyncClient(trust_env=False, limits=limits)
        self._background_slot = 0
        self.statuses: set[int] = set()

    async def forward(self, request: Request) -> Response:
        body = await request.body()
        headers = [(name, value) for name, value in request.headers.items() if name not in _OF_ONE_HOP]
        self._background_slot += 1
        upstream = self.ready[self._background_slot % len(self.ready)]
        answer = await self._http.request(
            request.method, f"{upstream}{request.url.path}?{request.url.query}", content=body, headers=headers
        )
        self.statuses.add(answer.status_code)
        kept = {name: value for name, value in answer.headers.items() if name not in _OF_ONE_HOP}
        return Response(answer.content, answer.status_code, kept)

    async def watch(self) -> None:
        """Ask who is ready, for ever."""
        while True:
            self.ready = [upstream for upstream in self.upstreams if await self._is_ready(upstream)]
            await asyncio.sleep(_BETWEEN_CHECKS)

    async def _is_ready(self, upstream: str) -> bool:
        try:
            return (await self._http.get(f"{upstream}/readyz")).is_success
        except httpx2.TransportError:
            return False


@asynccontextmanager
async def a_proxy() -> AsyncIterator[tuple[Proxy, str]]:
    """A proxy without anybody behind it, and its address."""
    proxy = Proxy()
    everything = Route("/{path:path}", proxy.forward, methods=["GET", "POST", "HEAD"])
    async with serve_app(Starlette(routes=[everything])) as url:
        watching = asyncio.create_task(proxy.watch())
        yield proxy, url
        watching.cancel()


@asynccontextmanager
async def open_behind_a_proxy(
    database: str,
    folder: Path,
    neighbours: tuple[str, str],
    environment: Mapping[str, str],
    open_account: Callable[[Stack], Awaitable[object]],
) -> AsyncIterator[tuple[Stack, Proxy, list[ServerProcess]]]:
    """Yield a shop with two web processes behind a proxy, and two workers; all of them, the web first."""
    async with AsyncExitStack() as ending:
        proxy, url = await ending.enter_async_context(a_proxy())
        told = {**environment, "APP_BASE_URL": url, "APP_WORKER": "false", "APP_SHUTDOWN_DELAY_SECONDS": _DRAIN}

        def process(*words: Any) -> ServerProcess:
            started = ServerProcess(*words)
            return replace(started, environment={**started.environment, **told})

        stack = await ending.enter_async_context(open_stack(database, folder, neighbours, process=process))
        processes = [stack.app]
        for name in ("web", "worker-1", "worker-2"):
            port = free_port()
            its_own = {**stack.app.environment, "APP_PORT": str(port), "APP_METRICS_PORT": str(port)}
            words = ["app.cli", "worker"]
            if name == "web":
                words, its_own = ["app.cli", "run"], {**its_own, "APP_METRICS_PORT": ""}
            other = replace(
                stack.app,
                name=name, arguments=words, url=f"http://127.0.0.1:{port}", log=folder / f"{name}.log",
                environment=its_own, process=None,
            )  # fmt: skip
            await other.start()
            ending.push_async_callback(other.stop)
            processes.append(other)
        proxy.upstreams = [process.url for process in processes[:2]]

        async def both_are_ready() -> bool:
            return len(proxy.ready) == 2

        await eventually(both_are_ready)
        installed = await stack.saleor.install(f"{url}/api/manifest")
        assert installed.status == "INSTALLED", installed.message
        await open_account(stack)
        yield stack, proxy, processes


@pytest.fixture
async def behind_a_proxy(
    new_postgresql: Callable[[], str], tmp_path: Path, neighbours: tuple[str, str]
) -> AsyncIterator[tuple[Stack, Proxy, list[ServerProcess]]]:
    database = new_postgresql()  # its own: the next version leaves it with a migration more
    await migrate(database)
    async with open_behind_a_proxy(database, tmp_path, neighbours, {}, Stack.open_account) as shop:
        yield shop


@asynccontextmanager
async def asked_to_end(folder: Path) -> AsyncIterator[httpx2.AsyncClient]:
    """Yield the client of a process that was asked to end, and has said so; it has asked before, too. The end waits."""
    environment = {**os.environ, "APP_DATA_DIR": str(folder / "data"), "APP_SHUTDOWN_DELAY_SECONDS": _DRAIN}
    app = app_process(free_port(), folder, environment)
    await app.start()
    assert app.process is not None
    async with httpx2.AsyncClient(trust_env=False, base_url=app.url) as http:
        assert "connection" not in (await http.get("/healthz")).headers
        app.process.send_signal(signal.SIGTERM)

        async def says_so() -> bool:
            return (await http.get("/readyz")).status_code == 503

        await eventually(says_so)
        yield http
    await asyncio.to_thread(app.process.wait, LONGEST_WAIT)
    assert app.process.poll() == -signal.SIGTERM


async def test_one_that_was_asked_to_end_says_so_before_it_closes_its_port(tmp_path: Path) -> None:
    async with asked_to_end(tmp_path) as http:
        assert (await http.get("/healthz")).status_code == 200
        async with httpx2.AsyncClient(trust_env=False, base_url=http.base_url) as stranger:
            assert (await stranger.get("/pay/c0ffee")).status_code == 404, "who comes now is answered, too"


async def test_one_that_was_asked_to_end_tells_proxies_to_keep_no_connection_to_it(tmp_path: Path) -> None:
    """A webhook that is sent on a kept one when the time is over is lost, also where nobody asks `/readyz`."""
    async with asked_to_end(tmp_path) as proxy:
        answer = await proxy.post("/api/webhooks/gateway/nobodys", data={"data": "e30=", "signature": "x"})
        assert (answer.status_code, answer.headers["connection"]) == (404, "close")


async def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    environment = {**os.environ, "APP_DATA_DIR": str(tmp_path / "data"), "APP_SHUTDOWN_DELAY_SECONDS": "60"}
    app = app_process(free_port(), tmp_path, environment)
    await app.start()
    assert app.process is not None
    app.process.send_signal(signal.SIGTERM)

    async def stopping() -> bool:
        async with httpx2.AsyncClient(trust_env=False) as http:
            return (await http.get(f"{app.url}/readyz")).status_code == 503

    await eventually(stopping)
    app.process.send_signal(signal.SIGTERM)
    await asyncio.to_thread(app.process.wait, LONGEST_WAIT)
    assert app.process.poll() == -signal.SIGTERM


@pytest.mark.long
@pytest.mark.timeout(600)  # eight processes are started
@pytest.mark.law(1, 5, 6)
async def test_each_process_is_started_anew_while_people_pay(
    behind_a_proxy: tuple[Stack, Proxy, list[ServerProcess]],
) -> None:
    async with people_paying(*behind_a_proxy) as one_more_each:
        for process in behind_a_proxy[2]:
            await replaced(process)
            await one_more_each()  # it takes its part again before the next one goes


@pytest.mark.long
@pytest.mark.timeout(600)  # eight processes are started
@pytest.mark.law(1, 5, 6)
@pytest.mark.fault("two-versions")
async def test_the_next_version_takes_over_while_people_pay(
    behind_a_proxy: tuple[Stack, Proxy, list[ServerProcess]],
) -> None:
    """The database is migrated while the old version works with it; for a while both versions work with it."""
    shop, _, processes = behind_a_proxy
    next_version = ["tests.journeys.next_version"]
    async with people_paying(*behind_a_proxy) as one_more_each:
        await one_more_each()
        command = [sys.executable, "-m", *next_version, "migrate"]
        migrating = await asyncio.create_subprocess_exec(*command, env=shop.app.environment)
        assert await migrating.wait() == 0
        await one_more_each()
        for process in processes:
            await replaced(process, next_version)
            await one_more_each()
    written: Any = select(column(BEGUN_BY)).select_from(table("payment"))
    async with open_services(shop.settings) as services, services.database.transaction() as session:
        begun = (await (await session.connection()).execute(written)).scalars().all()
    assert {*begun} == {None, "the next version"}
    assert await current_revision(shop.settings.database) == REVISION


async def replaced(process: ServerProcess, program: Sequence[str] | None = None) -> None:
    """End a process in good order and start it anew, as another program if one is named."""
    await process.stop()
    assert process.process is not None
    ended = process.process.poll()  # uvicorn ends by the signal that it was given, when all is done
    assert ended in {0, -signal.SIGTERM}, f"{process.name} did not end in good order: {process.last_lines()}"
    if program is not None:
        process.arguments = [*program, *process.arguments[1:]]
    await process.start()


@asynccontextmanager
async def people_paying(
    shop: Stack, proxy: Proxy, processes: Sequence[ServerProcess]
) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Let people pay meanwhile; gives what waits until each of them has paid once more. In the end all books agree."""
    over, paid = asyncio.Event(), 0

    async def shoppers() -> None:
        nonlocal paid
        while not over.is_set():
            checkout_id, session = await begin(shop)
            assert session.event is not None
            assert session.event.type == "CHARGE_ACTION_REQUIRED", session
            await shop.gateway.pay(order_id_of(session))
            await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
            await paid_order(shop, checkout_id)
            paid += 1

    async def as_many_as(payments: int) -> bool:
        return paid >= payments

    async def one_more_each() -> None:
        await eventually(partial(as_many_as, paid + _AT_ONCE))

    async with asyncio.timeout(500), asyncio.TaskGroup() as together:
        for _ in range(_AT_ONCE):
            together.create_task(shoppers())
        yield one_more_each
        over.set()
    await assert_three_books_agree(shop)
    assert proxy.statuses <= {200, 302, 303}, proxy.statuses
    assert all("Traceback" not in process.log.read_text() for process in processes)
