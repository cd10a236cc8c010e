"""The events of a payment app, as Saleor sends them: the fields that ``manifest/subscriptions`` select.

The body of a webhook is the selected part of the event itself, at top level. Each class is named as the event's
``__typename``.
"""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar

from pydantic import AwareDatetime, Field

from app.saleor.source import (
    Channel,
    Checkout,
    FromSaleor,
    Line,
    Money,
    Order,
    OrderOrCheckout,
    Principal,
    Quantity,
    Text,
    User,
)
from app.saleor.vocabulary import AvailableAction, TransactionFlow

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

_BEFORE_EVERYTHING = datetime.min.replace(tzinfo=UTC)


class Recipient(FromSaleor):
    """The app that Saleor means, which must be us."""

    id: str
    identifier: str | None = None


class TransactionEvent(FromSaleor):
    """One entry of a transaction's history. ``type`` is left as text: newer Saleors may know more of them.

    ``message`` is told with a refund only: a request's is the reason that staff gave, from Saleor 3.22 on.
    """

    id: str
    type: str | None = None
    psp_reference: Text = ""
    amount: Money | None = None
    idempotency_key: str | None = None
    created_at: AwareDatetime | None = None
    message: Text = ""


class Transaction(FromSaleor):
    """Saleor's side of a payment. ``events`` come newest first."""

    id: str
    psp_reference: Text = ""
    charged_amount: Money | None = None
    authorized_amount: Money | None = None
    refunded_amount: Money | None = None
    canceled_amount: Money | None = None
    events: tuple[TransactionEvent, ...] = ()


class PaidTransaction(Transaction):
    """A transaction with what it paid for: the order, or the checkout as long as there is no order."""

    checkout: Checkout | None = None
    order: Order | None = None


class SessionAction(FromSaleor):
    """What the storefront asks for."""

    amount: Amount
    currency: str
    action_type: TransactionFlow


class StaffAction(FromSaleor):
    """What staff, or Saleor itself, ask for. ``amount`` is already clipped to what Saleor believes is left."""

    amount: Amount
    currency: str
    action_type: AvailableAction


class OrderLine(Line):
    """A line of the order; ``quantity`` is what was ordered of it, 0 when the webhook does not tell."""

    quantity: Quantity = 0


class GrantedRefundLine(FromSaleor):
    """How many pieces of an order's line are refunded."""

    id: str
    quantity: Quantity
    order_line: OrderLine


class GrantedRefund(FromSaleor):
    """What staff granted the customer beforehand, by lines.

    Saleor (3.21 to 3.23) resolves it for a plain refund too, from nothing. Its ``id`` is ``OrderGrantedRefund:None``
    then, the same for every plain refund, and only a field that cannot be null makes it the null that it is, with an
    error beside it in the body. So such a field must be asked for: ``amount`` is.
    """

    id: str
    amount: Money | None = None
    reason: Text = ""
    shipping_costs_included: bool = False
    lines: tuple[GrantedRefundLine, ...] | None = None


class Event(FromSaleor):
    """What every event has."""

    event_type: ClassVar[str]  # as the manifest says it: TRANSACTION_CHARGE_REQUESTED
    is_asynchronous: ClassVar[bool] = False  # Saleor waits for no answer, and repeats what was answered with a 5xx
    shows_presence: ClassVar[bool] = True  # only an app that is installed and active is sent it

    issued_at: AwareDatetime
    version: str | None = None  # of Saleor: 3.23.28
    recipient: Recipient


class ShoppersEvent(Event):
    """A storefront asks about what is to be paid. ``data`` is whatever it passed, or None."""

    source_object: OrderOrCheckout
    data: Any = None
    # Nobody, too, where the app was installed before it asked for this.
    issuing_principal: Principal | None = None

    @property
    def source(self) -> Checkout | Order:
        """What is, or would be, paid for."""
        return self.source_object

    @property
    def customer_id(self) -> str | None:
        """The id of the customer whose checkout or order it is, if they ask themselves or by an app of the store."""
        return self.source.asking_customer(self.issuing_principal)


class PaymentGatewayInitializeSession(ShoppersEvent):
    """The storefront wants to know how to offer us. ``amount`` may be None."""

    event_type = "PAYMENT_GATEWAY_INITIALIZE_SESSION"

    amount: Amount | None = None


class StoredMethodEvent(Event):
    """Something about the payment methods that are kept for a customer, who has signed in at a storefront."""

    user: User
    channel: Channel


class ListStoredPaymentMethods(StoredMethodEvent):
    """A customer looks at what is kept."""

    event_type = "LIST_STORED_PAYMENT_METHODS"


