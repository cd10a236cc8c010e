"""A payment with everything that was done to it, as plain objects. The store loads and saves them (``app.store``).

Everything that decides about a payment's money changes these objects while the payment is locked: what is capturable or
refundable is computed from values that nothing else is changing (laws of money, 3). Only the store sets ids.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Protocol, TypeAlias, TypeVar

from app.core.alerts import AlertKind
from app.core.ids import EventRowId, GatewayOperationId, OperationRowId, OrderId, PaymentRowId, PspReference
from app.core.request import RequestDetails
from app.core.vocabulary import (
    EXTERNAL_KEY_PREFIX,
    GIVES_A_PAYOUT_BACK,
    CloseReason,
    EventState,
    Flow,
    Kind,
    Mode,
    Origin,
    PaymentStatus,
    State,
)


class Account(Protocol):
    """What decisions about a payment need to know of its merchant account."""

    @property
    def pos_id(self) -> str:
        """The gateway's id of the point of sale."""

    @property
    def dialect(self) -> str:
        """The dialect of its gateway, a preset; what its owner has changed is in further attributes."""

    @property
    def test_project(self) -> bool:
        """True when no real money moves."""

    @property
    def payer_fee_percent(self) -> Decimal | None:
        """The highest fee that a payer pays on top; None: the payer pays none."""

    @property
    def cancel_older(self) -> bool:
        """True when a new page closes the earlier ones of the same checkout or order."""

    @property
    def split_rules(self) -> dict[str, Any] | None:
        """How its payments are split among sub-merchants; None: nothing is split."""


@dataclass(slots=True, kw_only=True, eq=False)
class Problem:
    """A problem that a person must look at; open until it is over, or until somebody has acknowledged it.

    ``key`` distinguishes the problems of one kind of a payment; at most one of each has not ended. ``operation_id`` is
    the row id of the operation that it is about, ``gateway_id`` the gateway's id where we have no operation for it.
    Once ``acknowledged_at`` is set, the problem is not raised again when the gateway repeats itself; once ``ended_at``
    is set, it is history, and its cause raises a new one.
    """

    id: int | None = None
    operation_id: OperationRowId | None = None
    gateway_id: str | None = None
    kind: AlertKind
    key: str = ""
    message: dict[str, Any]  # its code and facts (``rules.issues``)
    raised_at: datetime
    acknowledged_at: datetime | None = None
    ended_at: datetime | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Payment:
    """One Saleor transaction, which is one order at the gateway. Trials and payouts have no transaction in Saleor.

    ``order_id`` is the gateway's name for it: at most 32 letters and digits, consumed by the first attempt, never
    reused. ``problems`` are those that have not ended, oldest first; reading them raises where they were not loaded.
    """

    id: PaymentRowId | None = None
    installation_id: int
    account_id: str
    transaction_id: str
    order_id: OrderId
    trial: bool = False  # a trial of the account by staff: Saleor has no transaction for it
    flow: Flow
    mode: Mode = Mode.HOSTED
    status: PaymentStatus = PaymentStatus.PENDING
    amount: Decimal
    currency: str
    channel: str
    source_id: str  # the checkout or order being paid
    to_pay: Decimal | None = None  # the part of its total to be paid by us; None: Saleor did not state it
    has_rivals: bool = False  # there are other attempts to pay the same
    attempts_due_at: datetime | None = None  # when those are reviewed; None: never
    order_number: str | None = None
    next_order_poll_at: datetime | None = None  # when Saleor is polled for it; None: never
    order_polls: int = 0
    email_digest: str | None = None  # finds the payment by the shopper's e-mail address (``store.personal``)
    language: str = "en"
    return_url_sealed: str | None = None  # where the shopper returns (``store.personal``)
    checkout_url: str | None = None
    qr_url: str | None = None
    redirect_url: str | None = None  # where a shopper who pays directly must go (3DS)
    expires_at: datetime | None = None
    has_problems: bool = False  # it has a ``Problem`` that has not ended, acknowledged or not
    problem_since: datetime | None = None  # since when the oldest open one is; or None
    card_owner: str | None = None  # Saleor's id of the customer who agreed to save the card
    saved_card_id: str | None = None  # the saved card that it is paid with
    saved_card_mask: str | None = None  # its mask (the card may be deleted later), or that of a payout's card
    wallet: str | None = None  # the wallet whose token pays it (``gateway_client.wallets``); None: none
    recurring_id: str | None = None  # the subscription that it started
    recurring_status: str | None = None  # its status, in the gateway's words
    next_refund_split: dict[str, Any] | None = None  # from whom staff chose to take it
    erased_at: datetime | None = None  # when its data about the shopper were erased
    created_at: datetime
    updated_at: datetime

    loaded_account: Account | None = None  # see ``account``
    problems: list[Problem] = field(default_factory=list)

    @property
    def account(self) -> Account:
        """Its merchant account; lists are loaded without it."""
        assert self.loaded_account is not None  # noqa: S101 - of the caller
        return self.loaded_account

    @property
    def is_known_to_saleor(self) -> bool:
        """True when Saleor has a transaction for it, and receives reports about it."""
        return not self.trial and self.flow is not Flow.PAYOUT

    @property
    def is_link_missing(self) -> bool:
        """True when the address of the payment page was never received, and so never shown to a shopper."""
        return self.checkout_url is None and self.qr_url is None


