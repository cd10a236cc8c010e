"""The data that the control API and its client exchange: frozen models with exact amounts."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from pydantic import BaseModel, ConfigDict

from saleor_app_sdk.testing.vocabulary import Action, AuthorizeStatus, ChargeStatus, EventType, GrantedRefundStatus


class View(BaseModel):
    """A frozen response model."""

    model_config = ConfigDict(frozen=True, from_attributes=True)


class ErrorView(View):
    """One entry of a mutation's ``errors``."""

    field: str | None
    code: str
    message: str


class EventView(View):
    """A TransactionEvent."""

    id: str
    created_at: datetime
    type: EventType
    amount: Decimal
    psp_reference: str | None
    message: str
    external_url: str
    idempotency_key: str | None
    counts: bool


class AmountsView(View):
    """The eight amounts."""

    authorized: Decimal
    authorize_pending: Decimal
    charged: Decimal
    charge_pending: Decimal
    refunded: Decimal
    refund_pending: Decimal
    canceled: Decimal
    cancel_pending: Decimal


class TransactionView(View):
    """A transaction with its events, newest first. ``readable`` is False while ``actions`` are unreadable."""

    id: str
    token: str
    name: str
    currency: str
    psp_reference: str | None
    external_url: str
    actions: list[str]
    readable: bool
    amounts: AmountsView
    events: list[EventView]
    payment_method_details: dict[str, Any] | None
    metadata: dict[str, str]
    private_metadata: dict[str, str]
    checkout_id: str | None
    order_id: str | None

    def event_types(self) -> list[str]:
        """Return the types of the events in the order in which they happened."""
        return [event.type.value for event in reversed(self.events)]

    def event(self, kind: str) -> EventView:
        """Return the newest event of a type; raise LookupError if there is none."""
        for event in self.events:
            if event.type == kind:
                return event
        msg = f"no {kind} among {self.event_types()}"
        raise LookupError(msg)


class LineView(View):
    """A line of an order or checkout; ``GrantedLine.line_id`` refers to its ``id``."""

    id: str
    product_name: str
    sku: str | None
    quantity: int
    unit_price: Decimal
    total: Decimal


class CheckoutView(View):
    """A checkout."""

    id: str
    total: Decimal
    currency: str
    charge_status: ChargeStatus
    authorize_status: AuthorizeStatus
    lines: list[LineView]
    transaction_ids: list[str]


class GrantedRefundView(View):
    """A granted refund."""

    id: str
    status: GrantedRefundStatus
    amount: Decimal
    transaction_id: str | None


class OrderView(View):
    """An order."""

    id: str
    number: str
    status: str
    total: Decimal
    currency: str
    charge_status: ChargeStatus
    authorize_status: AuthorizeStatus
    total_charged: Decimal
    total_authorized: Decimal
    lines: list[LineView]
    transaction_ids: list[str]
    granted_refunds: list[GrantedRefundView]
    metadata: dict[str, str]


class InstallationView(View):
    """The result of an installation. ``status`` is INSTALLED or FAILED."""

    status: str
    message: str | None = None
    fetch_errors: list[ErrorView] = []
    """The errors that ``appFetchManifest`` showed to staff before the installation began."""
    app_id: str | None = None
    token: str | None = None


class GatewayView(View):
    """The result of ``paymentGatewayInitialize`` for the storefront."""

    data: Any
    errors: list[ErrorView]


class SessionView(View):
    """The result of ``transactionInitialize`` or ``transactionProcess`` for the storefront."""

    transaction: TransactionView | None = None
    event: EventView | None = None
    data: Any = None
    errors: list[ErrorView] = []
    internal_error: str | None = None
    """The exception's name if the app's response made Saleor itself fail."""

    @property
    def required_transaction(self) -> TransactionView:
        """The transaction; raise LookupError if there is none."""
        if self.transaction is None:
            msg = f"no transaction: {self.errors or self.internal_error}"
            raise LookupError(msg)
        return self.transaction


class StoredMethodView(View):
    """A StoredPaymentMethod. ``id`` is Saleor's id, for a deletion; ``payment_method_id`` is the app's own."""

    id: str
    payment_method_id: str
    gateway: str
    type: str
    name: str | None
    flows: list[str]
    credit_card_info: dict[str, Any] | None
    data: Any


class MethodDeletionView(View):
    """The result of ``storedPaymentMethodRequestDelete`` for the storefront."""

    result: str
    errors: list[ErrorView] = []


class CompletionView(View):
    """The result of ``checkoutComplete`` for the storefront."""

    order: OrderView | None = None
    errors: list[ErrorView] = []


class RequestedAction(View):
    """An action that staff request on a transaction; with ``granted_refund_id``, that refund, whatever else is set.

    ``reason`` is Saleor's ``refundReason``: for refunds, from 3.22 on.
    """

    transaction_id: str | None = None
    action: Action = Action.REFUND
    amount: Decimal | None = None
    granted_refund_id: str | None = None
    reason: str = ""


class ActionView(View):
    """The result of a staff mutation; the webhook is sent afterwards."""

    errors: list[ErrorView] = []
    granted_refund: GrantedRefundView | None = None


class DeliveryView(View):
    """A request that this Saleor sent to an app, and its response."""

    number: int
    at: datetime
    event: str
    url: str
    headers: list[tuple[str, str]]
    body: str
    attempt: int
    status: int | None
    answer: str | None
    error: str | None
    seconds: float
    unplayed: list[str]


class ReportView(View):
    """A received ``transactionEventReport``, with its arguments as sent and its result."""

    number: int
    at: datetime
    app_identifier: str | None
    arguments: dict[str, Any]
    already_processed: bool | None
    event: EventView | None
    errors: list[ErrorView]


class AppView(View):
    """An installed app."""

    id: str
    identifier: str
    name: str
    active: bool
    permissions: list[str]
    token: str
    problems: list[dict[str, Any]]


class MemberView(View):
    """A member of the store's staff."""

    id: str
    name: str
    email: str
    permissions: list[str]


class NewLine(View):
    """A line for a new checkout. Amounts are gross unit prices, ``tax_rate`` is a fraction (0.2 is 20 %)."""

    product_name: str = "Apple Juice"
    variant_name: str = "1 l"
    unit_price: Decimal = Decimal("499.50")
    quantity: int = 1
    sku: str | None = None
    tax_rate: Decimal = Decimal(0)
    variant_metadata: dict[str, str] = {}
    product_metadata: dict[str, str] = {}
    product_type_metadata: dict[str, str] = {}
    undiscounted_unit_price: Decimal | None = None


class NewCheckout(View):
    """The content of a new checkout; everything has a default."""

    lines: list[NewLine] | None = None
    shipping_price: Decimal = Decimal("70.00")
    gift_cards: Decimal = Decimal(0)
    """The part of the total that gift cards pay."""
    currency: str = "UAH"
    channel_slug: str = "uah"
    channel_id: str | None = None
    """The channel's id; None: the one of a channel that was created with that slug. A renamed channel keeps its id."""
    email: str = "taras@example.com"
    language_code: str = "EN"
    user: dict[str, Any] | None = None
    address: dict[str, Any] | None = None
    """Fields that override the default address: ``firstName``, ``phone`` and so on."""
    metadata: dict[str, str] = {}


class GrantedLine(View):
    """A line of a refund that is to be granted."""

    line_id: str
    quantity: int = 1
    reason: str = ""
