"""The answers that tests of reports are given, and reports read to their end."""

from collections.abc import Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import TypeVar

from gateway_client.client import GatewayClient
from gateway_client.models.reports import (
    RegisterLine,
    RegisterTicket,
    TransactionLine,
    UnreadableLine,
)
from gateway_client_tests.conftest import POS_ID

START = datetime(2026, 11, 1, tzinfo=UTC)
END = datetime(2026, 11, 21, tzinfo=UTC)
LINE = {
    "projectId": POS_ID,
    "orderId": "order1",
    "paymentId": "p-1",
    "amount": "100.10",
    "currency": "UAH",
    "method": "purchase",
    "status": "success",
    "dateTime": 1795255200123,
    "authCode": "",
    "payload": "one\u2028line\x85still",
    "customerFee": "0.00",
    "merchantFee": "1.5",
}
NOT_READY = {"message": "Report is not ready", "code": "report_not_ready"}
L = TypeVar("L", bound=TransactionLine)
TICKET = RegisterTicket(report_id="r/1", count=2)


async def period(client: GatewayClient) -> list[TransactionLine]:
    return readable(await all_of_period(client))


async def register(client: GatewayClient, ticket: RegisterTicket = TICKET, patience: float = 100) -> list[RegisterLine]:
    return readable(await all_of_register(client, ticket, patience))


async def all_of_period(client: GatewayClient) -> list[TransactionLine | UnreadableLine]:
    async with aclosing(client.reports.period(START, END, timeout=30)) as found:
        return [line async for line in found]


async def all_of_register(
    client: GatewayClient, ticket: RegisterTicket = TICKET, patience: float = 100
) -> list[RegisterLine | UnreadableLine]:
    async with aclosing(client.reports.fetch(ticket, patience=patience, timeout=30)) as found:
        return [line async for line in found]


def readable(found: Sequence[L | UnreadableLine]) -> list[L]:
    assert not [line for line in found if isinstance(line, UnreadableLine)]
    return [line for line in found if not isinstance(line, UnreadableLine)]
