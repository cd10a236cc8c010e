"""Lists of transactions: those of a period, and the register (gateway interface, 8 and 10).

Asynchronous generators: a caller that stops early must close them (``contextlib.aclosing``), which ends the download.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from datetime import datetime
from typing import Any

from gateway_client import responses
from gateway_client.credentials import Credentials
from gateway_client.errors import InvalidRequestError, OutcomeUnknownError, ReportNotReadyError
from gateway_client.models.reports import (
    RegisterLine,
    RegisterRequest,
    RegisterTicket,
    TransactionLine,
    UnreadableLine,
    check_period,
)
from gateway_client.models.values import to_milliseconds
from gateway_client.ndjson import read_list
from gateway_client.transport import Call, Transport, Verb, path_segment

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0  # seconds between two attempts to fetch a register


class Reports:
    """The lists of one account. ``sleep`` takes seconds."""

    def __init__(
        self,
        transport: Transport,
        credentials: Credentials,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._transport = transport
        self._credentials = credentials
        self._sleep = sleep

    async def period(
        self, start: datetime, end: datetime, *, timeout: float
    ) -> AsyncGenerator[TransactionLine | UnreadableLine, None]:
        """Yield all transactions of a period (gateway interface, 8). ``timeout`` is the longest silence, in seconds."""
        check_period("startDate", "enddate", start, end)
        call = Call(
            method="GET",
            base_url=self._credentials.base_url,
            path=f"/api/v1/pos/{self._credentials.pos_id}/transactions",
            # The inconsistent spelling of the two names is the interface's own.
            query=(("startDate", str(to_milliseconds(start))), ("enddate", str(to_milliseconds(end)))),
        )
        async with aclosing(read_list(self._transport, call, TransactionLine, timeout=timeout)) as lines:
            async for line in lines:
                yield line

    async def start(self, request: RegisterRequest, *, timeout: float) -> RegisterTicket:
        """Start generating a register (gateway interface, 10). For more than 31 days see ``split_period``."""
        body = request.to_wire()
        if body.setdefault("project_id", self._credentials.pos_id) != self._credentials.pos_id:
            raise InvalidRequestError("project_id", f"the account's, {self._credentials.pos_id}", body["project_id"])
        call = self._call("POST", "/streaming-report/start", body)
        response = await self._transport.exchange(call, timeout=timeout)
        return responses.parse(call, RegisterTicket, responses.decode(call, response))

    async def fetch(
        self, ticket: RegisterTicket, *, patience: float, timeout: float
    ) -> AsyncGenerator[RegisterLine | UnreadableLine, None]:
        """Yield the lines of a register. ``timeout`` is the longest silence, in seconds.

        While the register is not ready, waits: a second at first, then twice as long each time, half a minute at most,
        and ``patience`` seconds in all; then raises ``ReportNotReadyError``. Raises ``OutcomeUnknownError`` at the end
        of a register with fewer or more records than announced: fetch it again.
        """
        call = self._call("GET", f"/streaming-report/fetch/{path_segment(ticket.report_id)}", None)
        waited, pause, count = 0.0, FIRST_PAUSE, 0
        while True:
            try:
                async with aclosing(read_list(self._transport, call, RegisterLine, timeout=timeout)) as lines:
                    async for line in lines:
                        count += not isinstance(line, UnreadableLine) or line.is_record
                        yield line
                break
            except ReportNotReadyError:
                if count or waited + pause > patience:
                    raise
            await self._sleep(pause)
            waited, pause = waited + pause, min(pause * 2, LONGEST_PAUSE)
        if ticket.count is not None and count < ticket.count:
            raise call.error(OutcomeUnknownError, f"the register broke off: {count} of {ticket.count} records")
        if ticket.count is not None and count > ticket.count:
            message = f"the register has {count} records, and {ticket.count} were announced"
            raise call.error(OutcomeUnknownError, message)

    def _call(self, method: Verb, path: str, body: dict[str, Any] | None) -> Call:
        base_url = self._credentials.register_url or self._credentials.base_url
        return Call(method=method, base_url=base_url, path=path, body=body, with_endpoints_key=False)
