"""The engine and the one way to use it: a short transaction, never held across a call to anybody.

SQLite: write-ahead log, every commit on disk (``synchronous=FULL``), and one connection, so that writers queue in this
process in order instead of failing against each other. Each transaction takes the write lock at its start: what it has
read stays true until it commits. PostgreSQL: a pool; rows that a decision rests on are
locked by the queries, a payment before its operations and events, several payments in the order of their rows.

What nobody waits for goes behind what somebody waits for. A worker beside the web app has hundreds of jobs at once, and
a shopper's request would stand in line behind all of them. So the tasks of a worker, and all that these begin, are in
the background: only few of their transactions are open at once, and they share none with others (``group_commit``),
which would be as long as all of theirs.

Nothing is waited for without end (``Patience``). Errors do not quote what was to be written: it names shoppers.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from time import monotonic
from typing import Any, TypeVar

from sqlalchemy import Connection, event, make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, DisconnectionError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection
from sqlmodel.ext.asyncio.session import AsyncSession

from app.db import sqlite
from app.db.columns import json_of
from app.db.committed import TellingSession
from app.db.errors import mapped
from app.db.group_commit import GroupCommit, J, R, Write

_RESTED_SECONDS = 5
_IN_BACKGROUND = 6  # transactions at once, of the 20 that there can be
_POOLED = "pooled"  # of a connection: a pooler stands before the server
_LIKE = "postgresql://user:password@host/name or sqlite:///path"

T = TypeVar("T")

_in_background: ContextVar[bool] = ContextVar("in_background", default=False)


@dataclass(frozen=True, slots=True)
class Patience:
    """How many seconds are waited for what; all of it is well below the budget of a webhook (laws of money, 11).

    ``pool``: for a free connection. ``connect``: for a new one. ``lock``: for a row that somebody else has locked; on
    SQLite, for another process that writes. ``statement``: for the answer to one statement, its locks included.
    ``idle``: how long a transaction may do nothing, before PostgreSQL ends it and lets go of its locks. ``silence``:
    how long a server may acknowledge nothing that it is sent, before the connection is taken for dead.
    """

    pool: float = 5
    connect: float = 4
    lock: float = 5
    statement: float = 9
    idle: float = 20
    silence: float = 9


PATIENCE = Patience()


def async_url(database_url: str) -> URL:
    """Return the address with the asynchronous driver that we use. Raises ValueError, without a word of the address
    that may be a part of a password.
    """
    try:
        url = make_url(database_url)
    except (ArgumentError, ValueError):
        raise ValueError(f"is no address of a database: it must be like {_LIKE}") from None
    if url.database in {None, "", ":memory:"}:
        raise ValueError(f"names no database: it must be like {_LIKE}")
    match url.get_backend_name():
        case "sqlite":
            return url.set(drivername="sqlite+aiosqlite")
        case "postgresql" | "postgres":
            return url.set(drivername="postgresql+psycopg")
        case other:
            raise ValueError(f"{other!r} is neither sqlite nor postgresql")


def is_sqlite(database_url: str) -> bool:
    """Return True when the address names an SQLite file."""
    return async_url(database_url).get_backend_name() == "sqlite"


def create_engine(database_url: str, *, pool_size: int = 10, patience: Patience | None = PATIENCE) -> AsyncEngine:
    """Return the engine for ``database_url``; nothing is connected yet. Raises ValueError.

    ``patience`` None: for a migration, which takes as long as it takes.
    """
    url = async_url(database_url)
    if url.get_backend_name() == "sqlite":
        return create_async_engine(
            url,
            pool_size=1,
            max_overflow=0,
            pool_timeout=(patience or PATIENCE).pool,
            hide_parameters=True,
            json_serializer=json_of,
            connect_args={"timeout": (patience or PATIENCE).lock, "async_creator_fn": sqlite.connect},
        )
    engine = create_async_engine(
        url,
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_timeout=(patience or PATIENCE).pool,
        hide_parameters=True,
        json_serializer=json_of,
        connect_args=_connecting(patience or PATIENCE),
    )
    _notice_poolers(engine)
    if patience is not None:
        _limit(engine, patience)
    _ask_the_rested(engine)
    return engine


def _connecting(patience: Patience) -> dict[str, Any]:
    """Return how to connect, in libpq's words: a server that is gone without a word is noticed."""
    return {
        "connect_timeout": max(2, int(patience.connect)),  # libpq takes less for 2
        "keepalives": 1,
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 2,
        "tcp_user_timeout": int(patience.silence * 1000),
    }


