"""Lists with one JSON object per line, parsed while they arrive (gateway interface, 8 and 10).

No part of a list is lost silently: a line that cannot be parsed is yielded as an ``UnreadableLine``; a body that is not
a list, that is truncated, or that contains an error in its middle raises an error.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, TypeVar

import httpx2

from gateway_client import responses
from gateway_client.errors import OutcomeUnknownError
from gateway_client.models.records import UnreadableError, validate_model
from gateway_client.models.reports import TransactionLine, UnreadableLine
from gateway_client.transport import Call, GatewayResponse, Transport, read_body, stream_body
from integration_base import exact_json

_MAX_LINE_BYTES = 1024 * 1024
_MAX_ERROR_BYTES = 64 * 1024
_ERROR_MEMBERS = frozenset({"message", "code", "args", "details", "error"})
# An error may have a status, a description and more that a record has, and a record any of an error's members.
_IDENTIFYING_MEMBERS = frozenset({"orderId", "paymentId", "amount", "originalAmount"})
L = TypeVar("L", bound=TransactionLine)


async def read_list(
    transport: Transport, call: Call, model: type[L], *, timeout: float
) -> AsyncGenerator[L | UnreadableLine, None]:
    """Yield the lines of the response to ``call``. ``timeout`` is the longest silence while it arrives, in seconds.

    Never more than one line is held in memory. Raises the errors of ``responses.decode``, at any line; these requests
    are reads, so ``OutcomeUnknownError`` means: retry.
    """
    async with transport.open(call, timeout=timeout) as response:
        head = GatewayResponse(response.status_code, response.headers, b"", transport.keys)
        if response.status_code != 200:
            failed = head.with_content(await read_body(call, response))
            responses.decode(call, failed)
            raise call.error(OutcomeUnknownError, "no list in the answer", http_status=failed.status)
        number = 0
        async with aclosing(_split_lines(call, response)) as lines:
            async for line in lines:
                number += 1
                members = _parse_object(line)
                if members is None and number == 1:
                    # An error body may span several lines.
                    members = _parse_object(await _join_rest(line, lines))
                if members is None:
                    raise call.error(OutcomeUnknownError, "a line of the list is not a JSON object", http_status=200)
                if members.keys() & _ERROR_MEMBERS and not members.keys() & _IDENTIFYING_MEMBERS:
                    responses.decode(call, head.with_content(exact_json.dumps(members).encode("ascii")))
                    raise call.error(OutcomeUnknownError, "an error in the middle of the list", http_status=200)
                yield _parse_line(model, number, members)


async def _split_lines(call: Call, response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    # Split at line feeds only: text methods also split at U+2028 and others, which may occur in a JSON string.
    rest = bytearray()
    async for piece in stream_body(call, response):
        rest += piece
        *whole, rest = rest.split(b"\n")
        for line in whole:
            if line.strip():
                yield bytes(line)
        if len(rest) > _MAX_LINE_BYTES:
            raise call.error(OutcomeUnknownError, "a line of the list is too long", http_status=response.status_code)
    if rest.strip():
        yield bytes(rest)


async def _join_rest(first: bytes, lines: AsyncIterator[bytes]) -> bytes:
    content = bytearray(first)
    async for line in lines:
        content += line
        if len(content) > _MAX_ERROR_BYTES:
            break
    return bytes(content)


def _parse_object(content: bytes) -> Mapping[str, Any] | None:
    try:
        members = exact_json.loads(content)
    except exact_json.NotJsonError:
        return None
    return members if isinstance(members, Mapping) else None


def _parse_line(model: type[L], number: int, members: Mapping[str, Any]) -> L | UnreadableLine:
    if not members.keys() & model.names():
        return UnreadableLine(number, "no record", is_record=False)
    try:
        return validate_model(model, members)
    except UnreadableError as exc:
        order_id, payment_id = (_text_or_none(members.get(name)) for name in ("orderId", "paymentId"))
        return UnreadableLine(number, str(exc), is_record=True, order_id=order_id, payment_id=payment_id)


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None
