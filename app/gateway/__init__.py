"""The client of the payment gateway's interface: requests, records, errors, signature. Independent of Saleor.

A program of your own imports every name from here (docs/gateway-client.md). Each is loaded from its module on first
access, so that importing one error loads no more than that.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.gateway.client import GatewayClient
    from app.gateway.credentials import Credentials
    from app.gateway.declined import Declined
    from app.gateway.dialect import (
        DIALECTS,
        CaptureEndpoint,
        Dialect,
        PartCapture,
        Preset,
        Sending,
        TaxesForm,
        ThreeDs,
    )
    from app.gateway.discovery import zone_offset
    from app.gateway.errors import (
        BadCredentialsError,
        BrokenRule,
        DuplicateOrderError,
        ForgedNotificationError,
        GatewayError,
        InvalidRequestError,
        KeysNotOpenedError,
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
    from app.gateway.hosts import PRESETS, KnownGateway
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
    from app.gateway.notification import Notification, SignedButUnreadableError, read_notification
    from app.gateway.statuses import Status
    from app.gateway.wallets import Wallet, encode_token

__all__ = [
    "DIALECTS",
    "PRESETS",
    "Attribute",
    "BadCredentialsError",
    "BalanceAccount",
    "Balances",
    "BrokenRule",
    "BrowserFingerprint",
    "Capture",
    "CaptureEndpoint",
    "Checkout",
    "Credentials",
    "Declined",
    "Detail",
    "Dialect",
    "DirectPayment",
    "DuplicateOrderError",
    "Fee",
    "FiscalProduct",
    "ForgedNotificationError",
    "GatewayClient",
    "GatewayError",
    "HostedPayment",
    "InvalidRequestError",
    "KeysNotOpenedError",
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
    "Preset",
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
    "RegisterLine",
    "RegisterRequest",
    "RegisterTicket",
    "ReportNotReadyError",
    "Sector",
    "Sending",
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
    "encode_token",
    "periods",
    "read_notification",
    "zone_offset",
]

# The module of each name; those missing here are in the models. A test compares this with the imports above.
_ERRORS = "errors"
_DIALECT = "dialect"
_ELSEWHERE = {
    **dict.fromkeys(("DIALECTS", "CaptureEndpoint", "Dialect", "PartCapture"), _DIALECT),
    **dict.fromkeys(("Preset", "Sending", "TaxesForm", "ThreeDs"), _DIALECT),
    "Credentials": "credentials",
    "Declined": "declined",
    "GatewayClient": "client",
    "KnownGateway": "hosts",
    "Notification": "notification",
    "PRESETS": "hosts",
    "SignedButUnreadableError": "notification",
    "Status": "statuses",
    "BrokenRule": _ERRORS,
    "Violation": _ERRORS,
    "Wallet": "wallets",
    "encode_token": "wallets",
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
