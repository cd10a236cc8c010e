"""``migrate``, and the database's state before anything else is done with it.

Why it cannot be used is said in our words, without any part of a password.
"""

import asyncio

from alembic.util import CommandError
from sqlalchemy.exc import DBAPIError

from app.commands.terminal import say
from app.db.connection_errors import why_unusable
from app.db.database import is_sqlite
from app.db.migrate import Fit, Migrated, current_revision, fit_of, migrate, newest_revision
from app.errors import SettingsError
from app.settings import PREFIX, Settings, read_settings


def migrate_database() -> None:
    """Bring the database to the newest shape."""
    settings = read_settings()
    if is_sqlite(settings.database):
        settings.make_data_folder()
    done = asyncio.run(bring_up_to_date(settings))
    if not done.steps:
        stands = f"The database stands at revision {done.after}"
        if fit_of(done.after) is Fit.AHEAD:
            say(f"{stands}, which is newer than this version of the app and works with it: nothing to do.")
        else:
            say(f"{stands} already: nothing to do.")
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
        raise _of_another_version() from exc
    except DBAPIError as exc:
        raise _not_usable(settings, exc) from exc


async def require_migrated(settings: Settings) -> None:
    """Raise SettingsError unless the database answers and stands at a migration that this program works with."""
    try:
        revision = await current_revision(settings.database)
    except DBAPIError as exc:
        raise _not_usable(settings, exc) from exc
    fit = fit_of(revision)
    if fit is Fit.FOREIGN:
        raise _of_another_version()
    if not fit.works:
        raise SettingsError(
            f"{PREFIX}DATABASE_URL: the database stands at {revision or 'nothing'}, not at {newest_revision()}: "
            "run `saleor-gateway migrate`"
        )


def _of_another_version() -> SettingsError:
    return SettingsError(
        f"{PREFIX}DATABASE_URL: the database is of another version of the app (this one does not work with its "
        "revision): run the newer version, or put the backup back"
    )


def _not_usable(settings: Settings, exc: DBAPIError) -> SettingsError:
    return SettingsError(f"{PREFIX}DATABASE_URL: {why_unusable(settings.database, exc)}")
