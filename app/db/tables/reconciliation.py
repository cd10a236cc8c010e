"""What came of comparing our books with the gateway's: each comparison, each difference, and what each day has brought.

Days are those of UTC, as the windows of a register are.
"""

from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import JSON, Index, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

from app.db.columns import Amount, FineAmount, Moment, one_of, partial_index

UNSETTLED = "state IN ('found', 'put to people')"


class RunState(StrEnum):
    """How far a comparison is."""

    PLANNED = "planned"  # its night has not come
    RUNNING = "running"  # begun; if its moment passes, whoever did it has died, and another one goes on
    DONE = "done"
    FAILED = "failed"  # given up; the next night covers what it did not


class Source(StrEnum):
    """Where the gateway's books were read."""

    REGISTER = "register"
    ORDERS = "orders"  # the by-period list, where the gateway gives this account no register


class DiscrepancyKind(StrEnum):
    """How the books differ."""

    MISSED = "missed"  # the gateway has done what we do not know of: its notification was lost
    UNKNOWN = "unknown"  # no payment of ours is meant
    AMOUNT = "amount"
    CURRENCY = "currency"
    STATE = "state"  # one says success, the other failure
    NOT_SHOWN = "not shown"  # we know of it, and the gateway's books do not
    UNTOLD = "untold"  # Saleor does not know of it
    RECEIVER = "receiver"  # another sub-merchant, or another share
    UNREADABLE = "unreadable"


class DiscrepancyState(StrEnum):
    """What became of a difference."""

    FOUND = "found"  # the gateway has not been asked about it yet, or did not answer
    REPAIRED = "repaired"  # the gateway's record was posted, and the books agree
    TO_PEOPLE = "put to people"
    ENDED = "ended"  # the books agree by now, or a person has looked


class Booked(StrEnum):
    """How money has moved."""

    CHARGED = "charged"  # at once, or by a capture
    REFUNDED = "refunded"
    CHARGED_BACK = "charged back"  # by a dispute that the payer has won
    PAID_OUT = "paid out"  # to a card


class ReconciliationRun(SQLModel, table=True):
    """One comparison of an account's books over a period: ``starts_at`` up to ``ends_at``, which a planned one has not.

    What is covered is ``covered_until``; of the window that follows, the orders up to ``after_order`` are compared, in
    the order of their names. ``due_at`` is when a worker takes it up, or takes it over; None once it has ended.
    """

    __tablename__: ClassVar[Any] = "reconciliation_run"
    __table_args__ = (
        partial_index("due_at IS NOT NULL", "ix_reconciliation_run_due_at", "due_at"),
        partial_index("state = 'planned'", "ix_reconciliation_run_planned", "account_id", unique=True),
        Index("ix_reconciliation_run_of_account", "account_id", "id"),
        Index("ix_reconciliation_run_of_store", "installation_id", "id"),
    )

    id: int | None = Field(default=None, primary_key=True)
    installation_id: int = Field(foreign_key="installation.id")
    account_id: str = Field(foreign_key="merchant_account.id", max_length=32)
    state: RunState = Field(default=RunState.PLANNED, sa_type=one_of(RunState))
    chosen: bool = Field(default=False)  # somebody has chosen the period: it covers nothing of the nightly ones
    starts_at: datetime | None = Field(default=None, sa_type=Moment)
    ends_at: datetime | None = Field(default=None, sa_type=Moment)
    covered_until: datetime | None = Field(default=None, sa_type=Moment)
    after_order: str | None = Field(default=None, max_length=256)
    report_id: str | None = Field(default=None, sa_type=Text)  # the register of the window, while it is being made
    report_count: int | None = Field(default=None)
    source: Source | None = Field(default=None, sa_type=one_of(Source))
    lines: int = Field(default=0)
    orders: int = Field(default=0)
    looked_up: int = Field(default=0)
    repaired: int = Field(default=0)
    to_people: int = Field(default=0)
    failure: dict[str, Any] | None = Field(default=None, sa_type=JSON)  # why it does not go on, in words
    attempts: int = Field(default=0)  # in vain, one after the other
    due_at: datetime | None = Field(default=None, sa_type=Moment)
    created_at: datetime = Field(sa_type=Moment)
    started_at: datetime | None = Field(default=None, sa_type=Moment)
    finished_at: datetime | None = Field(default=None, sa_type=Moment)


