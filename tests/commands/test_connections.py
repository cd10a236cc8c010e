"""Connections that strangers hold: from outside, over sockets, with the server as ``run`` configures it."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx2
import pytest
import uvicorn
from fastapi import FastAPI, Request, Response
from starlette.requests import ClientDisconnect
from structlog.testing import capture_logs
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from app.commands.serve import server_config
from app.main import create_app, handle_disconnect
from app.ops.connections import MOST_HEADER_BYTES, bounded_protocol
from app.settings import Settings
from integration_base_tests.waiting import unless_it_hangs

GET = b"GET / HTTP/1.1\r\nHost: here\r\n"
LARGE_ANSWER = 16_000_000  # more than the system keeps for a client that takes nothing


class Listening(uvicorn.Server):
    """Says when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listens = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listens.set()

    @property
    def port(self) -> int:
        return int(self.servers[0].sockets[0].getsockname()[1])

    @property
    def held(self) -> int:
        """How many connections it has."""
        return len(self.server_state.connections)

    async def holds(self, number: int) -> None:
        """Wait until it has so many."""
        async with unless_it_hangs():
            while self.held != number:  # noqa: ASYNC110 - uvicorn tells nobody
                await asyncio.sleep(0.01)


def echo() -> FastAPI:
    app = FastAPI()
    app.add_exception_handler(ClientDisconnect, handle_disconnect)

    @app.post("/")
    async def read(request: Request) -> int:
        return len(await request.body())

    @app.get("/")
    async def get() -> str:
        return "here"

    @app.get("/large")
    async def large() -> Response:
        return Response(b"a" * LARGE_ANSWER)

    return app


@asynccontextmanager
async def listening(most: int, read_within: float = 60, taken_within: float = 60) -> AsyncIterator[Listening]:
    protocol = bounded_protocol(most, read_within, taken_within)
    # The time for what is idle between two requests is not what ends anything here.
    config = uvicorn.Config(echo(), port=0, log_config=None, http=protocol, ws="none", timeout_keep_alive=3600)
    server = Listening(config)
    task = asyncio.create_task(server.serve())
    await server.listens.wait()
    try:
        yield server
    finally:
        server.should_exit = True
        await task


async def half_open(server: Listening, said: bytes = GET) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(said)
    return reader, writer


