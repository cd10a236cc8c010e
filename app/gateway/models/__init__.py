"""Typed models of everything that goes to the gateway and comes from it."""

from app.gateway.models.checkout import Checkout
from app.gateway.models.records import (
    Fee,
    LimitInfo,
    OperationRecord,
    PaymentRecord,
    Record,
    Recurring,
    Unreadable,
    read_record,
    read_records,
)
from app.gateway.models.values import Method, Mode, ReceiptDelivery
from app.gateway.statuses import Status

__all__ = [
    "Checkout",
    "Fee",
    "LimitInfo",
    "Method",
    "Mode",
    "OperationRecord",
    "PaymentRecord",
    "ReceiptDelivery",
    "Record",
    "Recurring",
    "Status",
    "Unreadable",
    "read_record",
    "read_records",
]
