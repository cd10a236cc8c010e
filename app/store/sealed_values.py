"""All sealed values of the database: counts them by key, and reseals them with the newest key.

A key is retired by resealing its values (``SealedValues.reseal``), beside the running app and any number of times:
finished values stay resealed, so a run after a crash skips them quickly. A value is replaced only if it is still the
one that was opened, so concurrent writes are not lost.

Together with a shopper's sealed data the digest of their address is recomputed, in one transaction. Both were written
by the same vault from the beginning, so a digest uses the newest key if the data that it belongs to does.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, bindparam, case, func, inspect, select, update
from sqlmodel import col
from sqlmodel.ext.asyncio.session import AsyncSession

from app.store import accounts, card_keys, inbox, installations, personal, saved_cards
from app.store.columns import table_of
from app.store.database import Database, create_engine
from app.store.errors import DatabaseUnavailableError
from app.store.personal import BlindIndex
from app.store.sealed_column import SealedColumn
from app.store.tables import Payment
from app.store.vault import Vault, VaultError, key_id_of
from integration_base.exact_json import loads

T = TypeVar("T")

SEALED_COLUMNS: tuple[SealedColumn, ...] = (
    *installations.SEALED_COLUMNS,
    *accounts.SEALED_COLUMNS,
    *card_keys.SEALED_COLUMNS,
    *saved_cards.SEALED_COLUMNS,
    *inbox.SEALED_COLUMNS,
    *personal.SEALED_COLUMNS,
)
"""All sealed columns: a test compares them with the tables."""

_BATCH = 500  # rows read at once
_COUNTED = 20_000  # rows counted at once
_TRIES = 5  # attempts while the database is unavailable
_PAUSE = 0.2  # seconds before a retry, times the attempts so far
_ADDRESS = "customer_email"  # the request member whose digest a payment stores


async def find_sealing_key(database_url: str) -> str | None:
    """Return the id of a key that encrypts something in this database; None if nothing is encrypted.

    The database may be empty, or at an earlier revision. Raises DBAPIError.
    """

    def find(connection: Connection) -> str | None:
        tables = inspect(connection)
        for column in SEALED_COLUMNS:
            name = column.column.class_.__tablename__
            if tables.has_table(name) and column.column.key in {found["name"] for found in tables.get_columns(name)}:
                sealed = select(column.column).where(column.column.is_not(None)).limit(1)
                if (value := connection.execute(sealed).scalar()) is not None:
                    return key_id_of(value)
        return None

    engine = create_engine(database_url, pool_size=1)
    try:
        async with engine.connect() as connection:
            return await connection.run_sync(find)
    finally:
        await engine.dispose()


class _OpenedValue(NamedTuple):
    row: Any
    place: str
    text: str


@dataclass(slots=True)
class ResealResult:
    """How many values were ``sealed`` again; ``unopened``: how many no key opens, by column."""

    sealed: int = 0
    unopened: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class ResealProgress:
    """How far resealing is: the rows examined so far, out of how many in all, and the current column."""

    rows: int = 0
    total: int | None = None
    column: str = ""


class SealedValues:
    """The sealed values of all tables."""

    def __init__(self, database: Database, vault: Vault) -> None:
        self._database = database
        self._vault = vault
        self._emails = BlindIndex(vault)

    @property
    def key_ids(self) -> tuple[str, ...]:
        """The ids of the available keys, newest first."""
        return self._vault.key_ids

    async def count(self) -> dict[str, Counter[str]]:
        """Return, for each column, how many values are sealed with each key, by key id.

        Each row is visited once, many in one statement, and only the beginning of each value is read.
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

    async def reseal(self, progress: ResealProgress) -> ResealResult:
        """Reseal with the newest key all values sealed with another, and record progress in ``progress``.

        Raises DatabaseUnavailableError when the database is unavailable for long; values resealed by then stay so.
        """
        done = ResealResult()
        progress.total = await self._count_rows()
        for column in SEALED_COLUMNS:
            progress.column = str(column)
            last: Any = None
            while rows := await self._rows(self._batch(column, last)):
                for _ in range(_TRIES):
                    opened = self._open_rows(column, rows)
                    if await self._reseal(column, opened, done) == len(opened):
                        break
                    rows = await self._rows(self._batch(column, last))  # a value was changed concurrently
                done.unopened[str(column)] += sum(row.sealed is not None for row in rows) - len(opened)
                last = rows[-1].row_id if rows else last
                progress.rows += len(rows)
        return done

    async def _count_rows(self) -> int:
        numbers = [
            await self._rows(select(func.count()).select_from(column.column.class_)) for column in SEALED_COLUMNS
        ]
        return sum(int(rows[0][0]) for rows in numbers)

    async def _windows(self, column: SealedColumn) -> AsyncIterator[tuple[Any, Any]]:
        """Yield the first and last primary key of each window of rows, to the end of the table."""
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
        """Return the query of the next rows: each with its id and, if sealed with an older key, its value."""
        newest = self._vault.newest_prefix
        is_old = func.substr(column.column, 1, len(newest)) != newest
        values = [column.row_id.label("row_id"), case((is_old, column.column)).label("sealed"), *column.place_columns]
        query: Any = select(*values)
        if column.payment is not None:
            query = query.add_columns(column.payment.label("payment_id"))
            if column.column.class_ is not Payment:
                query = query.join(Payment, col(Payment.id) == column.payment)
        query = query.order_by(column.row_id).limit(_BATCH)
        return query if last is None else query.where(column.row_id > last)

    def _open_rows(self, column: SealedColumn, rows: Sequence[Any]) -> list[_OpenedValue]:
        """Open the values that an older key sealed; values that no key opens are left out."""
        opened = []
        for row in rows:
            if row.sealed is not None:
                place = column.place(*row[2 : 2 + len(column.place_columns)])
                with suppress(VaultError):
                    opened.append(_OpenedValue(row, place, self._vault.open(row.sealed, place)))
        return opened

    async def _reseal(self, column: SealedColumn, opened: Sequence[_OpenedValue], done: ResealResult) -> int:
        """Reseal values; return how many were replaced. The others have changed since they were read."""
        if not opened:
            return 0
        values = [
            {"is": value.row.row_id, "was": value.row.sealed, "anew": self._vault.seal(value.text, value.place)}
            for value in opened
        ]
        table = table_of(column.column.class_)
        kept = table.c[column.column.key]
        same = column.row_id == bindparam("is"), kept == bindparam("was")
        replaced = update(table).where(*same).values({kept: bindparam("anew")})

        async def write(session: AsyncSession) -> int:
            if column.payment is not None:
                await self._update_digests(session, column, opened)
            result: Any = await (await session.connection()).execute(replaced, values)
            return int(result.rowcount)

        written = await self._with_retries(write)
        done.sealed += written
        return written

    async def _update_digests(
        self, session: AsyncSession, column: SealedColumn, opened: Sequence[_OpenedValue]
    ) -> None:
        """Lock the payments and recompute their digests with the newest key; one without a digest stays without."""
        locked: Any = select(col(Payment.id), col(Payment.installation_id), col(Payment.email_digest))
        theirs = locked.where(col(Payment.id).in_([value.row.payment_id for value in opened])).order_by(col(Payment.id))
        payments = {payment[0]: payment for payment in (await session.exec(theirs.with_for_update())).all()}
        if column.column.class_ is Payment:
            return
        table = table_of(Payment)
        values = []
        for value in opened:
            _, store, digest = payments[value.row.payment_id]
            address = loads(value.text).get(_ADDRESS)
            if address and digest is not None:
                values.append({"is": value.row.payment_id, "anew": self._emails.digest_to_store(store, address)})
        if values:
            digests = update(table).where(table.c.id == bindparam("is")).values(email_digest=bindparam("anew"))
            await (await session.connection()).execute(digests, values)

    async def _rows(self, query: Any) -> Sequence[Any]:
        async def read(session: AsyncSession) -> Sequence[Any]:
            rows: Sequence[Any] = (await session.exec(query)).all()
            return rows

        return await self._with_retries(read)

    async def _with_retries(self, work: Callable[[AsyncSession], Awaitable[T]]) -> T:
        """Run ``work`` in a transaction; retry if that failed because of a lock or a restart of the server."""
        for tries in range(1, _TRIES):
            try:
                async with self._database.transaction() as session:
                    return await work(session)
            except DatabaseUnavailableError:
                await asyncio.sleep(_PAUSE * tries)
        async with self._database.transaction() as session:
            return await work(session)
