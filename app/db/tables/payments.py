"""Payments, and what belongs to each: its operations, and how these are divided among sub-merchants."""

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import JSON, Index, Text, UniqueConstraint
from sqlmodel import Field, Relationship, SQLModel

from app.db.columns import Amount, FineAmount, Moment, OrderId, Prose, one_of, partial_index
from app.db.tables.problems import Problem
from app.db.tables.stores import MerchantAccount
from app.telemetry import trace_id


class Flow(StrEnum):
    """What Saleor wants of a payment: the money now, or a reservation first. Or staff want money paid out to a card."""

    CHARGE = "CHARGE"
    AUTHORIZATION = "AUTHORIZATION"
    PAYOUT = "PAYOUT"


class Kind(StrEnum):
    """What is asked of, or seen at, the gateway."""

    CREATE = "create"
    CAPTURE = "capture"
    VOID = "void"
    REFUND = "refund"
    CANCEL = "cancel"
    DISPUTE = "dispute"  # the payer's, at the bank: nobody here asks for one
    RECURRING = "recurring"  # a later charge of the subscription that the payment has begun: the gateway makes it


class Mode(StrEnum):
    """Where the shopper gives the card: on the gateway's page, or in the storefront."""

    HOSTED = "hosted"
    DIRECT = "direct"


class State(StrEnum):
    """How far an operation has come. Listed in the only direction in which it moves (laws of money, 7)."""

    WAITING = "waiting"  # accepted, not sent: another operation of this payment comes first
    INTENT = "intent"  # committed before the call; if it stays so, the process died around the call
    UNKNOWN = "unknown"  # the call left, its outcome is not known
    INIT = "init"  # at the gateway, waiting for the shopper
    PENDING = "pending"  # at the bank
    SUCCESS = "success"
    FAILURE = "failure"

    @property
    def final(self) -> bool:
        """True when nothing more is expected."""
        return self in {State.SUCCESS, State.FAILURE}

    @property
    def rank(self) -> int:
        """Order of states: a lower rank never replaces a higher one; both final states share the highest."""
        return min(list(State).index(self), list(State).index(State.SUCCESS))


class PaymentStatus(StrEnum):
    """Where a payment stands, in the words by which staff look for it. What may be done is computed (``balance``)."""

    PENDING = "pending"  # nobody has paid yet, or nobody knows
    AUTHORIZED = "authorized"
    PAID = "paid"
    REFUNDED = "refunded"  # in part or in full
    CANCELED = "canceled"  # nobody has paid in time, it was called off, or what was reserved was released
    FAILED = "failed"


