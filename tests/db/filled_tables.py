"""Rows for every table, new ones included: made from the tables' own description."""

from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import JSON, Boolean, Column, Date, Enum, Integer, LargeBinary, Table, insert, null
from sqlalchemy.types import TypeEngine
from sqlmodel import SQLModel

from app.store.columns import Amount, BoundedText, FineAmount, Moment
from app.store.database import Database
from tests.db.rows import NOON

_FULL, _EMPTY, _JSON_NULL, _LAST = range(4)
"""A row with every value; one without those it can do without; one whose JSON is null; and one more."""


async def fill_every_table(database: Database) -> None:
    """Write four rows into each table."""
    async with database.engine.begin() as connection:
        for table in SQLModel.metadata.sorted_tables:
            for number in (_FULL, _EMPTY, _JSON_NULL, _LAST):
                await connection.execute(insert(table).values({c: _value(table, c, number) for c in table.c}))


def _value(table: Table, column: Column[Any], number: int) -> Any:
    if isinstance(column.type, JSON):
        return _json(column, number)
    if number == _EMPTY and column.nullable:
        return None
    for key in column.foreign_keys:
        parent = key.column
        return _value(parent.table, parent, number)
    return _plain(f"{table.name}.{column.name}", column, number)


def _json(column: Column[Any], number: int) -> Any:
    if number == _EMPTY and column.nullable:
        return null()
    if number == _JSON_NULL:
        return JSON.NULL
    return {"text": "Оленка 'x' \\ \"y\" 🙂", "number": 1.10, "large": 10**17 + 1, "none": None, "list": [True, {}, []]}


def _plain(name: str, column: Column[Any], number: int) -> Any:
    """Return a value that no other row of the table has, as far as its type allows."""
    values: Mapping[type[TypeEngine[Any]], Any] = {
        Amount: Decimal("90071992547409.93") + number,  # no float holds it in hundredths
        FineAmount: Decimal("-0.000001") * (number + 1),
        Moment: NOON + timedelta(days=number, microseconds=123456 if number else 0),
        Date: date(2026, 11, 21) + timedelta(days=number),
        Boolean: number % 2 == 0,
        Integer: (number + 1) * 1000 + 7,  # ids with gaps, and beyond what a new sequence would give
        LargeBinary: bytes([0, 255, number]),
        BoundedText: f"{'Їż🙂a'[number]}{number}\n{name}"[: getattr(column.type, "max_length", None)],
    }
    if isinstance(column.type, Enum):
        assert column.type.enum_class is not None
        members = list(column.type.enum_class)
        return members[number % len(members)]
    return values[type(column.type)]  # a KeyError: a type that is new here
