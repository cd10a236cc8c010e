"""The totals of each finished day by our own books: summed once and stored, so that no payment is counted twice.

Days are UTC days. A day is summed again when an operation that it counts changes (``ChangedDay``).
"""

from datetime import date, datetime
from decimal import Decimal
from typing import Any, ClassVar

from sqlalchemy import Index
from sqlmodel import Field, SQLModel

from app.core.vocabulary import State
from app.store.columns import Amount, FineAmount, Moment, enum_type
from app.store.tables.reconciliation import Booked


class SummedDay(SQLModel, table=True):
    """A day of an account whose sums are stored; a day on which nothing happened has only this row."""

    __tablename__: ClassVar[Any] = "summed_day"

    account_id: str = Field(foreign_key="merchant_account.id", primary_key=True, max_length=32)
    day: date = Field(primary_key=True)
    summed_at: datetime = Field(sa_type=Moment)


class DayTotal(SQLModel, table=True):
    """Money moved on a day: ``count`` times, ``amount`` in all; fees of ``fee``, known for ``fees`` of them.

    Like ``day_sums.Total``, by day of ``Operation.booked_at``.
    """

    __tablename__: ClassVar[Any] = "day_total"

    account_id: str = Field(foreign_key="merchant_account.id", primary_key=True, max_length=32)
    day: date = Field(primary_key=True)
    channel: str = Field(primary_key=True, max_length=255)
    currency: str = Field(primary_key=True, max_length=3)
    kind: Booked = Field(primary_key=True, sa_type=enum_type(Booked))
    amount: Decimal = Field(sa_type=Amount)
    count: int
    fee: Decimal = Field(sa_type=FineAmount)
    fees: int


class DayOutcome(SQLModel, table=True):
    """How many payments ended in one way on a day, by day of ``Operation.ended_at``.

    ``reason``: of a failure the gateway's status code, "" if it gave none; of a success how it was paid
    (``summed_days.Outcome``).
    """

    __tablename__: ClassVar[Any] = "day_outcome"

    account_id: str = Field(foreign_key="merchant_account.id", primary_key=True, max_length=32)
    day: date = Field(primary_key=True)
    channel: str = Field(primary_key=True, max_length=255)
    currency: str = Field(primary_key=True, max_length=3)
    state: State = Field(primary_key=True, sa_type=enum_type(State))
    reason: str = Field(primary_key=True, max_length=100)
    count: int


class ChangedDay(SQLModel, table=True):
    """Marks the sums of a day as invalid: inserted in the transaction that changes an operation that was summed.

    Rows are only ever inserted, so transactions never wait for each other; summing the day again deletes the rows that
    existed before.
    """

    __tablename__: ClassVar[Any] = "changed_day"
    __table_args__ = (Index("ix_changed_day", "account_id", "day"),)

    id: int | None = Field(default=None, primary_key=True)
    account_id: str = Field(max_length=32)
    day: date
