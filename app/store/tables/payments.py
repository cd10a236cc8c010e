"""Payments, their operations, and how these are divided among sub-merchants."""

from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar

from sqlalchemy import JSON, Index, Text, UniqueConstraint, false
from sqlmodel import Field, SQLModel

from app.core.vocabulary import CloseReason, Flow, Kind, Mode, Origin, PaymentStatus, State
from app.store.columns import Amount, FineAmount, Moment, OrderIdText, Prose, enum_type, partial_index
from integration_base.telemetry import current_trace_id


class Payment(SQLModel, table=True):
    """The row of a payment (``core.payment``, which says what each value means).

    ``email_digest`` is used to find the payment by the shopper's e-mail address (``personal.BlindIndex``).

    The indexes serve the list (``search``): each ends with the sort columns, so that a page of any filter is read from
    its first row to its last, however many rows there are.
    """

    __tablename__: ClassVar[Any] = "payment"
    __table_args__ = (
        UniqueConstraint("installation_id", "transaction_id"),
        Index("ix_payment_of_transaction", "transaction_id"),
        Index("ix_payment_of_source", "installation_id", "source_id"),
        Index("ix_payment_begun", "created_at", "id"),
        Index("ix_payment_of_store", "installation_id", "created_at", "id"),
        Index("ix_payment_in_status", "installation_id", "status", "created_at", "id"),
        Index("ix_payment_of_account", "account_id", "created_at", "id"),
        Index("ix_payment_of_channel", "installation_id", "channel", "created_at", "id"),
        Index("ix_payment_of_amount", "installation_id", "amount", "created_at", "id", "currency"),
        partial_index("email_digest IS NOT NULL", "ix_payment_of_shopper", "email_digest", "created_at", "id"),
        partial_index("order_number IS NOT NULL", "ix_payment_order_number", "order_number"),
        partial_index("next_order_poll_at IS NOT NULL", "ix_payment_next_order_poll_at", "next_order_poll_at"),
        partial_index("attempts_due_at IS NOT NULL", "ix_payment_attempts_due_at", "attempts_due_at"),
        partial_index("card_owner IS NOT NULL", "ix_payment_card_owner", "installation_id", "card_owner"),
        partial_index("problem_since IS NOT NULL", "ix_payment_with_problem", "installation_id", "created_at", "id"),
        partial_index(
            "erased_at IS NULL", "ix_payment_not_erased", "installation_id", "erased_at", "created_at", "id"
        ),  # includes a column that is always NULL there, so that SQLite prefers it to the store's index
    )

    id: int | None = Field(default=None, primary_key=True)
    installation_id: int = Field(foreign_key="installation.id")
    account_id: str = Field(foreign_key="merchant_account.id", max_length=32)
    transaction_id: str = Field(max_length=100)
    order_id: str = Field(unique=True, sa_type=OrderIdText)
    trial: bool = Field(default=False)  # a trial of the account by staff: Saleor has no transaction for it
    flow: Flow = Field(sa_type=enum_type(Flow))
    mode: Mode = Field(default=Mode.HOSTED, sa_type=enum_type(Mode))
    status: PaymentStatus = Field(default=PaymentStatus.PENDING, sa_type=enum_type(PaymentStatus))
    amount: Decimal = Field(sa_type=Amount)
    currency: str = Field(max_length=3)
    channel: str = Field(max_length=255)
    source_id: str = Field(max_length=100)  # the checkout or order being paid
    to_pay: Decimal | None = Field(
        default=None, sa_type=Amount
    )  # the part of its total to be paid by us; None: Saleor did not state it
    has_rivals: bool = Field(default=False)  # there are other attempts to pay the same
    attempts_due_at: datetime | None = Field(default=None, sa_type=Moment)  # when those are reviewed; None: never
    order_number: str | None = Field(default=None, max_length=64)
    next_order_poll_at: datetime | None = Field(
        default=None, sa_type=Moment
    )  # when Saleor is polled for it; None: never
    order_polls: int = Field(default=0)
    email_digest: str | None = Field(default=None, max_length=32)
    language: str = Field(default="en", max_length=5)
    return_url_sealed: str | None = Field(default=None, sa_type=Text)  # where the shopper returns (``personal``)
    checkout_url: str | None = Field(default=None, sa_type=Text)
    qr_url: str | None = Field(default=None, sa_type=Text)
    redirect_url: str | None = Field(default=None, sa_type=Text)  # where a shopper who pays directly must go (3DS)
    expires_at: datetime | None = Field(default=None, sa_type=Moment)
    has_problems: bool = Field(default=False)  # it has a ``Problem`` that has not ended, acknowledged or not
    problem_since: datetime | None = Field(default=None, sa_type=Moment)  # since when the oldest open one is; or None
    card_owner: str | None = Field(
        default=None, max_length=100
    )  # Saleor's id of the customer who agreed to save the card
    saved_card_id: str | None = Field(default=None, max_length=64)  # the ``SavedCard`` that it is paid with
    saved_card_mask: str | None = Field(default=None, max_length=20)  # its mask, or that of a payout's card
    wallet: str | None = Field(
        default=None, max_length=20
    )  # the wallet whose token pays it (``gateway_client.wallets``); None: none
    recurring_id: str | None = Field(default=None, max_length=100)  # the subscription that it started
    recurring_status: str | None = Field(default=None, max_length=40)  # its status, in the gateway's words
    next_refund_split: dict[str, Any] | None = Field(default=None, sa_type=JSON)  # from whom staff chose to take it
    erased_at: datetime | None = Field(default=None, sa_type=Moment)  # when its data about the shopper were erased
    created_at: datetime = Field(sa_type=Moment)
    updated_at: datetime = Field(sa_type=Moment)


