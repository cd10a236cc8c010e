"""The engine and the one way to use it: a short transaction, never held across a call to another service.

SQLite: write-ahead log, every commit on disk (``synchronous=FULL``), and one connection, so that writers queue in this
process in order instead of conflicting with each other. Each transaction takes the write lock at its start: what it
has read stays true until it commits. PostgreSQL: a pool; rows that a decision rests on are locked by the queries, a
payment before its operations and events, several payments in the order of their rows.

Requests take precedence over background jobs. A worker in the web app's process has hundreds of jobs at once, and a
shopper's request would queue behind all of them. So the tasks of a worker, and all that they start, run in the
background: only a few of their transactions are open at once, and they share none with requests (``group_commit``),
whose transactions would otherwise take as long as all of those jobs.

Every wait has a timeout (``Timeouts``). Errors do not quote the values to be written: these name shoppers.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from time import monotonic
from typing import Any, TypeVar
from urllib.parse import unquote

from sqlalchemy import Connection, event, make_url
from sqlalchemy.engine import URL, ExceptionContext
from sqlalchemy.exc import ArgumentError, DisconnectionError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection
from sqlmodel.ext.asyncio.session import AsyncSession

from app.store import sqlite
from app.store.address_parameters import EXAMPLES, check_parameters, connect_timeout
from app.store.columns import serialize_json
from app.store.committed import ClaimsOnWrite, LocalWorker, ReportingSession
from app.store.errors import READ_ONLY_STATE, DatabaseUnavailableError, map_error
from app.store.group_commit import GroupCommit, J, R, Write
from app.store.multiple_hosts import move_hosts_to_parameters, move_ports_to_parameter
from app.store.outage import Outage

_IDLE_SECONDS = 5
_MAX_FAILED_JOBS = 10_000  # rows whose failures are counted: those that failed last
_MAX_BACKGROUND_TRANSACTIONS = 6  # of the 20 transactions that can be open at once
_POOLED = "pooled"  # in a connection's info: it goes through a pooler

T = TypeVar("T")

_in_background: ContextVar[bool] = ContextVar("in_background", default=False)


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Timeouts in seconds; all of them are well below the time budget of a webhook (laws of money, 11).

    ``pool``: for a free connection. ``connect``: for a new one. ``lock``: for a row that another transaction has
    locked; on SQLite, for another process that is writing. ``statement``: for one statement, its locks included.
    ``idle``: how long a transaction may be idle before PostgreSQL ends it and releases its locks. ``silence``: how long
    a server may leave sent data unacknowledged before the connection is considered dead.
    """

    pool: float = 5
    connect: float = 4
    lock: float = 5
    statement: float = 9
    idle: float = 20
    silence: float = 9


TIMEOUTS = Timeouts()


def async_url(database_url: str) -> URL:
    """Return the address with the asynchronous driver that we use. Raises ValueError, which quotes no part of the
    address that may be part of a password.
    """
    try:
        url = make_url(move_hosts_to_parameters(database_url))
    except (ArgumentError, ValueError):
        raise ValueError(f"is not a database address: write it like {EXAMPLES}") from None
    if url.database in {None, "", ":memory:"}:
        raise ValueError(f"names no database: write it like {EXAMPLES}")
    match url.get_backend_name().lower():
        case "sqlite" if url.query:
            raise ValueError(
                "has parameters, which a file of SQLite does not take here: end it before the question mark"
            )
        case "sqlite":
            return url.set(drivername="sqlite+aiosqlite")
        case "postgresql" | "postgres":
            # PostgreSQL's own form of an address has the folder of a socket in the place of the host, escaped.
            url = url.set(drivername="postgresql+psycopg", host=url.host and unquote(url.host))
            url = move_ports_to_parameter(url)
            check_parameters(url)
            return url
        case other:
            raise ValueError(f"{other!r} is neither sqlite nor postgresql")


def is_sqlite(database_url: str) -> bool:
    """Return True when the address is an SQLite file."""
    return async_url(database_url).get_backend_name() == "sqlite"


def create_engine(database_url: str, *, pool_size: int = 10, timeouts: Timeouts | None = TIMEOUTS) -> AsyncEngine:
    """Return the engine for ``database_url``; nothing is connected yet. Raises ValueError.

    ``timeouts`` None: for a migration, whose duration is not limited.
    """
    url = async_url(database_url)
    if url.get_backend_name() == "sqlite":
        return create_async_engine(
            url,
            pool_size=1,
            max_overflow=0,
            pool_timeout=(timeouts or TIMEOUTS).pool,
            hide_parameters=True,
            json_serializer=serialize_json,
            connect_args={"timeout": (timeouts or TIMEOUTS).lock, "async_creator_fn": sqlite.connect},
        )
    engine = create_async_engine(
        url,
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_timeout=(timeouts or TIMEOUTS).pool,
        hide_parameters=True,
        json_serializer=serialize_json,
        connect_args=_connect_args(url, timeouts or TIMEOUTS),
        isolation_level="READ COMMITTED",  # what row locks are written for, whatever the server's default is
    )
    _detect_poolers(engine)
    _set_session_parameters(engine, timeouts)
    _ping_idle_connections(engine)
    _leave_standby(engine)
    return engine


