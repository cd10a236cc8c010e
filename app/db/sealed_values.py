"""Every sealed value of the database: with which key it is sealed, and how all of them get the newest.

A key is retired by sealing anew what it has sealed (``Resealing``), beside the running app and any number of times:
what is done stays done, so whoever dies over it begins again and passes over it quickly. A value is replaced only if it
is still the one that was opened, so nothing that is written meanwhile is lost.

With what is sealed of a shopper the digest of their address is made anew, in one transaction. Both are written by the
same vault from the beginning, so a digest is the newest key's if what it belongs to is.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import bindparam, case, func, select, update
from sqlmodel import col
from sqlmodel.ext.asyncio.session import AsyncSession

from app.db import accounts, card_keys, inbox, installations, personal, saved_cards
from app.db.blind_index import BlindIndex
from app.db.columns import table_of
from app.db.database import Database
from app.db.errors import DatabaseUnavailableError
from app.db.sealed_column import SealedColumn
from app.db.tables import Payment
from app.db.vault import Vault, VaultError
from app.exact_json import loads

T = TypeVar("T")

SEALED_COLUMNS: tuple[SealedColumn, ...] = (
    *installations.SEALED_COLUMNS,
    *accounts.SEALED_COLUMNS,
    *card_keys.SEALED_COLUMNS,
    *saved_cards.SEALED_COLUMNS,
    *inbox.SEALED_COLUMNS,
    *personal.SEALED_COLUMNS,
)
"""All of them: a test compares them with the tables."""

_BATCH = 500  # rows that are read at once
_COUNTED = 20_000  # rows that are counted at once
_TRIES = 5  # of what the database did not do
_PAUSE = 0.2  # seconds before it is tried again
_ADDRESS = "customer_email"  # the member of the gateway's request of which a payment keeps the digest


class _Opened(NamedTuple):
    row: Any
    place: str
    text: str


@dataclass(slots=True)
class Resealed:
    """What was done: so many values were ``sealed`` anew. ``unopened``: so many no key opens, by column."""

    sealed: int = 0
    unopened: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Resealing:
    """How far it has come: rows that were looked at, of which column, of how many of all columns."""

    rows: int = 0
    of: int | None = None
    column: str = ""


class SealedValues:
    """All that is sealed, whoever keeps it."""

    def __init__(self, database: Database, vault: Vault) -> None:
        self._database = database
        self._vault = vault
        self._emails = BlindIndex(vault)

    @property
    def key_ids(self) -> tuple[str, ...]:
        """The names of the keys that there are, newest first."""
        return self._vault.key_ids

    async def count(self) -> dict[str, Counter[str]]:
        """Return how many values of each column are sealed with which key, by its name.

        Each row is passed once, many with one statement, and no value is read but its beginning.
        """
        found: dict[str, Counter[str]] = {}
        for column in SEALED_COLUMNS:
            counted = found[str(column)] = Counter[str]()
            name = func.substr(column.column, 4, 8)
            async for first, last in self._windows(column):
                within = column.row_id >= first, column.row_id <= last, column.column.is_not(None)
                query: Any = select(name, func.count()).where(*within).group_by(name)
                counted.update(dict(await self._rows(query)))
        return found

    async def reseal(self, progress: Resealing) -> Resealed:
        """Seal with the newest key whatever another has sealed, and say in ``progress`` how far it is.

        Raises DatabaseUnavailableError when the database is away for long; what was done until then is done.
        """
        done = Resealed()
        progress.of = await self._rows_of_all()
        for column in SEALED_COLUMNS:
            progress.column = str(column)
            last: Any = None
            while rows := await self._rows(self._batch(column, last)):
                for _ in range(_TRIES):
                    opened = self._opened(column, rows)
                    if await self._reseal(column, opened, done) == len(opened):
                        break
                    rows = await self._rows(self._batch(column, last))  # somebody has written one meanwhile
                done.unopened[str(column)] += sum(row.sealed is not None for row in rows) - len(opened)
                last = rows[-1].row_id if rows else last
                progress.rows += len(rows)
        return done

    async def _rows_of_all(self) -> int:
        numbers = [await self._rows(select(func.count()).select_from(each.column.class_)) for each in SEALED_COLUMNS]
        return sum(int(rows[0][0]) for rows in numbers)

    async def _windows(self, column: SealedColumn) -> AsyncIterator[tuple[Any, Any]]:
        """Give the first and the last key of so many rows, again and again, to the end of the table."""
        key = column.row_id
        first_query: Any = select(key).order_by(key).limit(1)
        first = await self._rows(first_query)
        while first:
            further = select(key).where(key >= first[0][0]).order_by(key)
            last: Any = await self._rows(further.offset(_COUNTED - 1).limit(1))
            if not last:
                last = await self._rows(select(key).order_by(key.desc()).limit(1))
            yield first[0][0], last[0][0]
            first = await self._rows(first_query.where(key > last[0][0]))

    def _batch(self, column: SealedColumn, last: Any) -> Any:
        """Return the query of the next rows: of each what names it and, where another key has sealed it, its value."""
        newest = self._vault.newest
        is_old = func.substr(column.column, 1, len(newest)) != newest
        values = [column.row_id.label("row_id"), case((is_old, column.column)).label("sealed"), *column.of]
        query: Any = select(*values)
        if column.payment is not None:
            query = query.add_columns(column.payment.label("payment_id"))
            if column.column.class_ is not Payment:
                query = query.join(Payment, col(Payment.id) == column.payment)
        query = query.order_by(column.row_id).limit(_BATCH)
        return query if last is None else query.where(column.row_id > last)

    def _opened(self, column: SealedColumn, rows: Sequence[Any]) -> list[_Opened]:
        """Open what another key has sealed; what no key opens is left as it is."""
        opened = []
        for row in rows:
            if row.sealed is not None:
                place = column.place(*row[2 : 2 + len(column.of)])
                with suppress(VaultError):
                    opened.append(_Opened(row, place, self._vault.open(row.sealed, place)))
        return opened

    async def _reseal(self, column: SealedColumn, opened: Sequence[_Opened], done: Resealed) -> int:
        """Seal values anew; return how many. The others are not any more what was read."""
        if not opened:
            return 0
        anew = [
            {"is": each.row.row_id, "was": each.row.sealed, "anew": self._vault.seal(each.text, each.place)}
            for each in opened
        ]
        table = table_of(column.column.class_)
        kept = table.c[column.column.key]
        same = column.row_id == bindparam("is"), kept == bindparam("was")
        replaced = update(table).where(*same).values({kept: bindparam("anew")})

        async def write(session: AsyncSession) -> int:
            if column.payment is not None:
                await self._digests_anew(session, column, opened)
            result: Any = await (await session.connection()).execute(replaced, anew)
            return int(result.rowcount)

        written = await self._patiently(write)
        done.sealed += written
        return written

    async def _digests_anew(self, session: AsyncSession, column: SealedColumn, opened: Sequence[_Opened]) -> None:
        """Lock the payments, and let them be found by the newest key; one that keeps no digest is found by none."""
        locked: Any = select(col(Payment.id), col(Payment.installation_id), col(Payment.email_digest))
        theirs = locked.where(col(Payment.id).in_([each.row.payment_id for each in opened])).order_by(col(Payment.id))
        payments = {each[0]: each for each in (await session.exec(theirs.with_for_update())).all()}
        if column.column.class_ is Payment:
            return
        table = table_of(Payment)
        anew = []
        for each in opened:
            _, store, digest = payments[each.row.payment_id]
            address = loads(each.text).get(_ADDRESS)
            if address and digest is not None:
                anew.append({"is": each.row.payment_id, "anew": self._emails.kept(store, address)})
        if anew:
            found_by = update(table).where(table.c.id == bindparam("is")).values(email_digest=bindparam("anew"))
            await (await session.connection()).execute(found_by, anew)

    async def _rows(self, query: Any) -> Sequence[Any]:
        async def read(session: AsyncSession) -> Sequence[Any]:
            rows: Sequence[Any] = (await session.exec(query)).all()
            return rows

        return await self._patiently(read)

    async def _patiently(self, work: Callable[[AsyncSession], Awaitable[T]]) -> T:
        """Do something in a transaction, again where it came to nothing: a lock, a restart of the server."""
        for tries in range(1, _TRIES):
            try:
                async with self._database.transaction() as session:
                    return await work(session)
            except DatabaseUnavailableError:
                await asyncio.sleep(_PAUSE * tries)
        async with self._database.transaction() as session:
            return await work(session)
