"""``alive``: whether a worker of this machine works. It is asked twice in a minute, so it opens next to nothing."""

import asyncio
from datetime import UTC, datetime

from sqlalchemy.exc import DBAPIError

from app.commands.failure import CommandFailed
from app.commands.terminal import say
from app.db.connection_errors import missing_file
from app.db.database import Database, create_engine
from app.db.errors import DatabaseError
from app.db.processes import SILENT_AFTER, this_host, works_here
from app.settings import Settings, read_settings


def alive() -> None:
    """Say whether a worker of this machine works: for a container's health check.

    The exit status is 1 if none was seen for a minute.
    """
    if not asyncio.run(_worker_was_seen(read_settings())):
        raise CommandFailed(
            f"no worker on {this_host()} was seen in the last {SILENT_AFTER.total_seconds():.0f} seconds: see its log"
        )
    say(f"A worker on {this_host()} works.")


async def _worker_was_seen(settings: Settings) -> bool:
    if missing_file(settings.database) is not None:
        raise CommandFailed("there is no database yet: start the worker first")
    database = Database(create_engine(settings.database, pool_size=1))
    try:
        async with database.transaction() as session:
            return await works_here(session, this_host(), datetime.now(UTC))
    except (DatabaseError, DBAPIError) as exc:
        raise CommandFailed("the database does not answer, or was not migrated: saleor-gateway migrate") from exc
    finally:
        await database.close()
