"""Lists that come as one JSON object per line, read while they arrive (gateway interface, 8 and 10)."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any

import httpx2

from app.gateway import answers, wire
from app.gateway.errors import OutcomeUnknown
from app.gateway.transport import Answer, Call, Transport, read_whole

_LONGEST_LINE = 1024 * 1024


async def json_lines(transport: Transport, call: Call, *, timeout: float) -> AsyncGenerator[Mapping[str, Any], None]:
    """The objects in the answer to ``call``; ``timeout`` is the longest silence between two pieces of it, in seconds.

    Never more than one line is held in memory. Raises what ``answers.content`` raises, at whatever line it happens;
    everything here is read only, so ``OutcomeUnknown`` means: ask again.
    """
    async with transport.open(call, timeout=timeout) as response:
        if not 200 <= response.status_code < 300:
            answer = Answer(response.status_code, response.headers, await read_whole(call, response))
            answers.content(call, answer)
            raise call.error(OutcomeUnknown, "no list in the answer", http_status=answer.status)
        async for line in _lines(call, response):
            yield _object(call, response, line)


async def _lines(call: Call, response: httpx2.Response) -> AsyncIterator[bytes]:
    # Cut at line feeds only: text methods also cut at U+2028 and others, which may stand inside a JSON string.
    rest = bytearray()
    async for piece in response.aiter_bytes():
        rest += piece
        *whole, rest = rest.split(b"\n")
        for line in whole:
            if line.strip():
                yield bytes(line)
        if len(rest) > _LONGEST_LINE:
            raise call.error(OutcomeUnknown, "a line of the list is too long", http_status=response.status_code)
    if rest.strip():
        yield bytes(rest)


def _object(call: Call, response: httpx2.Response, line: bytes) -> Mapping[str, Any]:
    try:
        members = wire.loads(line)
    except wire.NotJson:
        members = None
    if not isinstance(members, Mapping):
        raise call.error(OutcomeUnknown, "a line of the list is not a JSON object", http_status=response.status_code)
    answers.check_line(call, response.status_code, response.headers, members)
    return members
