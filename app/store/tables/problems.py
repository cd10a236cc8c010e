"""Problems that a person must look at."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import JSON
from sqlmodel import Field, SQLModel

from app.core.alerts import AlertKind
from app.store.columns import Moment, enum_type, partial_index

NOT_ENDED = "ended_at IS NULL"
OPEN = "acknowledged_at IS NULL AND ended_at IS NULL"


class Problem(SQLModel, table=True):
    """The row of a problem of a payment (``core.payment``, which says what each value means)."""

    __tablename__: ClassVar[Any] = "problem"
    __table_args__ = (
        partial_index(NOT_ENDED, "ix_problem_of_payment", "payment_id", "kind", "key", unique=True),
        partial_index(OPEN, "ix_problem_open", "installation_id", "kind", "raised_at", "payment_id", "account_id"),
    )

    id: int | None = Field(default=None, primary_key=True)
    payment_id: int | None = Field(default=None, foreign_key="payment.id", nullable=False)  # set when it is saved
    installation_id: int  # the payment's
    account_id: str = Field(max_length=32)  # the payment's
    operation_id: int | None = Field(default=None)
    gateway_id: str | None = Field(default=None, max_length=100)
    kind: AlertKind = Field(sa_type=enum_type(AlertKind))
    key: str = Field(default="", max_length=100)
    message: dict[str, Any] = Field(sa_type=JSON)  # text for staff (``LazyMessage.to_json``)
    raised_at: datetime = Field(sa_type=Moment)
    acknowledged_at: datetime | None = Field(default=None, sa_type=Moment)
    ended_at: datetime | None = Field(default=None, sa_type=Moment)