@pytest.mark.threat("flood")
async def test_a_caller_who_goes_away_in_the_middle_of_a_body_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    async with listening(40) as server:
        with capture_logs() as logs:
            for number in range(3):
                _, writer = await half_open(server, b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 9\r\n\r\nhalf")
                await server.holds(1)
                writer.close()
                await server.holds(0)
                async with asyncio.timeout(20):
                    while len(logs) <= number:  # noqa: ASYNC110 - the server tells nobody
                        await asyncio.sleep(0.01)
    assert [(log["event"], log["log_level"]) for log in logs] == [("client.disconnected", "info")] * 3
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_the_app_handles_it_so(tmp_path: Path) -> None:
    app = create_app(Settings(data_dir=tmp_path))
    assert app.exception_handlers[ClientDisconnect] is handle_disconnect


def test_the_app_is_served_so(tmp_path: Path) -> None:
    config = server_config(Settings(data_dir=tmp_path, max_connections=77), echo())
    assert isinstance(config.http, type)
    assert config.http.__qualname__ == bounded_protocol(77).__qualname__


LONGEST_IDLE_AT_A_PROXY = 600  # seconds: Google's load balancers; Caddy 120, Traefik 90, AWS, HAProxy and nginx 60


async def test_it_is_never_the_app_that_ends_a_connection_which_a_proxy_keeps_for_its_next_request(
    tmp_path: Path,
) -> None:
    """A webhook of Saleor that a proxy sends at that moment is lost: it answers 502, and may not send it twice."""
    config = server_config(Settings(data_dir=tmp_path, port=1), echo())
    config.port = 0  # any
    server = Listening(config)
    serving = asyncio.create_task(server.serve())
    try:
        await server.listens.wait()
        async with httpx2.AsyncClient(trust_env=False) as proxy:
            assert (await proxy.get(f"http://127.0.0.1:{server.port}/")).text == '"here"'
            [connection] = server.server_state.connections
            assert isinstance(connection, HttpToolsProtocol)
            ends = connection.timeout_keep_alive_task
            assert ends is not None
            assert ends.when() - asyncio.get_running_loop().time() > LONGEST_IDLE_AT_A_PROXY
    finally:
        server.should_exit = True
        await serving


@pytest.mark.fault("no-connections")
@pytest.mark.threat("flood")
async def test_of_1500_that_say_half_of_it_only_so_many_stay_and_others_are_served() -> None:
    async with listening(40) as server, httpx2.AsyncClient(trust_env=False) as http:
        writers = []
        for number in range(1500):
            _, writer = await half_open(server)
            writers.append(writer)
            if number % 100 == 99:
                assert server.held <= 40
                answer = await http.get(f"http://127.0.0.1:{server.port}/", headers={"Connection": "close"})
                assert answer.status_code == 200
                for oldest in writers[:-40]:
                    oldest.close()
                del writers[:-40]
        assert server.held <= 40
        for left_open in writers:
            left_open.close()


@pytest.mark.threat("flood")
@pytest.mark.parametrize(
    "said",
    [
        b"",
        GET,
        b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 9\r\n\r\nhalf",
        b"POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    ],
    ids=["nothing", "half of a header", "half of a body", "some chunks"],
)
async def test_a_request_that_does_not_come_to_its_end_is_not_waited_for(said: bytes) -> None:
    async with listening(10, read_within=0.3) as server:
        reader, writer = await half_open(server, said)
        async with unless_it_hangs():
            with suppress(ConnectionResetError):
                await reader.read()
        await server.holds(0)
        writer.close()


async def test_half_of_a_second_request() -> None:
    async with listening(10, read_within=0.3) as server:
        reader, writer = await half_open(server, GET + b"\r\n")
        assert b" 200 " in await reader.readuntil(b'"here"')
        writer.write(GET)
        async with unless_it_hangs():
            with suppress(ConnectionResetError):
                await reader.read()
        await server.holds(0)
        writer.close()


@pytest.mark.threat("huge-body")
async def test_a_header_without_end() -> None:
    async with listening(10) as server:
        reader, writer = await half_open(server)
        for _ in range(2 * MOST_HEADER_BYTES // 8192):
            writer.write(b"X-More: " + b"a" * 8182 + b"\r\n")
        async with unless_it_hangs():
            with suppress(ConnectionResetError):
                assert b" 431 " in await reader.read()
        await server.holds(0)
        writer.close()


@pytest.mark.fault("no-connections")
async def test_who_has_said_what_they_want_is_not_driven_out_by_others() -> None:
    """Two requests wait for their answers; a third finds no room, and hears that at once."""
    let = asyncio.Event()

    async def slow(scope: dict[str, object], _receive: object, send: object) -> None:
        await let.wait()
        await send({"type": "http.response.start", "status": 204, "headers": []})  # type: ignore[operator] # ASGI
        await send({"type": "http.response.body", "body": b""})  # type: ignore[operator] # ASGI

    config = uvicorn.Config(slow, port=0, log_config=None, http=bounded_protocol(2), ws="none", lifespan="off")
    server = Listening(config)
    task = asyncio.create_task(server.serve())
    await server.listens.wait()
    asked = [await half_open(server, GET + b"\r\n") for _ in range(2)]
    await server.holds(2)
    while len(server.server_state.tasks) < 2:  # noqa: ASYNC110 - uvicorn tells nobody
        await asyncio.sleep(0.01)
    refused, writer = await half_open(server)
    assert b" 503 " in await refused.read()
    let.set()
    for reader, _ in asked:
        assert b" 204 " in await reader.readuntil(b"\r\n")
    for _, connection in [*asked, (refused, writer)]:
        connection.close()
    server.should_exit = True
    await task


LARGE = b"POST /nothing HTTP/1.1\r\nHost: here\r\nConnection: close\r\nContent-Length: 9000000\r\n\r\n"


async def test_who_still_sends_when_the_answer_is_there_gets_it() -> None:
    """The connection was reset, and a proxy that lost the answer asked nobody here for a while."""
    async with listening(10) as server:
        reader, writer = await half_open(server, LARGE)
        answer = await reader.readuntil(b"\r\n\r\n")
        assert b" 404 " in answer
        for _ in range(90):
            writer.write(b"a" * 100_000)
            await writer.drain()
        async with unless_it_hangs():
            assert b"Not Found" in await reader.read()
        assert server.held == 1, "it is the client that closes"
        writer.close()
        await server.holds(0)


@pytest.mark.threat("flood")
async def test_who_still_sends_when_the_answer_is_there_is_not_read_for_ever() -> None:
    async with listening(10, read_within=0.3) as server:
        _, writer = await half_open(server, LARGE)
        async with unless_it_hangs():
            with suppress(ConnectionError):
                while True:
                    writer.write(b"a" * 100)
                    await writer.drain()
                    await asyncio.sleep(0.01)
        await server.holds(0)


@pytest.mark.threat("flood")
async def test_who_still_sends_when_the_answer_is_there_makes_way_for_others() -> None:
    async with listening(3) as server, httpx2.AsyncClient(trust_env=False) as http:
        writers = []
        for _ in range(9):
            reader, writer = await half_open(server, LARGE)
            writers.append(writer)
            assert b" 404 " in await reader.readuntil(b"\r\n\r\n")
            assert server.held <= 3
        answer = await http.get(f"http://127.0.0.1:{server.port}/", headers={"Connection": "close"})
        assert answer.status_code == 200
    for writer in writers:
        writer.close()


async def taking_nothing(server: Listening, requests: int = 1) -> socket.socket:
    """Request something large, so often, and read nothing of the answers."""
    client, loop = socket.socket(), asyncio.get_running_loop()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.setblocking(False)
    await loop.sock_connect(client, ("127.0.0.1", server.port))
    await loop.sock_sendall(client, b"GET /large HTTP/1.1\r\nHost: here\r\n\r\n" * requests)
    return client


@pytest.mark.threat("flood")
async def test_who_takes_no_answer_makes_way_for_others() -> None:
    """Their requests were complete, so they held all connections, and everybody else was refused."""
    async with listening(3) as server, httpx2.AsyncClient(trust_env=False) as http:
        clients = [await taking_nothing(server) for _ in range(3)]
        async with unless_it_hangs():
            while server.server_state.total_requests < 3:  # noqa: ASYNC110 - uvicorn tells nobody
                await asyncio.sleep(0.01)
        for _ in range(3):
            answer = await http.get(f"http://127.0.0.1:{server.port}/", headers={"Connection": "close"})
            assert answer.status_code == 200
        for client in clients:
            client.close()


@pytest.mark.threat("flood")
@pytest.mark.parametrize("requests", [1, 3])
async def test_who_takes_no_answer_is_not_waited_for(requests: int) -> None:
    async with listening(10, taken_within=0.3) as server:
        client, loop = await taking_nothing(server, requests), asyncio.get_running_loop()
        await server.holds(1)
        await server.holds(0)
        async with unless_it_hangs():
            with suppress(ConnectionResetError):
                while await loop.sock_recv(client, 1_000_000):
                    pass
        client.close()


async def test_who_takes_an_answer_slowly_gets_all_of_it() -> None:
    async with listening(10, taken_within=0.6) as server:
        reader, writer = await half_open(server, GET.replace(b"/", b"/large", 1) + b"\r\n")
        await reader.readuntil(b"\r\n\r\n")
        for _ in range(16):
            assert len(await reader.readexactly(LARGE_ANSWER // 16)) == LARGE_ANSWER // 16
            await asyncio.sleep(0.1)
        writer.close()


@pytest.mark.threat("flood")
async def test_who_is_silent_between_two_requests_makes_way_for_others() -> None:
    """With a request every few seconds in each of them, they held all connections."""
    async with listening(3) as server, httpx2.AsyncClient(trust_env=False) as http:
        silent = []
        for _ in range(3):
            reader, writer = await half_open(server, GET + b"\r\n")
            assert b" 200 " in await reader.readuntil(b'"here"')
            silent.append((reader, writer))
        for _ in range(2):
            answer = await http.get(f"http://127.0.0.1:{server.port}/", headers={"Connection": "close"})
            assert answer.status_code == 200
        assert await silent[0][0].read() == b"", "the one that has been silent longest"
        for reader, writer in silent[1:]:
            writer.write(GET + b"\r\n")
            assert b" 200 " in await reader.readuntil(b'"here"')
        for _, writer in silent:
            writer.close()


async def test_one_connection_carries_many_requests() -> None:
    async with listening(10) as server, httpx2.AsyncClient(trust_env=False) as http:
        for size in (0, 10, 300_000, 10):
            answer = await http.post(f"http://127.0.0.1:{server.port}/", content=b"a" * size)
            assert answer.json() == size
        assert server.held == 1
