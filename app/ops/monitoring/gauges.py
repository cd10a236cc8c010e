"""Gauges of the database for Prometheus: sizes and ages of backlogs, read on request.

Every query reads an index of open rows, up to a limit: it costs the same with a thousand payments and with millions.
All processes of a database report the same values, so dashboards take the maximum.
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

from app.core.alerts import PROBLEM_KINDS, AlertKind
from app.core.vocabulary import State
from app.reports.alerts.turned_away import count_closed_channels
from app.store.aggregates import ATTEMPTS, ORDERS, POLLS
from app.store.attention import count_failed_comparisons, count_open_problems
from app.store.database import Database, begin_in_background
from app.store.inbox import NOTIFICATIONS
from app.store.job_queue import JobQueue
from app.store.outbox import EVENTS
from app.store.presence import CHECKS
from app.store.problems import PROBLEMS
from app.store.reconciliations import RECONCILIATIONS
from app.store.retention import RETENTION
from app.store.summed_days import DAYS
from app.store.tables import Notification, Operation, SaleorEvent
from app.store.write_probe import probe_write

log = structlog.get_logger(__name__)

QUEUES = (NOTIFICATIONS, ATTEMPTS, POLLS, EVENTS, PROBLEMS, ORDERS, CHECKS, RECONCILIATIONS, DAYS, RETENTION)
_MAX_ROWS = 10_000  # of each kind; a gauge at this limit is informative enough
_CACHE_SECONDS = 10.0  # however often the gauges are requested
_TIMEOUT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Waiting:
    """The number of waiting rows, and since when the oldest waits."""

    count: int
    since: datetime | None


@dataclass(frozen=True, slots=True)
class Backlog:
    """Open operations by state, due jobs by queue, pending events, unprocessed notifications, and problems by kind.

    ``failed_comparisons``: accounts of which a comparison failed. ``closed_channels``: channels in which
    shoppers are turned away and none gets through.
    """

    operations: dict[State, Waiting]
    due: dict[str, Waiting]
    events: Waiting
    notifications: Waiting
    problems: dict[AlertKind, int]
    failed_comparisons: int
    closed_channels: int
    now: datetime


async def read_backlog(session: AsyncSession, now: datetime) -> Backlog:
    """Read the backlog with seven queries, each on an index, and two for each store that refuses shoppers."""
    return Backlog(
        await _open_operations(session),
        await _due(session, QUEUES, now),
        await _oldest(session, col(SaleorEvent.created_at), col(SaleorEvent.next_attempt_at)),
        await _oldest(session, col(Notification.received_at), col(Notification.next_attempt_at)),
        await count_open_problems(session),
        await count_failed_comparisons(session),
        await count_closed_channels(session, now),
        now,
    )


async def _open_operations(session: AsyncSession) -> dict[State, Waiting]:
    """Return open operations with a next poll; any other open one is a problem that staff see (laws of money, 13)."""
    open_ = (
        select(col(Operation.state).label("state"), col(Operation.created_at).label("since"))
        .where(col(Operation.next_poll_at).is_not(None))
        .limit(_MAX_ROWS)
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
            .limit(_MAX_ROWS)
            .subquery()
        )
        each.append(select(literal(queue.name), func.count(), func.min(due.c.due)))
    found: Any = (await session.exec(union_all(*each))).all()  # type: ignore[call-overload] # SQLModel's knows one select
    return {name: Waiting(count, since) for name, count, since in found}


async def _oldest(session: AsyncSession, since: Any, due: Any) -> Waiting:
    rows = select(since.label("since")).where(due.is_not(None)).limit(_MAX_ROWS).subquery()
    query: Any = select(func.count(), func.min(rows.c.since))
    count, oldest = (await session.exec(query)).one()
    return Waiting(count, oldest)


class Gauges:
    """The gauges of one database, read at most every ten seconds, by one reader for all requests."""

    def __init__(self, database: Database, now: Callable[[], datetime]) -> None:
        self._database = database
        self._now = now
        self._read_at = -_CACHE_SECONDS
        self._lock = asyncio.Lock()
        self._backlog: Backlog | None = None

    async def read(self) -> list[Metric]:
        """Return the gauges. If the database is unavailable, return only the one that states it."""
        async with self._lock:
            if monotonic() - self._read_at >= _CACHE_SECONDS:
                self._backlog = await self._read_with_timeout()
                self._read_at = monotonic()
        return list(_metrics(self._backlog))

    async def _read_with_timeout(self) -> Backlog | None:
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                return await begin_in_background(self._read_database())
        except Exception as error:  # noqa: BLE001 - any error must show in the gauges, and leave other metrics readable
            if not getattr(error, "is_logged", False):
                log.warning("gauges.not_read", error=type(error).__name__)
            return None

    async def _read_database(self) -> Backlog:
        async with self._database.transaction() as session:
            await probe_write(session)
            return await read_backlog(session, self._now())


def _metrics(backlog: Backlog | None) -> Iterable[Metric]:
    yield GaugeMetricFamily(
        "saleor_gateway_database_up", "Whether the database answers and accepts changes", value=backlog is not None
    )
    if backlog is None:
        return

    def age(waiting: Waiting) -> float:
        return 0.0 if waiting.since is None else max(0.0, (backlog.now - waiting.since).total_seconds())

    operations = GaugeMetricFamily(
        "saleor_gateway_operations_open", "Open operations that are looked at again, by state", labels=["state"]
    )
    for state, waiting in backlog.operations.items():
        operations.add_metric([state.value], waiting.count)
    yield operations
    yield GaugeMetricFamily(
        "saleor_gateway_oldest_unknown_operation_seconds",
        "Age of the oldest operation whose outcome nobody knows",
        value=age(backlog.operations[State.UNKNOWN]),
    )
    due = GaugeMetricFamily("saleor_gateway_queue_due", "Jobs that are due, at most 10000", labels=["queue"])
    lag = GaugeMetricFamily(
        "saleor_gateway_queue_lag_seconds", "How long the job that has waited longest has been due", labels=["queue"]
    )
    for name, waiting in backlog.due.items():
        due.add_metric([name], waiting.count)
        lag.add_metric([name], age(waiting))
    yield from (due, lag)
    yield GaugeMetricFamily(
        "saleor_gateway_events_untold", "Events that Saleor does not have yet, at most 10000",
        value=backlog.events.count,
    )  # fmt: skip
    yield GaugeMetricFamily(
        "saleor_gateway_oldest_untold_event_seconds",
        "Age of the oldest event that Saleor does not have yet",
        value=age(backlog.events),
    )
    yield GaugeMetricFamily(
        "saleor_gateway_oldest_unprocessed_notification_seconds",
        "Age of the oldest notification of the gateway that is not posted yet",
        value=age(backlog.notifications),
    )
    problems = GaugeMetricFamily(
        "saleor_gateway_problems_open", "Problems of payments that nobody has looked at, by kind", labels=["kind"]
    )
    for kind in PROBLEM_KINDS:
        problems.add_metric([kind.value.replace(" ", "_")], backlog.problems.get(kind, 0))
    yield problems
    yield GaugeMetricFamily(
        "saleor_gateway_comparisons_failed",
        "Merchant accounts of which a comparison with the gateway's records has failed",
        value=backlog.failed_comparisons,
    )
    yield GaugeMetricFamily(
        "saleor_gateway_channels_turning_away",
        "Channels in which shoppers are turned away and none gets through, of at most 100 stores",
        value=backlog.closed_channels,
    )
