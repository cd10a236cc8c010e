"""Payments that this process has begun: their intents committed, then locked again to post what came of them.

Both are done for all who are at it in the same moment (``together``). What was written a moment ago is mostly still as
it was written, and to see that costs a fraction of reading it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Row, bindparam
from sqlalchemy.types import JSON
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.ledger.columns import table_of
from app.ledger.sheets import Sheet, sheets_of
from app.ledger.tables import Operation, Payment, SaleorEvent, SplitShare

_NOT_STORED = 0  # the row id of no payment
_PAYMENT, _OPERATION, _EVENT = (table_of(each) for each in (Payment, Operation, SaleorEvent))


@dataclass(frozen=True, slots=True)
class Intent:
    """How to make the rows of a payment that is about to be asked for; each from the row to which it belongs.

    ``objection`` is asked before, with the other attempts to pay the same (``others``), which are locked: it may change
    all of them, and returns why the payment must not be made.
    """

    payment: Callable[[], Payment]
    operation: Callable[[Payment], Operation]
    shares: Callable[[Operation], Sequence[SplitShare]]
    others: "Others | None" = None
    objection: Callable[[Payment, Sequence[Sheet]], Exception | None] | None = None


async def insert_intents(session: AsyncSession, intents: Sequence[Intent]) -> list[Sheet | Exception]:
    """Insert the rows of intents and return for each its sheet, or the objection to it.

    Raises IntegrityError for a payment that is there already.
    """
    payments = [each.payment() for each in intents]
    objections = await _objections(session, intents, payments)
    made = [index for index, objection in enumerate(objections) if objection is None]
    sheets = await _insert(session, [intents[index] for index in made], [payments[index] for index in made])
    found: list[Sheet | Exception] = [objection or sheets.pop(0) for objection in objections]
    return found


async def _objections(
    session: AsyncSession, intents: Sequence[Intent], payments: Sequence[Payment]
) -> list[Exception | None]:
    # All locks before any row is inserted: whoever waits for somebody's row holds none that the other wants.
    wanted = [
        Begun(_NOT_STORED, payment.installation_id, None, intent.others)
        for intent, payment in zip(intents, payments, strict=True)
    ]
    asked = any(each.others is not None for each in wanted)
    groups = await load_begun(session, wanted) if asked else [[] for _ in wanted]
    objections: list[Exception | None] = []
    for intent, payment, group in zip(intents, payments, groups, strict=True):
        recorded = any(each.payment.transaction_id == payment.transaction_id for each in group)
        asks = intent.objection is not None and not recorded
        objections.append(intent.objection(payment, group) if intent.objection and asks else None)
    return objections


async def _insert(session: AsyncSession, intents: Sequence[Intent], payments: Sequence[Payment]) -> list[Sheet]:
    # In one order everywhere, so that no two processes wait for each other's row of the same transaction.
    in_order: list[Payment] = sorted(payments, key=_transaction)
    session.add_all(in_order)
    await session.flush()
    operations = [intent.operation(payment) for intent, payment in zip(intents, payments, strict=True)]
    session.add_all(operations)
    await session.flush()
    sheets = [
        Sheet(payment, [operation], [], list(intent.shares(operation)))
        for intent, payment, operation in zip(intents, payments, operations, strict=True)
    ]
    session.add_all([share for sheet in sheets for share in sheet.shares])
    return sheets


def _transaction(payment: Payment) -> str:
    return payment.transaction_id


@dataclass(frozen=True, slots=True)
class Others:
    """What shows that another payment of the same Saleor is an attempt to pay the same: its source or transaction."""

    source_id: str
    transaction_ids: Sequence[str]


@dataclass(slots=True)
class Begun:
    """A payment that is to be locked again. ``others``: together with these attempts to pay the same.

    ``written``: its sheet as this process has committed it. It is good for one transaction: after one that came to
    nothing it is read anew.
    """

    payment_id: int
    installation_id: int
    written: Sheet | None
    others: Others | None = None


async def load_begun(session: AsyncSession, many: Sequence[Begun]) -> list[list[Sheet]]:
    """Return for each its own sheet and those of the other attempts, oldest first.

    All are locked until the end of the transaction, in that order. Whoever wants several payments locked takes them all
    by this function and before any other, so that no two wait for each other.
    """
    others = [each.others for each in many if each.others is not None]
    locked = await _rows(
        session,
        _LOCK,
        payment_ids=[each.payment_id for each in many],
        installation_ids=sorted({each.installation_id for each in many}),
        source_ids=[each.source_id for each in others],
        transaction_ids=[name for each in others for name in each.transaction_ids],
    )
    groups = [[row.id for row in locked if _belongs(row, each)] for each in many]
    sheets = await _unchanged(session, many)
    missing = sorted({one for group in groups for one in group} - sheets.keys())
    if missing:
        query = select(Payment).where(col(Payment.id).in_(missing)).order_by(col(Payment.id))
        read = await sheets_of(session, (await session.exec(query)).all())
        sheets |= dict(zip(missing, read, strict=True))
    return [[sheets[one] for one in group] for group in groups]


def _belongs(row: Row[Any], begun: Begun) -> bool:
    if row.id == begun.payment_id:
        return True
    others = begun.others
    if others is None or row.installation_id != begun.installation_id:
        return False
    return row.source_id == others.source_id or row.transaction_id in others.transaction_ids


async def _unchanged(session: AsyncSession, many: Sequence[Begun]) -> dict[int, Sheet]:
    """Return, and put into ``session``, the sheets that are still as they were written; their payments are locked."""
    written = {each.payment_id: each.written for each in many if each.written is not None}
    for each in many:
        each.written = None
    rows: dict[int, list[Row[Any]]] = {row_id: [] for row_id in written}
    for row in await _rows(session, _AS_THEY_ARE, payment_ids=list(written)) if written else ():
        rows[row[_ID]].append(row)
    same = {
        row_id: sheet for row_id, sheet in written.items() if list(_as_written(sheet)) == [*map(tuple, rows[row_id])]
    }
    for sheet in same.values():
        session.add_all([sheet.payment, *sheet.operations, *sheet.shares])
    return same


def _as_written(sheet: Sheet) -> Iterator[tuple[Any, ...]]:
    """Give what ``_AS_THEY_ARE`` shows of a sheet without events, if nobody has touched it."""
    of_payment = tuple(getattr(sheet.payment, name) for name in _OF_PAYMENT)
    for operation in sheet.operations:
        yield of_payment + tuple(getattr(operation, name) for name in _OF_OPERATION) + (None,)


async def _rows(session: AsyncSession, statement: sa.Select[Any], **names: Sequence[object]) -> Sequence[Row[Any]]:
    return (await (await session.connection()).execute(statement, names)).all()


def _plain(table: sa.Table) -> list[str]:
    """Return the columns of a table that can be compared as they are; what is JSON never changes alone."""
    return [each.name for each in table.c if not isinstance(each.type, JSON)]


def _one_of(column: sa.Column[Any], name: str) -> sa.ColumnElement[bool]:
    return column.in_(bindparam(name, expanding=True))


_OF_PAYMENT, _OF_OPERATION = _plain(_PAYMENT), _plain(_OPERATION)
_ID = _OF_PAYMENT.index("id")

# Built once, because each payment that is begun asks them. The lock comes first, by itself: what is read in the same
# statement can be from before others let go of it.
_LOCK = (
    sa.select(_PAYMENT.c.id, _PAYMENT.c.installation_id, _PAYMENT.c.source_id, _PAYMENT.c.transaction_id)
    .where(
        sa.or_(
            _one_of(_PAYMENT.c.id, "payment_ids"),
            _one_of(_PAYMENT.c.installation_id, "installation_ids") & _one_of(_PAYMENT.c.source_id, "source_ids"),
            _one_of(_PAYMENT.c.installation_id, "installation_ids")
            & _one_of(_PAYMENT.c.transaction_id, "transaction_ids"),
        )
    )
    .order_by(_PAYMENT.c.id)
    .with_for_update()
)
_AS_THEY_ARE = (
    sa.select(*(_PAYMENT.c[name] for name in _OF_PAYMENT), *(_OPERATION.c[name] for name in _OF_OPERATION), _EVENT.c.id)
    .select_from(
        _PAYMENT.join(_OPERATION, _OPERATION.c.payment_id == _PAYMENT.c.id).outerjoin(
            _EVENT, _EVENT.c.payment_id == _PAYMENT.c.id
        )
    )
    .where(_one_of(_PAYMENT.c.id, "payment_ids"))
    .order_by(_PAYMENT.c.id, _OPERATION.c.id)
)