class Operation(SQLModel, table=True):
    """The row of an operation (``core.payment``, which says what each value means).

    ``account_id`` is the payment's where ``booked_at`` or ``ended_at`` is set: daily totals are summed over the three
    (``day_sums``).
    """

    __tablename__: ClassVar[Any] = "operation"
    __table_args__ = (
        UniqueConstraint("payment_id", "idempotency_key"),
        UniqueConstraint("payment_id", "psp_reference"),
        partial_index("next_poll_at IS NOT NULL", "ix_operation_next_poll_at", "next_poll_at", "id"),
        # Nearly all succeed, and a creation is found by its order: neither is worth an index.
        partial_index("kind <> 'create'", "ix_operation_psp_reference", "psp_reference"),
        partial_index("booked_at IS NOT NULL", "ix_operation_booked", "account_id", "booked_at"),
        partial_index("ended_at IS NOT NULL", "ix_operation_ended", "account_id", "ended_at"),
        partial_index("granted_refund_id IS NOT NULL", "ix_operation_granted_refund", "granted_refund_id"),
    )

    id: int | None = Field(default=None, primary_key=True)
    payment_id: int = Field(foreign_key="payment.id", index=True)
    kind: Kind = Field(sa_type=enum_type(Kind))
    idempotency_key: str = Field(max_length=200)
    state: State = Field(sa_type=enum_type(State))
    amount: Decimal = Field(sa_type=Amount)
    currency: str = Field(max_length=3)
    request: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)  # the whole request; no secrets
    personal_sealed: str | None = Field(default=None, sa_type=Text)  # its data about the shopper (``personal``)
    origin: Origin | None = Field(default=None, sa_type=enum_type(Origin))  # see ``requester``
    close_reason: CloseReason | None = Field(default=None, sa_type=enum_type(CloseReason))  # of a cancellation of ours
    asked_by_saleor: bool = Field(default=True)  # as ``origin``, for the version before
    asked_by: str | None = Field(
        default=None, max_length=200
    )  # the member of staff who requested it, if in our own interface
    psp_reference: str | None = Field(default=None, max_length=512)
    operation_id: str | None = Field(default=None, max_length=100, index=True)
    status_code: str | None = Field(default=None, max_length=40)
    message: str | None = Field(default=None, sa_type=Prose)  # text for staff
    shopper_message: str | None = Field(default=None, sa_type=Prose)
    waits_for_shopper: bool = Field(default=False)  # pending, and it is the shopper who must act
    details: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)  # what else the gateway states: fee, receipt
    decision: dict[str, Any] | None = Field(default=None, sa_type=JSON)  # who settled it manually, how and why
    saleor_requests: list[dict[str, Any]] = Field(
        default_factory=list, sa_type=JSON
    )  # Saleor's webhooks for it, by key
    granted_refund_id: str | None = Field(default=None, max_length=100)  # Saleor's id of the granted refund
    answer_awaited_until: datetime | None = Field(
        default=None, sa_type=Moment
    )  # None: Saleor has read the response, or there is none
    asked_anew: int = Field(default=0)  # how often we have let Saleor request the granted refund again
    inferred: bool = Field(default=False)  # the state is inferred from the gateway's silence, not stated by it
    contradicted: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    keeps_rest: bool = Field(default=False, sa_column_kwargs={"server_default": false()})  # see the docstring
    next_poll_at: datetime | None = Field(default=None, sa_type=Moment)  # when the worker polls it; None: never
    polls: int = Field(default=0)
    polled_at: datetime | None = Field(default=None, sa_type=Moment)
    charge_id: str | None = Field(default=None, max_length=100)
    booked_at: datetime | None = Field(default=None, sa_type=Moment)
    ended_at: datetime | None = Field(default=None, sa_type=Moment)
    account_id: str | None = Field(default=None, max_length=32)
    trace_id: str | None = Field(
        default_factory=current_trace_id, max_length=32
    )  # in which it was requested, or observed
    fee: Decimal | None = Field(default=None, sa_type=FineAmount)
    fee_currency: str | None = Field(default=None, max_length=3)
    created_at: datetime = Field(sa_type=Moment)
    updated_at: datetime = Field(sa_type=Moment)


class SplitShare(SQLModel, table=True):
    """One sub-merchant's share of an operation: allocated (create), captured or refunded.

    The shares of an operation sum to its amount.
    """

    __tablename__: ClassVar[Any] = "split_share"
    __table_args__ = (UniqueConstraint("operation_id", "sub_merchant_id"),)

    id: int | None = Field(default=None, primary_key=True)
    operation_id: int = Field(foreign_key="operation.id")
    sub_merchant_id: str = Field(max_length=64)
    amount: Decimal = Field(sa_type=Amount)
