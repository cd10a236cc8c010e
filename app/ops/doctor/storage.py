"""Checks the app's own storage: the secret key file and the database."""

import os
import shlex
import shutil
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from stat import S_IMODE

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from app.i18n.messages import LazyMessage
from app.ops.doctor.deployment import Deployment
from app.ops.doctor.findings import Finding, Subject, error, fine, warning
from app.store.connection_errors import (
    UnusableDatabaseError,
    describe_connection_error,
    describe_missing_right,
    is_away,
    missing_sqlite_file,
    sqlite_file,
)
from app.store.database import is_sqlite
from app.store.durability import waits_for_the_disk
from app.store.migrate import Fit, current_revision, fit_of, newest_revision
from app.store.vault import Vault, VaultError, read_keys

_GROUP_AND_OTHERS = 0o077
_GROUP_READS = 0o040
_CREDENTIAL = 0o440
_ROOT = 0

_MB = 1_000_000
_ENOUGH_BYTES, _TOO_FEW_BYTES = 200 * _MB, 20 * _MB

_NO_KEYS = LazyMessage(
    "Put the key file back from its copy, or set APP_SECRET_KEY_FILE to it. Do not create a new one: nothing "
    "that is encrypted in the database could be read again."
)
_NO_KEY_FILE = LazyMessage(
    "If the app has run before, put the key file back from its copy, or set APP_SECRET_KEY_FILE to it: nothing that is "
    "encrypted in the database could be read with a new one. Otherwise start the app once, which creates it unless "
    "APP_SECRET_KEY_FILE is set."
)
_NO_DATABASE = LazyMessage(
    "If the app has run before, put the database back from its backup, or correct APP_DATABASE_URL: a new one would "
    "know of no payment. Otherwise start the app once. Run this command with the app's settings and working directory."
)
_SET_UP = LazyMessage("Set the database up as the detail says, or correct APP_DATABASE_URL.")
_NOT_DURABLE = LazyMessage("The database does not wait for its disk: its server is set to “fsync = off”.")
_WAIT_FOR_DISK = LazyMessage(
    "Set “fsync = on”: a server that loses power forgets payments, or cannot be started again. If it is your "
    "provider’s, ask whether it keeps what is committed in another way."
)
_DATABASE = LazyMessage("Start the database, or correct APP_DATABASE_URL.")


async def check_key_file(
    deployment: Deployment, *, user: int | None = None, groups: Collection[int] | None = None
) -> Sequence[Finding]:
    """Check that the secret key file exists, is usable, and is accessible to the app's user alone.

    ``user`` and ``groups`` are the ids of the user that this process runs as; None: read from the system.
    """
    file, user = deployment.key_file, os.geteuid() if user is None else user
    groups = {os.getegid(), *os.getgroups()} if groups is None else groups
    path = str(file.absolute())
    try:
        Vault(read_keys(file))
        file_stat = file.stat()
    except FileNotFoundError:
        return [error(Subject.KEY_FILE, LazyMessage("There is no secret key file."), _NO_KEY_FILE, detail=path)]
    except PermissionError:
        what = LazyMessage("The user %(user)s may not read the secret key file.", user=str(user))
        remedy = LazyMessage(
            "%(give)s If it is not the app's user, run the command as that one.", give=_give_to(user, path)
        )
        return [error(Subject.KEY_FILE, what, remedy, detail=path)]
    except (OSError, VaultError) as exc:
        return [error(Subject.KEY_FILE, LazyMessage("The secret key file cannot be used."), _NO_KEYS, detail=f"{exc}")]
    mode = S_IMODE(file_stat.st_mode)
    if mode & _GROUP_AND_OTHERS and not (user != _ROOT and _is_lent_by_root(file_stat, groups)):
        what = LazyMessage(
            "The secret key file is not restricted to its owner: its mode is %(mode)s.", mode=f"{mode:04o}"
        )
        # Another owner's file is read by the bits that chmod 600 would take away.
        is_own = user in {file_stat.st_uid, _ROOT}
        restrict = LazyMessage("Let only the app's user read it: “chmod 600 %(file)s”.", file=shlex.quote(path))
        remedy = restrict if is_own else _give_to(user, path)
        return [warning(Subject.KEY_FILE, what, remedy, detail=path)]
    if file_stat.st_uid not in {user, _ROOT} and user != _ROOT:
        what = LazyMessage("The secret key file belongs to another user, who can replace it.")
        return [warning(Subject.KEY_FILE, what, _give_to(user, path), detail=path)]
    return [fine(Subject.KEY_FILE, LazyMessage("The secret key file is there, and only the app's user can use it."))]


