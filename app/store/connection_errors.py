"""Explains why a database cannot be used and what to do, without revealing any part of a password."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import DBAPIError

from app.store.database import async_url, is_sqlite
from app.store.errors import DatabaseError
from app.store.private_files import is_missing

# What the owner of a database may do in its schema differs between servers; the grant is enough on all of them.
_NO_RIGHTS = (
    "the user {user!r} may not use tables in {name!r}: in that database, as its administrator, run "
    '`GRANT CREATE, USAGE ON SCHEMA public TO "{user}"`'
)
_TABLES_OF_ANOTHER = (
    "the tables in {name!r} belong to another user than {user!r}: make it their owner (ALTER TABLE ... OWNER TO), or "
    "connect as the user that created them"
)
_REFUSED_BY_HBA = r"(?:no pg_hba\.conf entry|pg_hba\.conf rejects connection)"

_NO_CHANGES = "the server at {place} accepts no changes, like a standby: use the address of the primary"
_NO_SUCH_VALUE = "`{option}` in the address has a value that PostgreSQL does not know"
_NO_HOST = (
    "this host does not exist; in a password, write @ as %40, / as %2F, : as %3A, # as %23, ? as %3F and % as %25"
)
_NO_SERVER = "no server is listening at {place}: is it running?"
_NO_RESPONSE = "no response from {place}"

# Libpq has no codes for errors before a connection is established: patterns of its messages, and what they mean.
_POSTGRESQL: Sequence[tuple[str, str]] = (
    (r'invalid (?:value for parameter )?"?(?P<option>\w+)"?(?: value| number)?: "', _NO_SUCH_VALUE),
    ("invalid command-line argument|requires a value", _NO_SUCH_VALUE.replace("{option}", "options")),
    (r'(?:for connection option "|definition of )(?P<option>\w+)', _NO_SUCH_VALUE),
    ("resolve host|translate host name", _NO_HOST),
    (
        "lock timeout",
        "what was needed was in use for too long (a backup, a query): try again when that has finished",
    ),
    ("statement timeout", "the server at {place} took too long: try again"),
    ("No space left on device", "the disk of the server at {place} is full: free some space there"),
    (
        "private key file",
        "the private key in `sslkey` is missing, or others than its owner may read it: give its path, and chmod 600",
    ),
    (
        "invalid response to (?:SSL|GSSAPI) negotiation|expected authentication request from server",
        "what listens at {place} is no PostgreSQL server: correct the host or the port",
    ),
    ("Connection refused|No such file or directory", _NO_SERVER),
    ("timeout|timed out|No route to host|unreachable", _NO_RESPONSE),
    (
        'database ".*" does not exist|no such database|bouncer config error',
        "the server at {place} has no database {name!r}: create it or correct the name",
    ),
    (
        'password authentication failed|no password supplied|role ".*" does not exist',
        "the server at {place} does not accept this user and password",
    ),
    (
        "root certificate file",
        "the file of certificates to trust is missing: add `sslrootcert` to the address, or `sslrootcert=system`",
    ),
    (
        "certificate verify failed",
        (
            "the certificate of the server at {place} is from no authority that is trusted, or has expired: add "
            "`sslrootcert` to the address, or renew it"
        ),
    ),
    (
        "server certificate for .* does not match host name",
        "the certificate of the server at {place} is for another name: use that name in the address",
    ),
    ("requires a valid client certificate", "the server at {place} demands a certificate: add `sslcert` and `sslkey`"),
    (
        "server does not support SSL",
        "the server at {place} does not speak TLS: leave out `sslmode`, or set it up",
    ),
    (
        "permission denied for database",
        "the user {user!r} may not connect to {name!r}: make it the owner, or grant CONNECT on the database",
    ),
    ("permission denied for (table|sequence)|must be owner of", _TABLES_OF_ANOTHER),
    ("permission denied for|no schema has been selected", _NO_RIGHTS),
    # If neither is accepted, libpq quotes the refusal of its attempt with TLS and of the one without.
    (
        rf"(?s)\A(?!.*SSL encryption).*{_REFUSED_BY_HBA}.*no encryption",
        (
            "the server at {place} does not accept connections from this machine as this user without TLS: write "
            "`sslmode=require` in the address, or allow them in its pg_hba.conf"
        ),
    ),
    (
        rf"(?s)\A(?!.*no encryption).*{_REFUSED_BY_HBA}.*SSL encryption",
        (
            "the server at {place} does not accept connections from this machine as this user with TLS: leave out "
            "`sslmode`, or allow them in its pg_hba.conf"
        ),
    ),
    (_REFUSED_BY_HBA, "the server at {place} does not accept connections from this machine as this user"),
    ("in a read-only transaction|during recovery|session is read-only|server is in hot standby", _NO_CHANGES),
    ("too many clients|connection slots|no more connections", "the server at {place} has no free connections"),
    (
        r"unsupported startup parameter.*: (?P<option>\w+)",
        (
            "the server at {place} does not take `{option}` from the address, as PgBouncer does not: leave it out, "
            "and set for the user what it was to set (ALTER ROLE)"
        ),
    ),
    (
        "invalid (dsn|connection option)|unrecognized configuration parameter",
        (
            "the address has a parameter that PostgreSQL does not know: leave out what is for other programs, like "
            "`pgbouncer` and `schema`"
        ),
    ),
)
# By the names of SQLite's result codes: that of the primary code also stands for its extended ones.
_SQLITE: Mapping[str, str] = {
    "SQLITE_CANTOPEN": "the file {name} cannot be opened: does its folder exist, and may this user write to it?",
    "SQLITE_NOTADB": "the file {name} is not an SQLite database",
    "SQLITE_CORRUPT": (
        "the file {name} is damaged: stop the app, remove the files beside it that end in -wal and -shm, and put the "
        "backup back"
    ),
    "SQLITE_READONLY": "this user may not write to {name}",
    "SQLITE_READONLY_DIRECTORY": "this user may not create files in the folder of {name}, as SQLite has to",
    "SQLITE_PERM": "this user may not open {name}",
    "SQLITE_BUSY": "another process is writing to {name}: try again",
    "SQLITE_LOCKED": "another process is writing to {name}: try again",
    "SQLITE_FULL": "the disk with {name} is full: free some space there",
    "SQLITE_IOERR": "the disk with {name} is full or does not work: free some space there, or check it",
}


class UnusableDatabaseError(Exception):
    """The database responds, and cannot be used as it is set up. Its message says what to do."""


class EncodingError(UnusableDatabaseError):
    """The database cannot hold the texts of all languages."""

    def __init__(self, encoding: str) -> None:
        super().__init__(
            f"the database's encoding is {encoding}, which has not the letters of all languages: create a new one with "
            "ENCODING 'UTF8' TEMPLATE template0"
        )


class NoRightsError(UnusableDatabaseError):
    """The user may not use any schema of the database, so its tables look as if they did not exist."""

    def __init__(self, user: str, name: str) -> None:
        super().__init__(_NO_RIGHTS.format(user=user, name=name))


class NoSchemaError(UnusableDatabaseError):
    """No schema of the search path exists, so there is no place for tables."""

    def __init__(self, user: str, name: str, search_path: str) -> None:
        super().__init__(
            f"the search_path of the user {user!r} in {name!r}, {search_path}, names no schema that exists: create the "
            "schema, or correct the search_path where it is set (in the address, ALTER ROLE or ALTER DATABASE)"
        )


class NoChangesError(UnusableDatabaseError):
    """The server accepts no changes: it is a standby, or has been told to be like one, as on a disk that is full."""

    def __init__(self, place: str) -> None:
        super().__init__(_NO_CHANGES.format(place=place))


class UnfinishedCopyError(UnusableDatabaseError):
    """Another database is being copied into this one, and not everything is there yet."""

    def __init__(self, source: str) -> None:
        super().__init__(
            f"the database holds an unfinished copy of {source}: finish it with `saleor-gateway data copy`, which "
            "continues where it stopped, or create this database anew"
        )


class UnfinishedRestoreError(UnusableDatabaseError):
    """A backup was not restored to its end: rows may be missing, and what keeps the others apart is."""

    def __init__(self, tables: Sequence[str]) -> None:
        super().__init__(
            f"the database holds a part of a backup (keys or unique indexes are missing in {', '.join(tables)}): "
            "create it anew, and restore the backup to its end"
        )


class DamagedFileError(UnusableDatabaseError):
    """An SQLite file is damaged, though it can be read in part."""

    def __init__(self, file: Path) -> None:
        super().__init__(_SQLITE["SQLITE_CORRUPT"].format(name=file))


def describe_place(database_url: str) -> str:
    """Return which database the address names, without user and password."""
    if is_sqlite(database_url):
        return str(sqlite_file(database_url))
    url = async_url(database_url)
    return f"{server_of(url)}/{url.database}"


def server_of(url: URL) -> str:
    """Return which server of PostgreSQL the address names, or which ones."""
    _, connection = url.get_dialect()().create_connect_args(url)
    hosts = str(connection.get("host") or "this machine").split(",")
    ports = str(connection.get("port") or "").split(",")
    ports += ports[-1:] * (len(hosts) - len(ports))  # one port is that of all
    return ",".join(f"{host}:{port or 5432}" for host, port in zip(hosts, ports, strict=False))


def describe_connection_error(database_url: str, error: UnusableDatabaseError | DBAPIError) -> str:
    """Return in one sentence why the database at this address cannot be used, and what to do."""
    if isinstance(error, UnusableDatabaseError):
        return str(error)
    url = async_url(database_url)
    sentence = _find_sentence(error)
    if sentence is None:
        return f"the database does not respond ({type(error.orig).__name__})"
    return sentence.format(place=server_of(url), name=url.database, user=url.username or "")


def describe_failure(database_url: str, error: DatabaseError) -> str:
    """Return in one sentence why a transaction failed, and what to do where the database says it."""
    cause = error.__cause__
    if isinstance(cause, DBAPIError) and _find_sentence(cause) is not None:
        return describe_connection_error(database_url, cause)
    return str(error)


def is_away(error: UnusableDatabaseError | DBAPIError) -> bool:
    """Return True when nothing shows that the database responds, so that it may have to be started."""
    if not isinstance(error, DBAPIError) or hasattr(error.orig, "sqlite_errorname"):  # nobody starts a file
        return False
    return _find_sentence(error) in {None, _NO_HOST, _NO_SERVER, _NO_RESPONSE}


def _find_sentence(error: DBAPIError) -> str | None:
    name: str | None = getattr(error.orig, "sqlite_errorname", None)
    if name is not None:
        primary = "_".join(name.split("_")[:2])
        return _SQLITE.get(name) or _SQLITE.get(primary)
    for pattern, sentence in _POSTGRESQL:
        if (found := re.search(pattern, str(error.orig))) is not None:
            return sentence.replace("{option}", found.groupdict().get("option", ""))
    return None


def describe_missing_right(file: Path) -> str | None:
    """Return why this user cannot write to an SQLite file, None if it can. SQLite says so only when it writes."""
    for path, code in ((file, "SQLITE_READONLY"), (file.parent, "SQLITE_READONLY_DIRECTORY")):
        if not os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
            return _SQLITE[code].format(name=file)
    return None


def missing_sqlite_file(database_url: str) -> Path | None:
    """Return the SQLite file of this address if it does not exist; connecting would create an empty one."""
    if not is_sqlite(database_url):
        return None
    file = sqlite_file(database_url)
    return file if is_missing(file) else None


def sqlite_file(database_url: str) -> Path:
    """Return the absolute path of the file of an SQLite address."""
    return Path(make_url(database_url).database or "").absolute()
