"""Payments by the million, created inside PostgreSQL, or copied from there to SQLite: the data of some years.

They vary as real ones do: three accounts and three channels of which one is hardly used, orders
and checkouts, cards and declines, some refunds, few problems, and amounts of which one is very frequent.
"""

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import make_url

from app.store.database import create_engine, is_sqlite
from app.store.database_copy import open_copy

_FILL = Path(__file__).with_suffix(".sql")


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
    """Copy all rows of a database to another one, which has the tables and no rows, as ``data copy`` does."""

    async def copy() -> None:
        engines = [create_engine(url, pool_size=1, timeouts=None) for url in (source, target)]
        async with open_copy(*engines) as copying:
            await copying.copy()
        for engine in engines:
            await engine.dispose()

    asyncio.run(copy())
    if is_sqlite(target):
        with closing(sqlite3.connect(make_url(target).database or "")) as file:
            file.execute("ANALYZE")
