"""Concurrent clients over persistent connections, which cost little themselves."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Response:
    """The time of one request, and whether its response was correct."""

    seconds: float
    is_correct: bool


async def wait_until_listening(port: int, seconds: float = 30) -> None:
    """Wait until a server listens on that port. Raises TimeoutError."""
    async with asyncio.timeout(seconds):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.1)
                continue
            writer.close()
            await writer.wait_closed()
            return


Request = tuple[str, Mapping[str, str], bytes]
"""The path, the headers, the body."""


async def post_concurrently(
    port: int,
    path: str,
    requests: Sequence[tuple[Mapping[str, str], bytes]],
    side_by_side: int,
    right: Callable[[bytes], bool] = lambda _body: True,
) -> list[Response]:
    """Post all requests, so many at once; a response is correct with status 200 and a body that ``right`` accepts."""
    return await post_stories(port, [((path, *request),) for request in requests], side_by_side, right=right)


async def post_stories(
    port: int,
    stories: Sequence[Sequence[Request]],
    side_by_side: int,
    pause: float = 0,
    *,
    right: Callable[[bytes], bool] = lambda _body: True,
) -> list[Response]:
    """Post the requests of each story one after the other, so many stories at once; ``pause`` (seconds) after each."""
    waiting = iter(stories)
    answers: list[Response] = []

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for story in waiting:
            for path, headers, body in story:
                named = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
                head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{named}Content-Length: {len(body)}\r\n\r\n"
                clock = time.perf_counter()
                writer.write(head.encode() + body)
                said = (await reader.readuntil(b"\r\n\r\n")).lower()
                lines = said.split(b"\r\n")
                length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)
                answer = await reader.readexactly(length)
                took = time.perf_counter() - clock
                answers.append(Response(took, said.startswith(b"http/1.1 200") and right(answer)))
            await asyncio.sleep(pause)
        writer.close()
        await writer.wait_closed()

    await asyncio.gather(*(client() for _ in range(side_by_side)))
    return answers
