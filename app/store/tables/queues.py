"""Notifications received from the gateway (the inbox), and events to report to Saleor (the outbox)."""

from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar

from sqlalchemy import JSON, Index, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

from app.core.vocabulary import EventState
from app.store.columns import Amount, Moment, Prose, enum_type, partial_index
from integration_base.telemetry import current_trace_id


class Notification(SQLModel, table=True):
    """One verified notification of the gateway, as received, sealed. Identified by its content: duplicates add no row.

    ``next_attempt_at`` is None once it is processed. ``data_sealed`` is None once it was erased (``retention``).
    """

    __tablename__: ClassVar[Any] = "notification"
    __table_args__ = (
        UniqueConstraint("account_id", "digest"),
        partial_index("next_attempt_at IS NOT NULL", "ix_notification_next_attempt_at", "next_attempt_at", "id"),
        partial_index("next_attempt_at IS NOT NULL", "ix_notification_due", "account_id", "next_attempt_at", "id"),
        Index("ix_notification_account_received", "account_id", "received_at"),
        partial_index("data_sealed IS NOT NULL", "ix_notification_kept", "account_id", "received_at"),
        partial_index("trouble IS NOT NULL", "ix_notification_trouble", "account_id", "trouble", "received_at"),
    )

    id: int | None = Field(default=None, primary_key=True)
    account_id: str = Field(foreign_key="merchant_account.id", max_length=32)
    digest: str = Field(max_length=64)  # sha-256 of data, hexadecimal
    data_sealed: str | None = Field(sa_type=Text)
    order_id: str = Field(max_length=256, index=True)
    deliveries: int = Field(default=1)
    outcome: str | None = Field(default=None, sa_type=Text)
    trouble: str | None = Field(default=None, max_length=20)  # why a person must look at it (``AlertKind``)
    trace_id: str | None = Field(default_factory=current_trace_id, max_length=32)  # in which it was received
    attempts: int = Field(default=0)
    next_attempt_at: datetime | None = Field(default=None, sa_type=Moment)  # None: processed
    received_at: datetime = Field(sa_type=Moment)
    processed_at: datetime | None = Field(default=None, sa_type=Moment)


class SaleorEvent(SQLModel, table=True):
    """One event to report to Saleor: the outbox. Written in the commit that changes the state it reports."""

    __tablename__: ClassVar[Any] = "saleor_event"
    __table_args__ = (
        UniqueConstraint("payment_id", "type", "psp_reference"),
        partial_index("next_attempt_at IS NOT NULL", "ix_saleor_event_next_attempt_at", "next_attempt_at", "id"),
        partial_index("next_attempt_at IS NOT NULL", "ix_saleor_event_due", "installation_id", "next_attempt_at", "id"),
        partial_index("next_attempt_at IS NOT NULL", "ix_saleor_event_undelivered", "installation_id", "created_at"),
    )

    id: int | None = Field(default=None, primary_key=True)
    payment_id: int = Field(foreign_key="payment.id", index=True)
    installation_id: int  # the payment's
    operation_id: int | None = Field(default=None)  # the operation, if a webhook of Saleor's requested it
    type: str = Field(max_length=40)
    psp_reference: str = Field(max_length=512)
    amount: Decimal = Field(sa_type=Amount)
    message: str = Field(default="", max_length=512)
    available_actions: list[str] | None = Field(default=None, sa_type=JSON)
    card: dict[str, Any] | None = Field(
        default=None, sa_type=JSON
    )  # how it was paid: brand and mask of a card, or a name
    state: EventState = Field(default=EventState.WAITING, sa_type=enum_type(EventState))
    attempts: int = Field(default=0)
    next_attempt_at: datetime | None = Field(default=None, sa_type=Moment)  # None: delivered, refused or superseded
    last_error: str | None = Field(default=None, sa_type=Prose)
    trace_id: str | None = Field(
        default_factory=current_trace_id, max_length=32
    )  # its operation's, or in which it was written
    created_at: datetime = Field(sa_type=Moment)
    delivered_at: datetime | None = Field(default=None, sa_type=Moment)
