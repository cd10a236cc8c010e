"""Marks a database into which another is being copied (``database_copy``), until all of it is there.

Nobody may work with a part of the payments: the app would not know what it has already sent. The mark is a table of its
own, which is there only meanwhile, so every process that starts on the database sees it, and its schema never has it.
"""

from datetime import datetime

from sqlalchemy import Column, Connection, MetaData, Table, Text, insert, inspect, select

from app.store.columns import Moment

_MARK = Table("unfinished_copy", MetaData(), Column("source", Text, primary_key=True), Column("begun_at", Moment))


def find_source(connection: Connection) -> str | None:
    """Return the place of the database that is being copied into this one; None: this one is complete."""
    if not inspect(connection).has_table(_MARK.name):
        return None
    source: str | None = connection.execute(select(_MARK.c.source)).scalar_one_or_none()
    return source


def mark_unfinished(connection: Connection, source: str, now: datetime) -> None:
    """Mark the database as unfinished."""
    _MARK.create(connection)
    connection.execute(insert(_MARK).values(source=source, begun_at=now))


def mark_finished(connection: Connection) -> None:
    """Remove the mark."""
    _MARK.drop(connection)
