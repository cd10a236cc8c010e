"""The tables. Amounts are Decimals with two decimals (``columns.Amount``), moments are aware and in UTC.

What each row is, and what makes it unique, stands in its class. Secrets are kept sealed (``vault``) in columns named
``*_sealed``; nothing else in these tables is secret, and no column ever holds a card number.
"""

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import JSON, Index, Text, UniqueConstraint, text
from sqlmodel import Field, Relationship, SQLModel

from app.db.columns import Amount, Moment, OrderId, Prose, one_of, take_any_text


class Flow(StrEnum):
    """What Saleor wants of a payment: the money now, or a reservation first."""

    CHARGE = "CHARGE"
    AUTHORIZATION = "AUTHORIZATION"


class Kind(StrEnum):
    """What is asked of, or seen at, the gateway."""

    CREATE = "create"
    CAPTURE = "capture"
    VOID = "void"
    REFUND = "refund"
    CANCEL = "cancel"
    DISPUTE = "dispute"  # the payer's, at the bank: nobody here asks for one


class Mode(StrEnum):
    """Where the shopper gives the card: on the gateway's page, or in the storefront."""

    HOSTED = "hosted"
    DIRECT = "direct"


class ProductsForm(StrEnum):
    """Whether the gateway is told what is paid for, and in which of its two forms (gateway facts, 5)."""

    NONE = "none"
    PLAIN = "plain"
    FISCAL = "fiscal"


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


