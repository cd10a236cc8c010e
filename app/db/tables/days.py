"""What each day that is over has brought, by our own books: summed once and kept, so that no payment is counted twice.

Days are those of UTC. A day is summed again when an operation changes that it has counted (``ChangedDay``).
"""

from datetime import date, datetime
from decimal import Decimal
from typing import Any, ClassVar

from sqlalchemy import Index
from sqlmodel import Field, SQLModel

from app.db.columns import Amount, FineAmount, Moment, one_of
from app.db.tables.payments import State
from app.db.tables.reconciliation import Booked


class SummedDay(SQLModel, table=True):
    """A day of an account of which the sums are kept; one on which nothing happened has no sums, and this row."""

    __tablename__: ClassVar[Any] = "summed_day"

    account_id: str = Field(foreign_key="merchant_account.id", primary_key=True, max_length=32)
    day: date = Field(primary_key=True)
    summed_at: datetime = Field(sa_type=Moment)


class DayTotal(SQLModel, table=True):
    """What has moved on a day: ``count`` times, ``amount`` in all, with fees of ``fee`` for so many (``fees``).

    The same as ``day_sums.Total``, by day of ``Operation.booked_at``.
    """

    __tablename__: ClassVar[Any] = "day_total"

    account_id: str = Field(foreign_key="merchant_account.id", primary_key=True, max_length=32)
    day: date = Field(primary_key=True)
    channel: str = Field(primary_key=True, max_length=255)
    currency: str = Field(primary_key=True, max_length=3)
    kind: Booked = Field(primary_key=True, sa_type=one_of(Booked))
    amount: Decimal = Field(sa_type=Amount)
    count: int
    fee: Decimal = Field(sa_type=FineAmount)
    fees: int


class DayOutcome(SQLModel, table=True):
    """How many payments have ended on a day in one way, by day of ``Operation.ended_at``.

    ``reason``: of a failure the gateway's status code, "" if it gave none; of a success how it was paid
    (``day_sums.Outcome``).
    """

    __tablename__: ClassVar[Any] = "day_outcome"

    account_id: str = Field(foreign_key="merchant_account.id", primary_key=True, max_length=32)
    day: date = Field(primary_key=True)
    channel: str = Field(primary_key=True, max_length=255)
    currency: str = Field(primary_key=True, max_length=3)
    state: State = Field(primary_key=True, sa_type=one_of(State))
    reason: str = Field(primary_key=True, max_length=100)
    count: int


class ChangedDay(SQLModel, table=True):
    """A note that the sums of a day no longer hold: written in the transaction that has changed what was summed.

    Only ever added, so nobody waits for anybody; whoever sums the day anew removes the notes that were there before.
    """

    __tablename__: ClassVar[Any] = "changed_day"
    __table_args__ = (Index("ix_changed_day", "account_id", "day"),)

    id: int | None = Field(default=None, primary_key=True)
    account_id: str = Field(max_length=32)
    day: date
