"""``migrate``, and the database's state before anything else is done with it.

Why it cannot be used is said in our words, without any part of a password.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence

from alembic.util import CommandError
from sqlalchemy import make_url
from sqlalchemy.exc import DBAPIError

from app.commands.terminal import say
from app.db.database import is_sqlite
from app.db.migrate import Migrated, current_revision, migrate, newest_revision
from app.errors import SettingsError
from app.settings import PREFIX, Settings, read_settings

# Libpq has no codes for what goes wrong before a connection is there: its words, and what they mean.
_POSTGRESQL: Sequence[tuple[str, str]] = (
    (
        "resolve host|translate host name",
        "there is no such host: in a password, write @ as %40, / as %2F, : as %3A and % as %25",
    ),
    ("Connection refused|No such file or directory", "nothing listens at {place}: is the server running?"),
    ("timeout|timed out|No route to host|unreachable", "nobody answers at {place}"),
    ('database ".*" does not exist', "the server at {place} has no database {name!r}: create it, or correct the name"),
    (
        'password authentication failed|no password supplied|role ".*" does not exist',
        "the server at {place} does not take this user with this password",
    ),
    ("no pg_hba.conf entry", "the server at {place} lets nobody in from this machine as this user"),
    ("too many clients|connection slots", "the server at {place} has no connection left"),
    ("invalid (dsn|connection option)", "it has a parameter that PostgreSQL does not know"),
)
_SQLITE: Mapping[str, str] = {
    "SQLITE_CANTOPEN": "the file {name} cannot be opened: is its folder there, and may this user write in it?",
    "SQLITE_NOTADB": "the file {name} is no SQLite database",
    "SQLITE_READONLY": "this user may not write to {name}",
    "SQLITE_PERM": "this user may not open {name}",
    "SQLITE_BUSY": "another process is writing to {name}: try again",
}


def migrate_database() -> None:
    """Bring the database to the newest shape."""
    settings = read_settings()
    if is_sqlite(settings.database):
        settings.make_data_folder()
    done = asyncio.run(bring_up_to_date(settings))
    if not done.steps:
        say(f"The database stands at revision {done.after} already: nothing to do.")
        return
    before = f"stood at revision {done.before}" if done.before else "was empty"
    migrations = "1 migration" if done.steps == 1 else f"{done.steps} migrations"
    say(f"The database {before}, and stands at {done.after} now: {migrations}.")


async def bring_up_to_date(settings: Settings) -> Migrated:
    """Migrate the database, and return what was done.

    Raises SettingsError when it cannot be used, or belongs to a newer program.
    """
    try:
        return await migrate(settings.database)
    except CommandError as exc:
        raise SettingsError(
            f"{PREFIX}DATABASE_URL: the database is of another version of the app (its revision is not known here)"
        ) from exc
    except DBAPIError as exc:
        raise _not_usable(settings, exc) from exc


async def require_newest(settings: Settings) -> None:
    """Raise SettingsError unless the database answers and stands at the migration that this program knows."""
    try:
        revision = await current_revision(settings.database)
    except DBAPIError as exc:
        raise _not_usable(settings, exc) from exc
    if revision != newest_revision():
        raise SettingsError(
            f"{PREFIX}DATABASE_URL: the database stands at {revision or 'nothing'}, not at {newest_revision()}: "
            "run `saleor-gateway migrate`"
        )


def _not_usable(settings: Settings, exc: DBAPIError) -> SettingsError:
    return SettingsError(f"{PREFIX}DATABASE_URL: {_why_not(settings.database, exc)}")


def _why_not(database_url: str, error: DBAPIError) -> str:
    """Return in one sentence why the database at this address cannot be used, and what to do."""
    url = make_url(database_url)
    place = f"{url.host or 'this machine'}:{url.port or 5432}"
    sentence = _SQLITE.get(getattr(error.orig, "sqlite_errorname", "")) or next(
        (sentence for words, sentence in _POSTGRESQL if re.search(words, str(error.orig))), None
    )
    if sentence is None:
        return f"the database does not answer ({type(error.orig).__name__})"
    return sentence.format(place=place, name=url.database)
