"""Why a database cannot be used, in our words and without any part of a password; and what to do."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from sqlalchemy import make_url
from sqlalchemy.exc import DBAPIError

from app.db.database import is_sqlite

# Libpq has no codes for what goes wrong before a connection is there: its words, and what they mean.
_POSTGRESQL: Sequence[tuple[str, str]] = (
    (
        "resolve host|translate host name",
        "there is no such host: in a password, write @ as %40, / as %2F, : as %3A and % as %25",
    ),
    (
        "lock timeout",
        "somebody has used a table for long (a backup, a query): nothing was changed, try again afterwards",
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


def why_unusable(database_url: str, error: DBAPIError) -> str:
    """Return in one sentence why the database at this address cannot be used, and what to do."""
    url = make_url(database_url)
    place = f"{url.host or 'this machine'}:{url.port or 5432}"
    sentence = _SQLITE.get(getattr(error.orig, "sqlite_errorname", "")) or next(
        (sentence for words, sentence in _POSTGRESQL if re.search(words, str(error.orig))), None
    )
    if sentence is None:
        return f"the database does not answer ({type(error.orig).__name__})"
    return sentence.format(place=place, name=url.database)


def missing_file(database_url: str) -> Path | None:
    """Return the SQLite file of this address if it is not there; to connect would make an empty one."""
    if not is_sqlite(database_url):
        return None
    file = Path(make_url(database_url).database or "")
    return None if file.is_file() else file.absolute()
