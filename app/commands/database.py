"""``migrate``, and the check of the database's revision before anything else uses it.

Errors about an unusable database are messages of our own, without any part of a password.
"""

from alembic.util import CommandError
from sqlalchemy.exc import DBAPIError

from app.commands.interruption import run_until_interrupted
from app.commands.terminal import print_line
from app.errors import SettingsError
from app.settings import PREFIX, Settings, read_settings
from app.store.connection_errors import UnusableDatabaseError, describe_connection_error, missing_sqlite_file
from app.store.database import is_sqlite
from app.store.migrate import Fit, MigrationResult, current_revision, fit_of, migrate, newest_revision
from app.store.private_files import is_missing
from app.store.sealed_values import find_sealing_key


def migrate_database() -> None:
    """Migrate the database to the newest schema."""
    settings = read_settings()
    if is_sqlite(settings.database):
        settings.make_data_folder()
    done = run_until_interrupted(bring_up_to_date(settings), then="run it again, which does what is left")
    if not done.steps:
        position = f"The database is at revision {done.after}"
        if fit_of(done.after) is Fit.AHEAD:
            print_line(f"{position}, which is newer than this version of the app but works with it: nothing to do.")
        else:
            print_line(f"{position}, the newest: nothing to do.")
        return
    before = f"was at revision {done.before}" if done.before else "was empty"
    migrations = "1 migration" if done.steps == 1 else f"{done.steps} migrations"
    print_line(f"The database {before} and is now at {done.after}: {migrations}.")


async def bring_up_to_date(settings: Settings) -> MigrationResult:
    """Migrate the database, and return the result.

    Raises SettingsError when the database cannot be used, or belongs to a newer version of the app.
    """
    try:
        return await migrate(settings.database)
    except CommandError as exc:
        raise _incompatible_version_error() from exc
    except (UnusableDatabaseError, DBAPIError) as exc:
        raise _unusable_error(settings, exc) from exc


async def require_migrated(settings: Settings, *, to_write: bool = False) -> None:
    """Raise SettingsError unless the database responds and is at a revision that this version of the app supports.

    ``to_write``: nor if it accepts no changes, in which much can still be looked up.
    """
    try:
        revision = await current_revision(settings.database, to_write=to_write)
    except (UnusableDatabaseError, DBAPIError) as exc:
        raise _unusable_error(settings, exc) from exc
    fit = fit_of(revision)
    if fit is Fit.FOREIGN:
        raise _incompatible_version_error()
    if not fit.works:
        raise SettingsError(
            f"{PREFIX}DATABASE_URL: the database is at revision {revision or 'none'}, not {newest_revision()}: "
            "run `saleor-gateway migrate`"
        )


async def require_known_key(settings: Settings) -> None:
    """Raise SettingsError when the first start would create a key file although another key has encrypted data.

    Nothing could be read with the new key, and whatever is stored from then on would not fit the rest.
    """
    if not is_missing(settings.key_file) or missing_sqlite_file(settings.database) is not None:
        return
    try:
        key = await find_sealing_key(settings.database)
    except DBAPIError as exc:
        raise _unusable_error(settings, exc) from exc
    if key is not None:
        raise SettingsError(
            f"there is no secret key file {settings.key_file.absolute()}, and the database holds what the key {key} "
            f"has encrypted: put the file back from its copy, or set {PREFIX}SECRET_KEY_FILE or {PREFIX}DATA_DIR to "
            "where it is"
        )


def _incompatible_version_error() -> SettingsError:
    return SettingsError(
        f"{PREFIX}DATABASE_URL: the database belongs to another version of the app (this one does not support its "
        "revision): run the newer version, or restore the backup"
    )


def _unusable_error(settings: Settings, exc: UnusableDatabaseError | DBAPIError) -> SettingsError:
    return SettingsError(f"{PREFIX}DATABASE_URL: {describe_connection_error(settings.database, exc)}")
