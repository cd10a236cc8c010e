"""The events of a payment app, as Saleor sends them: the fields that ``manifest/subscriptions`` select.

The body of a webhook is the selected part of the event itself, at top level. Each class is named as the event's
``__typename``.
"""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar

from pydantic import AwareDatetime, BeforeValidator, Field

from integration_base.exact_json import NotJsonError, loads
from saleor_app_sdk.source import (
    Channel,
    Checkout,
    Customer,
    Line,
    Money,
    Order,
    OrderOrCheckout,
    Principal,
    Quantity,
    SaleorModel,
    Text,
    User,
)
from saleor_app_sdk.vocabulary import AvailableAction, TransactionFlow

__all__ = [
    "AccountDeleted",
    "AppDeleted",
    "AppEvent",
    "AppStatusChanged",
    "Checkout",
    "CustomerDeleted",
    "CustomerEvent",
    "Event",
    "GrantedRefund",
    "ListStoredPaymentMethods",
    "Order",
    "PaymentGatewayInitializeSession",
    "RequestedAction",
    "SessionEvent",
    "StoredMethodEvent",
    "StoredPaymentMethodDeleteRequested",
    "Transaction",
    "TransactionCancelationRequested",
    "TransactionChargeRequested",
    "TransactionEvent",
    "TransactionInitializeSession",
    "TransactionProcessSession",
    "TransactionRefundRequested",
]

# Zero is possible: a checkout that is paid already, or an action with nothing left to act on (Saleor contract, A.2).
Amount = Annotated[Decimal, Field(ge=0, lt=Decimal(10) ** 12)]

_EARLIEST = datetime.min.replace(tzinfo=UTC)


class Recipient(SaleorModel):
    """The app that Saleor addresses, which must be this one."""

    id: str
    identifier: str | None = None


class ReasonModel(SaleorModel):
    """A reason from the store's own list, which staff have chosen: a model (page) of Saleor 3.22 and newer."""

    title: Text = ""


def _reason_of(chosen: ReasonModel | None, text: str) -> str:
    """Return the reason that staff have chosen, and what they wrote about it."""
    return ": ".join(part for part in ("" if chosen is None else chosen.title.strip(), text.strip()) if part)


class TransactionEvent(SaleorModel):
    """One entry of a transaction's history. ``type`` is left as text: newer Saleors may know more types.

    Only the refund webhook selects ``message`` and ``reason_reference``: for a request they are the reason that staff
    gave, from Saleor 3.22 on.
    """

    id: str
    type: str | None = None
    psp_reference: Text = ""
    amount: Money | None = None
    idempotency_key: str | None = None
    created_at: AwareDatetime | None = None
    message: Text = ""
    reason_reference: ReasonModel | None = None

    @property
    def reason(self) -> str:
        """The reason of a requested refund."""
        return _reason_of(self.reason_reference, self.message)


class Transaction(SaleorModel):
    """Saleor's side of a payment. ``events`` come newest first."""

    id: str
    psp_reference: Text = ""
    charged_amount: Money | None = None
    authorized_amount: Money | None = None
    refunded_amount: Money | None = None
    canceled_amount: Money | None = None
    events: tuple[TransactionEvent, ...] = ()


class PaidTransaction(Transaction):
    """A transaction with the order that it paid for, or the checkout as long as there is no order."""

    checkout: Checkout | None = None
    order: Order | None = None


class SessionAction(SaleorModel):
    """The action that the storefront requests."""

    amount: Amount
    currency: str
    action_type: TransactionFlow


class StaffAction(SaleorModel):
    """The action that staff, or Saleor itself, request. Saleor has limited ``amount`` to what it believes is left."""

    amount: Amount
    currency: str
    action_type: AvailableAction


class OrderLine(Line):
    """A line of the order; ``quantity`` is the ordered quantity, 0 when the webhook does not select it."""

    quantity: Quantity = 0


class GrantedRefundLine(SaleorModel):
    """The refunded quantity of an order's line."""

    id: str
    quantity: Quantity
    order_line: OrderLine


