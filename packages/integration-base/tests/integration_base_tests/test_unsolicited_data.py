"""What came before a request was sent is no answer to it, however the connection brought it."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from integration_base.outbound import CheckedTransport, no_guard
from integration_base_tests.tls_server import write_certificate


def answer_to(name: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Length: {len(name)}\r\n\r\n{name}".encode()


class Server:
    """Answers each request with its path; ``extra`` is what it writes behind the answer to the first one."""

    def __init__(self, extra: bytes, *, in_one_piece: bool) -> None:
        self.heard: list[str] = []
        self._extra, self._in_one_piece = extra, in_one_piece

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                path = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1].decode()
                self.heard.append(path)
                pieces = [answer_to(path), self._extra if len(self.heard) == 1 else b""]
                for piece in [b"".join(pieces)] if self._in_one_piece else pieces:
                    writer.write(piece)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


@asynccontextmanager
async def talking(server: Server, folder: Path | None) -> AsyncIterator[Callable[[str], Awaitable[str]]]:
    """Give what requests a path, over TLS if there is a folder for its certificate."""
    serving, trusted = None, ssl.create_default_context()
    if folder is not None:
        file = write_certificate("localhost", folder)
        serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        serving.load_cert_chain(file)
        trusted = ssl.create_default_context(cafile=str(file))
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=serving)
    address = f"{'http' if folder is None else 'https'}://localhost:{listening.sockets[0].getsockname()[1]}"
    transport = CheckedTransport(trusted, httpx2.Limits(max_connections=1), no_guard)
    async with listening, httpx2.AsyncClient(transport=transport) as client:

        async def ask(path: str) -> str:
            try:
                return (await client.post(address + path)).text
            except httpx2.RequestError as error:
                return type(error).__name__

        yield ask


@pytest.mark.fault("gateway-unknown")
@pytest.mark.parametrize("over_tls", [False, True])
@pytest.mark.parametrize("in_one_piece", [True, False])
@pytest.mark.parametrize("extra", [answer_to("/again"), b"HTTP/1.1 204 No Content\r\n\r\n"], ids=["body", "empty"])
async def test_a_second_answer_to_one_request_is_not_the_answer_to_the_next(
    extra: bytes, tmp_path: Path, *, in_one_piece: bool, over_tls: bool
) -> None:
    server = Server(extra, in_one_piece=in_one_piece)
    async with talking(server, tmp_path if over_tls else None) as ask:
        answers = [await ask(path) for path in ("/first", "/second", "/third", "/fourth")]
    assert answers[0] == "/first"
    assert answers[1] in {"/second", "ReadError"}  # not sent before the connection was found unusable, or unknown
    assert answers[2:] == ["/third", "/fourth"]


@pytest.mark.parametrize("over_tls", [False, True])
async def test_a_connection_without_a_second_answer_is_used_again(tmp_path: Path, *, over_tls: bool) -> None:
    connections = []

    class Counting(Server):
        async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connections.append(reader)
            await super().serve(reader, writer)

    async with talking(Counting(b"", in_one_piece=True), tmp_path if over_tls else None) as ask:
        assert [await ask(path) for path in ("/a", "/b", "/c")] == ["/a", "/b", "/c"]
    assert len(connections) == 1
