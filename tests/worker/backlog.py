"""A backlog of a Saleor that was away for a day, and how it drains when it is back."""

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from time import monotonic, process_time
from typing import Any

from sqlalchemy import insert, text, update
from sqlmodel import SQLModel, col, func, select

from app.core.vocabulary import EventState, Flow
from app.store.columns import table_of
from app.store.outbox import EVENTS
from app.store.tables import Installation, Payment, SaleorEvent
from integration_base_tests.waiting import eventually
from saleor_app_sdk.installation import Installation as SaleorInstallation
from saleor_app_sdk.reports import EventReport, ReportOutcome
from tests.payments.shop import Shop
from tests.statements import count_queries
from tests.worker.running_worker import run_worker

_ROWS = 1000  # of one statement
_PARTS = 5


@dataclass(frozen=True)
class Drain:
    """What was measured: how often each reference was ``heard``, how many events were ``left`` in the end.

    ``overtaken``: how many older events each of the new ones has waited for, and ``seconds_until_told`` how long.
    ``seconds`` in all, and of them ``processor_seconds`` of this process.
    """

    heard: Counter[str]
    left: int
    overtaken: list[int]
    seconds_until_told: list[float]
    seconds: float
    processor_seconds: float
    statements: int
    transactions: int


class CountingSaleor:
    """Takes the reports of a shop, and only counts them by reference: its own time is to cost little."""

    def __init__(self, shop: Shop) -> None:
        self.heard: Counter[str] = Counter()
        self.reports = 0
        self._received = shop.saleor.report_received
        shop.saleor.report = self._report  # type: ignore[method-assign] # it stands before the books

    async def _report(self, installed: SaleorInstallation, event: EventReport) -> ReportOutcome:
        assert installed.token
        self.heard[event.psp_reference] += 1
        self.reports += 1
        self._received.set()
        return ReportOutcome(already_processed=False)

    async def wait_for(self, reports: int = 0, reference: str | None = None) -> None:
        """Wait until so many reports have come, and the one of that reference."""
        while self.reports < reports or (reference is not None and reference not in self.heard):
            self._received.clear()
            await self._received.wait()


async def drain_backlog(shop: Shop, backlog: int) -> Drain:
    """Let a backlog drain, from the first report that its Saleor takes again; four new payments come meanwhile."""
    await store_events(shop, [f"old{number}" for number in range(backlog)], attempts=9)
    async with shop.services.database.transaction() as session:
        await session.exec(update(Installation).values(away_since=shop.clock.now - timedelta(days=1)))
        await (await session.connection()).execute(text("ANALYZE"))
    shop.services.installations.invalidate()
    saleor, overtaken, waited = CountingSaleor(shop), list[int](), list[float]()
    await store_events(shop, ["sign-of-life"])
    with count_queries(shop.services.database) as counted:
        started, processor_started = monotonic(), process_time()
        async with run_worker(shop) as worker:
            for part in range(1, _PARTS):
                await saleor.wait_for(reports=backlog * part // _PARTS)
                await store_events(shop, [f"new{part}"])
                before, stored_at = saleor.reports, monotonic()
                worker.wake(EVENTS)
                await saleor.wait_for(reference=f"new{part}")
                overtaken.append(saleor.reports - before)
                waited.append(monotonic() - stored_at)
            await saleor.wait_for(reports=backlog + _PARTS)
            seconds, processor_seconds = monotonic() - started, process_time() - processor_started

            async def is_recorded() -> bool:
                return await _count_waiting(shop) == 0

            await eventually(is_recorded)
    left = await _count_waiting(shop)
    return Drain(
        saleor.heard,
        left,
        overtaken,
        waited,
        seconds,
        processor_seconds,
        counted.statements,
        counted.transactions,
    )


async def _count_waiting(shop: Shop) -> int:
    async with shop.services.database.transaction() as session:
        waiting = select(func.count()).where(col(SaleorEvent.state) == EventState.WAITING)
        return (await session.exec(waiting)).one()


async def store_events(shop: Shop, names: list[str], *, attempts: int = 0) -> None:
    """Store a payment for each name, with an event that Saleor has not heard of; after attempts it pauses."""
    now = shop.clock.now
    payment = Payment(
        installation_id=shop.account.installation_id, account_id=shop.account.id, transaction_id="", order_id="",
        flow=Flow.CHARGE, amount=Decimal("1.00"), currency="UAH", channel="uah", source_id="", created_at=now,
        updated_at=now,
    )  # fmt: skip
    event = SaleorEvent(
        payment_id=0, installation_id=shop.account.installation_id, type="CHARGE_SUCCESS", psp_reference="",
        amount=Decimal("1.00"), attempts=attempts, created_at=now,
        next_attempt_at=now + timedelta(minutes=30) if attempts else now,
    )  # fmt: skip
    async with shop.services.database.transaction() as session:
        for start in range(0, len(names), _ROWS):
            some = names[start : start + _ROWS]
            payments = [_like(payment, transaction_id=name, order_id=name, source_id=name) for name in some]
            await session.exec(insert(table_of(Payment)), params=payments)
            ids: Any = select(Payment.order_id, Payment.id).where(col(Payment.order_id).in_(some))
            events = [_like(event, payment_id=row, psp_reference=name) for name, row in await session.exec(ids)]
            await session.exec(insert(table_of(SaleorEvent)), params=events)


def _like(row: SQLModel, **different: Any) -> dict[str, Any]:
    return row.model_dump(exclude={"id"}) | different
