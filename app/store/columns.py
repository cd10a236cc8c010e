"""Column types: text that fits, money as integers, moments as aware UTC, enums as text; and partial indexes.

Text comes from outside: from the gateway, Saleor, shoppers, staff. What no column can hold (a NUL, half of a surrogate
pair, more characters than there is room for) is made to fit here, in values that are written and in values that are
compared with written ones (``fit_text``). An error instead would lose the whole record.
"""

import hashlib
import json
import re
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from sqlalchemy import BigInteger, DateTime, Dialect, Enum, Index, MetaData, String, Table, Text, text
from sqlalchemy.types import TypeDecorator, TypeEngine
from sqlmodel import SQLModel
from sqlmodel.sql.sqltypes import AutoString

from app.core.text import fit_text
from integration_base.amounts import CENT, MILLIONTH, quantize_to_cents, quantize_to_millionths

_IMPOSSIBLE_IN_JSON = re.compile(r"\\u(?:0000|d[89a-f])")


class BoundedText(TypeDecorator[str]):
    """Text of at most ``length`` characters, from any source (``fit_text``).

    ``bytewise``: compared byte by byte on both databases, so that its index finds prefixes as well. ``prose``: the
    column itself has no length, but no reader needs more than ``length`` characters.
    """

    impl = String
    cache_ok = True

    def __init__(self, length: int | None = None, *, bytewise: bool = False, prose: bool = False) -> None:
        super().__init__(None if prose else length)
        self.max_length = length
        self.bytewise = bytewise
        self.prose = prose

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[str]:
        """Return the type of the column itself."""
        if self.prose or self.max_length is None:
            return dialect.type_descriptor(Text())
        collation = "C" if self.bytewise and dialect.name == "postgresql" else None
        return dialect.type_descriptor(String(self.max_length, collation=collation))

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - the signature is SQLAlchemy's
        """Return what the column can hold."""
        return None if value is None else fit_text(value, self.max_length)


OrderIdText = BoundedText(32, bytewise=True)
"""The type of an order id."""

Prose = BoundedText(4000, prose=True)
"""The type of text for people: longer text was not made for reading, and a table shows it on one page."""


def accept_any_text(tables: MetaData) -> None:
    """Let every text column accept any text."""
    for table in tables.tables.values():
        for column in table.c:
            kind = column.type
            plain = kind.impl if isinstance(kind, AutoString) else kind
            if isinstance(plain, String) and not isinstance(plain, Enum):
                column.type = BoundedText(plain.length)


def serialize_json(value: Any) -> str:
    """Return JSON that both databases store unchanged: its strings hold nothing that text cannot (``fit_text``)."""
    written = json.dumps(value)
    return json.dumps(_fit_json(value)) if _IMPOSSIBLE_IN_JSON.search(written) else written


def _fit_json(value: Any) -> Any:
    if isinstance(value, str):
        return fit_text(value)
    if isinstance(value, list | tuple):
        return [_fit_json(item) for item in value]
    if isinstance(value, dict):
        return {_fit_json(name): _fit_json(item) for name, item in value.items()}
    return value


class Amount(TypeDecorator[Decimal]):
    """A Decimal of at most two decimals, stored as a whole number of hundredths.

    SQLite has no decimal type (it would store a float), and the gateway uses at most two decimals for every currency,
    so hundredths are exact on both databases. Raises ValueError for a finer amount: nothing is ever rounded here.
    """

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> int | None:  # noqa: ARG002 - the signature is SQLAlchemy's
        """Return the number of hundredths of ``value``."""
        return None if value is None else int(quantize_to_cents(value) * 100)

    def process_result_value(self, value: int | None, dialect: Dialect) -> Decimal | None:  # noqa: ARG002 - the signature is SQLAlchemy's
        """Return the amount with exactly two decimals."""
        return None if value is None else (Decimal(value) / 100).quantize(CENT)


class FineAmount(TypeDecorator[Decimal]):
    """A Decimal of at most six decimals, stored as a whole number of millionths: a fee may be finer than a hundredth.

    Raises ValueError for one that is finer still, or too large for thousands of them to be summed.
    """

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> int | None:  # noqa: ARG002 - the signature is SQLAlchemy's
        """Return the number of millionths of ``value``."""
        return None if value is None else int(quantize_to_millionths(value) * 1_000_000)

    def process_result_value(self, value: int | None, dialect: Dialect) -> Decimal | None:  # noqa: ARG002 - the signature is SQLAlchemy's
        """Return the amount with two decimals, or as many more as it needs."""
        if value is None:
            return None
        exact = (Decimal(value) / 1_000_000).quantize(MILLIONTH)
        return exact.quantize(CENT) if exact == exact.quantize(CENT) else exact.normalize()


class Moment(TypeDecorator[datetime]):
    """An aware moment in UTC. SQLite drops the zone, so it is restored on reading; a naive moment raises ValueError."""

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


def enum_type(enum: type[StrEnum]) -> Any:
    """Return the column type of an enum: its values as text, readable in any database tool."""
    return Enum(
        enum,
        native_enum=False,
        create_constraint=False,
        length=32,
        values_callable=lambda members: [member.value for member in members],
    )


def partial_index(condition: str, name: str, *columns: str, unique: bool = False) -> Index:
    """Return an index over only the rows for which a condition holds."""
    return Index(name, *columns, unique=unique, sqlite_where=text(condition), postgresql_where=text(condition))


def table_of(model: type[SQLModel]) -> Table:
    """Return the table of a model, for statements that need rows and not objects."""
    table: Table = model.__table__  # type: ignore[attr-defined] # SQLModel does not declare it
    return table


def fingerprint(value: object) -> str:
    """Return what differs as soon as a column has another value. It may be part of a form."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
