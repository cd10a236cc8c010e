"""Staff look-ups: the gateway's records of an order, an operation, a subscription or a period (gateway interface, 8).

Records of our payments are posted through the one mapper. Records of others are only shown: the gateway has orders of a
point of sale that this app has never created.
"""

from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from app.flows.look_up import client_of
from app.flows.on_demand import look_up_now, post_records
from app.flows.reconciliation.compare import find_differences
from app.flows.reconciliation.entries import BookLine, book_line, entries_of
from app.flows.reconciliation.orders import LookUps
from app.i18n.messages import LazyMessage
from app.rules.refusal import RefusalCode, RefusalError
from app.services import Services
from app.store.aggregates import ByOrder
from app.store.reconciliations import payments_of_orders
from app.store.tables import MerchantAccount
from gateway_client.client import GatewayClient
from gateway_client.models import Method, Records, Status
from gateway_client.models.reports import TransactionLine, UnreadableLine, split_period

_READ_TIMEOUT = 60.0  # seconds between two pieces of a period's list
_LONGEST_NAME = 256  # gateway interface, Payment record: order_id
_BATCH_SIZE = 200  # lines whose orders are compared together

SubscriptionMethod: TypeAlias = Literal[Method.PURCHASE, Method.REFUND]


@dataclass(frozen=True, slots=True)
class FoundRecords:
    """The gateway's records, and the orders of our payments to which they were posted."""

    records: Records
    posted: tuple[str, ...]


async def look_up_order(services: Services, account: MerchantAccount, order_id: str) -> FoundRecords:
    """Look up all records of an order. Raises GatewayError and RefusalError."""
    client, order_id = client_of(services, account), _valid_name(order_id)
    ours = await services.payments.find(ByOrder(order_id, installation_id=account.installation_id))
    posted: tuple[str, ...] = ()
    if ours is not None and ours.payment.account_id == account.id:
        error = await look_up_now(services, order_id)
        if error is not None:
            raise error
        posted = (order_id,)
    return FoundRecords(await client.get_order(order_id, timeout=_timeout(services)), posted)


async def look_up_operation(
    services: Services, account: MerchantAccount, order_id: str, method: Method
) -> FoundRecords:
    """Look up the records of one method of an order. Raises GatewayError and RefusalError."""
    client = client_of(services, account)
    records = await client.get_operation(_valid_name(order_id), method, timeout=_timeout(services))
    return FoundRecords(records, await post_records(services, account, records))


async def look_up_subscription(
    services: Services, account: MerchantAccount, recurring_id: str, method: SubscriptionMethod, status: Status
) -> FoundRecords:
    """Look up a subscription's records of one method and status. Raises GatewayError and RefusalError."""
    subscriptions = client_of(services, account).subscriptions
    records = await subscriptions.transactions(
        _valid_name(recurring_id), method=method, status=status, timeout=_timeout(services)
    )
    return FoundRecords(records, await post_records(services, account, records))


@dataclass(slots=True)
class PeriodProgress:
    """A period's progress: ``lines`` in all, of which ``unreadable``; ``posted`` are the orders that were looked up."""

    start: datetime | None = None
    lines: int = 0
    unreadable: int = 0
    posted: list[str] = field(default_factory=list)


async def look_up_period(
    services: Services, account: MerchantAccount, start: datetime, end: datetime, progress: PeriodProgress
) -> AsyncGenerator[TransactionLine, None]:
    """Yield the lines of a period as they arrive; few are in memory. Raises GatewayError and GatewayUnavailableError.

    A line names no operation, so it is not posted itself: an order of ours whose lines differ from our records is
    looked up. The interface does not state how long a period may be: it is requested like a register, 31 days at once.
    """
    client = client_of(services, account)
    look_ups = LookUps(services)
    for first, last in split_period(start, end):
        progress.start = first
        batch: list[TransactionLine] = []
        async with aclosing(_read_lines(client, first, last, progress)) as lines:
            async for line in lines:
                yield line
                batch.append(line)
                if len(batch) >= _BATCH_SIZE:
                    await _post_differing(services, account, batch, look_ups, progress)
                    batch = []
        await _post_differing(services, account, batch, look_ups, progress)


async def _read_lines(
    client: GatewayClient, start: datetime, end: datetime, progress: PeriodProgress
) -> AsyncGenerator[TransactionLine, None]:
    async with aclosing(client.reports.period(start, end, timeout=_READ_TIMEOUT)) as lines:
        async for line in lines:
            progress.lines += 1
            if isinstance(line, UnreadableLine):
                progress.unreadable += 1
            else:
                yield line


async def _post_differing(
    services: Services,
    account: MerchantAccount,
    lines: Sequence[TransactionLine],
    look_ups: LookUps,
    progress: PeriodProgress,
) -> None:
    by_order: dict[str, list[BookLine]] = defaultdict(list)
    for line in lines:
        if line.status is not Status.INIT and (book := book_line(line)) is not None:
            by_order[book.order_id].append(book)
    async with services.database.transaction() as session:
        payments = await payments_of_orders(session, list(by_order)) if by_order else {}
    for order_id, payment in payments.items():
        if payment.payment.account_id != account.id or order_id in progress.posted:
            continue
        if find_differences(payment, entries_of(by_order[order_id])) and await look_ups.post(order_id):
            progress.posted.append(order_id)


def _timeout(services: Services) -> float:
    return services.schedule.budget.total_seconds()


def _valid_name(text: str) -> str:
    """Return the text as a name that the gateway can have given. Raises RefusalError when it cannot be one."""
    name = text.strip()
    if not name or len(name) > _LONGEST_NAME or not name.isprintable() or name in {".", ".."}:
        raise RefusalError(RefusalCode.INVALID_DATA, LazyMessage("This is not a valid gateway ID."))
    return name
