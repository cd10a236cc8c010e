"""What is asked of a database while something is done."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import event

from app.db.database import Database


@dataclass
class Counted:
    """How many statements were executed, and transactions committed."""

    statements: int = 0
    transactions: int = 0


@contextmanager
def statements(database: Database) -> Iterator[list[tuple[str, Any]]]:
    """Note each statement that is executed, with its parameters."""
    asked: list[tuple[str, Any]] = []

    def note(_connection: object, _cursor: object, statement: str, parameters: Any, *_: object) -> None:
        asked.append((statement, parameters))

    engine = database.engine.sync_engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        yield asked
    finally:
        event.remove(engine, "before_cursor_execute", note)


@contextmanager
def counting(database: Database) -> Iterator[Counted]:
    """Count what is asked; the numbers are there at the end."""
    counted, engine = Counted(), database.engine.sync_engine

    def commit(*_: object) -> None:
        counted.transactions += 1

    event.listen(engine, "commit", commit)
    try:
        with statements(database) as asked:
            yield counted
        counted.statements = len(asked)
    finally:
        event.remove(engine, "commit", commit)