class Discrepancy(SQLModel, table=True):
    """One difference between our books and the gateway's. ``key`` is what it is about: found again, it is the same row.

    ``facts`` are what the gateway says and what we say, amounts as texts. ``run_id`` is the comparison that found it
    first, ``seen_run_id`` the last one.
    """

    __tablename__: ClassVar[Any] = "discrepancy"
    __table_args__ = (
        UniqueConstraint("account_id", "key"),
        partial_index(UNSETTLED, "ix_discrepancy_unsettled", "account_id", "id"),
        Index("ix_discrepancy_of_run", "run_id", "id"),
    )

    id: int | None = Field(default=None, primary_key=True)
    installation_id: int = Field(foreign_key="installation.id")
    account_id: str = Field(foreign_key="merchant_account.id", max_length=32)
    run_id: int = Field(foreign_key="reconciliation_run.id")
    seen_run_id: int
    payment_id: int | None = Field(default=None, foreign_key="payment.id")  # None: of an order that is not ours
    order_id: str = Field(max_length=256)
    gateway_id: str | None = Field(default=None, max_length=100)  # the gateway's payment id
    key: str = Field(max_length=64)
    kind: DiscrepancyKind = Field(sa_type=one_of(DiscrepancyKind))
    state: DiscrepancyState = Field(sa_type=one_of(DiscrepancyState))
    facts: dict[str, Any] = Field(sa_type=JSON)
    found_at: datetime = Field(sa_type=Moment)
    changed_at: datetime = Field(sa_type=Moment)


class ComparedDay(SQLModel, table=True):
    """A day of an account of which the gateway's books were read: from ``starts_at`` to ``ends_at``, which may be less
    than the day, or a little more before it.

    Written with its totals, in the commit that covers their window. ``unreadable`` lines are in no total.
    """

    __tablename__: ClassVar[Any] = "compared_day"

    account_id: str = Field(foreign_key="merchant_account.id", primary_key=True, max_length=32)
    day: date = Field(primary_key=True)
    starts_at: datetime = Field(sa_type=Moment)
    ends_at: datetime = Field(sa_type=Moment)
    unreadable: int = Field(default=0)
    run_id: int = Field(foreign_key="reconciliation_run.id")
    compared_at: datetime = Field(sa_type=Moment)


class GatewayTotal(SQLModel, table=True):
    """What by the gateway's books was moved on a day: ``count`` times, ``amount`` in all, without the payers' fees.

    ``channel`` is that of our payments, "" of a trial; "*" of orders that are nobody's here. ``fee`` is the merchant's,
    of so many (``fees``) as the books name one of.
    """

    __tablename__: ClassVar[Any] = "gateway_total"

    account_id: str = Field(foreign_key="merchant_account.id", primary_key=True, max_length=32)
    day: date = Field(primary_key=True)
    channel: str = Field(primary_key=True, max_length=255)
    currency: str = Field(primary_key=True, max_length=100)
    kind: Booked = Field(primary_key=True, sa_type=one_of(Booked))
    amount: Decimal = Field(sa_type=Amount)
    count: int
    fee: Decimal = Field(sa_type=FineAmount)
    fees: int


class GatewayShare(SQLModel, table=True):
    """What of a day's total belongs to one receiver, by the name that the gateway's books give it. ``fee``: its own."""

    __tablename__: ClassVar[Any] = "gateway_share"

    account_id: str = Field(foreign_key="merchant_account.id", primary_key=True, max_length=32)
    day: date = Field(primary_key=True)
    receiver: str = Field(primary_key=True, max_length=100)
    currency: str = Field(primary_key=True, max_length=100)
    kind: Booked = Field(primary_key=True, sa_type=one_of(Booked))
    amount: Decimal = Field(sa_type=Amount)
    count: int
    fee: Decimal = Field(sa_type=FineAmount)
    fees: int