class EventState(StrEnum):
    """What became of an event for Saleor."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    REFUSED = "refused"  # Saleor refused it for good: a problem for staff
    SUPERSEDED = "superseded"  # only informative, and the payment has moved on


_OF_PROBLEMS = ("installation_id", "problem_kinds", "account_id", "problem_since", "id")


def _where(condition: str, name: str, *columns: str) -> Index:
    """Return an index over those rows only of which a condition holds."""
    return Index(name, *columns, sqlite_where=text(condition), postgresql_where=text(condition))


class Installation(SQLModel, table=True):
    """A Saleor that installed us. One row for each GraphQL address; survives uninstall and re-install.

    ``away_since``: since when it has not taken what it was told; until then nothing waits because of it. What waits is
    told at once when it is heard of, which was last so at ``revived_at``. ``unauthorised_since``: since when it has not
    accepted the app's token: the app was removed there, or switched off.
    """

    __tablename__: ClassVar[Any] = "installation"
    __table_args__ = (_where("next_check_at IS NOT NULL", "ix_installation_next_check_at", "next_check_at"),)

    id: int | None = Field(default=None, primary_key=True)
    saleor_api_url: str = Field(unique=True, max_length=500)
    saleor_domain: str = Field(default="", max_length=255)
    schema_version: str | None = Field(default=None, max_length=20)
    app_id: str | None = Field(default=None, max_length=100)
    dashboard_url: str | None = Field(default=None, max_length=500)  # as the operator says; None: not said
    problems_due_at: datetime | None = Field(default=None, sa_type=Moment)  # when told problems are compared next
    token_sealed: str | None = Field(default=None, sa_type=Text)
    away_since: datetime | None = Field(default=None, sa_type=Moment)
    revived_at: datetime | None = Field(default=None, sa_type=Moment)
    unauthorised_since: datetime | None = Field(default=None, sa_type=Moment)
    next_check_at: datetime | None = Field(default=None, sa_type=Moment)  # when it is asked whether the token is good
    jwks: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    jwks_fetched_at: datetime | None = Field(default=None, sa_type=Moment)
    created_at: datetime = Field(sa_type=Moment)
    updated_at: datetime = Field(sa_type=Moment)


class PendingToken(SQLModel, table=True):
    """A token that somebody brought in the name of a Saleor, which that Saleor has not confirmed."""

    __tablename__: ClassVar[Any] = "pending_token"

    id: int | None = Field(default=None, primary_key=True)
    installation_id: int = Field(foreign_key="installation.id", index=True)
    schema_version: str | None = Field(default=None, max_length=20)
    token_sealed: str = Field(sa_type=Text)
    received_at: datetime = Field(sa_type=Moment)


class ReportedProblem(SQLModel, table=True):
    """A problem that a Saleor shows of the app, because we told it so. The app is another one after a re-install."""

    __tablename__: ClassVar[Any] = "reported_problem"

    installation_id: int = Field(foreign_key="installation.id", primary_key=True)
    key: str = Field(primary_key=True, max_length=128)
    app_id: str = Field(max_length=100)
    told_at: datetime = Field(sa_type=Moment)


class MerchantAccount(SQLModel, table=True):
    """One point of sale at the gateway, with its keys. Never deleted while a payment refers to it: it is disabled.

    ``id`` is public: it is in the address at which the gateway notifies us.
    """

    __tablename__: ClassVar[Any] = "merchant_account"

    id: str = Field(primary_key=True, max_length=32)
    installation_id: int = Field(foreign_key="installation.id", index=True)
    name: str = Field(max_length=100)
    pos_id: str = Field(max_length=64)
    base_url: str = Field(max_length=500)
    scheme_word: str = Field(max_length=40)
    api_key_sealed: str = Field(sa_type=Text)
    api_secret_sealed: str = Field(sa_type=Text)
    previous_api_secret_sealed: str | None = Field(default=None, sa_type=Text)
    previous_api_secret_until: datetime | None = Field(default=None, sa_type=Moment)  # verifies nothing after that
    endpoints_key_sealed: str = Field(sa_type=Text)
    currencies: list[str] = Field(sa_type=JSON)
    storefront_origins: list[str] = Field(sa_type=JSON)
    order_timeout: int = Field(default=3600)  # seconds that a shopper has to pay
    order_3ds_bypass: str = Field(default="supported", max_length=20)
    names_required: bool = Field(default=True)  # refuse a payment whose shopper has no first and last name
    sector: str = Field(default="general", max_length=20)  # the gateway asks more of some merchants
    merchant_mcc: str | None = Field(default=None, max_length=4)
    description_template: str | None = Field(default=None, max_length=500)  # what the payment is called at the gateway
    products: ProductsForm = Field(default=ProductsForm.NONE, sa_type=one_of(ProductsForm))
    receipt_delivery: str | None = Field(default=None, max_length=10)  # how the fiscal receipt reaches the shopper
    cancel_older: bool = Field(default=True)  # a new attempt to pay closes the older unpaid pages of the same checkout
    pci_dss_confirmed_at: datetime | None = Field(default=None, sa_type=Moment)  # None: no cards in the storefront
    balances_url: str | None = Field(default=None, max_length=500)  # None: where payments are
    register_url: str | None = Field(default=None, max_length=500)  # None: where payments are
    split_rules: dict[str, Any] | None = Field(default=None, sa_type=JSON)  # None: nothing is split
    test_project: bool = Field(default=False)  # as its owner says: the gateway does not tell
    enabled: bool = Field(default=True)
    created_at: datetime = Field(sa_type=Moment)
    updated_at: datetime = Field(sa_type=Moment)


class ChannelRoute(SQLModel, table=True):
    """Which merchant account takes the money of a Saleor channel."""

    __tablename__: ClassVar[Any] = "channel_route"
    __table_args__ = (UniqueConstraint("installation_id", "channel"),)

    id: int | None = Field(default=None, primary_key=True)
    installation_id: int = Field(foreign_key="installation.id")
    channel: str = Field(max_length=255)
    account_id: str = Field(foreign_key="merchant_account.id", max_length=32)


class Payment(SQLModel, table=True):
    """One Saleor transaction, which is one order at the gateway.

    ``order_id`` is what the gateway calls it: at most 32 letters and digits, burnt by the first attempt, never reused.
    ``email_digest`` is by which the payment is found when somebody knows the shopper's e-mail address (``emails``).

    The indexes are those of the list (``search``): each ends with what it is sorted by, so that a page of any filter is
    read from its first row to its last, however many rows there are.
    """

    __tablename__: ClassVar[Any] = "payment"
    __table_args__ = (
        UniqueConstraint("installation_id", "transaction_id"),
        Index("ix_payment_of_source", "installation_id", "source_id"),
        Index("ix_payment_begun", "created_at", "id"),
        Index("ix_payment_of_store", "installation_id", "created_at", "id"),
        Index("ix_payment_of_account", "account_id", "created_at", "id"),
        Index("ix_payment_of_channel", "installation_id", "channel", "created_at", "id"),
        Index("ix_payment_of_amount", "installation_id", "amount", "created_at", "id", "currency"),
        _where("email_digest IS NOT NULL", "ix_payment_of_shopper", "email_digest", "created_at", "id"),
        _where("order_number IS NOT NULL", "ix_payment_order_number", "order_number"),
        _where("next_order_poll_at IS NOT NULL", "ix_payment_next_order_poll_at", "next_order_poll_at"),
        _where("attempts_due_at IS NOT NULL", "ix_payment_attempts_due_at", "attempts_due_at"),
        _where("problem IS NOT NULL", "ix_payment_problem", "account_id"),
        _where("problem IS NOT NULL", "ix_payment_problem_of_store", "installation_id", "created_at", "id"),
        _where("problem IS NOT NULL", "ix_payment_problem_kinds", *_OF_PROBLEMS),
    )

    id: int | None = Field(default=None, primary_key=True)
    installation_id: int = Field(foreign_key="installation.id")
    account_id: str = Field(foreign_key="merchant_account.id", max_length=32)
    transaction_id: str = Field(max_length=100)
    order_id: str = Field(unique=True, sa_type=OrderId)
    trial: bool = Field(default=False)  # staff try the account out: Saleor has no transaction of it
    flow: Flow = Field(sa_type=one_of(Flow))
    mode: Mode = Field(default=Mode.HOSTED, sa_type=one_of(Mode))
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
    return_url: str | None = Field(default=None, sa_type=Text)  # sealed (``personal``)
    checkout_url: str | None = Field(default=None, sa_type=Text)
    qr_url: str | None = Field(default=None, sa_type=Text)
    redirect_url: str | None = Field(default=None, sa_type=Text)  # where a shopper who pays directly must go (3DS)
    expires_at: datetime | None = Field(default=None, sa_type=Moment)
    problem: str | None = Field(default=None, sa_type=Prose)  # what staff must look at, in words
    problems: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)  # the same by its causes (outcome.problems)
    problem_kinds: str | None = Field(default=None, max_length=200)  # the kinds of those that are open, sorted, with +
    problem_since: datetime | None = Field(default=None, sa_type=Moment)  # since when there has been any
    next_refund_split: dict[str, Any] | None = Field(default=None, sa_type=JSON)  # whom staff chose to take it from
    created_at: datetime = Field(sa_type=Moment)
    updated_at: datetime = Field(sa_type=Moment)

    # For reading, and there only where it was loaded with the payment (``repository``).
    account: "MerchantAccount" = Relationship(sa_relationship_kwargs={"viewonly": True, "lazy": "raise"})


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
    """

    __tablename__: ClassVar[Any] = "operation"
    __table_args__ = (
        UniqueConstraint("payment_id", "idempotency_key"),
        UniqueConstraint("payment_id", "psp_reference"),
        _where("next_poll_at IS NOT NULL", "ix_operation_next_poll_at", "next_poll_at"),
        # Nearly all succeed, and a creation is found by its order: neither is worth an index.
        _where("state <> 'success'", "ix_operation_state", "state", "payment_id"),
        _where("kind <> 'create'", "ix_operation_psp_reference", "psp_reference"),
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


class CardKey(SQLModel, table=True):
    """A key pair for which the storefronts of one store encrypt cards. ``kid`` is its thumbprint.

    The private half is sealed.
    """

    __tablename__: ClassVar[Any] = "card_key"

    kid: str = Field(primary_key=True, max_length=64)
    installation_id: int = Field(foreign_key="installation.id", index=True)
    public_jwk: dict[str, Any] = Field(sa_type=JSON)
    private_sealed: str = Field(sa_type=Text)
    created_at: datetime = Field(sa_type=Moment)


class Notification(SQLModel, table=True):
    """One verified notification of the gateway, as received, sealed. Its content is its identity: repeats make no row.

    ``next_attempt_at`` is None once it is processed.
    """

    __tablename__: ClassVar[Any] = "notification"
    __table_args__ = (
        UniqueConstraint("account_id", "digest"),
        _where("next_attempt_at IS NOT NULL", "ix_notification_next_attempt_at", "next_attempt_at"),
        Index("ix_notification_account_received", "account_id", "received_at"),
        _where("trouble IS NOT NULL", "ix_notification_trouble", "account_id", "trouble", "received_at"),
    )

    id: int | None = Field(default=None, primary_key=True)
    account_id: str = Field(foreign_key="merchant_account.id", max_length=32)
    digest: str = Field(max_length=64)  # sha-256 of data, hexadecimal
    data_sealed: str = Field(sa_type=Text)
    order_id: str = Field(max_length=256, index=True)
    deliveries: int = Field(default=1)
    outcome: str | None = Field(default=None, sa_type=Text)
    trouble: str | None = Field(default=None, max_length=20)  # why a person must look at it (inbox.Trouble)
    attempts: int = Field(default=0)
    next_attempt_at: datetime | None = Field(default=None, sa_type=Moment)  # None: processed
    received_at: datetime = Field(sa_type=Moment)
    processed_at: datetime | None = Field(default=None, sa_type=Moment)


class SaleorEvent(SQLModel, table=True):
    """One event that Saleor must hear: the outbox. Written in the commit that changes the state it tells of."""

    __tablename__: ClassVar[Any] = "saleor_event"
    __table_args__ = (
        UniqueConstraint("payment_id", "type", "psp_reference"),
        _where("next_attempt_at IS NOT NULL", "ix_saleor_event_next_attempt_at", "next_attempt_at"),
        _where("next_attempt_at IS NOT NULL", "ix_saleor_event_undelivered", "installation_id", "created_at"),
    )

    id: int | None = Field(default=None, primary_key=True)
    payment_id: int = Field(foreign_key="payment.id", index=True)
    installation_id: int  # the payment's
    operation_id: int | None = Field(default=None)  # the operation that a webhook of Saleor's asked for; None: another
    type: str = Field(max_length=40)
    psp_reference: str = Field(max_length=512)
    amount: Decimal = Field(sa_type=Amount)
    message: str = Field(default="", max_length=512)
    available_actions: list[str] | None = Field(default=None, sa_type=JSON)
    card: dict[str, Any] | None = Field(
        default=None, sa_type=JSON
    )  # how it was paid: brand and mask of a card, or a name
    state: EventState = Field(default=EventState.WAITING, sa_type=one_of(EventState))
    attempts: int = Field(default=0)
    next_attempt_at: datetime | None = Field(default=None, sa_type=Moment)  # None: delivered, refused or superseded
    last_error: str | None = Field(default=None, sa_type=Prose)
    created_at: datetime = Field(sa_type=Moment)
    delivered_at: datetime | None = Field(default=None, sa_type=Moment)


take_any_text(SQLModel.metadata)
