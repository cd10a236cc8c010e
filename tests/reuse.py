"""What outlives the app in tests: engines, which know what they have compiled, and connections to the shared database.

An app that runs on has both for hours; tests open thousands of apps, each for a moment.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import psycopg
from psycopg.pq import TransactionStatus
from sqlalchemy import make_url
from sqlalchemy.engine import URL
from sqlalchemy.ext.asyncio import AsyncEngine

from app import bootstrap
from app.store.database import Database, async_url, create_engine

_MOST_CONNECTIONS = 6


class Engines:
    """Engines that nobody uses at the moment. What they remember are statements, never rows."""

    def __init__(self) -> None:
        self._idle: defaultdict[URL, list[AsyncEngine]] = defaultdict(list)

    def take(self, database_url: str) -> AsyncEngine:
        """Return an engine for that address; nothing is connected yet."""
        idle = self._idle[async_url(database_url)]
        return idle.pop() if idle else create_engine(database_url)

    def give_back(self, engine: AsyncEngine) -> None:
        """Leave an engine to the next one. All its connections are closed."""
        self._idle[engine.url].append(engine)


@contextmanager
def reuse_engines() -> Iterator[Engines]:
    """Let every app that is opened in this process take its engine here, and give it back when it ends."""
    engines = Engines()

    class Lasting(Database):
        async def close(self) -> None:
            await super().close()
            engines.give_back(self.engine)

    with patch.object(bootstrap, "create_engine", engines.take), patch.object(bootstrap, "Database", Lasting):
        yield engines


class Connections:
    """Connections to one PostgreSQL database that nobody uses at the moment.

    A new one is a new process of the server, which has to find out about every table: ten times the work of a test's
    usual transaction.
    """

    def __init__(self) -> None:
        self._database: str | None = None
        self._idle: list[psycopg.AsyncConnection[Any]] = []

    def reuse_connections_to(self, database_url: str) -> None:
        """Say which database it is. Tests may restart the servers of others, and count who is connected there."""
        self._database = make_url(database_url).database

    def keep(self, connection: psycopg.AsyncConnection[Any]) -> bool:
        """Keep a connection that is to be closed, unless it is in use or there are enough."""
        if connection.closed or connection.info.dbname != self._database or len(self._idle) >= _MOST_CONNECTIONS:
            return False
        if connection.info.transaction_status is not TransactionStatus.IDLE:
            return False
        self._idle.append(connection)
        return True

    async def take_reset(self, database: object) -> psycopg.AsyncConnection[Any] | None:
        """Return a connection as it is just after it was made; None: there is none to that database."""
        while self._idle and database == self._database:
            connection = self._idle.pop()
            try:
                await connection.execute("RESET ALL")
                await connection.commit()
            except psycopg.Error:  # its server process was ended
                connection.pgconn.finish()
                continue
            except asyncio.CancelledError:  # whoever wanted it has given up, and nobody else knows of it
                connection.pgconn.finish()
                raise
            connection.prepare_threshold = 5
            return connection
        return None

    def close(self) -> None:
        for async_connection in self._idle:
            async_connection.pgconn.finish()


@contextmanager
def reuse_connections() -> Iterator[Connections]:
    """Let whoever closes such a connection in this process leave it to the next one."""
    connections = Connections()

    class Lasting(psycopg.AsyncConnection[Any]):
        async def close(self) -> None:
            if not connections.keep(self):
                await super().close()

    connect = Lasting.connect

    async def taken(conninfo: str = "", **parameters: Any) -> psycopg.AsyncConnection[Any]:
        return await connections.take_reset(parameters.get("dbname")) or await connect(conninfo, **parameters)

    with patch.object(psycopg.AsyncConnection, "connect", taken):
        yield connections
    connections.close()
