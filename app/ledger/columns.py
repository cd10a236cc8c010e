"""Column types: money as integers, moments as aware UTC, closed vocabularies as words."""

from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from sqlalchemy import BigInteger, DateTime, Dialect, Enum, String, Table
from sqlalchemy.types import TypeDecorator
from sqlmodel import SQLModel

HUNDREDTHS = Decimal("0.01")

OrderId = String(32).with_variant(String(32, collation="C"), "postgresql")
"""The type of an order id: compared byte by byte on both databases, so that its index finds beginnings as well."""


class Amount(TypeDecorator[Decimal]):
    """A Decimal of at most two decimals, kept as a whole number of hundredths.

    SQLite has no decimal type (it would keep a float), and the gateway knows at most two decimals for every currency,
    so hundredths are exact on both databases. Raises ValueError for a finer amount: rounding is never done here.
    """

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> int | None:  # noqa: ARG002 - the signature is SQLAlchemy's
        """Return the number of hundredths of ``value``."""
        if value is None:
            return None
        hundredths = value * 100
        if hundredths != hundredths.to_integral_value():
            raise ValueError("an amount has at most two decimals")
        return int(hundredths)

    def process_result_value(self, value: int | None, dialect: Dialect) -> Decimal | None:  # noqa: ARG002 - the signature is SQLAlchemy's
        """Return the amount with exactly two decimals."""
        return None if value is None else (Decimal(value) / 100).quantize(HUNDREDTHS)


class Moment(TypeDecorator[datetime]):
    """An aware moment in UTC. SQLite forgets the zone, so it is put back on the way out; a naive moment is refused."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - the signature is SQLAlchemy's
        """Return ``value`` in UTC."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a moment needs a time zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - the signature is SQLAlchemy's
        """Return the moment, aware, in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def one_of(words: type[StrEnum]) -> Any:
    """Return the column type of a closed vocabulary: its words as text, readable in any database tool."""
    return Enum(
        words,
        native_enum=False,
        create_constraint=False,
        length=32,
        values_callable=lambda members: [member.value for member in members],
    )


def table_of(model: type[SQLModel]) -> Table:
    """Return the table of a model, for statements that want rows and no objects."""
    table: Table = model.__table__  # type: ignore[attr-defined] # SQLModel does not declare it
    return table
