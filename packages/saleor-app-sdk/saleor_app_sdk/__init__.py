"""A Saleor app SDK for FastAPI: manifest, app registration, signed webhooks, typed responses, GraphQL client.

An app imports every name from here; the README shows two complete ones. Start with ``SaleorApp``. A webhook is defined
once, with its ``webhook`` decorator: the route, the signature check, the parsed event, the recipient check and the
manifest entry come from that one definition. ``saleor_app_sdk.testing`` is a Saleor to test with.

Each name is loaded from its module on first access, so that importing one error loads no more than that.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from saleor_app_sdk.answers import (
        read_mutation_result,
    )
    from saleor_app_sdk.app import (
        SaleorApp,
    )
    from saleor_app_sdk.dashboard_token import (
        DashboardTokens,
        DashboardUser,
    )
    from saleor_app_sdk.documents import (
        Documents,
    )
    from saleor_app_sdk.errors import (
        KeysUnusableError,
        NotPermittedError,
        NotUsableError,
        NotVerifiedError,
        RegistrationRefusedError,
        RequestRefusedError,
        SaleorError,
        SaleorNotAuthorisedError,
        SaleorRefusedError,
        SaleorUnreachableError,
        StillUnderwayError,
        TooLateError,
    )
    from saleor_app_sdk.event_types import (
        WEBHOOK_EVENTS,
        WebhookEvent,
        find_webhook_event,
    )
    from saleor_app_sdk.events import (
        AccountDeleted,
        AppDeleted,
        AppStatusChanged,
        CustomerDeleted,
        Event,
        ListStoredPaymentMethods,
        PaymentGatewayInitializeSession,
        RequestedAction,
        SessionEvent,
        StoredPaymentMethodDeleteRequested,
        TransactionCancelationRequested,
        TransactionChargeRequested,
        TransactionInitializeSession,
        TransactionProcessSession,
        TransactionRefundRequested,
    )
    from saleor_app_sdk.extension import (
        Extension,
        Widget,
    )
    from saleor_app_sdk.graphql import (
        AppIdentity,
        SaleorClient,
    )
    from saleor_app_sdk.in_memory import (
        InMemoryInstallationStore,
        StoredInstallation,
    )
    from saleor_app_sdk.installation import (
        Installation,
        InstallationStore,
    )
    from saleor_app_sdk.manifest import (
        AppInfo,
    )
    from saleor_app_sdk.payment_methods import (
        CardDetails,
        OtherMethod,
    )
    from saleor_app_sdk.reports import (
        EventReport,
        ReportOutcome,
    )
    from saleor_app_sdk.responses import (
        Acknowledgement,
        ActionResponse,
        DataResponse,
        GatewayConfigResponse,
        SessionResponse,
        WebhookResponse,
        unique_reference,
    )
    from saleor_app_sdk.sealed_settings import (
        SealedSettings,
    )
    from saleor_app_sdk.sealing import (
        SealedValueError,
        generate_sealing_key,
    )
    from saleor_app_sdk.source import (
        Checkout,
        Money,
        Order,
        SaleorModel,
    )
    from saleor_app_sdk.stored_methods import (
        MethodDeletedResponse,
        StoredCard,
        StoredMethodsResponse,
    )
    from saleor_app_sdk.versions import (
        Version,
        parse_version,
    )
    from saleor_app_sdk.vocabulary import (
        AvailableAction,
        TransactionEventType,
        TransactionFlow,
    )
    from saleor_app_sdk.webhook_definition import (
        WebhookContext,
    )

__all__ = [
    "WEBHOOK_EVENTS",
    "AccountDeleted",
    "Acknowledgement",
    "ActionResponse",
    "AppDeleted",
    "AppIdentity",
    "AppInfo",
    "AppStatusChanged",
    "AvailableAction",
    "CardDetails",
    "Checkout",
    "CustomerDeleted",
    "DashboardTokens",
    "DashboardUser",
    "DataResponse",
    "Documents",
    "Event",
    "EventReport",
    "Extension",
    "GatewayConfigResponse",
    "InMemoryInstallationStore",
    "Installation",
    "InstallationStore",
    "KeysUnusableError",
    "ListStoredPaymentMethods",
    "MethodDeletedResponse",
    "Money",
    "NotPermittedError",
    "NotUsableError",
    "NotVerifiedError",
    "Order",
    "OtherMethod",
    "PaymentGatewayInitializeSession",
    "RegistrationRefusedError",
    "ReportOutcome",
    "RequestRefusedError",
    "RequestedAction",
    "SaleorApp",
    "SaleorClient",
    "SaleorError",
    "SaleorModel",
    "SaleorNotAuthorisedError",
    "SaleorRefusedError",
    "SaleorUnreachableError",
    "SealedSettings",
    "SealedValueError",
    "SessionEvent",
    "SessionResponse",
    "StillUnderwayError",
    "StoredCard",
    "StoredInstallation",
    "StoredMethodsResponse",
    "StoredPaymentMethodDeleteRequested",
    "TooLateError",
    "TransactionCancelationRequested",
    "TransactionChargeRequested",
    "TransactionEventType",
    "TransactionFlow",
    "TransactionInitializeSession",
    "TransactionProcessSession",
    "TransactionRefundRequested",
    "Version",
    "WebhookContext",
    "WebhookEvent",
    "WebhookResponse",
    "Widget",
    "find_webhook_event",
    "generate_sealing_key",
    "parse_version",
    "read_mutation_result",
    "unique_reference",
]

# The module of each name. A test compares this with the imports above.
_MODULES = {
    "read_mutation_result": "answers",
    "SaleorApp": "app",
    **dict.fromkeys(
        (
            "DashboardTokens",
            "DashboardUser",
        ),
        "dashboard_token",
    ),
    "Documents": "documents",
    **dict.fromkeys(
        (
            "KeysUnusableError",
            "NotPermittedError",
            "NotUsableError",
            "NotVerifiedError",
            "RegistrationRefusedError",
            "RequestRefusedError",
            "SaleorError",
            "SaleorNotAuthorisedError",
            "SaleorRefusedError",
            "SaleorUnreachableError",
            "StillUnderwayError",
            "TooLateError",
        ),
        "errors",
    ),
    **dict.fromkeys(
        (
            "WEBHOOK_EVENTS",
            "WebhookEvent",
            "find_webhook_event",
        ),
        "event_types",
    ),
    **dict.fromkeys(
        (
            "AccountDeleted",
            "AppDeleted",
            "AppStatusChanged",
            "CustomerDeleted",
            "Event",
            "ListStoredPaymentMethods",
            "PaymentGatewayInitializeSession",
            "RequestedAction",
            "SessionEvent",
            "StoredPaymentMethodDeleteRequested",
            "TransactionCancelationRequested",
            "TransactionChargeRequested",
            "TransactionInitializeSession",
            "TransactionProcessSession",
            "TransactionRefundRequested",
        ),
        "events",
    ),
    **dict.fromkeys(
        (
            "Extension",
            "Widget",
        ),
        "extension",
    ),
    **dict.fromkeys(
        (
            "AppIdentity",
            "SaleorClient",
        ),
        "graphql",
    ),
    **dict.fromkeys(
        (
            "InMemoryInstallationStore",
            "StoredInstallation",
        ),
        "in_memory",
    ),
    **dict.fromkeys(
        (
            "Installation",
            "InstallationStore",
        ),
        "installation",
    ),
    "AppInfo": "manifest",
    **dict.fromkeys(
        (
            "CardDetails",
            "OtherMethod",
        ),
        "payment_methods",
    ),
    **dict.fromkeys(
        (
            "EventReport",
            "ReportOutcome",
        ),
        "reports",
    ),
    **dict.fromkeys(
        (
            "Acknowledgement",
            "ActionResponse",
            "DataResponse",
            "GatewayConfigResponse",
            "SessionResponse",
            "WebhookResponse",
            "unique_reference",
        ),
        "responses",
    ),
    "SealedSettings": "sealed_settings",
    **dict.fromkeys(
        (
            "SealedValueError",
            "generate_sealing_key",
        ),
        "sealing",
    ),
    **dict.fromkeys(
        (
            "Checkout",
            "Money",
            "Order",
            "SaleorModel",
        ),
        "source",
    ),
    **dict.fromkeys(
        (
            "MethodDeletedResponse",
            "StoredCard",
            "StoredMethodsResponse",
        ),
        "stored_methods",
    ),
    **dict.fromkeys(
        (
            "Version",
            "parse_version",
        ),
        "versions",
    ),
    **dict.fromkeys(
        (
            "AvailableAction",
            "TransactionEventType",
            "TransactionFlow",
        ),
        "vocabulary",
    ),
    "WebhookContext": "webhook_definition",
}


if not TYPE_CHECKING:  # a type checker would take every name for defined

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