@dataclass(slots=True, kw_only=True, eq=False)
class Operation:
    """One operation requested from the gateway, or observed there.

    ``idempotency_key`` identifies the request (laws of money, 4): for a request of Saleor's it is Saleor's key, for our
    own requests and for observations it is derived from the cause. ``psp_reference`` is set the first time a reference
    is reported to Saleor; it changes only where Saleor's own request has another one (laws of money, 9).
    ``operation_id`` is the gateway's own.

    ``saleor_requests`` are the webhooks by which Saleor requested it, oldest first: the ``key`` of the request and the
    ``digest`` of the body. Mostly there is one; a granted refund can be requested again. ``answer_awaited_until``:
    until then one of them is being answered, or Saleor is reading the response. After that Saleor is queried whether it
    has the response; None once it has, and for operations that no webhook of Saleor's requested. For a payment itself
    we only wait: Saleor is reading that it has failed.

    ``charge_id`` is the gateway's id of the subscription's later charge that a refund or a dispute gives back; None: it
    gives back the payment itself.

    ``contradicted``: the gateway has reported a success, and another of its records contradicts that, or the request
    does. Whatever ``state`` says, the operation has perhaps succeeded, until the gateway agrees with it or staff have
    decided (laws of money, 7).

    ``keeps_rest``: a capture, after which the rest of the reservation can be captured or released; otherwise a capture
    releases it. The account's dialect decides, at the time of the capture.

    ``booked_at`` is when its money moved, by the gateway's clock where the gateway states it: charged, captured,
    refunded or charged back; None if none has moved. It is set together with the ``fee`` that the gateway has stated
    (None: it has not). ``ended_at`` is when an attempt to pay ended, paid, reserved or failed; None for anything else,
    and as long as it is open. Daily totals are summed over these (``store.day_sums``).

    ``shares`` are the sub-merchants' shares of it, which sum to its amount; empty when it is not divided.
    """

    id: OperationRowId | None = None
    kind: Kind
    idempotency_key: str
    state: State
    amount: Decimal
    currency: str
    request: dict[str, Any] = field(default_factory=dict)  # the whole request; no secrets
    personal_sealed: str | None = None  # its data about the shopper (``store.personal``)
    origin: Origin | None = None  # see ``requester``
    close_reason: CloseReason | None = None  # of a cancellation of ours
    asked_by_saleor: bool = True  # as ``origin``, for the version before
    asked_by: str | None = None  # the member of staff who requested it, if in our own interface
    psp_reference: PspReference | None = None
    operation_id: GatewayOperationId | None = None
    status_code: str | None = None
    message: str | None = None  # text for staff
    shopper_message: str | None = None
    waits_for_shopper: bool = False  # pending, and it is the shopper who must act
    details: dict[str, Any] = field(default_factory=dict)  # what else the gateway states: fee, receipt
    decision: dict[str, Any] | None = None  # who settled it manually, how and why
    saleor_requests: list[dict[str, Any]] = field(default_factory=list)  # Saleor's webhooks for it, by key
    granted_refund_id: str | None = None  # Saleor's id of the granted refund
    answer_awaited_until: datetime | None = None  # None: Saleor has read the response, or there is none
    asked_anew: int = 0  # how often we have let Saleor request the granted refund again
    inferred: bool = False  # the state is inferred from the gateway's silence, not stated by it
    contradicted: bool = False
    keeps_rest: bool = False
    next_poll_at: datetime | None = None  # when the worker attends to it; None: never
    polls: int = 0
    polled_at: datetime | None = None
    charge_id: GatewayOperationId | None = None
    booked_at: datetime | None = None
    ended_at: datetime | None = None
    trace_id: str | None = None  # in which it was requested, or observed; set when it is saved
    fee: Decimal | None = None
    fee_currency: str | None = None
    created_at: datetime
    updated_at: datetime

    shares: dict[str, Decimal] = field(default_factory=dict)

    @property
    def requested(self) -> RequestDetails:
        """What it requests besides its amount."""
        return RequestDetails.read(self.request)

    @property
    def requester(self) -> Origin:
        """Who wanted it. Of a row that the version before has written, its key and its columns say so."""
        if self.origin is not None:
            return self.origin
        if self.idempotency_key.startswith(EXTERNAL_KEY_PREFIX):
            return Origin.GATEWAY
        if self.asked_by is not None:
            return Origin.STAFF
        return Origin.SALEOR if self.asked_by_saleor else Origin.APP

    @property
    def has_surely_failed(self) -> bool:
        """True when it has failed and no record says otherwise."""
        return self.state is State.FAILURE and not self.contradicted and self.newer_try is None

    @property
    def newer_try(self) -> str | None:
        """The gateway's id of a newer try on the page of a payment that was declined, while that is at the bank."""
        return self.details.get("newer_try") if self.state is State.FAILURE else None


