"""The database errors that callers can do something about.

::

    DatabaseError
    └── DatabaseUnavailableError     no connection, lock or response in time, or a rollback: worth a retry
        └── CommitUnknownError       the same, in the commit: what was written may be there; read it to find out

Anything else that SQLAlchemy raises is a bug of ours, except ``IntegrityError``: a unique value is already taken.
No message quotes the values to be written: these name shoppers. The database's own message is in ``__cause__``.
"""

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnection


class DatabaseError(Exception):
    """Root of this tree."""


class DatabaseUnavailableError(DatabaseError):
    """The database did not carry out the request, nor any part of it. A retry may succeed.

    ``is_logged``: that the database is away has been logged already (``app.store.outage``).
    """

    is_logged = False


class CommitUnknownError(DatabaseUnavailableError):
    """It is unknown whether the transaction was committed: read the rows to find out."""


READ_ONLY_STATE = "25006"  # the SQLSTATE read_only_sql_transaction: of a standby, or of a server that was made like one
_UNSPECIFIC = "SQLITE_ERROR"

TRANSIENT_ERRORS = (OperationalError, InterfaceError, NoConnection, TimeoutError, DatabaseUnavailableError)
"""Errors that may pass: caused by the server, the connection or a lock, not by the request itself."""


def is_read_only(error: Exception) -> bool:
    """Return True for the error of a transaction at a server that accepts no changes."""
    return getattr(getattr(error.__cause__, "orig", None), "sqlstate", None) == READ_ONLY_STATE


def map_error(error: Exception, *, committing: bool) -> Exception:
    """Return the error of this tree for ``error``; ``error`` itself if it is not transient.

    ``committing``: everything had been written, only the commit remained.
    """
    passing = isinstance(error, TRANSIENT_ERRORS) or (isinstance(error, DBAPIError) and error.connection_invalidated)
    if not passing or isinstance(error, CommitUnknownError):
        return error
    reason = _name_reason(error)
    if committing:
        return CommitUnknownError(f"the database may have committed the change ({reason})")
    if isinstance(error, DatabaseUnavailableError):
        return error
    return DatabaseUnavailableError(f"the database did not complete the request ({reason})")


def _name_reason(error: Exception) -> str:
    """Return what the database calls its error: SQLite's driver has one class for most, and a name for each."""
    original = getattr(error, "orig", None) or error
    name: str = getattr(original, "sqlite_errorname", _UNSPECIFIC)
    return type(original).__name__ if name == _UNSPECIFIC else name
