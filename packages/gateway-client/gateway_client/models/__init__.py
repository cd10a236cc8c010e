"""Typed models of the gateway's requests and responses."""

from gateway_client.models.accounts import BalanceAccount, Balances
from gateway_client.models.details import Attribute, BrowserFingerprint, RecurringPlan, SplitItem
from gateway_client.models.operations import Capture, Refund, SplitRefund, Void
from gateway_client.models.payments import Checkout, DirectPayment, HostedPayment, Payment, Sector
from gateway_client.models.payout import Payout, Recipient
from gateway_client.models.products import FiscalProduct, Product, Taxes
from gateway_client.models.records import (
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
from gateway_client.models.reports import (
    RegisterColumn,
    RegisterLine,
    RegisterRequest,
    RegisterTicket,
    TransactionLine,
    UnreadableLine,
    split_period,
)
from gateway_client.models.subscriptions import Subscription, SubscriptionRefund
from gateway_client.models.values import Method, Mode, ReceiptDelivery
from gateway_client.statuses import Status

__all__ = [
    "Attribute",
    "BalanceAccount",
    "Balances",
    "BrowserFingerprint",
    "Capture",
    "Checkout",
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
    "RegisterColumn",
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
    "read_record",
    "read_records",
    "split_period",
]