class Payment(SQLModel, table=True):
    """One Saleor transaction, which is one order at the gateway. Of a trial and of a payout Saleor has no transaction.

    ``order_id`` is what the gateway calls it: at most 32 letters and digits, burnt by the first attempt, never reused.
    ``email_digest`` is by which the payment is found when somebody knows the shopper's e-mail address (``emails``).

    The indexes are those of the list (``search``): each ends with what it is sorted by, so that a page of any filter is
    read from its first row to its last, however many rows there are.
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
        ),  # of a column that is always NULL there, so that SQLite takes it before the one of the store
    )

    id: int | None = Field(default=None, primary_key=True)
    installation_id: int = Field(foreign_key="installation.id")
    account_id: str = Field(foreign_key="merchant_account.id", max_length=32)
    transaction_id: str = Field(max_length=100)
    order_id: str = Field(unique=True, sa_type=OrderId)
    trial: bool = Field(default=False)  # staff try the account out: Saleor has no transaction of it
    flow: Flow = Field(sa_type=one_of(Flow))
    mode: Mode = Field(default=Mode.HOSTED, sa_type=one_of(Mode))
    status: PaymentStatus = Field(default=PaymentStatus.PENDING, sa_type=one_of(PaymentStatus))
    amount: Decimal = Field(sa_type=Amount)
    currency: str = Field(max_length=3)
    channel: str = Field(max_length=255)
    source_id: str = Field(max_length=100)  # the checkout or order that is paid
    to_pay: Decimal | None = Field(default=None, sa_type=Amount)  # of it in all, by us; None: Saleor did not say
    has_rivals: bool = Field(default=False)  # there are other attempts to pay the same
    attempts_due_at: datetime | None = Field(default=None, sa_type=Moment)  # when these are looked at; None: never
    order_number: str | None = Field(default=None, max_length=64)
    next_order_poll_at: datetime | None = Field(
        default=None, sa_type=Moment
    )  # when Saleor is asked for it; None: never
    order_polls: int = Field(default=0)
    email_digest: str | None = Field(default=None, max_length=32)
    language: str = Field(default="en", max_length=5)
    return_url_sealed: str | None = Field(default=None, sa_type=Text)  # where the shopper goes back (``personal``)
    checkout_url: str | None = Field(default=None, sa_type=Text)
    qr_url: str | None = Field(default=None, sa_type=Text)
    redirect_url: str | None = Field(default=None, sa_type=Text)  # where a shopper who pays directly must go (3DS)
    expires_at: datetime | None = Field(default=None, sa_type=Moment)
    has_problems: bool = Field(default=False)  # it has a ``Problem`` that has not ended, looked at or not
    problem_since: datetime | None = Field(default=None, sa_type=Moment)  # of the oldest one that is open; or None
    card_owner: str | None = Field(default=None, max_length=100)  # Saleor's id of who agreed that the card is kept
    saved_card_id: str | None = Field(default=None, max_length=64)  # the ``SavedCard`` that it is paid with
    saved_card_mask: str | None = Field(default=None, max_length=20)  # of that one, which may be deleted later
    wallet: str | None = Field(default=None, max_length=20)  # whose token pays it (gateway.wallets); None: no wallet's
    recurring_id: str | None = Field(default=None, max_length=100)  # the subscription that it has begun
    recurring_status: str | None = Field(default=None, max_length=40)  # of that, in the gateway's word
    next_refund_split: dict[str, Any] | None = Field(default=None, sa_type=JSON)  # whom staff chose to take it from
    erased_at: datetime | None = Field(default=None, sa_type=Moment)  # since when it says nothing of the shopper
    created_at: datetime = Field(sa_type=Moment)
    updated_at: datetime = Field(sa_type=Moment)

    # For reading, and there only where it was loaded with the payment (``repository``).
    account: MerchantAccount = Relationship(sa_relationship_kwargs={"viewonly": True, "lazy": "raise"})
    # Those that have not ended, oldest first; saved with the payment, and there only where they were loaded with it
    # (``aggregates.load_problems``).
    problems: list[Problem] = Relationship(sa_relationship_kwargs={"lazy": "raise"})

    @property
    def is_saleors(self) -> bool:
        """Whether Saleor has a transaction of it, and is told what becomes of it."""
        return not self.trial and self.flow is not Flow.PAYOUT


class Operation(SQLModel, table=True):
    """One thing asked of, or seen at, the gateway.

    ``idempotency_key`` identifies the question (laws of money, 4): for what Saleor asks it is Saleor's key, for what we
    ask by ourselves or merely see it is derived from the cause. ``psp_reference`` is set the first time Saleor is told
    a reference; it changes only where Saleor's own request has another one (laws of money, 9). ``operation_id`` is the
    gateway's own.

    ``saleor_requests`` are the webhooks by which Saleor has asked for it, oldest first: the ``key`` of the request and
    the ``digest`` of the body. Mostly there is one; a granted refund can be asked for again.
    ``answer_awaited_until``: until then one of them is being answered, or Saleor is reading the answer. After it Saleor
    is asked whether it has; None once it has, and for what no webhook of Saleor's asked for. Of a payment itself it is
    only waited for: Saleor is reading that it has failed.

    ``charge_id`` is the gateway's id of the subscription's later charge that a refund or a dispute gives back; None: it
    gives back the payment itself.

    ``booked_at`` is when its money has moved, by the gateway's clock where it says so: charged, captured, refunded or
    charged back; None for what has moved none. With it comes the ``fee`` that the gateway has named (None: it has
    not). ``ended_at`` is when somebody's try to pay has ended, paid, reserved or failed; None for anything else, and
    as long as it is open. With either comes ``account_id``, the payment's. What a day has brought is summed over these
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
    )

    id: int | None = Field(default=None, primary_key=True)
    payment_id: int = Field(foreign_key="payment.id", index=True)
    kind: Kind = Field(sa_type=one_of(Kind))
    idempotency_key: str = Field(max_length=200)
    state: State = Field(sa_type=one_of(State))
    amount: Decimal = Field(sa_type=Amount)
    currency: str = Field(max_length=3)
    request: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)  # everything that the call says; no secrets
    personal_sealed: str | None = Field(default=None, sa_type=Text)  # what it says of the shopper (``personal``)
    asked_by_saleor: bool = Field(default=True)
    asked_by: str | None = Field(default=None, max_length=200)  # who of the staff asked, if at our own door
    psp_reference: str | None = Field(default=None, max_length=512)
    operation_id: str | None = Field(default=None, max_length=100, index=True)
    status_code: str | None = Field(default=None, max_length=40)
    message: str | None = Field(default=None, sa_type=Prose)  # words for staff
    shopper_message: str | None = Field(default=None, sa_type=Prose)
    waits_for_shopper: bool = Field(default=False)  # pending, and it is the shopper who must act
    details: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)  # what else the gateway says: fee, receipt
    decision: dict[str, Any] | None = Field(default=None, sa_type=JSON)  # who settled it by hand, how and why
    saleor_requests: list[dict[str, Any]] = Field(
        default_factory=list, sa_type=JSON
    )  # Saleor's webhooks for it, by key
    granted_refund_id: str | None = Field(default=None, max_length=100)  # Saleor's id of what staff granted
    answer_awaited_until: datetime | None = Field(
        default=None, sa_type=Moment
    )  # None: Saleor's answer is read, or none
    asked_anew: int = Field(default=0)  # how often we have let Saleor ask for the granted refund once more
    inferred: bool = Field(default=False)  # the state is our conclusion from silence, not the gateway's word
    next_poll_at: datetime | None = Field(default=None, sa_type=Moment)  # when the worker looks it up; None: never
    polls: int = Field(default=0)
    polled_at: datetime | None = Field(default=None, sa_type=Moment)
    charge_id: str | None = Field(default=None, max_length=100)
    booked_at: datetime | None = Field(default=None, sa_type=Moment)
    ended_at: datetime | None = Field(default=None, sa_type=Moment)
    account_id: str | None = Field(default=None, max_length=32)
    trace_id: str | None = Field(default_factory=trace_id, max_length=32)  # in which it was asked for, or seen
    fee: Decimal | None = Field(default=None, sa_type=FineAmount)
    fee_currency: str | None = Field(default=None, max_length=3)
    created_at: datetime = Field(sa_type=Moment)
    updated_at: datetime = Field(sa_type=Moment)


class SplitShare(SQLModel, table=True):
    """What of an operation belongs to one sub-merchant: allocated (create), captured or refunded.

    The shares of an operation sum to its amount.
    """

    __tablename__: ClassVar[Any] = "split_share"
    __table_args__ = (UniqueConstraint("operation_id", "sub_merchant_id"),)

    id: int | None = Field(default=None, primary_key=True)
    operation_id: int = Field(foreign_key="operation.id")
    sub_merchant_id: str = Field(max_length=64)
    amount: Decimal = Field(sa_type=Amount)
