"""What the database can do to those who ask it, as far as they can do anything about it.

::

    DatabaseError
    └── DatabaseUnavailableError     no connection, no lock or no answer in time, or it was undone: worth trying again
        └── CommitUnknownError       the same, in the commit: what was written may be there, and can be read

Anything else that SQLAlchemy raises is a mistake of ours, but for ``IntegrityError``: what was to be written is taken.
No message quotes what was to be written: it names shoppers. The database's own words are in ``__cause__``.
"""

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnection


class DatabaseError(Exception):
    """Root of this tree."""


class DatabaseUnavailableError(DatabaseError):
    """The database did not do it, and did nothing of it. It may do it the next time."""


class CommitUnknownError(DatabaseUnavailableError):
    """Nobody knows whether what was written is committed: read it."""


PASSING = (OperationalError, InterfaceError, NoConnection, TimeoutError, DatabaseUnavailableError)
"""What may pass: the server, the connection or a lock, and not what was asked."""


def mapped(error: Exception, *, committing: bool) -> Exception:
    """Return the error of this tree for ``error``; itself, if it is none that may pass.

    ``committing``: everything had been written, and only the commit was left to be done.
    """
    passing = isinstance(error, PASSING) or (isinstance(error, DBAPIError) and error.connection_invalidated)
    if not passing or isinstance(error, CommitUnknownError):
        return error
    reason = type(getattr(error, "orig", None) or error).__name__
    if committing:
        return CommitUnknownError(f"the database may have committed it ({reason})")
    if isinstance(error, DatabaseUnavailableError):
        return error
    return DatabaseUnavailableError(f"the database did not do it ({reason})")
