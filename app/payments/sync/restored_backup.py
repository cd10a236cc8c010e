"""An older backup was put back in the place of the database: what it took for unsent may have been sent since.

Whatever else is open in it is looked up anyway, and what was done since is found by comparing the books. Only what
waited for its turn would be sent when that comes, a second time if it came before the loss (laws of money, 1 and 2).
"""

from typing import Any

from sqlalchemy import func, select, update
from sqlmodel import col

from app.db.tables import Kind, Operation, State
from app.payments.services import Services

_AT_ONCE = 50_000  # rows that one statement passes over
_MONEY = (Kind.CAPTURE, Kind.VOID, Kind.REFUND)


async def mark_waiting_as_unknown(services: Services) -> int:
    """Let nothing that moves money be sent that waits in this database; return how much that is.

    It is looked up instead, as anything of which nobody knows: it has succeeded if the gateway shows it, and failed if
    it does not within the settling time. To be done while no worker runs. Twice does no harm.
    """
    newest: Any = select(func.max(col(Operation.id)))
    async with services.database.transaction() as session:
        last = (await session.exec(newest)).scalar_one() or 0
    marked = 0
    for first in range(1, last + 1, _AT_ONCE):
        now = services.now()
        waiting = (
            col(Operation.id).between(first, first + _AT_ONCE - 1),
            col(Operation.state) == State.WAITING,
            col(Operation.kind).in_(_MONEY),
        )
        unknown: Any = update(Operation).where(*waiting)
        async with services.database.transaction() as session:
            done = await session.exec(unknown.values(state=State.UNKNOWN, next_poll_at=now, polls=0, updated_at=now))
        marked += int(done.rowcount)
    return marked
