"""Lists that come as one JSON object per line, read while they arrive (gateway interface, 8 and 10).

Nothing of a list is lost in silence: a line that cannot be read is given as an ``UnreadableLine``, and what is no list,
or breaks off, or turns into an error in its middle, is raised.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, TypeVar

import httpx2

from app import exact_json
from app.gateway import answers
from app.gateway.errors import OutcomeUnknownError
from app.gateway.models.records import UnreadableError, validated
from app.gateway.models.reports import TransactionLine, UnreadableLine
from app.gateway.transport import Answer, Call, Transport, body_pieces, read_whole

_LONGEST_LINE = 1024 * 1024
_LONGEST_ERROR = 64 * 1024
_WORDS_OF_ERRORS = frozenset({"message", "code", "args", "details", "error"})
L = TypeVar("L", bound=TransactionLine)


async def read_list(
    transport: Transport, call: Call, model: type[L], *, timeout: float
) -> AsyncGenerator[L | UnreadableLine, None]:
    """The lines in the answer to ``call``; ``timeout`` is the longest silence between two pieces of it, in seconds.

    Never more than one line is held in memory. Raises what ``answers.content`` raises, at whatever line it happens;
    everything here is read only, so ``OutcomeUnknownError`` means: ask again.
    """
    async with transport.open(call, timeout=timeout) as response:
        head = Answer(response.status_code, response.headers, b"", transport.keys)
        if response.status_code != 200:
            answer = head.holding(await read_whole(call, response))
            answers.content(call, answer)
            raise call.error(OutcomeUnknownError, "no list in the answer", http_status=answer.status)
        number = 0
        async with aclosing(_lines(call, response)) as lines:
            async for line in lines:
                number += 1
                members = _members(line)
                if members is None and number == 1:
                    # An error's body may be written over several lines.
                    members = _members(await _with_the_rest(line, lines))
                if members is None:
                    raise call.error(OutcomeUnknownError, "a line of the list is not a JSON object", http_status=200)
                if not members.keys() & model.names() and members.keys() & _WORDS_OF_ERRORS:
                    answers.content(call, head.holding(exact_json.dumps(members).encode("ascii")))
                    raise call.error(OutcomeUnknownError, "an error in the middle of the list", http_status=200)
                yield _line(model, number, members)


async def _lines(call: Call, response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    # Cut at line feeds only: text methods also cut at U+2028 and others, which may stand inside a JSON string.
    rest = bytearray()
    async for piece in body_pieces(call, response):
        rest += piece
        *whole, rest = rest.split(b"\n")
        for line in whole:
            if line.strip():
                yield bytes(line)
        if len(rest) > _LONGEST_LINE:
            raise call.error(OutcomeUnknownError, "a line of the list is too long", http_status=response.status_code)
    if rest.strip():
        yield bytes(rest)


async def _with_the_rest(first: bytes, lines: AsyncIterator[bytes]) -> bytes:
    content = bytearray(first)
    async for line in lines:
        content += line
        if len(content) > _LONGEST_ERROR:
            break
    return bytes(content)


def _members(content: bytes) -> Mapping[str, Any] | None:
    try:
        members = exact_json.loads(content)
    except exact_json.NotJsonError:
        return None
    return members if isinstance(members, Mapping) else None


def _line(model: type[L], number: int, members: Mapping[str, Any]) -> L | UnreadableLine:
    if not members.keys() & model.names():
        return UnreadableLine(number, "no record", is_record=False)
    try:
        return validated(model, members)
    except UnreadableError as exc:
        order_id, payment_id = (_text(members.get(name)) for name in ("orderId", "paymentId"))
        return UnreadableLine(number, str(exc), is_record=True, order_id=order_id, payment_id=payment_id)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
