"""After an older backup has replaced the database: operations that are unsent in it may have been sent since.

Other open operations are looked up anyway, and operations made since the backup are found by reconciliation. Only
waiting operations would be sent when their turn comes, a second time if it had already come before the database was
lost (laws of money, 1 and 2).
"""

from datetime import datetime
from typing import Any

from sqlalchemy import func, select, update
from sqlmodel import col

from app.core.vocabulary import Kind, State
from app.store.connection_errors import DamagedFileError, sqlite_file
from app.store.database import Database, create_engine, is_sqlite
from app.store.tables import Operation

_AT_ONCE = 50_000  # rows that one statement covers
_MONEY = (Kind.CAPTURE, Kind.VOID, Kind.REFUND)


async def require_whole(database_url: str) -> None:
    """Raise DamagedFileError for an SQLite file that is not whole. Reads all of it.

    If the log of the lost database was left beside its backup, SQLite writes that into it, and nothing else tells.
    """
    if not is_sqlite(database_url):
        return
    engine = create_engine(database_url)
    try:
        async with engine.connect() as connection:
            found = (await connection.exec_driver_sql("PRAGMA integrity_check(1)")).scalar_one()
    finally:
        await engine.dispose()
    if found != "ok":
        raise DamagedFileError(sqlite_file(database_url))


async def mark_waiting_as_unknown(database: Database, now: datetime) -> int:
    """Mark all waiting operations that move money as UNKNOWN, so that they are not sent; return their number.

    They are looked up instead, like any operation with an unknown outcome: it has succeeded if the gateway shows it,
    and failed if it does not within the settling time. Call it while no worker runs. Idempotent.
    """
    newest: Any = select(func.max(col(Operation.id)))
    async with database.transaction() as session:
        last = (await session.exec(newest)).scalar_one() or 0
    marked = 0
    for first in range(1, last + 1, _AT_ONCE):
        waiting = (
            col(Operation.id).between(first, first + _AT_ONCE - 1),
            col(Operation.state) == State.WAITING,
            col(Operation.kind).in_(_MONEY),
        )
        unknown: Any = update(Operation).where(*waiting)
        async with database.transaction() as session:
            done = await session.exec(unknown.values(state=State.UNKNOWN, next_poll_at=now, polls=0, updated_at=now))
        marked += int(done.rowcount)
    return marked
