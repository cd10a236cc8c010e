"""``alive``: whether a worker of this machine works. It runs each minute, so it opens as little as possible."""

import asyncio
from datetime import UTC, datetime

from sqlalchemy.exc import DBAPIError

from app.commands.database import require_migrated
from app.commands.failure import CommandFailed
from app.commands.terminal import print_line
from app.errors import SettingsError
from app.settings import Settings, read_settings
from app.store.connection_errors import describe_connection_error, describe_failure, missing_sqlite_file
from app.store.database import Database, create_engine
from app.store.errors import DatabaseError
from app.store.processes import SILENT_AFTER, has_worker_on, this_host


def alive() -> None:
    """Check that a worker on this machine is running, for a container's health check.

    The exit status is 1 if none was seen for a minute.
    """
    if not asyncio.run(_has_live_worker(read_settings())):
        raise CommandFailed(
            f"no worker on {this_host()} was seen in the last {SILENT_AFTER.total_seconds():.0f} seconds: check its log"
        )
    print_line(f"A worker on {this_host()} is running.")


async def _has_live_worker(settings: Settings) -> bool:
    if missing_sqlite_file(settings.database) is not None:
        raise CommandFailed("there is no database yet: start the worker first")
    database = Database(create_engine(settings.database, pool_size=1))
    try:
        async with database.transaction() as session:
            return await has_worker_on(session, this_host(), datetime.now(UTC))
    except (DatabaseError, DBAPIError) as exc:
        raise CommandFailed(await _describe_failure(settings, exc)) from exc
    finally:
        await database.close()


async def _describe_failure(settings: Settings, error: DatabaseError | DBAPIError) -> str:
    """Return why the worker was not found. It opens the database again, which a worker that is well never needs."""
    try:
        await require_migrated(settings)
    except SettingsError as exc:  # not with its status of 2: for a health check that is no answer
        return str(exc)
    if isinstance(error, DatabaseError):
        return describe_failure(settings.database, error)
    return describe_connection_error(settings.database, error)
