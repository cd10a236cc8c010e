"""Runs commands with services: every command but ``run`` and ``migrate`` has its own, even beside a running app.

A command never creates what the app creates at its first start (the data folder, the key file, the tables): in the
wrong folder, or with settings other than the app's, it would seal secrets with a key that the app does not have.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from sqlalchemy.exc import DBAPIError

from app.bootstrap import open_services
from app.commands.database import require_migrated
from app.commands.failure import CommandFailed
from app.commands.interruption import run_until_interrupted
from app.errors import SettingsError
from app.services import Services
from app.settings import Settings, read_settings
from app.store.accounts import AccountError
from app.store.connection_errors import describe_failure, missing_sqlite_file
from app.store.errors import CommitUnknownError, DatabaseError
from app.store.private_files import is_missing
from app.store.vault import VaultError

T = TypeVar("T")

_SAME_AS_THE_APP = "run this command with the app's settings and in its working directory"


def with_services(work: Callable[[Services], Awaitable[T]]) -> T:
    """Run ``work`` with services, configured from the environment. Raises SettingsError and CommandFailed."""
    settings = read_settings()
    require_initialized(settings)
    return run_until_interrupted(_with_services(settings, work))


def require_initialized(settings: Settings) -> None:
    """Raise SettingsError unless the database and the key file exist."""
    if (file := missing_sqlite_file(settings.database)) is not None:
        raise SettingsError(
            f"there is no database {file}: {_SAME_AS_THE_APP}; if the app is new, start it once, or run "
            "`saleor-gateway migrate`"
        )
    if is_missing(settings.key_file):
        raise SettingsError(
            f"there is no secret key file {settings.key_file.absolute()}: {_SAME_AS_THE_APP}; if the app is new, start "
            "it once, and if the file is lost, put it back from its copy"
        )


async def _with_services(settings: Settings, work: Callable[[Services], Awaitable[T]]) -> T:
    await require_migrated(settings)
    try:
        async with open_services(settings) as services:
            return await work(services)
    except AccountError as exc:
        raise CommandFailed(str(exc)) from exc
    except VaultError as exc:
        raise CommandFailed(f"{exc} ({settings.key_file.absolute()})") from exc
    except CommitUnknownError as exc:
        reason = describe_failure(settings.database, exc)
        raise CommandFailed(f"check whether it was done before you repeat it: {reason}") from exc
    except DatabaseError as exc:
        raise CommandFailed(f"nothing was changed: {describe_failure(settings.database, exc)}") from exc
    except DBAPIError as exc:
        # The original message would quote the statement with all its values.
        raise CommandFailed(
            f"nothing was changed: the database did not complete the request ({type(exc.orig).__name__})"
        ) from exc