def _give_to(user: int, path: str) -> LazyMessage:
    return LazyMessage(
        "As root, give it to the app's user, “chown %(user)s %(file)s”, and let only that user read it: "
        "“chmod 400 %(file)s”.",
        user=str(user),
        file=shlex.quote(path),
    )


def _is_lent_by_root(file_stat: os.stat_result, groups: Collection[int]) -> bool:
    """Return True for a file of root that only the app's group may read, as Kubernetes mounts secrets.

    systemd hands out credentials by an access list, which shows as a right of root's own group.
    """
    mode = S_IMODE(file_stat.st_mode)
    by_access_list = mode == _CREDENTIAL and file_stat.st_gid == _ROOT
    by_group = mode & _GROUP_AND_OTHERS == _GROUP_READS and file_stat.st_gid in groups
    return file_stat.st_uid == _ROOT and (by_access_list or by_group)


async def check_database(deployment: Deployment) -> Sequence[Finding]:
    """Check that the database responds, takes changes, and is at the revision of this program. It is not changed."""
    url = deployment.database_url
    if (file := missing_sqlite_file(url)) is not None:
        return [error(Subject.DATABASE, LazyMessage("There is no database."), _NO_DATABASE, detail=str(file))]
    try:
        revision = await current_revision(url, to_write=True)
        is_durable = await waits_for_the_disk(url)
    except (UnusableDatabaseError, DBAPIError) as exc:
        what = LazyMessage("The database does not answer, or cannot be used.")
        remedy = _DATABASE if is_away(exc) else _SET_UP
        return [error(Subject.DATABASE, what, remedy, detail=describe_connection_error(url, exc))]
    except (SQLAlchemyError, OSError) as exc:
        what = LazyMessage("The database does not answer, or cannot be used.")
        return [error(Subject.DATABASE, what, _DATABASE, detail=type(exc).__name__)]
    if (why := _missing_right(url)) is not None:
        what = LazyMessage("The database can be read, and not written.")
        return [error(Subject.DATABASE, what, _SET_UP, detail=why)]
    if not is_durable:
        answers = warning(Subject.DATABASE, _NOT_DURABLE, _WAIT_FOR_DISK)
    else:
        answers = fine(Subject.DATABASE, LazyMessage("The database answers."))
    return [answers, _revision_finding(revision)]


def _missing_right(url: str) -> str | None:
    return describe_missing_right(sqlite_file(url)) if is_sqlite(url) else None


async def check_disk(
    deployment: Deployment, *, free_bytes: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free
) -> Sequence[Finding]:
    """Check that the disk with the SQLite file has room left; other databases are on machines of their own."""
    url = deployment.database_url
    if not is_sqlite(url) or missing_sqlite_file(url) is not None:
        return []
    folder = sqlite_file(url).parent
    try:
        free = free_bytes(folder)
    except PermissionError:  # the database in it cannot be opened either, which is said above
        return []
    if free >= _ENOUGH_BYTES:
        return []
    what = LazyMessage("The disk with the database is nearly full: %(megabytes)s MB are free.", megabytes=free // _MB)
    remedy = LazyMessage("Free some space there: on a full disk, no payment is begun and nothing is reported.")
    level = error if free < _TOO_FEW_BYTES else warning
    return [level(Subject.DATABASE, what, remedy, detail=str(folder))]


def _revision_finding(revision: str | None) -> Finding:
    newest, fit = newest_revision(), fit_of(revision)
    if fit is Fit.CURRENT:
        what = LazyMessage("The database is at revision %(revision)s, the newest.", revision=newest)
        return fine(Subject.MIGRATIONS, what)
    if fit is Fit.AHEAD:
        what = LazyMessage(
            "The database is at revision %(revision)s, of a newer version of the app. This version works with it.",
            revision=str(revision),
        )
        remedy = LazyMessage("Run the newer version everywhere, to complete the update.")
        return warning(Subject.MIGRATIONS, what, remedy)
    if fit is Fit.FOREIGN:
        what = LazyMessage(
            "The database is at revision %(revision)s, which this version of the app does not support: its newest is "
            "%(newest)s.",
            revision=str(revision),
            newest=newest,
        )
        remedy = LazyMessage("Run the newer version of the app, or restore the backup from before the update.")
        return error(Subject.MIGRATIONS, what, remedy)
    if revision is None:
        what = LazyMessage("The database is empty: it was never migrated.")
    else:
        what = LazyMessage(
            "The database is at revision %(revision)s, and this version of the app needs %(newest)s.",
            revision=revision,
            newest=newest,
        )
    return error(Subject.MIGRATIONS, what, LazyMessage("Run “saleor-gateway migrate”."))
