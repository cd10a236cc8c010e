"""The client of the payment gateway's interface: requests, records, errors, signature. Independent of Saleor.

A program imports every name from here. Each is loaded from its module on first access, so that importing one error
loads no more than that.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway_client.client import GatewayClient
    from gateway_client.credentials import Credentials
    from gateway_client.declined import Declined
    from gateway_client.dialect import (
        DIALECTS,
        CaptureEndpoint,
        Dialect,
        DialectName,
        Inclusion,
        PartCapture,
        TaxesForm,
        ThreeDs,
    )
    from gateway_client.discovery import zone_offset
    from gateway_client.errors import (
        BadCredentialsError,
        BrokenRule,
        DuplicateOrderError,
        ForgedNotificationError,
        GatewayError,
        InvalidRequestError,
        NotFoundError,
        NotificationError,
        NotSentError,
        NotTheGatewayError,
        OutcomeUnknownError,
        RateLimitedError,
        RefusedError,
        ReportNotReadyError,
        UnreadableNotificationError,
        Violation,
    )
    from gateway_client.hosts import KNOWN_GATEWAYS, KnownGateway
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
    from gateway_client.notification import Notification, SignedButUnreadableError, read_notification
    from gateway_client.statuses import CodeKind, Status
    from gateway_client.wallets import Wallet, encode_wallet_token

__all__ = [
    "DIALECTS",
    "KNOWN_GATEWAYS",
    "Attribute",
    "BadCredentialsError",
    "BalanceAccount",
    "Balances",
    "BrokenRule",
    "BrowserFingerprint",
    "Capture",
    "CaptureEndpoint",
    "Checkout",
    "CodeKind",
    "Credentials",
    "Declined",
    "Dialect",
    "DialectName",
    "DirectPayment",
    "DuplicateOrderError",
    "Fee",
    "FiscalProduct",
    "ForgedNotificationError",
    "GatewayClient",
    "GatewayError",
    "HostedPayment",
    "Inclusion",
    "InvalidRequestError",
    "KnownGateway",
    "LimitInfo",
    "Method",
    "Mode",
    "NotFoundError",
    "NotSentError",
    "NotTheGatewayError",
    "Notification",
    "NotificationError",
    "OperationRecord",
    "OutcomeUnknownError",
    "PartCapture",
    "Payment",
    "PaymentRecord",
    "Payout",
    "Product",
    "RateLimitedError",
    "ReceiptDelivery",
    "Recipient",
    "Record",
    "Records",
    "Recurring",
    "RecurringPlan",
    "Refund",
    "RefusedError",
    "RegisterColumn",
    "RegisterLine",
    "RegisterRequest",
    "RegisterTicket",
    "ReportNotReadyError",
    "Sector",
    "SignedButUnreadableError",
    "SplitItem",
    "SplitRefund",
    "Status",
    "Subscription",
    "SubscriptionRefund",
    "Taxes",
    "TaxesForm",
    "ThreeDs",
    "TransactionLine",
    "UnreadableLine",
    "UnreadableNotificationError",
    "Violation",
    "Void",
    "Wallet",
    "encode_wallet_token",
    "read_notification",
    "split_period",
    "zone_offset",
]

# The module of each name; those missing here are in the models. A test compares this with the imports above.
_ERRORS = "errors"
_DIALECT = "dialect"
_ELSEWHERE = {
    **dict.fromkeys(("DIALECTS", "CaptureEndpoint", "Dialect", "PartCapture"), _DIALECT),
    **dict.fromkeys(("DialectName", "Inclusion", "TaxesForm", "ThreeDs"), _DIALECT),
    "Credentials": "credentials",
    "Declined": "declined",
    "GatewayClient": "client",
    "KnownGateway": "hosts",
    "Notification": "notification",
    "KNOWN_GATEWAYS": "hosts",
    "SignedButUnreadableError": "notification",
    **dict.fromkeys(("CodeKind", "Status"), "statuses"),
    "BrokenRule": _ERRORS,
    "Violation": _ERRORS,
    "Wallet": "wallets",
    "encode_wallet_token": "wallets",
    "read_notification": "notification",
    "zone_offset": "discovery",
}


if not TYPE_CHECKING:  # a type checker would take every name for defined

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = _ELSEWHERE.get(name) or (_ERRORS if name.endswith("Error") else "models")
        value = getattr(import_module(f"{__name__}.{module}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
