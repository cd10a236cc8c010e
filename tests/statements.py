"""Records the statements and transactions of a block."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import event

from app.store.database import Database


@dataclass
class QueryCounts:
    """The numbers of executed statements and committed transactions."""

    statements: int = 0
    transactions: int = 0


@contextmanager
def record_statements(database: Database) -> Iterator[list[tuple[str, Any]]]:
    """Record each executed statement, with its parameters."""
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
def count_queries(database: Database) -> Iterator[QueryCounts]:
    """Count statements and transactions; the numbers are complete at the end."""
    counted, engine = QueryCounts(), database.engine.sync_engine

    def commit(*_: object) -> None:
        counted.transactions += 1

    event.listen(engine, "commit", commit)
    try:
        with record_statements(database) as asked:
            yield counted
        counted.statements = len(asked)
    finally:
        event.remove(engine, "commit", commit)
