"""The results of comparing our books with the gateway's: each comparison, each difference, and the daily totals.

Days are UTC days, as the windows of a register are.
"""

from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import JSON, Index, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

from app.store.columns import Amount, FineAmount, Moment, enum_type, partial_index

UNSETTLED = "state IN ('found', 'put to people')"


class RunState(StrEnum):
    """The state of a comparison."""

    PLANNED = "planned"  # not due yet
    RUNNING = "running"  # started; if its claim expires, its worker has died, and another one continues
    DONE = "done"
    FAILED = "failed"  # abandoned; the next night covers the rest


class Source(StrEnum):
    """Where the gateway's books were read from."""

    REGISTER = "register"
    ORDERS = "orders"  # the by-period list, where the gateway gives this account no register


class DiscrepancyKind(StrEnum):
    """How the books differ."""

    MISSED = "missed"  # the gateway has an operation that we do not: its notification was lost
    UNKNOWN = "unknown"  # about no payment of ours
    AMOUNT = "amount"
    CURRENCY = "currency"
    STATE = "state"  # one says success, the other failure
    NOT_SHOWN = "not shown"  # in our books, but not in the gateway's
    UNTOLD = "untold"  # not reported to Saleor
    RECEIVER = "receiver"  # another sub-merchant, or another share
    UNREADABLE = "unreadable"


class DiscrepancyState(StrEnum):
    """The state of a difference."""

    FOUND = "found"  # not looked up at the gateway yet, or it did not respond
    REPAIRED = "repaired"  # the gateway's record was posted, and the books agree
    TO_PEOPLE = "put to people"
    ENDED = "ended"  # the books agree by now, or a person has looked at it


class Booked(StrEnum):
    """How money has moved."""

    CHARGED = "charged"  # at once, or by a capture
    REFUNDED = "refunded"
    CHARGED_BACK = "charged back"  # by a dispute that the payer won
    PAID_OUT = "paid out"  # to a card


class ReconciliationRun(SQLModel, table=True):
    """One comparison of an account's books over a period, ``starts_at`` to ``ends_at``; none yet while planned.

    The books are covered up to ``covered_until``; of the next window, the orders up to ``after_order`` have been
    compared, in the order of their ids. ``due_at`` is when a worker starts or takes over it; None once it has ended.
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
    state: RunState = Field(default=RunState.PLANNED, sa_type=enum_type(RunState))
    chosen: bool = Field(default=False)  # a person chose the period: it does not count as nightly coverage
    starts_at: datetime | None = Field(default=None, sa_type=Moment)
    ends_at: datetime | None = Field(default=None, sa_type=Moment)
    covered_until: datetime | None = Field(default=None, sa_type=Moment)
    after_order: str | None = Field(default=None, max_length=256)
    report_id: str | None = Field(default=None, sa_type=Text)  # the register of the window, while it is being created
    report_count: int | None = Field(default=None)
    source: Source | None = Field(default=None, sa_type=enum_type(Source))
    lines: int = Field(default=0)
    orders: int = Field(default=0)
    looked_up: int = Field(default=0)
    repaired: int = Field(default=0)
    to_people: int = Field(default=0)
    failure: dict[str, Any] | None = Field(default=None, sa_type=JSON)  # why it does not continue, as a message
    attempts: int = Field(default=0)  # consecutive failed ones
    due_at: datetime | None = Field(default=None, sa_type=Moment)
    created_at: datetime = Field(sa_type=Moment)
    started_at: datetime | None = Field(default=None, sa_type=Moment)
    finished_at: datetime | None = Field(default=None, sa_type=Moment)


class Discrepancy(SQLModel, table=True):
    """One difference between our books and the gateway's. ``key`` identifies it: if found again, it keeps its row.

    ``facts`` are the gateway's values and ours, amounts as text. ``run_id`` is the comparison that found it
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
    kind: DiscrepancyKind = Field(sa_type=enum_type(DiscrepancyKind))
    state: DiscrepancyState = Field(sa_type=enum_type(DiscrepancyState))
    facts: dict[str, Any] = Field(sa_type=JSON)
    found_at: datetime = Field(sa_type=Moment)
    changed_at: datetime = Field(sa_type=Moment)


class ComparedDay(SQLModel, table=True):
    """A day of an account for which the gateway's books were read: from ``starts_at`` to ``ends_at``, which may be only
    part of the day, or start a little before it.

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
    """Money moved on a day by the gateway's books: ``count`` times, ``amount`` in all, without the payers' fees.

    ``channel`` is that of our payments, "" for a trial; "*" for orders that belong to no payment here. ``fee`` is the
    merchant's, stated in the books for ``fees`` of them.
    """

    __tablename__: ClassVar[Any] = "gateway_total"

    account_id: str = Field(foreign_key="merchant_account.id", primary_key=True, max_length=32)
    day: date = Field(primary_key=True)
    channel: str = Field(primary_key=True, max_length=255)
    currency: str = Field(primary_key=True, max_length=100)
    kind: Booked = Field(primary_key=True, sa_type=enum_type(Booked))
    amount: Decimal = Field(sa_type=Amount)
    count: int
    fee: Decimal = Field(sa_type=FineAmount)
    fees: int


class GatewayShare(SQLModel, table=True):
    """One receiver's share of a day's total, by the receiver's name in the gateway's books. ``fee``: its own."""

    __tablename__: ClassVar[Any] = "gateway_share"

    account_id: str = Field(foreign_key="merchant_account.id", primary_key=True, max_length=32)
    day: date = Field(primary_key=True)
    receiver: str = Field(primary_key=True, max_length=100)
    currency: str = Field(primary_key=True, max_length=100)
    kind: Booked = Field(primary_key=True, sa_type=enum_type(Booked))
    amount: Decimal = Field(sa_type=Amount)
    count: int
    fee: Decimal = Field(sa_type=FineAmount)
    fees: int
