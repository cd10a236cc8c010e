"""Reads the gateway's books of a period completely: the register, or the by-period list if there is no register.

Any failure is raised, and none of the lines are used: a refused request, an interrupted download, more or fewer lines
than announced, data that cannot be unpacked.
"""

from contextlib import aclosing
from datetime import datetime

from app.flows.reconciliation.entries import METHODS, book_line
from app.flows.reconciliation.progress import Progress
from app.flows.reconciliation.spool import Spool
from app.store.tables import Source
from gateway_client.client import GatewayClient
from gateway_client.errors import NotTheGatewayError, RateLimitedError, RefusedError
from gateway_client.models import Status
from gateway_client.models.reports import (
    RegisterColumn,
    RegisterRequest,
    RegisterTicket,
    TransactionLine,
    UnreadableLine,
)

_READ_TIMEOUT = 60.0  # seconds between two chunks of a download
_STATUSES = (Status.SUCCESS, Status.PENDING, Status.FAILURE)  # an unpaid payment page is not in our books
_DETAILS = (
    RegisterColumn.ORDER_ID,
    RegisterColumn.PAYMENT_ID,
    RegisterColumn.METHOD,
    RegisterColumn.STATUS,
    RegisterColumn.DATE_TIME,
    RegisterColumn.AMOUNT,
    RegisterColumn.ORIGINAL_AMOUNT,
    RegisterColumn.CUSTOMER_FEE,
    RegisterColumn.CURRENCY,
    RegisterColumn.RECEIVER_NAME,
    RegisterColumn.RECEIVER_AMOUNT,
    RegisterColumn.MERCHANT_FEE,
    RegisterColumn.RECEIVER_FEE,
)


async def start_register(client: GatewayClient, start: datetime, end: datetime) -> RegisterTicket | None:
    """Request a register; None when the gateway does not provide one for this account. Raises GatewayError."""
    request = RegisterRequest(
        start_date=start, end_date=end, statuses=_STATUSES, methods=METHODS, transaction_details=_DETAILS
    )
    try:
        return await client.reports.start(request, timeout=_READ_TIMEOUT)
    except RateLimitedError:
        raise
    except (RefusedError, NotTheGatewayError):
        return None


async def read_register(
    client: GatewayClient, ticket: RegisterTicket, spool: Spool, progress: Progress, *, patience: float = 0
) -> Source:
    """Read a register that is ready, or will be within ``patience`` seconds.

    Raises GatewayError (ReportNotReadyError).
    """
    progress.start_reading(ticket.count)
    async with aclosing(client.reports.fetch(ticket, patience=patience, timeout=_READ_TIMEOUT)) as lines:
        async for line in lines:
            await _add(spool, line, progress)
    await spool.close()
    return Source.REGISTER


async def read_orders(
    client: GatewayClient, start: datetime, end: datetime, spool: Spool, progress: Progress
) -> Source:
    """Read the by-period list. Raises GatewayError."""
    progress.start_reading(None)
    async with aclosing(client.reports.period(start, end, timeout=_READ_TIMEOUT)) as lines:
        async for line in lines:
            if isinstance(line, UnreadableLine) or line.status is not Status.INIT:
                await _add(spool, line, progress)
    await spool.close()
    return Source.ORDERS


async def _add(spool: Spool, report_line: TransactionLine | UnreadableLine, progress: Progress) -> None:
    progress.count_line()
    line = book_line(report_line)
    if line is not None and line.is_compared:
        await spool.add(line)
    elif line is None and (isinstance(report_line, UnreadableLine) or _has_moved_money(report_line)):
        spool.without_order_id += 1


def _has_moved_money(line: TransactionLine) -> bool:
    return line.status is Status.SUCCESS and line.method in METHODS