def _connect_args(url: URL, timeouts: Timeouts) -> dict[str, Any]:
    """Return libpq's connection parameters: with keepalives, which detect a server that has vanished silently."""
    return {
        # From the start: a SQL_ASCII database would answer SQLAlchemy's first query in bytes. Poolers know this one.
        "client_encoding": "UTF8",
        "connect_timeout": connect_timeout(url, timeouts.connect),
        "keepalives": 1,
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 2,
        "tcp_user_timeout": int(timeouts.silence * 1000),
    }


# A commit is on disk before anything follows from it; whether on that of a standby, too, its administrator decides.
_DURABLE = "coalesce(nullif(current_setting('synchronous_commit'), 'off'), 'local')"


def _set_session_parameters(engine: AsyncEngine, timeouts: Timeouts | None) -> None:
    """Set what we rely on, and let the server end what takes too long.

    Administrators give a user, a database, or all of a server, other forms of dates or texts, and limits: a migration
    has none, however long it takes, so it sets that. Set once for each connection;
    behind a pooler, in each transaction; not as startup parameters, most of which poolers reject.
    """
    parameters = {
        "DateStyle": "ISO, YMD",
        "TimeZone": "UTC",
        "IntervalStyle": "postgres",
        "bytea_output": "hex",
        "extra_float_digits": "1",
        "client_encoding": "UTF8",
        "standard_conforming_strings": "on",
    }
    limits = {
        "lock_timeout": timeouts.lock if timeouts else 0,
        "statement_timeout": timeouts.statement if timeouts else 0,
        "idle_in_transaction_session_timeout": timeouts.idle if timeouts else 0,
    }
    parameters |= {name: str(int(seconds * 1000)) for name, seconds in limits.items()}

    def parameters_sql(*, in_transaction: bool) -> str:
        local = str(in_transaction).lower()
        values = {name: f"'{value}'" for name, value in parameters.items()} | {"synchronous_commit": _DURABLE}
        calls = (f"set_config('{name}', {value}, {local})" for name, value in values.items())
        return f"SELECT {', '.join(calls)}"

    for_session = parameters_sql(in_transaction=False)
    for_transaction = parameters_sql(in_transaction=True)

    def on_connect(connection: Any, record: ConnectionPoolEntry) -> None:
        if record.info[_POOLED]:
            return
        cursor = connection.cursor()
        cursor.execute(for_session)
        cursor.close()
        connection.commit()

    def on_begin(connection: Connection) -> None:
        if connection.info[_POOLED]:
            connection.exec_driver_sql(for_transaction)

    event.listen(engine.sync_engine, "connect", on_connect)
    event.listen(engine.sync_engine, "begin", on_begin)


def _detect_poolers(engine: AsyncEngine) -> None:
    """Detect a pooler in front of the server, which may give each transaction another connection to it (PgBouncer).

    The backend that answers is then not the one that was connected to. The next connection would not know a prepared
    statement, so none are prepared.
    """

    def on_connect(connection: Any, record: ConnectionPoolEntry) -> None:
        psycopg: Any = connection.driver_connection
        cursor = connection.cursor()
        cursor.execute("SELECT pg_backend_pid()")
        (backend_pid,) = cursor.fetchone()
        cursor.close()
        connection.commit()
        record.info[_POOLED] = backend_pid != psycopg.info.backend_pid
        if record.info[_POOLED]:
            psycopg.prepare_threshold = None

    event.listen(engine.sync_engine, "connect", on_connect)


def _ping_idle_connections(engine: AsyncEngine) -> None:
    """Ping a connection that has been idle for a while, and replace it if it is dead.

    A ping each time (``pool_pre_ping``) costs as much as a statement, and a connection that was just used is alive.
    """

    def on_checkin(_connection: Any, record: ConnectionPoolEntry) -> None:
        record.info["back_since"] = monotonic()

    def on_checkout(connection: Any, record: ConnectionPoolEntry, _proxy: PoolProxiedConnection) -> None:
        if monotonic() - record.info.get("back_since", monotonic()) < _IDLE_SECONDS:  # or it is new
            return
        try:
            engine.sync_engine.dialect.do_ping(connection)
        except engine.sync_engine.dialect.loaded_dbapi.Error as exc:
            raise DisconnectionError from exc

    event.listen(engine.sync_engine, "checkin", on_checkin)
    event.listen(engine.sync_engine, "checkout", on_checkout)