class StoredPaymentMethodDeleteRequested(StoredMethodEvent):
    """A customer has one of them deleted; ``payment_method_id`` is the app's own, or anything at all."""

    event_type = "STORED_PAYMENT_METHOD_DELETE_REQUESTED"

    payment_method_id: str


class App(FromSaleor):
    """An app, perhaps another than the one that is told of it."""

    id: str


class AppEvent(Event):
    """Something about an app. From 3.23.5 on it is told of itself; of others only with MANAGE_APPS."""

    is_asynchronous = True
    shows_presence = False

    app: App | None = None

    @property
    def is_about_recipient(self) -> bool:
        """Whether it is about the app that is told of it, as far as Saleor still says."""
        return self.app is None or self.app.id == self.recipient.id


class AppDeleted(AppEvent):
    """Staff have removed an app."""

    event_type = "APP_DELETED"


class AppStatusChanged(AppEvent):
    """Staff have switched an app off or on."""

    event_type = "APP_STATUS_CHANGED"


class CustomerEvent(Event):
    """Something about a customer, which Saleor tells apps that may manage users (MANAGE_USERS)."""

    is_asynchronous = True

    user: User


class CustomerDeleted(CustomerEvent):
    """Staff, or an app, have deleted a customer. Saleor 3.21 and 3.22 have no such event that could be selected."""

    event_type = "CUSTOMER_DELETED"


class AccountDeleted(CustomerEvent):
    """A customer has deleted their own account."""

    event_type = "ACCOUNT_DELETED"


class SessionEvent(ShoppersEvent):
    """What starting and continuing a payment have in common."""

    transaction: Transaction
    action: SessionAction
    merchant_reference: Text = ""
    # Of whoever called Saleor: the storefront's server, when it renders on the server.
    customer_ip_address: str | None = None


class TransactionInitializeSession(SessionEvent):
    """A shopper starts to pay. The same ``idempotency_key`` can come again for the same transaction."""

    event_type = "TRANSACTION_INITIALIZE_SESSION"

    idempotency_key: str


class TransactionProcessSession(SessionEvent):
    """A shopper comes back to a payment that was started."""

    event_type = "TRANSACTION_PROCESS_SESSION"


class RequestedAction(Event):
    """Staff, or Saleor itself, want something done with a payment."""

    kind: ClassVar[AvailableAction]

    transaction: PaidTransaction
    action: StaffAction

    @property
    def source(self) -> Checkout | Order | None:
        """What was paid for: the order, or the checkout as long as there is no order."""
        return self.transaction.order or self.transaction.checkout

    @property
    def request_events(self) -> tuple[TransactionEvent, ...]:
        """The entries that this webhook can be about, newest first.

        The webhook has no id of its own. It is about a ``*_REQUEST`` of this kind that nobody has answered with a
        reference yet, over the amount that is asked. Of actions that are requested at the same moment each webhook may
        list all of them (Saleor contract, A.2 and A.10). Where no amount agrees, it can be any that is unanswered.
        """
        unanswered = [
            event
            for event in self.transaction.events
            if event.type == f"{self.kind}_REQUEST" and not event.psp_reference
        ]
        unanswered.sort(key=lambda event: event.created_at or _BEFORE_EVERYTHING, reverse=True)
        asked = self.action.amount
        return tuple([each for each in unanswered if each.amount and each.amount.amount == asked] or unanswered)

    @property
    def request_keys(self) -> tuple[str, ...]:
        """The keys of ``request_events``: each tells one request from every other one."""
        return tuple(each.idempotency_key for each in self.request_events if each.idempotency_key)

    @property
    def request_key(self) -> str | None:
        """The newest of ``request_keys``; None when Saleor does not say which request this is."""
        return next(iter(self.request_keys), None)


class TransactionChargeRequested(RequestedAction):
    """Capture what is authorized, or part of it."""

    event_type = "TRANSACTION_CHARGE_REQUESTED"
    kind = AvailableAction.CHARGE


class TransactionRefundRequested(RequestedAction):
    """Give back what is charged, or part of it. ``granted_refund`` is None for a plain refund."""

    event_type = "TRANSACTION_REFUND_REQUESTED"
    kind = AvailableAction.REFUND

    granted_refund: GrantedRefund | None = None

    @property
    def reasons(self) -> dict[str, str]:
        """Why staff want the money back, by the keys of the requests that this can be about."""
        if self.granted_refund is not None and self.granted_refund.reason:
            return dict.fromkeys(self.request_keys, self.granted_refund.reason)
        return {each.idempotency_key: each.message for each in self.request_events if each.idempotency_key}


class TransactionCancelationRequested(RequestedAction):
    """Release what is authorized, or call off a payment that nobody has made yet (then the amount is 0)."""

    event_type = "TRANSACTION_CANCELATION_REQUESTED"
    kind = AvailableAction.CANCEL
