"""Spools the gateway's books of one period to local disk while they are compared: indexed by order, read in batches.

They are written completely before any are processed, so that nothing follows from half a register, and they are never
all in memory. The file has no name and disappears with the process. It contains amounts and how they moved, and no
data about shoppers.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from decimal import Decimal
from typing import Any

from app.flows.reconciliation.entries import BookLine

_BUFFER_SIZE = 2000  # lines in memory
_COLUMNS = (
    "order_id, payment_id, method, status, at, amount, original_amount, customer_fee, currency, receiver, "
    "receiver_amount, merchant_fee, receiver_fee"
)


class Spool:
    """Spooled lines. ``lines``: how many. ``without_order_id``: how many more are about money but name no order."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._buffer: list[BookLine] = []
        self.lines = 0
        self.without_order_id = 0

    async def add(self, line: BookLine) -> None:
        """Add a line."""
        self._buffer.append(line)
        self.lines += 1
        if len(self._buffer) >= _BUFFER_SIZE:
            await self._write()

    async def close(self) -> None:
        """Finish writing; from now on the spool is read."""
        await self._write()
        await asyncio.to_thread(self._connection.execute, "CREATE INDEX of_order ON line (order_id)")

    async def count_orders(self) -> int:
        """Return the number of distinct orders."""
        [[count]] = await self._read("SELECT count(DISTINCT order_id) FROM line", ())
        return int(count)

    async def next_orders(self, after: str | None, most: int) -> dict[str, list[BookLine]]:
        """Return the lines, as they arrived, of the next ``most`` orders by id after ``after`` (None: the first)."""
        page = "SELECT DISTINCT order_id FROM line WHERE order_id > ? ORDER BY order_id LIMIT ?"
        query = f"SELECT {_COLUMNS} FROM line WHERE order_id IN ({page}) ORDER BY order_id, rowid"  # noqa: S608 - our own
        found: dict[str, list[BookLine]] = {}
        for row in await self._read(query, (after or "", most)):
            found.setdefault(row[0], []).append(_line(row))
        return found

    async def missing(self, order_ids: Sequence[str]) -> set[str]:
        """Return the orders among ``order_ids`` that have no line."""
        marks = ", ".join("?" * len(order_ids))
        query = f"SELECT DISTINCT order_id FROM line WHERE order_id IN ({marks})"  # noqa: S608 - only placeholders
        return set(order_ids) - {row[0] for row in await self._read(query, order_ids)}

    async def _write(self) -> None:
        rows, self._buffer = [_row(entry) for entry in self._buffer], []
        await asyncio.to_thread(self._insert, rows)

    def _insert(self, rows: Iterable[tuple[Any, ...]]) -> None:
        with self._connection:
            self._connection.executemany(f"INSERT INTO line VALUES ({', '.join('?' * 13)})", rows)  # noqa: S608 - only placeholders

    async def _read(self, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        return await asyncio.to_thread(lambda: self._connection.execute(query, values).fetchall())


@asynccontextmanager
async def open_spool() -> AsyncIterator[Spool]:
    """Yield an empty spool, which is deleted afterwards."""
    # Given no name, SQLite creates a file that is unlinked while open, and keeps little of it in memory.
    connection = sqlite3.connect("", check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(f"CREATE TABLE line ({_COLUMNS})")
        yield Spool(connection)
    finally:
        connection.close()


def _row(line: BookLine) -> tuple[Any, ...]:
    return (
        line.order_id,
        line.payment_id,
        line.method,
        line.status,
        None if line.at is None else line.at.isoformat(),
        _text(line.amount),
        _text(line.original_amount),
        _text(line.customer_fee),
        line.currency,
        line.receiver,
        _text(line.receiver_amount),
        _text(line.merchant_fee),
        _text(line.receiver_fee),
    )


def _line(row: tuple[Any, ...]) -> BookLine:
    order_id, payment_id, method, status, at, amount, original_amount, fee, currency, receiver, received, *fees = row
    merchant_fee, receiver_fee = fees
    return BookLine(
        order_id=order_id,
        payment_id=payment_id,
        method=method,
        status=status,
        at=None if at is None else datetime.fromisoformat(at),
        amount=_number(amount),
        original_amount=_number(original_amount),
        customer_fee=_number(fee),
        currency=currency,
        receiver=receiver,
        receiver_amount=_number(received),
        merchant_fee=_number(merchant_fee),
        receiver_fee=_number(receiver_fee),
    )


def _text(amount: Decimal | None) -> str | None:
    return None if amount is None else str(amount)


def _number(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)
