"""The records of this Saleor: apps, checkouts, orders, transactions. Plain mutable objects.

Amounts are ``Decimal`` in the major unit of the currency. Times are aware UTC. Ids are global ids.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import count
from typing import Any

from saleor_app_sdk.testing.ids import global_id
from saleor_app_sdk.testing.money import ZERO
from saleor_app_sdk.testing.rules.problems import Problem
from saleor_app_sdk.testing.vocabulary import EventType, GrantedRefundStatus, OtherEvent, WebhookEvent


class EventClock:
    """Assigns times and ids to events. No two events have the same time, even if a test has stopped the clock."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._last: datetime | None = None
        self._numbers = count(1)

    def now(self) -> datetime:
        """Return the clock's time, or a microsecond after the last returned time if the clock has not advanced."""
        now = self._clock()
        if self._last is not None and now <= self._last:
            now = self._last + timedelta(microseconds=1)
        self._last = now
        return now

    def event_id(self) -> str:
        """Return the global id of the next TransactionEvent."""
        return global_id("TransactionEvent", next(self._numbers))


@dataclass
class Event:
    """A TransactionEvent. ``counts`` is Saleor's include_in_calculations: only such events affect the amounts."""

    id: str
    created_at: datetime
    type: EventType
    amount: Decimal
    psp_reference: str | None = None
    message: str = ""
    external_url: str = ""
    idempotency_key: str | None = None
    counts: bool = True
    granted_refund: "GrantedRefund | None" = None


@dataclass(frozen=True)
class Amounts:
    """The eight amounts of a transaction."""

    authorized: Decimal = ZERO
    authorize_pending: Decimal = ZERO
    charged: Decimal = ZERO
    charge_pending: Decimal = ZERO
    refunded: Decimal = ZERO
    refund_pending: Decimal = ZERO
    canceled: Decimal = ZERO
    cancel_pending: Decimal = ZERO


@dataclass
class Transaction:
    """A TransactionItem. ``events`` are in the order in which they were recorded, not by ``created_at``."""

    token: str
    currency: str
    app_identifier: str
    created_at: datetime
    modified_at: datetime
    idempotency_key: str
    name: str = ""
    message: str = ""
    psp_reference: str | None = None
    external_url: str = ""
    actions: list[str] = field(default_factory=list)
    # An asynchronous response with `actions` stores them in a spelling that Saleor cannot read back.
    unreadable: bool = False
    amounts: Amounts = field(default_factory=Amounts)
    events: list[Event] = field(default_factory=list)
    payment_method_details: dict[str, Any] | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    private_metadata: dict[str, str] = field(default_factory=dict)
    checkout: "Checkout | None" = None
    order: "Order | None" = None

    @property
    def id(self) -> str:
        """The global id."""
        return global_id("TransactionItem", self.token)

    @property
    def source(self) -> "Checkout | Order":
        """The checkout or order that is paid by this transaction."""
        source = self.order or self.checkout
        if source is None:
            msg = "a transaction belongs to a checkout or to an order"
            raise AssertionError(msg)
        return source


@dataclass
class Line:
    """A line of a basket. ``unit_price`` is gross, after discounts; ``tax_rate`` a fraction (0.2 is 20 %).

    Stores may name a sub-merchant in the metadata.
    """

    key: str
    product_name: str
    variant_name: str
    unit_price: Decimal
    quantity: int = 1
    sku: str | None = None
    tax_rate: Decimal = ZERO
    variant_metadata: dict[str, str] = field(default_factory=dict)
    product_metadata: dict[str, str] = field(default_factory=dict)
    product_type_metadata: dict[str, str] = field(default_factory=dict)
    undiscounted_unit_price: Decimal | None = None

    @property
    def total(self) -> Decimal:
        """Quantity times unit price."""
        return self.unit_price * self.quantity

    @property
    def before_discounts(self) -> Decimal:
        """Quantity times unit price before discounts."""
        price = self.unit_price if self.undiscounted_unit_price is None else self.undiscounted_unit_price
        return price * self.quantity


@dataclass
class Basket:
    """Data that a checkout shares with the order created from it. ``gift_cards`` is the amount that gift cards pay."""

    currency: str
    channel_slug: str
    email: str
    language_code: str
    lines: list[Line]
    shipping_price: Decimal
    address: dict[str, Any]
    user: dict[str, Any] | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    gift_cards: Decimal = ZERO
    channel_id: str | None = None

    @property
    def subtotal(self) -> Decimal:
        """The total of the lines, without shipping."""
        return sum((line.total for line in self.lines), ZERO)

    @property
    def total_before_gift_cards(self) -> Decimal:
        """Lines and shipping."""
        return self.subtotal + self.shipping_price

    @property
    def total(self) -> Decimal:
        """The gross amount to pay: lines and shipping less gift cards, which may cover all of it."""
        return max(self.total_before_gift_cards - self.gift_cards, ZERO)


@dataclass
class Checkout:
    """A checkout, until ``checkoutComplete`` turns it into an order."""

    token: str
    basket: Basket
    transactions: list[Transaction] = field(default_factory=list)

    @property
    def id(self) -> str:
        """The global id."""
        return global_id("Checkout", self.token)


@dataclass
class GrantedRefund:
    """A refund that staff granted on an order, and may then request on a transaction."""

    id: str
    order: "Order"
    amount: Decimal
    reason: str
    shipping_costs_included: bool
    lines: list[tuple[Line, int, str]]
    transaction: Transaction | None = None
    status: GrantedRefundStatus = GrantedRefundStatus.NONE


@dataclass
class Order:
    """A placed order."""

    token: str
    number: str
    basket: Basket
    transactions: list[Transaction] = field(default_factory=list)
    granted_refunds: list[GrantedRefund] = field(default_factory=list)
    status: str = "UNFULFILLED"
    checkout_id: str | None = None

    @property
    def id(self) -> str:
        """The global id."""
        return global_id("Order", self.token)


@dataclass(frozen=True)
class Webhook:
    """The target URL and subscription of an app for one event."""

    event: WebhookEvent | OtherEvent
    target_url: str
    query: str


@dataclass
class AppWebhook:
    """A webhook from an app's manifest, or created by the app. ``events``: those that this Saleor supports."""

    id: str
    name: str
    target_url: str
    query: str
    events: tuple[WebhookEvent | OtherEvent, ...]
    active: bool = True


@dataclass
class App:
    """An installed app."""

    id: str
    identifier: str
    name: str
    version: str
    token: str
    permissions: tuple[str, ...]
    active: bool
    hooks: list[AppWebhook]
    manifest: Mapping[str, Any]
    reported_problems: list[Problem] = field(default_factory=list)
    private_metadata: dict[str, str] = field(default_factory=dict)

    @property
    def webhooks(self) -> list[Webhook]:
        """The active webhooks of the app, one entry for each of their events."""
        return [
            Webhook(event, hook.target_url, hook.query) for hook in self.hooks if hook.active for event in hook.events
        ]

    @property
    def problems(self) -> list[dict[str, Any]]:
        """The app's problems as the Dashboard shows them: the open ones, newest first."""
        return [problem.to_payload() for problem in reversed(self.reported_problems) if not problem.dismissed]


@dataclass(frozen=True)
class Member:
    """A member of the store's staff."""

    id: str
    name: str
    email: str
    permissions: tuple[str, ...]