@dataclass(slots=True, kw_only=True, eq=False)
class SaleorEvent:
    """One event to report to Saleor, saved in the commit that changes the state it reports.

    ``operation_id`` is the row id of the operation, if a webhook of Saleor's requested it.
    """

    id: EventRowId | None = None
    operation_id: OperationRowId | None = None
    type: str
    psp_reference: PspReference
    amount: Decimal
    message: str = ""
    available_actions: list[str] | None = None
    card: dict[str, Any] | None = None  # how it was paid: brand and mask of a card, or a name
    state: EventState = EventState.WAITING
    attempts: int = 0
    next_attempt_at: datetime | None = None  # None: delivered, refused or superseded
    last_error: str | None = None
    trace_id: str | None = None  # its operation's, or in which it was written; set when it is saved
    created_at: datetime
    delivered_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class RefusedCard:
    """A card that the gateway no longer accepts, as shown by a payment that was begun at ``paid_at``."""

    card_id: str
    paid_at: datetime
    since: datetime


SealToken: TypeAlias = Callable[[str, str, str], str]
"""Returns the token of a card for storage, given its account and its owner, which alone can open it."""


@dataclass(frozen=True, slots=True)
class CardToSave:
    """A card that its owner agreed to save, as it is stored with the payment that was made with it.

    ``token_sealed`` is the gateway's token (``SealToken``). ``paid_at``: when that payment was made, as far as known.
    """

    installation_id: int
    account_id: str
    owner: str
    token_sealed: str
    mask: str
    brand: str | None
    expires_at: datetime | None
    saved_at: datetime
    paid_at: datetime


@dataclass(slots=True)
class PaymentAggregate:
    """A payment with all that belongs to it; operations and events oldest first. Its problems are in the payment.

    ``links`` are the events and problems about an operation that has no row yet: the store completes them.
    ``cards_to_save`` and ``refused_cards`` are written with the payment.
    """

    payment: Payment
    operations: list[Operation]
    events: list[SaleorEvent]
    links: list[tuple[SaleorEvent | Problem, Operation]] = field(default_factory=list)
    cards_to_save: list[CardToSave] = field(default_factory=list)
    refused_cards: list[RefusedCard] = field(default_factory=list)

    @property
    def create(self) -> Operation:
        """The operation that created the payment at the gateway. Every payment has one from its first commit on."""
        return next(operation for operation in self.operations if operation.kind is Kind.CREATE)

    def operation_by_key(self, idempotency_key: str) -> Operation | None:
        """Return the operation with this key, its own or that of one of Saleor's requests for it; or None."""
        return next(
            (
                operation
                for operation in self.operations
                if operation.idempotency_key == idempotency_key
                or any(request["key"] == idempotency_key for request in operation.saleor_requests)
            ),
            None,
        )

    def operation_by_digest(self, digest: str) -> Operation | None:
        """Return the operation that was requested by the webhook whose body has this digest, or None."""
        return next(
            (
                operation
                for operation in self.operations
                if any(request["digest"] == digest for request in operation.saleor_requests)
            ),
            None,
        )

    def link(self, about: SaleorEvent | Problem, operation: Operation) -> None:
        """Link an event to the operation, requested by Saleor, that it reports; or a problem to the one it is about."""
        about.operation_id = operation.id
        if operation.id is None:
            self.links.append((about, operation))

    def event_by_id(self, event_row_id: EventRowId) -> SaleorEvent:
        """Return the event with that row id."""
        return next(event for event in self.events if event.id == event_row_id)

    def operation_by_id(self, operation_row_id: OperationRowId | None) -> Operation:
        """Return the operation with that row id."""
        return next(operation for operation in self.operations if operation.id == operation_row_id)


def returned_of_payout(operations: Sequence[Operation]) -> Decimal:
    """Return what has come back of a payout."""
    back = (operation for operation in operations if operation.kind in GIVES_A_PAYOUT_BACK)
    return sum((operation.amount for operation in back if operation.state is State.SUCCESS), Decimal("0.00"))


RowIdT_co = TypeVar("RowIdT_co", bound=int, covariant=True)


class Stored(Protocol[RowIdT_co]):
    """What has a row id once it is stored."""

    @property
    def id(self) -> RowIdT_co | None:
        """The id of its row."""


def row_id_of(stored: Stored[RowIdT_co]) -> RowIdT_co:
    """Return the id of what is known to be stored."""
    assert stored.id is not None  # noqa: S101 - stored
    return stored.id
