"""Payments by the million, created inside PostgreSQL, or copied from there to SQLite: the data of some years.

They vary as real ones do: three accounts and three channels of which one is hardly used, orders
and checkouts, cards and declines, some refunds, few problems, and amounts of which one is very frequent.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import create_engine, select
from sqlmodel import SQLModel

from app.store.database import async_url

_FILL = Path(__file__).with_suffix(".sql")
_AT_ONCE = 5000


@dataclass(frozen=True)
class Store:
    """The store of the payments: its row, three accounts, and the digest that finds a shopper with 20 payments."""

    installation_id: int
    accounts: tuple[str, str, str]
    digest: str


def create_payments(url: str, store: Store, rows: int) -> None:
    """Create that many payments, a minute apart, the last one begun now."""
    first, second, rare = store.accounts
    values: dict[str, Any] = {
        "store": store.installation_id, "first": first, "second": second, "rare": rare, "digest": store.digest,
        "rows": rows, "until": datetime.now(UTC),
    }  # fmt: skip
    with psycopg.connect(url, autocommit=True) as server:
        cursor = psycopg.ClientCursor(server)
        for statement in _FILL.read_text().split(";\n"):
            if statement.strip():
                cursor.execute(statement, values)
        server.execute("VACUUM ANALYZE")


def copy(source: str, target: str) -> None:
    """Copy all rows of a PostgreSQL database to an SQLite file, which has the tables and no rows."""
    from_there = create_engine(async_url(source))
    to_here = create_engine(async_url(target).set(drivername="sqlite"))
    with from_there.connect() as reading, to_here.begin() as writing:
        for table in SQLModel.metadata.sorted_tables:
            rows = reading.execution_options(yield_per=_AT_ONCE).execute(select(table)).mappings()
            for part in rows.partitions():
                writing.execute(table.insert(), [dict(row) for row in part])
    with to_here.begin() as writing:
        writing.exec_driver_sql("ANALYZE")
    from_there.dispose()
    to_here.dispose()
