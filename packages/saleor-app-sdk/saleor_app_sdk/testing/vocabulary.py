"""Saleor's enums, deliberately defined a second time: this package tests the SDK and must not share its mistakes."""

from dataclasses import dataclass
from enum import StrEnum


class EventType(StrEnum):
    """TransactionEventTypeEnum, in Saleor's order (its error messages list the members in this order)."""

    AUTHORIZATION_SUCCESS = "AUTHORIZATION_SUCCESS"
    AUTHORIZATION_FAILURE = "AUTHORIZATION_FAILURE"
    AUTHORIZATION_ADJUSTMENT = "AUTHORIZATION_ADJUSTMENT"
    AUTHORIZATION_REQUEST = "AUTHORIZATION_REQUEST"
    AUTHORIZATION_ACTION_REQUIRED = "AUTHORIZATION_ACTION_REQUIRED"
    CHARGE_ACTION_REQUIRED = "CHARGE_ACTION_REQUIRED"
    CHARGE_SUCCESS = "CHARGE_SUCCESS"
    CHARGE_FAILURE = "CHARGE_FAILURE"
    CHARGE_BACK = "CHARGE_BACK"
    CHARGE_REQUEST = "CHARGE_REQUEST"
    REFUND_SUCCESS = "REFUND_SUCCESS"
    REFUND_FAILURE = "REFUND_FAILURE"
    REFUND_REVERSE = "REFUND_REVERSE"
    REFUND_REQUEST = "REFUND_REQUEST"
    CANCEL_SUCCESS = "CANCEL_SUCCESS"
    CANCEL_FAILURE = "CANCEL_FAILURE"
    CANCEL_REQUEST = "CANCEL_REQUEST"
    INFO = "INFO"

    @property
    def family(self) -> str:
        """AUTHORIZATION, CHARGE, REFUND, CANCEL or INFO: the kind of money movement that the event is about."""
        return self.value.partition("_")[0]

    @property
    def outcome(self) -> str:
        """The rest of the name after its family: SUCCESS, FAILURE, REQUEST, ACTION_REQUIRED, BACK ..."""
        return self.value.partition("_")[2]

    @property
    def failure(self) -> "EventType":
        """The event that Saleor records when it rejects an event of this type; INFO stays INFO."""
        return EventType.INFO if self is EventType.INFO else EventType(f"{self.family}_FAILURE")


class Flow(StrEnum):
    """TransactionFlowStrategyEnum: the flows that a storefront may request."""

    CHARGE = "CHARGE"
    AUTHORIZATION = "AUTHORIZATION"

    @property
    def request(self) -> EventType:
        """The request event that opens a session of this flow."""
        return EventType(f"{self.value}_REQUEST")


class Action(StrEnum):
    """TransactionActionEnum: the actions that staff may request."""

    CHARGE = "CHARGE"
    REFUND = "REFUND"
    CANCEL = "CANCEL"

    @property
    def request(self) -> EventType:
        """The request event that opens this action."""
        return EventType(f"{self.value}_REQUEST")


class ChargeStatus(StrEnum):
    """CheckoutChargeStatusEnum and OrderChargeStatusEnum."""

    NONE = "NONE"
    PARTIAL = "PARTIAL"
    FULL = "FULL"
    OVERCHARGED = "OVERCHARGED"


class AuthorizeStatus(StrEnum):
    """CheckoutAuthorizeStatusEnum and OrderAuthorizeStatusEnum."""

    NONE = "NONE"
    PARTIAL = "PARTIAL"
    FULL = "FULL"


class GrantedRefundStatus(StrEnum):
    """OrderGrantedRefundStatusEnum."""

    NONE = "NONE"
    PENDING = "PENDING"
    SUCCESS = "SUCCESS"
    FAILURE = "FAILURE"


class WebhookEvent(StrEnum):
    """The events of a payment app, as the ``Saleor-Event`` header spells them: the last four are asynchronous."""

    PAYMENT_GATEWAY_INITIALIZE_SESSION = "payment_gateway_initialize_session"
    TRANSACTION_INITIALIZE_SESSION = "transaction_initialize_session"
    TRANSACTION_PROCESS_SESSION = "transaction_process_session"
    TRANSACTION_CHARGE_REQUESTED = "transaction_charge_requested"
    TRANSACTION_REFUND_REQUESTED = "transaction_refund_requested"
    TRANSACTION_CANCELATION_REQUESTED = "transaction_cancelation_requested"
    LIST_STORED_PAYMENT_METHODS = "list_stored_payment_methods"
    STORED_PAYMENT_METHOD_DELETE_REQUESTED = "stored_payment_method_delete_requested"
    APP_DELETED = "app_deleted"
    APP_STATUS_CHANGED = "app_status_changed"
    ACCOUNT_DELETED = "account_deleted"
    CUSTOMER_DELETED = "customer_deleted"

    @property
    def typename(self) -> str:
        """The GraphQL type of the event: ``TransactionInitializeSession``."""
        return "".join(part.capitalize() for part in self.value.split("_"))

    @property
    def enum_name(self) -> str:
        """WebhookEventTypeSyncEnum or -AsyncEnum member: ``TRANSACTION_INITIALIZE_SESSION``."""
        return self.value.upper()

    @property
    def asynchronous(self) -> bool:
        """Whether it is sent in the background and its response is not read."""
        return self in {
            WebhookEvent.ACCOUNT_DELETED,
            WebhookEvent.CUSTOMER_DELETED,
            WebhookEvent.APP_DELETED,
            WebhookEvent.APP_STATUS_CHANGED,
        }


@dataclass(frozen=True)
class OtherEvent:
    """Any other event of Saleor's: sent when a test says so (``FakeSaleor.send_event``), apart from ORDER_CREATED.

    ``value`` is the form of the ``Saleor-Event`` header.
    """

    value: str
    typename: str
    asynchronous: bool

    @property
    def enum_name(self) -> str:
        """WebhookEventTypeSyncEnum or -AsyncEnum member: ``ORDER_CREATED``."""
        return self.value.upper()


# WebhookEventTypeSyncEnum, the same from 3.21 to 3.24, beside those of WebhookEvent.
OTHER_SYNC_EVENTS = frozenset(
    {
        "CHECKOUT_CALCULATE_TAXES",
        "CHECKOUT_FILTER_SHIPPING_METHODS",
        "ORDER_CALCULATE_TAXES",
        "ORDER_FILTER_SHIPPING_METHODS",
        "PAYMENT_AUTHORIZE",
        "PAYMENT_CAPTURE",
        "PAYMENT_CONFIRM",
        "PAYMENT_GATEWAY_INITIALIZE_TOKENIZATION_SESSION",
        "PAYMENT_LIST_GATEWAYS",
        "PAYMENT_METHOD_INITIALIZE_TOKENIZATION_SESSION",
        "PAYMENT_METHOD_PROCESS_TOKENIZATION_SESSION",
        "PAYMENT_PROCESS",
        "PAYMENT_REFUND",
        "PAYMENT_VOID",
        "SHIPPING_LIST_METHODS_FOR_CHECKOUT",
    }
)


ACTION_EVENTS = {
    Action.CHARGE: WebhookEvent.TRANSACTION_CHARGE_REQUESTED,
    Action.REFUND: WebhookEvent.TRANSACTION_REFUND_REQUESTED,
    Action.CANCEL: WebhookEvent.TRANSACTION_CANCELATION_REQUESTED,
}

HANDLE_PAYMENTS = "HANDLE_PAYMENTS"
MANAGE_USERS = "MANAGE_USERS"
MANAGE_ORDERS = "MANAGE_ORDERS"
