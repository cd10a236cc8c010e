"""What there is in the database, for Prometheus: how much waits, and since when. Asked for when somebody looks.

Every query reads an index of what is open, and at most so many rows of it: it costs the same with a thousand payments
and with millions. All processes of a database show the same, so dashboards take the maximum.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import Any

import structlog
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from sqlalchemy import func, literal, union_all
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.db.aggregates import ATTEMPTS, POLLS
from app.db.database import Database, begin_in_background
from app.db.inbox import NOTIFICATIONS
from app.db.job_queue import JobQueue
from app.db.outbox import EVENTS
from app.db.placed_orders import ORDERS
from app.db.presence import CHECKS
from app.db.problems import count_open
from app.db.reconciliations import RECONCILIATIONS
from app.db.reported_problems import PROBLEMS
from app.db.retention import RETENTION
from app.db.summed_days import DAYS
from app.db.tables import Notification, Operation, ProblemKind, SaleorEvent, State

log = structlog.get_logger(__name__)

QUEUES = (NOTIFICATIONS, ATTEMPTS, POLLS, EVENTS, PROBLEMS, ORDERS, CHECKS, RECONCILIATIONS, DAYS, RETENTION)
_MOST_ROWS = 10_000  # of each kind; a gauge that stands there says enough
_FRESH_SECONDS = 10.0  # however often somebody looks
_PATIENCE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Waiting:
    """So many rows wait, the oldest since then."""

    count: int
    since: datetime | None


@dataclass(frozen=True, slots=True)
class Standing:
    """What there is: open operations by state, what is due by queue, untold events, notifications, problems by kind."""

    operations: dict[State, Waiting]
    due: dict[str, Waiting]
    events: Waiting
    notifications: Waiting
    problems: dict[ProblemKind, int]
    now: datetime


async def read_standing(session: AsyncSession, now: datetime) -> Standing:
    """Return what there is now: five queries, each of an index."""
    return Standing(
        await _open_operations(session),
        await _due(session, QUEUES, now),
        await _oldest(session, col(SaleorEvent.created_at), col(SaleorEvent.next_attempt_at)),
        await _oldest(session, col(Notification.received_at), col(Notification.next_attempt_at)),
        await count_open(session),
        now,
    )


async def _open_operations(session: AsyncSession) -> dict[State, Waiting]:
    """An operation that is open is looked at again at a time, or is a problem that staff see (laws of money, 13)."""
    open_ = (
        select(col(Operation.state).label("state"), col(Operation.created_at).label("since"))
        .where(col(Operation.next_poll_at).is_not(None))
        .limit(_MOST_ROWS)
        .subquery()
    )
    query: Any = select(open_.c.state, func.count(), func.min(open_.c.since)).group_by(open_.c.state)
    found = {State(state): Waiting(count, since) for state, count, since in (await session.exec(query)).all()}
    return {state: found.get(state, Waiting(0, None)) for state in State if not state.final}


async def _due(session: AsyncSession, queues: Sequence[JobQueue], now: datetime) -> dict[str, Waiting]:
    each = []
    for queue in queues:
        due = (
            select(queue.due.label("due"))
            .where(queue.due.is_not(None), queue.due <= now)
            .order_by(queue.due)
            .limit(_MOST_ROWS)
            .subquery()
        )
        each.append(select(literal(queue.name), func.count(), func.min(due.c.due)))
    found: Any = (await session.exec(union_all(*each))).all()  # type: ignore[call-overload] # SQLModel's knows one select
    return {name: Waiting(count, since) for name, count, since in found}


async def _oldest(session: AsyncSession, since: Any, due: Any) -> Waiting:
    rows = select(since.label("since")).where(due.is_not(None)).limit(_MOST_ROWS).subquery()
    query: Any = select(func.count(), func.min(rows.c.since))
    count, oldest = (await session.exec(query)).one()
    return Waiting(count, oldest)


class Gauges:
    """The gauges of one database, read at most every ten seconds, and by one reader for all who look."""

    def __init__(self, database: Database, now: Callable[[], datetime]) -> None:
        self._database = database
        self._now = now
        self._read_at = -_FRESH_SECONDS
        self._reading = asyncio.Lock()
        self._standing: Standing | None = None

    async def read(self) -> list[Metric]:
        """Return the gauges. Without a database there is but the one that says so."""
        async with self._reading:
            if monotonic() - self._read_at >= _FRESH_SECONDS:
                self._standing = await self._ask()
                self._read_at = monotonic()
        return list(_metrics(self._standing))

    async def _ask(self) -> Standing | None:
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                return await begin_in_background(self._ask_database())
        except Exception as error:  # noqa: BLE001 - whatever it is, whoever looks must see it and the rest
            log.warning("gauges not read", error=type(error).__name__)
            return None

    async def _ask_database(self) -> Standing:
        async with self._database.transaction() as session:
            return await read_standing(session, self._now())


def _metrics(standing: Standing | None) -> Iterable[Metric]:
    yield GaugeMetricFamily(
        "saleor_gateway_database_up", "Whether the database has answered", value=standing is not None
    )
    if standing is None:
        return

    def age(waiting: Waiting) -> float:
        return 0.0 if waiting.since is None else max(0.0, (standing.now - waiting.since).total_seconds())

    operations = GaugeMetricFamily(
        "saleor_gateway_operations_open", "Open operations that are looked at again, by state", labels=["state"]
    )
    for state, waiting in standing.operations.items():
        operations.add_metric([state.value], waiting.count)
    yield operations
    yield GaugeMetricFamily(
        "saleor_gateway_oldest_unknown_operation_seconds",
        "Age of the oldest operation whose outcome nobody knows",
        value=age(standing.operations[State.UNKNOWN]),
    )
    due = GaugeMetricFamily("saleor_gateway_queue_due", "Jobs that are due, at most 10000", labels=["queue"])
    lag = GaugeMetricFamily(
        "saleor_gateway_queue_lag_seconds", "How long the job that has waited longest has been due", labels=["queue"]
    )
    for name, waiting in standing.due.items():
        due.add_metric([name], waiting.count)
        lag.add_metric([name], age(waiting))
    yield from (due, lag)
    yield GaugeMetricFamily(
        "saleor_gateway_events_untold", "Events that Saleor does not have yet, at most 10000",
        value=standing.events.count,
    )  # fmt: skip
    yield GaugeMetricFamily(
        "saleor_gateway_oldest_untold_event_seconds",
        "Age of the oldest event that Saleor does not have yet",
        value=age(standing.events),
    )
    yield GaugeMetricFamily(
        "saleor_gateway_oldest_unprocessed_notification_seconds",
        "Age of the oldest notification of the gateway that is not posted yet",
        value=age(standing.notifications),
    )
    problems = GaugeMetricFamily(
        "saleor_gateway_problems_open", "Problems of payments that nobody has looked at, by kind", labels=["kind"]
    )
    for kind in ProblemKind:
        problems.add_metric([kind.value.replace(" ", "_")], standing.problems.get(kind, 0))
    yield problems
