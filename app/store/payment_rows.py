"""Maps payments between their rows and the plain objects of ``core.payment``: reads rows, and writes what has changed.

The values with which an object was read are kept beside it (``StoredPayment.saved``), so that saving writes only the
columns that differ from them, in as few statements as there are tables.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from operator import attrgetter
from typing import Any, Generic, TypeVar

import sqlalchemy as sa
from sqlmodel import SQLModel
from sqlmodel.ext.asyncio.session import AsyncSession

from app.core.payment import Operation, Payment, PaymentAggregate, Problem, SaleorEvent
from app.store import tables
from app.store.columns import table_of
from app.store.committed import note_event, note_operation

T = TypeVar("T")

Values = tuple[Any, ...]


class RowMapping(Generic[T]):
    """The columns of a table that an object has as attributes of the same names."""

    def __init__(self, model: type[SQLModel], plain: type[T]) -> None:
        self.table = table_of(model)
        self._plain = plain
        known = {attribute.name for attribute in fields(plain)}  # type: ignore[arg-type]  # a dataclass
        self.columns: Sequence[sa.Column[Any]] = [column for column in self.table.c if column.name in known]
        self.names = tuple(column.name for column in self.columns)
        self.values_of = attrgetter(*self.names)
        self.places = {name: place for place, name in enumerate(self.names)}

    def read(self, values: Sequence[Any]) -> T:
        """Return the object with these values of ``columns``."""
        return self._plain(**dict(zip(self.names, values, strict=True)))

    def changed_names(self, before: Values, after: Values) -> tuple[str, ...]:
        """Return the names of the columns in which the values differ."""
        return tuple(name for name, old, new in zip(self.names, before, after, strict=True) if old != new)


PAYMENTS = RowMapping(tables.Payment, Payment)
OPERATIONS = RowMapping(tables.Operation, Operation)
EVENTS = RowMapping(tables.SaleorEvent, SaleorEvent)
PROBLEMS = RowMapping(tables.Problem, Problem)
_SHARES = table_of(tables.SplitShare)


@dataclass(slots=True)
class StoredPayment(PaymentAggregate):
    """A payment as it was loaded, with the ``saved`` values of each of its parts, and the shares of its operations."""

    saved: dict[object, Values] = field(default_factory=dict)
    saved_shares: dict[Operation, Mapping[str, Decimal]] = field(default_factory=dict)
    _loaded: Mapping[object, Values] | None = None

    @property
    def loaded(self) -> Mapping[object, Values]:
        """The values of its parts that others can see: those of before this transaction."""
        return self.saved if self._loaded is None else self._loaded

    def keep_loaded(self) -> None:
        """Keep these values: it is about to be written, and again before this transaction ends."""
        self._loaded = dict(self.loaded)

    @property
    def is_changed(self) -> bool:
        """True when something of it waits to be saved."""
        if self.cards_to_save or self.refused_cards:
            return True
        return any(
            self.saved.get(part) != mapping.values_of(part) for mapping, parts in self._parts() for part in parts
        ) or any(self.saved_shares.get(operation, {}) != operation.shares for operation in self.operations)

    def trace_new_parts(self, trace_id: str | None) -> None:
        """Give what was added the trace in which that was requested."""
        parts: Sequence[Operation | SaleorEvent] = (*self.operations, *self.events)
        for part in parts:
            if part.trace_id is None and part not in self.saved:
                part.trace_id = trace_id

    def _parts(self) -> Iterator[tuple[RowMapping[Any], Sequence[Any]]]:
        yield PAYMENTS, [self.payment]
        yield OPERATIONS, self.operations
        yield EVENTS, self.events
        yield PROBLEMS, self.payment.problems


async def write(session: AsyncSession, payments: Sequence[StoredPayment]) -> None:
    """Write what has changed of payments, which are locked, and what was added to them; new parts receive their ids."""
    days = {(stored.payment.account_id, day) for stored in payments for day in _invalidated_days(stored)}
    await _write_parts(session, PAYMENTS, [(stored, stored.payment) for stored in payments])
    operations = [(stored, operation) for stored in payments for operation in stored.operations]
    await _write_parts(session, OPERATIONS, operations)
    await _write_shares(session, operations)
    for stored in payments:
        for about, operation in stored.links:
            about.operation_id = operation.id
        stored.links.clear()
    await _write_parts(
        session, PROBLEMS, [(stored, problem) for stored in payments for problem in stored.payment.problems]
    )
    await _write_parts(session, EVENTS, [(stored, event) for stored in payments for event in stored.events])
    if days:
        changed = [{"account_id": account_id, "day": day} for account_id, day in sorted(days)]
        await session.exec(table_of(tables.ChangedDay).insert(), params=changed)


async def _write_parts(
    session: AsyncSession, mapping: RowMapping[Any], parts: Sequence[tuple[StoredPayment, Any]]
) -> None:
    """Write the parts of one table: a statement for all that are new, and one for each set of changed columns."""
    added: list[tuple[StoredPayment, Any]] = []
    changes: defaultdict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for stored, part in parts:
        before, after = stored.saved.get(part), mapping.values_of(part)
        if before is None:
            added.append((stored, part))
            continue
        if before == after:
            continue
        names = mapping.changed_names(before, after)
        values = {name: getattr(part, name) for name in names}
        if mapping is OPERATIONS and not _SUMMED_SINCE.isdisjoint(names):
            values["account_id"] = _summed_account(stored.payment, part)
        changes[tuple(values)].append({"row_id": part.id} | values)
        stored.saved[part] = after
        _note(session, part, changed="state" in names)
    for names, rows in changes.items():
        await session.exec(_update_statement(mapping.table, names), params=rows)
    if added:
        await _insert(session, mapping, added)


async def _insert(session: AsyncSession, mapping: RowMapping[Any], added: Sequence[tuple[StoredPayment, Any]]) -> None:
    rows = [
        dict(zip(mapping.names[1:], mapping.values_of(part)[1:], strict=True))
        | _owner_values(mapping, stored.payment, part)
        for stored, part in added
    ]
    inserted: Any = await session.exec(_insert_statement(mapping.table), params=rows)
    for (stored, part), (row_id,) in zip(added, inserted.all(), strict=True):
        part.id = row_id
        stored.saved[part] = mapping.values_of(part)
        _note(session, part, changed=True)


def _note(session: AsyncSession, part: Any, *, changed: bool) -> None:
    if changed and isinstance(part, Operation):
        note_operation(session, part)
    elif changed and isinstance(part, SaleorEvent):
        note_event(session, part)


def _owner_values(mapping: RowMapping[Any], payment: Payment, part: Any) -> dict[str, Any]:
    """Return what a row repeats of its payment, for its indexes."""
    if mapping is PAYMENTS:
        return {}
    owner: dict[str, Any] = {"payment_id": payment.id}
    if mapping is OPERATIONS:
        return owner | {"account_id": _summed_account(payment, part)}
    owner["installation_id"] = payment.installation_id
    return owner | {"account_id": payment.account_id} if mapping is PROBLEMS else owner


_SUMMED_SINCE = frozenset({"booked_at", "ended_at"})


def _summed_account(payment: Payment, operation: Operation) -> str | None:
    """Return the account in whose daily sums an operation counts; None if it counts in none."""
    return payment.account_id if operation.booked_at is not None or operation.ended_at is not None else None


@cache
def _insert_statement(table: sa.Table) -> Any:
    return table.insert().returning(table.c.id, sort_by_parameter_order=True)


@cache
def _update_statement(table: sa.Table, names: tuple[str, ...]) -> Any:
    return (
        table.update().where(table.c.id == sa.bindparam("row_id")).values({name: sa.bindparam(name) for name in names})
    )


async def _write_shares(session: AsyncSession, operations: Sequence[tuple[StoredPayment, Operation]]) -> None:
    """Write the shares that differ from the saved ones; those of a sub-merchant who has none any more are deleted."""
    added, changed, gone = [], [], []
    for stored, operation in operations:
        before = stored.saved_shares.get(operation, {})
        if before == operation.shares:
            continue
        for name, amount in operation.shares.items():
            row = {"of_operation": operation.id, "of_sub_merchant": name, "amount": amount}
            if name not in before:
                added.append({"operation_id": operation.id, "sub_merchant_id": name, "amount": amount})
            elif before[name] != amount:
                changed.append(row)
        gone += [
            {"of_operation": operation.id, "of_sub_merchant": name} for name in before if name not in operation.shares
        ]
        stored.saved_shares[operation] = dict(operation.shares)
    statements = ((_DELETE_SHARE, gone), (_UPDATE_SHARE, changed), (_INSERT_SHARE, added))
    for statement, rows in statements:
        if rows:
            await session.exec(statement, params=rows)


_SHARE = (
    _SHARES.c.operation_id == sa.bindparam("of_operation"),
    _SHARES.c.sub_merchant_id == sa.bindparam("of_sub_merchant"),
)
# Built once: there are hardly any shares, and each payment is written several times.
_DELETE_SHARE: Any = _SHARES.delete().where(*_SHARE)
_UPDATE_SHARE: Any = _SHARES.update().where(*_SHARE).values(amount=sa.bindparam("amount"))
_INSERT_SHARE: Any = _SHARES.insert()


_SUMMED_NAMES = ("booked_at", "ended_at", "state", "status_code", "amount", "fee", "fee_currency", "details")
"""The values of an operation that enter the sums of its day (``summed_days``)."""


def _invalidated_days(stored: StoredPayment) -> set[date]:
    """Return the days whose sums are invalidated by changes of operations that are not written yet.

    An operation that counts for the first time, on the day on which that is recorded, invalidates none: no day is
    summed before it has been over for an hour (``summed_days``). So hardly any payment costs a row of ``ChangedDay``.
    """
    days: set[date] = set()
    for operation in stored.operations:
        before = stored.saved.get(operation)
        if before is not None and not any(
            before[OPERATIONS.places[name]] != getattr(operation, name) for name in _SUMMED_NAMES
        ):
            continue
        for name in ("booked_at", "ended_at"):
            at, counted = getattr(operation, name), None if before is None else before[OPERATIONS.places[name]]
            if counted is not None:
                days.add(_day(counted))
            if at is not None and (counted is not None or _day(at) < _day(operation.updated_at)):
                days.add(_day(at))
    return days


def _day(moment: datetime) -> date:
    return moment.astimezone(UTC).date()
