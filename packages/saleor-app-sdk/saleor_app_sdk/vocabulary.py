"""Saleor's own enums for transactions: flows, actions and event types."""

from enum import StrEnum


class TransactionFlow(StrEnum):
    """The flow that the storefront requests: a charge, or a reservation first (``TransactionFlowStrategyEnum``)."""

    CHARGE = "CHARGE"
    AUTHORIZATION = "AUTHORIZATION"


class AvailableAction(StrEnum):
    """An action that staff can request next (``TransactionActionEnum``)."""

    CHARGE = "CHARGE"
    REFUND = "REFUND"
    CANCEL = "CANCEL"


class TransactionEventType(StrEnum):
    """A type of event in a transaction's history (``TransactionEventTypeEnum``, the same in 3.21, 3.22 and 3.23)."""

    AUTHORIZATION_SUCCESS = "AUTHORIZATION_SUCCESS"
    AUTHORIZATION_FAILURE = "AUTHORIZATION_FAILURE"
    AUTHORIZATION_ADJUSTMENT = "AUTHORIZATION_ADJUSTMENT"
    AUTHORIZATION_REQUEST = "AUTHORIZATION_REQUEST"
    AUTHORIZATION_ACTION_REQUIRED = "AUTHORIZATION_ACTION_REQUIRED"
    CHARGE_SUCCESS = "CHARGE_SUCCESS"
    CHARGE_FAILURE = "CHARGE_FAILURE"
    CHARGE_REQUEST = "CHARGE_REQUEST"
    CHARGE_ACTION_REQUIRED = "CHARGE_ACTION_REQUIRED"
    CHARGE_BACK = "CHARGE_BACK"
    REFUND_SUCCESS = "REFUND_SUCCESS"
    REFUND_FAILURE = "REFUND_FAILURE"
    REFUND_REQUEST = "REFUND_REQUEST"
    REFUND_REVERSE = "REFUND_REVERSE"
    CANCEL_SUCCESS = "CANCEL_SUCCESS"
    CANCEL_FAILURE = "CANCEL_FAILURE"
    CANCEL_REQUEST = "CANCEL_REQUEST"
    INFO = "INFO"


EventType = TransactionEventType
"""The short name inside this package and the app."""
