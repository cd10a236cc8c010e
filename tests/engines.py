"""Engines that outlive the app: what they have compiled is known to the next one, as it is in an app that runs on."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from sqlalchemy.engine import URL
from sqlalchemy.ext.asyncio import AsyncEngine

from app import bootstrap
from app.db.database import Database, async_url, create_engine


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
def lasting_engines() -> Iterator[Engines]:
    """Let every app that is opened in this process take its engine here, and give it back when it ends."""
    engines = Engines()

    class Lasting(Database):
        async def close(self) -> None:
            await super().close()
            engines.give_back(self.engine)

    with patch.object(bootstrap, "create_engine", engines.take), patch.object(bootstrap, "Database", Lasting):
        yield engines