class GrantedRefund(SaleorModel):
    """A refund that staff granted beforehand, by lines.

    Saleor (3.21 to 3.23) resolves it for a plain refund too, from an empty object. Its ``id`` is then
    ``OrderGrantedRefund:None``, the same for every plain refund, and it becomes null, with an error beside it in the
    body, only if a non-null field is selected. So such a field must be selected: ``amount`` is.
    """

    id: str
    amount: Money | None = None
    reason: Text = ""
    reason_reference: ReasonModel | None = None
    shipping_costs_included: bool = False
    lines: tuple[GrantedRefundLine, ...] | None = None


class Event(SaleorModel):
    """The fields of every event."""

    event_type: ClassVar[str]  # in the manifest's form: TRANSACTION_CHARGE_REQUESTED
    is_asynchronous: ClassVar[bool] = False  # Saleor waits for no response, and retries after a 5xx
    shows_presence: ClassVar[bool] = True  # Saleor sends it only to an installed and active app
    expires: ClassVar[bool] = True  # an old one is refused, since anybody could have recorded it

    issued_at: AwareDatetime
    version: str | None = None  # of Saleor: 3.23.28
    recipient: Recipient


def _read_written_object(value: Any) -> Any:
    """Return the JSON object that a text is; anything else as it is.

    Saleor's ``JSON`` takes any value, and a storefront that passes ``JSON.stringify(data)`` passes a text.
    """
    if not isinstance(value, str) or not value.lstrip().startswith("{"):
        return value
    try:
        return loads(value)
    except NotJsonError:
        return value


class StorefrontEvent(Event):
    """A storefront's request about a payment. ``data`` is whatever it passed, or None; an object may be its JSON."""

    source_object: OrderOrCheckout
    data: Annotated[Any, BeforeValidator(_read_written_object)] = None
    # None, too, where the app was installed before its subscription selected this.
    issuing_principal: Principal | None = None

    @property
    def source(self) -> Checkout | Order:
        """The checkout or order that is, or would be, paid for."""
        return self.source_object

    @property
    def customer_id(self) -> str | None:
        """The id of the customer whose checkout or order it is, if they or an app of the store sent the request."""
        return self.source.requesting_customer_id(self.issuing_principal)


class PaymentGatewayInitializeSession(StorefrontEvent):
    """The storefront requests the configuration with which to offer this gateway. ``amount`` may be None."""

    event_type = "PAYMENT_GATEWAY_INITIALIZE_SESSION"

    amount: Amount | None = None


class StoredMethodEvent(Event):
    """An event about the stored payment methods of a customer who has signed in at a storefront."""

    user: User
    channel: Channel


class ListStoredPaymentMethods(StoredMethodEvent):
    """A customer lists their stored payment methods."""

    event_type = "LIST_STORED_PAYMENT_METHODS"


class StoredPaymentMethodDeleteRequested(StoredMethodEvent):
    """A customer deletes a stored payment method; ``payment_method_id`` is the app's own, but not validated."""

    event_type = "STORED_PAYMENT_METHOD_DELETE_REQUESTED"

    payment_method_id: str


class App(SaleorModel):
    """An app, possibly another than the recipient."""

    id: str


class AppEvent(Event):
    """An event about an app. From 3.23.5 on an app receives those about itself; about others only with MANAGE_APPS."""

    is_asynchronous = True
    shows_presence = False

    app: App | None = None

    @property
    def is_about_recipient(self) -> bool:
        """True when it is about the recipient itself, as far as Saleor still shows the app."""
        return self.app is None or self.app.id == self.recipient.id


class AppDeleted(AppEvent):
    """Staff removed an app."""

    event_type = "APP_DELETED"


class AppStatusChanged(AppEvent):
    """Staff deactivated or activated an app."""

    event_type = "APP_STATUS_CHANGED"