def _limit(engine: AsyncEngine, patience: Patience) -> None:
    """Let the server end what takes too long: said once for each connection; behind a pooler, in each transaction.

    Not at a connection's start, which poolers refuse.
    """
    limits = {
        "lock_timeout": patience.lock,
        "statement_timeout": patience.statement,
        "idle_in_transaction_session_timeout": patience.idle,
    }

    def said(*, in_transaction: bool) -> str:
        local = str(in_transaction).lower()
        each = (f"set_config('{name}', '{int(seconds * 1000)}', {local})" for name, seconds in limits.items())
        return f"SELECT {', '.join(each)}"

    for_good, for_now = said(in_transaction=False), said(in_transaction=True)

    def connected(connection: Any, record: ConnectionPoolEntry) -> None:
        if record.info[_POOLED]:
            return
        cursor = connection.cursor()
        cursor.execute(for_good)
        cursor.close()
        connection.commit()

    def begun(connection: Connection) -> None:
        if connection.info[_POOLED]:
            connection.exec_driver_sql(for_now)

    event.listen(engine.sync_engine, "connect", connected)
    event.listen(engine.sync_engine, "begin", begun)


def _notice_poolers(engine: AsyncEngine) -> None:
    """Notice what stands before the server and gives each transaction another connection to it (PgBouncer).

    Who has answered is then not who was connected to. A statement that was prepared is unknown to the next connection,
    so none is.
    """

    def connected(connection: Any, record: ConnectionPoolEntry) -> None:
        psycopg: Any = connection.driver_connection
        cursor = connection.cursor()
        cursor.execute("SELECT pg_backend_pid()")
        (answered_by,) = cursor.fetchone()
        cursor.close()
        connection.commit()
        record.info[_POOLED] = answered_by != psycopg.info.backend_pid
        if record.info[_POOLED]:
            psycopg.prepare_threshold = None

    event.listen(engine.sync_engine, "connect", connected)


def _ask_the_rested(engine: AsyncEngine) -> None:
    """Let a connection that nobody used for a while show that it is still one, and be replaced if it is not.

    To ask each time (``pool_pre_ping``) costs as much as a statement, and the one just used is there.
    """

    def comes_back(_connection: Any, record: ConnectionPoolEntry) -> None:
        record.info["back_since"] = monotonic()

    def goes_out(connection: Any, record: ConnectionPoolEntry, _proxy: PoolProxiedConnection) -> None:
        if monotonic() - record.info.get("back_since", monotonic()) < _RESTED_SECONDS:  # or it is new
            return
        try:
            engine.sync_engine.dialect.do_ping(connection)
        except engine.sync_engine.dialect.loaded_dbapi.Error as exc:
            raise DisconnectionError from exc

    event.listen(engine.sync_engine, "checkin", comes_back)
    event.listen(engine.sync_engine, "checkout", goes_out)


def in_background() -> bool:
    """Return True in a task that was begun in the background, and in those that it has begun."""
    return _in_background.get()


def begin_in_background(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Return a task in the background."""
    context = copy_context()
    context.run(_in_background.set, True)
    return asyncio.create_task(work, context=context)


class Database:
    """The process's one engine, and transactions over it; few at once for what is done in the background."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self._group_commits: dict[Any, GroupCommit[Any, Any]] = {}
        sqlite_has_one = engine.dialect.name == "sqlite"
        self._background = asyncio.Semaphore(1 if sqlite_has_one else _IN_BACKGROUND)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncSession]:
        """Give a session whose work is committed at the end, or undone if the block raises.

        Rows stay readable after the commit. Never nest it: on SQLite the inner one would wait for the outer for ever.
        Raises DatabaseUnavailableError, and CommitUnknownError if that happens in the commit.
        """
        committing = False
        try:
            async with self._turn(), self._session() as session, session.begin():
                yield session
                await session.flush()
                committing = True
        except Exception as error:
            known = mapped(error, committing=committing)
            if known is error:
                raise
            raise known from error

    def _session(self) -> AsyncSession:
        return AsyncSession(self.engine, expire_on_commit=False, sync_session_class=TellingSession)

    def _turn(self) -> AbstractAsyncContextManager[object]:
        return self._background if in_background() else nullcontext()

    async def group_commit(self, write: Write[J, R], job: J) -> R:
        """Let ``write`` do ``job``, in one transaction with those who ask for the same at this moment.

        What is done in the background shares none with the rest.

        Return its result once it is committed; raise what went wrong with it, CommitUnknownError if nobody knows.
        """
        shared = write, in_background()
        those: GroupCommit[J, R] | None = self._group_commits.get(shared)
        if those is None:

            def transaction() -> AbstractAsyncContextManager[AsyncSession]:
                return self.transaction()  # whichever it is by then

            those = self._group_commits[shared] = GroupCommit(transaction, write)
        return await those.do(job)

    async def close(self) -> None:
        """Close all connections, once what is being written has ended."""
        for group in self._group_commits.values():
            await group.close()
        await self.engine.dispose()