def _leave_standby(engine: AsyncEngine) -> None:
    """Replace all connections when the server accepts no changes.

    A primary that has become a standby may keep its connections. The address leads to the new primary already, but only
    new connections go there.
    """

    def on_error(context: ExceptionContext) -> None:
        if getattr(context.original_exception, "sqlstate", None) == READ_ONLY_STATE:
            context.is_disconnect = True

    event.listen(engine.sync_engine, "handle_error", on_error)


def in_background() -> bool:
    """Return True in a task that was started in the background, and in the tasks that it started."""
    return _in_background.get()


def begin_in_background(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Start and return a task in the background."""
    context = copy_context()
    context.run(_in_background.set, True)
    return asyncio.create_task(work, context=context)


class FailedJobs:
    """How often this process has seen the job of a row fail in succession, of the rows that failed last."""

    def __init__(self) -> None:
        self._failures: dict[tuple[str, int], int] = {}

    def count(self, queue: str, row_id: int) -> int:
        """Count a failure and return how many there were."""
        failures = self._failures.pop((queue, row_id), 0) + 1
        self._failures[queue, row_id] = failures  # the latest is the last
        if len(self._failures) > _MAX_FAILED_JOBS:
            del self._failures[next(iter(self._failures))]
        return failures

    def clear(self, queue: str, row_id: int) -> None:
        """Forget the failures of a job that has succeeded."""
        self._failures.pop((queue, row_id), None)


class Database:
    """The process's one engine, and transactions over it; only a few at once in the background."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self.failed_jobs = FailedJobs()
        self._workers: list[LocalWorker] = []
        self._outage = Outage()
        self._group_commits: dict[Any, GroupCommit[Any, Any]] = {}
        self._open_transactions = 0
        self._none_open = asyncio.Event()
        sqlite_has_one = engine.dialect.name == "sqlite"
        self._background = asyncio.Semaphore(1 if sqlite_has_one else _MAX_BACKGROUND_TRANSACTIONS)

    @contextmanager
    def worked_by(self, worker: LocalWorker) -> Iterator[None]:
        """Let the transactions in this block claim what they write for ``worker``."""
        self._workers.append(worker)
        try:
            yield
        finally:
            self._workers.remove(worker)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncSession]:
        """Yield a session that is committed at the end, or rolled back if the block raises.

        Rows stay readable after the commit. Never nest it: on SQLite the inner one would wait for the outer for ever.
        Raises DatabaseUnavailableError, and CommitUnknownError if that happens in the commit.
        """
        committing = committed = False
        claims = ClaimsOnWrite(self._workers[-1] if self._workers else None)
        self._open_transactions += 1
        try:
            async with self._background_slot(), self._session() as session, session.begin():
                claims.attach(session)
                yield session
                await session.flush()
                committing = True
            committed = True
        except Exception as error:
            known = map_error(error, committing=committing)
            if known is error:
                raise
            known.__cause__ = error
            if isinstance(known, DatabaseUnavailableError):
                self._outage.record_failure(known)
            raise known from error
        finally:
            claims.end(committed=committed)
            self._open_transactions -= 1
            if not self._open_transactions:
                self._none_open.set()
        self._outage.record_success()

    def _session(self) -> AsyncSession:
        return AsyncSession(self.engine, expire_on_commit=False, sync_session_class=ReportingSession)

    def _background_slot(self) -> AbstractAsyncContextManager[object]:
        return self._background if in_background() else nullcontext()

    async def group_commit(self, write: Write[J, R], job: J) -> R:
        """Let ``write`` do ``job``, in one transaction with the other jobs for ``write`` that arrive at this moment.

        Background jobs share no transaction with the rest.

        Return the job's result once it is committed. Raises the job's error, and CommitUnknownError if the outcome of
        the commit is unknown.
        """
        shared = write, in_background()
        group: GroupCommit[J, R] | None = self._group_commits.get(shared)
        if group is None:

            def transaction() -> AbstractAsyncContextManager[AsyncSession]:
                return self.transaction()  # looked up when it is called

            group = self._group_commits[shared] = GroupCommit(transaction, write)
        return await group.do(job)

    async def close(self) -> None:
        """Close all connections once the running transactions have ended.

        A pool that is closed earlier never closes the connections that come back to it afterwards.
        """
        for commit in self._group_commits.values():
            await commit.close()
        self._none_open.clear()
        if self._open_transactions:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._none_open.wait(), TIMEOUTS.statement)
        await self.engine.dispose()
