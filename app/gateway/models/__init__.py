"""Typed models of the gateway's requests and responses."""

from app.gateway.models.accounts import BalanceAccount, Balances
from app.gateway.models.checkout import Checkout
from app.gateway.models.details import Attribute, BrowserFingerprint, RecurringPlan, SplitItem
from app.gateway.models.operations import Capture, Refund, SplitRefund, Void
from app.gateway.models.payments import DirectPayment, HostedPayment, Payment, Sector
from app.gateway.models.payout import Payout, Recipient
from app.gateway.models.products import FiscalProduct, Product, Taxes
from app.gateway.models.records import (
    Fee,
    LimitInfo,
    OperationRecord,
    PaymentRecord,
    Record,
    Records,
    Recurring,
    UnreadableError,
    read_record,
    read_records,
)
from app.gateway.models.reports import (
    Detail,
    RegisterLine,
    RegisterRequest,
    RegisterTicket,
    TransactionLine,
    UnreadableLine,
    periods,
)
from app.gateway.models.subscriptions import Subscription, SubscriptionRefund
from app.gateway.models.values import Method, Mode, ReceiptDelivery
from app.gateway.statuses import Status

__all__ = [
    "Attribute",
    "BalanceAccount",
    "Balances",
    "BrowserFingerprint",
    "Capture",
    "Checkout",
    "Detail",
    "DirectPayment",
    "Fee",
    "FiscalProduct",
    "HostedPayment",
    "LimitInfo",
    "Method",
    "Mode",
    "OperationRecord",
    "Payment",
    "PaymentRecord",
    "Payout",
    "Product",
    "ReceiptDelivery",
    "Recipient",
    "Record",
    "Records",
    "Recurring",
    "RecurringPlan",
    "Refund",
    "RegisterLine",
    "RegisterRequest",
    "RegisterTicket",
    "Sector",
    "SplitItem",
    "SplitRefund",
    "Status",
    "Subscription",
    "SubscriptionRefund",
    "Taxes",
    "TransactionLine",
    "UnreadableError",
    "UnreadableLine",
    "Void",
    "periods",
    "read_record",
    "read_records",
]
