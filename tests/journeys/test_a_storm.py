"""A short storm over real processes (``bench.storm``): whatever happens, the books agree when it is over."""

import asyncio
import socket

import pytest

from bench.cut_lines import open_line
from bench.storm import run_storm, tracebacks_in


@pytest.mark.long
@pytest.mark.fault("all-at-once")
@pytest.mark.law(2, 5, 13)
@pytest.mark.timeout(600)
@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
async def test_after_a_short_storm_the_books_agree_and_nothing_is_pending(database_url: str) -> None:
    server = None if database_url.startswith("sqlite") else database_url
    outcome = await run_storm(server, seconds=15, rate=2, seed=7, least_paid=5)
    assert outcome.books.paid > 0
    assert outcome.happened
    assert outcome.wrong == []


def test_whoever_reads_how_a_storm_ended_sees_what_the_log_says_of_a_fault() -> None:
    told = ["job.failed\n", "Traceback (most recent call last):\n", "  File ...\n", "    wait()\n", "KeyError: 7\n"]
    assert list(tracebacks_in(["all is well\n", *told, "all is well\n"])) == ["".join(told)]
    assert list(tracebacks_in(told[1:4])) == ["".join(told[1:4])]


async def test_a_line_breaks_its_connections_and_takes_none_while_it_is_down() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(100):
            writer.write(data)
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with open_line("127.0.0.1", port) as line:
        reader, writer = await asyncio.open_connection("127.0.0.1", line.port)
        writer.write(b"through")
        assert await reader.readexactly(7) == b"through"

        held = asyncio.create_task(line.hold(0.2))
        await asyncio.sleep(0)
        writer.write(b"later")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.readexactly(5), 0.05)
        assert await reader.readexactly(5) == b"later"
        await held

        assert line.cut() == 1
        with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)
        down = asyncio.create_task(line.down(0.2))
        await asyncio.sleep(0)
        with socket.create_connection(("127.0.0.1", line.port)) as refused:
            refused.setblocking(False)
            with pytest.raises(ConnectionResetError):
                await asyncio.get_running_loop().sock_recv(refused, 1)
        await down
    server.close()
