"""The real app, watched at its borders, which ends the process at the armed point.

The points (``crash_points``) are where a database session commits, where a request leaves and its answer arrives, and
where the app answers. The app itself is unaware of them.
"""

import os
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from sqlalchemy import Insert, Update, event
from sqlalchemy.orm import ORMExecuteState, Session
from sqlmodel.ext.asyncio.session import AsyncSession
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.bootstrap import create_http_client
from app.commands.serve import serve
from app.core.fact import AttemptFact, Fact
from app.core.payment import Payment, PaymentAggregate
from app.core.vocabulary import EventState, State
from app.main import create_app
from app.settings import read_settings
from app.store import aggregates
from app.store.inbox import Inbox
from app.store.payment_rows import EVENTS, OPERATIONS, StoredPayment, write
from app.store.repository import PaymentRepository
from app.store.tables import Notification
from app.worker import loop
from tests.journeys.crash_points import CrashPoint, CrashTrigger

FATE = "MORTAL_APP_FATE"  # the file in which a point is armed

_GATEWAY_NOTIFIES = "/api/webhooks/gateway/"
_SALEOR_ASKS = "/api/webhooks/"

# What the task at hand is doing: each request of somebody else's, and each job of the worker, is a task of its own.
_asked_by_somebody: ContextVar[bool] = ContextVar("asked_by_somebody", default=False)
_looked_up: ContextVar[bool] = ContextVar("looked_up", default=False)
_called: ContextVar[bool] = ContextVar("called", default=False)


class WatchedConnections(httpx2.AsyncClient):
    """The connections to one system; every request is sent through ``send``."""

    def __init__(self, connections: httpx2.AsyncClient, fate: CrashTrigger) -> None:
        super().__init__(trust_env=False)
        self._connections = connections
        self._fate = fate

    async def send(self, request: httpx2.Request, **how: Any) -> httpx2.Response:
        """Send, and pass the points around it."""
        report = b"transactionEventReport" in request.content
        call = request.method != "GET" and request.url.path.startswith("/api/")
        if report:
            self._fate.reach(CrashPoint.EVENT_CLAIMED)
        if call:
            self._fate.reach(CrashPoint.CALL_NOT_BEGUN)
        response = await self._connections.send(request, **how)
        if call:
            self._fate.reach(CrashPoint.ANSWER_NOT_READ)
            _called.set(True)
        if request.method == "GET" and "/orders/" in request.url.path:
            _looked_up.set(True)
        return response

    async def aclose(self) -> None:
        """Close the watched connections as well."""
        await self._connections.aclose()
        await super().aclose()


class WatchedWebhooks:
    """ASGI middleware in front of the app that sees each response."""

    def __init__(self, app: ASGIApp, fate: CrashTrigger) -> None:
        self._app = app
        self._fate = fate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve, and pass the points around the response."""
        path = scope.get("path", "")
        if scope["type"] != "http" or not path.startswith(_SALEOR_ASKS):
            await self._app(scope, receive, send)
            return
        _asked_by_somebody.set(True)
        gateway = path.startswith(_GATEWAY_NOTIFIES)

        async def watched(message: Message) -> None:
            begins = message["type"] == "http.response.start"
            if begins:
                self._fate.reach(CrashPoint.NOTIFICATION_NOT_ANSWERED if gateway else CrashPoint.SALEOR_NOT_ANSWERED)
            await send(message)
            if not gateway:
                self._fate.reach(CrashPoint.ANSWER_CUT_OFF if begins else CrashPoint.SALEOR_ANSWERED)

        await self._app(scope, receive, watched)


_news_of: dict[Payment, CrashPoint | None] = {}
"""Which reports of the gateway a payment's step has posted that is not written yet."""


