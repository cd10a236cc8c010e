"""Backs up and restores the app's database with the commands of docs/operators/backups.md."""

import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import psycopg
from sqlalchemy import make_url

from tests.postgresql import program


def back_up(database_url: str, folder: Path) -> Callable[[], None]:
    """Write a backup beside the running app; return a function that restores it over the database of that time.

    The test is skipped (in CI: fails) where PostgreSQL's programs are missing.
    """
    url = make_url(database_url)
    if url.get_backend_name() == "sqlite":
        return _of_sqlite(Path(url.database or ""), folder / "backup.sqlite")
    return _of_postgresql(
        url.set(drivername="postgresql").render_as_string(hide_password=False), folder / "backup.dump"
    )


def _of_sqlite(file: Path, backup: Path) -> Callable[[], None]:
    connection = sqlite3.connect(file)
    try:
        connection.execute("VACUUM INTO ?", (str(backup),))
    finally:
        connection.close()

    def put_back() -> None:
        for left in file.parent.glob(f"{file.name}*"):  # also what SQLite keeps beside it: that is of the lost one
            left.unlink()
        shutil.copy(backup, file)

    return put_back


def _of_postgresql(url: str, backup: Path) -> Callable[[], None]:
    dump, restore = (program(name, "postgresql-client") for name in ("pg_dump", "pg_restore"))
    subprocess.run([dump, "--format=custom", f"--file={backup}", url], check=True)

    def put_back() -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")
        subprocess.run([restore, "--no-owner", "--single-transaction", f"--dbname={url}", backup], check=True)

    return put_back
