"""The gateway's books of one period, on this machine's disk while they are compared: sorted by order, read in pieces.

They are read as a whole before anything is made of them, so that nothing follows from half a register; and they never
stand in memory as a whole. The file has no name and goes with the process. In it is what moved how much, and nothing of
shoppers.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from decimal import Decimal
from typing import Any

from app.payments.reconciliation.entries import BookLine

_AT_ONCE = 2000  # lines that are in memory
_COLUMNS = (
    "order_id, payment_id, method, status, at, amount, original_amount, customer_fee, currency, receiver, "
    "receiver_amount, merchant_fee, receiver_fee"
)


class Spool:
    """Lines that were read. ``lines``: how many. ``nameless``: how many more tell of money, and not of which order."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._waiting: list[BookLine] = []
        self.lines = 0
        self.nameless = 0

    async def add(self, line: BookLine) -> None:
        """Keep a line."""
        self._waiting.append(line)
        self.lines += 1
        if len(self._waiting) >= _AT_ONCE:
            await self._write()

    async def close(self) -> None:
        """Say that this was all; from now on it is read."""
        await self._write()
        await asyncio.to_thread(self._connection.execute, "CREATE INDEX of_order ON line (order_id)")

    async def orders(self) -> int:
        """Return how many orders there are."""
        [[count]] = await self._read("SELECT count(DISTINCT order_id) FROM line", ())
        return int(count)

    async def of_orders(self, after: str | None, most: int) -> dict[str, list[BookLine]]:
        """Return the lines of the next ``most`` orders by name, after that one (None: from the first), as they came."""
        chosen = "SELECT DISTINCT order_id FROM line WHERE order_id > ? ORDER BY order_id LIMIT ?"
        query = f"SELECT {_COLUMNS} FROM line WHERE order_id IN ({chosen}) ORDER BY order_id, rowid"  # noqa: S608 - our own
        found: dict[str, list[BookLine]] = {}
        for row in await self._read(query, (after or "", most)):
            found.setdefault(row[0], []).append(_line(row))
        return found

    async def missing(self, order_ids: Sequence[str]) -> set[str]:
        """Return those of these orders of which there is no line."""
        marks = ", ".join("?" * len(order_ids))
        query = f"SELECT DISTINCT order_id FROM line WHERE order_id IN ({marks})"  # noqa: S608 - only marks
        return set(order_ids) - {row[0] for row in await self._read(query, order_ids)}

    async def _write(self) -> None:
        rows, self._waiting = [_row(each) for each in self._waiting], []
        await asyncio.to_thread(self._insert, rows)

    def _insert(self, rows: Iterable[tuple[Any, ...]]) -> None:
        with self._connection:
            self._connection.executemany(f"INSERT INTO line VALUES ({', '.join('?' * 13)})", rows)  # noqa: S608 - only marks

    async def _read(self, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        return await asyncio.to_thread(lambda: self._connection.execute(query, values).fetchall())


@asynccontextmanager
async def open_spool() -> AsyncIterator[Spool]:
    """Give a spool, empty; it is gone afterwards."""
    # Without a name SQLite makes a file that is deleted while it is open, and keeps little of it in memory.
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