def watch_commits(fate: CrashTrigger) -> None:
    """Pass the points before and after each commit, which is identified by the rows it writes."""

    async def written(session: AsyncSession, payments: Sequence[StoredPayment]) -> None:
        before: set[CrashPoint] = session.info.setdefault("before", set())
        before.update(point for stored in payments for point in _points_of(stored))
        await write(session, payments)

    aggregates.write = written  # type: ignore[attr-defined]  # as it was imported there

    @event.listens_for(Session, "do_orm_execute")
    def executed(state: ORMExecuteState) -> None:
        statement = state.statement
        if isinstance(statement, Insert) and getattr(statement.table, "name", "") == Notification.__tablename__:
            state.session.info.setdefault("before", set()).add(CrashPoint.NOTIFICATION_NOT_KEPT)
        rows = state.parameters if isinstance(statement, Update) and isinstance(state.parameters, list) else []
        if any(row.get("processed_at") is not None for row in rows):
            state.session.info.setdefault("before", set()).add(CrashPoint.NOTIFICATION_NOT_POSTED)
            state.session.info.setdefault("after", set()).add(CrashPoint.NOTIFICATION_POSTED)

    read = Inbox._read

    async def claimed(inbox: Inbox, session: AsyncSession, many: Any) -> Any:
        if not _asked_by_somebody.get():
            fate.reach(CrashPoint.NOTIFICATION_CLAIMED)
        return await read(inbox, session, many)

    Inbox._read = claimed  # type: ignore[assignment,method-assign]

    @event.listens_for(Session, "before_commit")
    def about_to_commit(session: Session) -> None:
        session.flush()
        for point in session.info.pop("before", ()):
            fate.reach(point)

    @event.listens_for(Session, "after_commit")
    def committed(session: Session) -> None:
        for point in session.info.pop("after", ()):
            fate.reach(point)


def watch_steps() -> None:
    """Record the origin of each fact: facts of the same moment are written by one task for all."""
    original = PaymentRepository._record

    async def watched(self: PaymentRepository, change: Any) -> Any:
        change.fact = _NotedFact(change.fact, _of_news())
        return await original(self, change)

    PaymentRepository._record = watched  # type: ignore[method-assign]


@dataclass(frozen=True)
class _NotedFact(AttemptFact[Any]):
    """A fact, and the point that its origin passes, if it is news of the gateway."""

    fact: Fact[Any] | AttemptFact[Any]
    news: CrashPoint | None

    def decide(self, aggregate: PaymentAggregate, attempts: Sequence[PaymentAggregate]) -> Any:
        """Note it, and decide as the fact does."""
        _news_of[aggregate.payment] = self.news
        if isinstance(self.fact, AttemptFact):
            return self.fact.decide(aggregate, attempts)
        return self.fact.decide(aggregate)


def _points_of(stored: StoredPayment) -> Iterator[CrashPoint]:
    """Return the points that the commit of what has changed of a payment passes."""
    reported = _news_of.pop(stored.payment, None) if stored.payment in _news_of else _of_news()
    for operation in stored.operations:
        saved = stored.saved.get(operation)
        if saved == OPERATIONS.values_of(operation):
            continue
        before = None if saved is None else saved[OPERATIONS.places["state"]]
        if operation.state is State.INTENT and before in {None, State.WAITING}:
            yield CrashPoint.INTENT_NOT_COMMITTED
        elif reported is not None:
            yield reported
    for event_ in stored.events:
        saved = stored.saved.get(event_)
        if saved is not None and saved != EVENTS.values_of(event_) and event_.state is EventState.DELIVERED:
            yield CrashPoint.DELIVERY_NOT_NOTED


def _of_news() -> CrashPoint | None:
    """Return which reports of the gateway the current task is about to commit."""
    if _called.get():
        return CrashPoint.OUTCOME_NOT_COMMITTED
    if _looked_up.get():
        return CrashPoint.LOOK_UP_NOT_POSTED
    return None if _asked_by_somebody.get() else CrashPoint.NOTIFICATION_NOT_POSTED


def main() -> None:
    """Serve the app of this process's environment until it dies at the armed point."""
    fate = CrashTrigger(Path(os.environ[FATE]))
    watch_commits(fate)
    watch_steps()
    loop._TICK_SECONDS = 0.1  # else most of a story's time is the worker's rest
    settings = read_settings()
    app = create_app(settings, connections=lambda guard: WatchedConnections(create_http_client(guard), fate))
    serve(
        settings,
        WatchedWebhooks(app, fate),
    )