class CustomerEvent(Event):
    """An event about a customer, which Saleor sends to apps that may manage users (MANAGE_USERS).

    It is true however late it arrives: Saleor's queue can be long, and staff can send it again days later
    (``eventDeliveryRetry``) to an app that was away. What an old one says of Saleor's version is not.
    """

    is_asynchronous = True
    shows_presence = False
    expires = False

    user: Customer


class CustomerDeleted(CustomerEvent):
    """Staff, or an app, deleted a customer. Saleor 3.21 and 3.22 have no such event to subscribe to."""

    event_type = "CUSTOMER_DELETED"


class AccountDeleted(CustomerEvent):
    """A customer deleted their own account."""

    event_type = "ACCOUNT_DELETED"


class SessionEvent(StorefrontEvent):
    """The common part of starting and of continuing a payment."""

    transaction: Transaction
    action: SessionAction
    merchant_reference: Text = ""
    # The address of Saleor's caller: the storefront's server, when it renders on the server.
    customer_ip_address: str | None = None


class TransactionInitializeSession(SessionEvent):
    """A shopper starts to pay. The same ``idempotency_key`` can arrive again for the same transaction."""

    event_type = "TRANSACTION_INITIALIZE_SESSION"

    idempotency_key: str


class TransactionProcessSession(SessionEvent):
    """A shopper returns to a payment that was started."""

    event_type = "TRANSACTION_PROCESS_SESSION"


class RequestedAction(Event):
    """An action on a payment, requested by staff or by Saleor itself."""

    kind: ClassVar[AvailableAction]

    transaction: PaidTransaction
    action: StaffAction

    @property
    def source(self) -> Checkout | Order | None:
        """The order that was paid for, or the checkout as long as there is no order."""
        return self.transaction.order or self.transaction.checkout

    @property
    def request_events(self) -> tuple[TransactionEvent, ...]:
        """The entries of the history that this webhook can be about, newest first.

        The webhook has no id of its own. It is about a ``*_REQUEST`` of this kind over the requested amount that has
        not been answered with a reference yet. When several actions are requested at the same moment, each webhook may
        list all of them (Saleor contract, A.2 and A.10). If no amount matches, it can be any unanswered one.
        """
        unanswered = [
            event
            for event in self.transaction.events
            if event.type == f"{self.kind}_REQUEST" and not event.psp_reference
        ]
        unanswered.sort(key=lambda event: event.created_at or _EARLIEST, reverse=True)
        requested = self.action.amount
        return tuple([event for event in unanswered if event.amount and event.amount.amount == requested] or unanswered)

    @property
    def request_keys(self) -> tuple[str, ...]:
        """The keys of ``request_events``: each identifies one request."""
        return tuple(event.idempotency_key for event in self.request_events if event.idempotency_key)

    @property
    def request_key(self) -> str | None:
        """The newest of ``request_keys``; None when Saleor does not state which request this is."""
        return next(iter(self.request_keys), None)


class TransactionChargeRequested(RequestedAction):
    """Capture what is authorized, or part of it."""

    event_type = "TRANSACTION_CHARGE_REQUESTED"
    kind = AvailableAction.CHARGE


class TransactionRefundRequested(RequestedAction):
    """Refund what is charged, or part of it. ``granted_refund`` is None for a plain refund."""

    event_type = "TRANSACTION_REFUND_REQUESTED"
    kind = AvailableAction.REFUND

    granted_refund: GrantedRefund | None = None

    @property
    def reasons(self) -> dict[str, str]:
        """The reasons that staff gave, by the keys of the requests that this can be about."""
        granted = self.granted_refund
        if granted is not None and (reason := _reason_of(granted.reason_reference, granted.reason)):
            return dict.fromkeys(self.request_keys, reason)
        return {event.idempotency_key: event.reason for event in self.request_events if event.idempotency_key}


class TransactionCancelationRequested(RequestedAction):
    """Release what is authorized, or cancel a payment that was not made yet (then the amount is 0)."""

    event_type = "TRANSACTION_CANCELATION_REQUESTED"
    kind = AvailableAction.CANCEL
