"""Staff ask the gateway what it has of an order, an operation, a subscription or a period (gateway interface, 8).

What is found of payments of ours becomes what we know, through the one mapper. Of others it is only shown: the gateway
has orders of a point of sale that this app has never made.
"""

from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from app.db.aggregates import ByOrder
from app.db.reconciliations import payments_of_orders
from app.db.tables import MerchantAccount
from app.gateway.client import GatewayClient
from app.gateway.models import Method, Records, Status
from app.gateway.models.reports import TransactionLine, UnreadableLine, periods
from app.i18n.messages import LazyMessage
from app.payments.core.refusal import RefusalCode, RefusalError
from app.payments.operations.look_up import opened
from app.payments.reconciliation.compare import differences
from app.payments.reconciliation.entries import BookLine, book_line, entries_of
from app.payments.reconciliation.orders import LookUps
from app.payments.services import Services
from app.payments.sync.on_demand import ask_now, post_records

_SILENCE = 60.0  # seconds between two pieces of a period's list
_LONGEST_NAME = 256  # gateway interface, Payment record: order_id
_AT_ONCE = 200  # lines whose orders are compared together

SubscriptionMethod: TypeAlias = Literal[Method.PURCHASE, Method.REFUND]


@dataclass(frozen=True, slots=True)
class Found:
    """What the gateway has, and the orders of our payments to which it was posted."""

    records: Records
    posted: tuple[str, ...]


async def look_up_order(services: Services, account: MerchantAccount, order_id: str) -> Found:
    """Look all of an order up. Raises GatewayError and RefusalError."""
    client, order_id = opened(services, account), _name_of(order_id)
    ours = await services.payments.find(ByOrder(order_id, installation_id=account.installation_id))
    posted: tuple[str, ...] = ()
    if ours is not None and ours.payment.account_id == account.id:
        error = await ask_now(services, order_id)
        if error is not None:
            raise error
        posted = (order_id,)
    return Found(await client.order(order_id, timeout=_seconds(services)), posted)


async def look_up_operation(services: Services, account: MerchantAccount, order_id: str, method: Method) -> Found:
    """Look up what an order has of one kind. Raises GatewayError and RefusalError."""
    client = opened(services, account)
    records = await client.operation(_name_of(order_id), method, timeout=_seconds(services))
    return Found(records, await post_records(services, account, records))


async def look_up_subscription(
    services: Services, account: MerchantAccount, recurring_id: str, method: SubscriptionMethod, status: Status
) -> Found:
    """Look up what a subscription has of one kind that ended so. Raises GatewayError and RefusalError."""
    subscriptions = opened(services, account).subscriptions
    records = await subscriptions.transactions(
        _name_of(recurring_id), method=method, status=status, timeout=_seconds(services)
    )
    return Found(records, await post_records(services, account, records))


@dataclass(slots=True)
class PeriodProgress:
    """How far a period is: ``lines`` in all, of which ``unreadable``; ``posted`` are orders that were looked up."""

    start: datetime | None = None
    lines: int = 0
    unreadable: int = 0
    posted: list[str] = field(default_factory=list)


async def look_up_period(
    services: Services, account: MerchantAccount, start: datetime, end: datetime, progress: PeriodProgress
) -> AsyncGenerator[TransactionLine, None]:
    """Give the lines of a period while they come; few are in memory. Raises GatewayError and GatewayAwayError.

    A line names no operation, so it is not posted itself: an order of ours whose lines say otherwise than we do is
    looked up. The interface does not say how long a period may be: it is asked for as a register is, 31 days at once.
    """
    client = opened(services, account)
    look_ups = LookUps(services)
    for first, last in periods(start, end):
        progress.start = first
        waiting: list[TransactionLine] = []
        async with aclosing(_read(client, first, last, progress)) as lines:
            async for line in lines:
                yield line
                waiting.append(line)
                if len(waiting) >= _AT_ONCE:
                    await _post_differing(services, account, waiting, look_ups, progress)
                    waiting = []
        await _post_differing(services, account, waiting, look_ups, progress)


async def _read(
    client: GatewayClient, start: datetime, end: datetime, progress: PeriodProgress
) -> AsyncGenerator[TransactionLine, None]:
    async with aclosing(client.reports.period(start, end, timeout=_SILENCE)) as lines:
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
        if differences(payment, entries_of(by_order[order_id])) and await look_ups.post(order_id):
            progress.posted.append(order_id)


def _seconds(services: Services) -> float:
    return services.schedule.budget.total_seconds()


def _name_of(text: str) -> str:
    """Return a name that the gateway can have given. Raises RefusalError."""
    name = text.strip()
    if not name or len(name) > _LONGEST_NAME or not name.isprintable() or name in {".", ".."}:
        raise RefusalError(RefusalCode.INVALID_DATA, LazyMessage("This is no name that the gateway gives."))
    return name
