"""What the app keeps on its own machine: the secret key file, and the database."""

import os
from collections.abc import Sequence
from stat import S_IMODE

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from app.db.connection_errors import missing_file, why_unusable
from app.db.migrate import Fit, current_revision, fit_of, newest_revision
from app.db.vault import Vault, VaultError, read_keys
from app.doctor.deployment import Deployment
from app.doctor.findings import Finding, Subject, error, fine, warning
from app.i18n.messages import LazyMessage

_OTHERS = 0o077
_ROOT = 0

_NO_KEYS = LazyMessage(
    "Put the key file back from its copy, or set APP_SECRET_KEY_FILE to it. Do not make a new one: nothing that is "
    "encrypted in the database could be read again."
)
_DATABASE = LazyMessage("Start the database, or correct APP_DATABASE_URL.")


async def check_key_file(deployment: Deployment, *, user: int | None = None) -> Sequence[Finding]:
    """Look whether the secret key file is there, can be used, and is for the app's user alone.

    ``user`` is the number of the user whom this process runs as, None: found out.
    """
    file, user = deployment.key_file, os.geteuid() if user is None else user
    where = str(file.absolute())
    try:
        Vault(read_keys(file))
        about_it = file.stat()
    except FileNotFoundError:
        return [error(Subject.KEY_FILE, LazyMessage("There is no secret key file."), _NO_KEYS, detail=where)]
    except (OSError, VaultError) as exc:
        return [error(Subject.KEY_FILE, LazyMessage("The secret key file cannot be used."), _NO_KEYS, detail=f"{exc}")]
    mode = S_IMODE(about_it.st_mode)
    if mode & _OTHERS:
        what = LazyMessage("Not only its owner may use the secret key file: its mode is %(mode)s.", mode=f"{mode:04o}")
        remedy = LazyMessage("Let the app's user alone read it: chmod 600, or 400.")
        return [warning(Subject.KEY_FILE, what, remedy, detail=where)]
    if about_it.st_uid not in {user, _ROOT} and user != _ROOT:
        what = LazyMessage("The secret key file belongs to another user, who can replace it.")
        return [warning(Subject.KEY_FILE, what, LazyMessage("Give it to the app's user with chown."), detail=where)]
    return [fine(Subject.KEY_FILE, LazyMessage("The secret key file is there, for the app's user alone."))]


async def check_database(deployment: Deployment) -> Sequence[Finding]:
    """Look whether the database answers, and stands at the migration that this program knows. It is not changed."""
    url = deployment.database_url
    if (file := missing_file(url)) is not None:
        what = LazyMessage("There is no database yet.")
        remedy = LazyMessage("Start the app once, and give this command the app's settings and working directory.")
        return [error(Subject.DATABASE, what, remedy, detail=str(file))]
    try:
        revision = await current_revision(url)
    except DBAPIError as exc:
        what = LazyMessage("The database does not answer, or cannot be used.")
        return [error(Subject.DATABASE, what, _DATABASE, detail=why_unusable(url, exc))]
    except (SQLAlchemyError, OSError) as exc:
        what = LazyMessage("The database does not answer, or cannot be used.")
        return [error(Subject.DATABASE, what, _DATABASE, detail=type(exc).__name__)]
    answers = fine(Subject.DATABASE, LazyMessage("The database answers."))
    newest, fit = newest_revision(), fit_of(revision)
    if fit is Fit.CURRENT:
        what = LazyMessage("The database stands at revision %(revision)s, the newest.", revision=newest)
        return [answers, fine(Subject.MIGRATIONS, what)]
    if fit is Fit.AHEAD:
        what = LazyMessage(
            "The database stands at revision %(revision)s, of a newer version of the app. This version works with it.",
            revision=str(revision),
        )
        remedy = LazyMessage("Let the newer version run everywhere, to end the update.")
        return [answers, warning(Subject.MIGRATIONS, what, remedy)]
    if revision is None:
        what = LazyMessage("The database is empty: it was never migrated.")
    else:
        what = LazyMessage(
            "The database stands at revision %(revision)s, and this version of the app needs %(newest)s.",
            revision=revision,
            newest=newest,
        )
    remedy = LazyMessage(
        "Run “saleor-gateway migrate” with the version of the app that is to run. If that version is the older one, "
        "run the newer, or put the backup back."
    )
    return [answers, error(Subject.MIGRATIONS, what, remedy)]
