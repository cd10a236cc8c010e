"""Saleor's webhooks, each bound to the function that answers it."""

from app.flows.actions import answer_action_request
from app.flows.app_lifecycle import handle_app_deleted, handle_app_status_changed
from app.flows.gateway_initialize import answer_gateway_initialize
from app.flows.initialize import find_recorded_response, initialize
from app.flows.process_session import process
from app.flows.saved_cards import delete_customer_cards, delete_saved_card, list_saved_cards
from app.flows.turned_away import count_unusable
from app.rules.addresses import PaymentPage
from app.rules.decisions.action import ActionRepeated
from app.services import Services
from app.store.aggregates import ByTransaction
from app.store.installations import OpenInstallation
from app.store.repository import PaymentNotFoundError
from saleor_app_sdk.app import SaleorApp, WebhookContext
from saleor_app_sdk.errors import NotUsableError
from saleor_app_sdk.events import (
    AccountDeleted,
    AppDeleted,
    AppStatusChanged,
    CustomerDeleted,
    CustomerEvent,
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
from saleor_app_sdk.installation import Installation
from saleor_app_sdk.responses import Acknowledgement, ActionResponse, GatewayConfigResponse, SessionResponse
from saleor_app_sdk.stored_methods import MethodDeletedResponse, StoredMethodsResponse

CUSTOMER_PERMISSION = "MANAGE_USERS"
"""Without it Saleor sends an app no events about customers."""


def define_webhooks(saleor: SaleorApp, services: Services, *, customers: bool = False) -> None:
    """Define all webhooks of a payment app on ``saleor``; ``customers``: also those about customers who are deleted."""
    _define_sessions(saleor, services)
    _define_actions(saleor, services)
    _define_stored_methods(saleor, services)
    _define_app(saleor, services)
    if customers:
        _define_customers(saleor, services)


def _define_sessions(saleor: SaleorApp, services: Services) -> None:
    async def session_as_recorded(event: SessionEvent, context: WebhookContext, error: Exception) -> SessionResponse:
        """After an internal error, answer from the record: a payment that exists has not failed."""
        response = await find_recorded_response(services, _installation(context), event)
        if response is None:
            raise error
        return response

    async def count_unusable_request(installation: Installation, refusal: NotUsableError) -> None:
        await count_unusable(services, _as_stored(installation).id, refusal)

    @saleor.webhook(
        "PAYMENT_GATEWAY_INITIALIZE_SESSION",
        query="payment_gateway_initialize_session.graphql",
        on_refusal=count_unusable_request,
    )
    async def handle_gateway_initialize_session(
        event: PaymentGatewayInitializeSession, context: WebhookContext
    ) -> GatewayConfigResponse:
        return await answer_gateway_initialize(services, event, _installation(context), context.deadline)

    @saleor.webhook(
        "TRANSACTION_INITIALIZE_SESSION",
        query="transaction_initialize_session.graphql",
        on_error=session_as_recorded,
        on_refusal=count_unusable_request,
    )
    async def handle_initialize_session(
        event: TransactionInitializeSession, context: WebhookContext
    ) -> SessionResponse:
        return await initialize(services, event, _installation(context), context.deadline)

    @saleor.webhook(
        "TRANSACTION_PROCESS_SESSION", query="transaction_process_session.graphql", on_error=session_as_recorded
    )
    async def handle_process_session(event: TransactionProcessSession, context: WebhookContext) -> SessionResponse:
        return await process(services, event, _installation(context), context.deadline)


def _define_actions(saleor: SaleorApp, services: Services) -> None:
    async def action_as_recorded(event: RequestedAction, context: WebhookContext, error: Exception) -> ActionResponse:
        """After an internal error answer from the record: an operation is pending until settled, never failed."""
        installation = _installation(context)
        page = PaymentPage(services.addresses, installation.saleor_api_url)
        repeated = ActionRepeated(event.kind, event.request_keys, context.digest, page, services.decision_context())
        try:
            recorded = await services.payments.record(ByTransaction(installation.id, event.transaction.id), repeated)
        except PaymentNotFoundError:
            raise error from None
        if recorded is None:
            raise error
        return recorded

    async def answer(event: RequestedAction, context: WebhookContext) -> ActionResponse:
        return await answer_action_request(
            services, event, _installation(context), context.deadline, digest=context.digest
        )

    @saleor.webhook(
        "TRANSACTION_CHARGE_REQUESTED", query="transaction_charge_requested.graphql", on_error=action_as_recorded
    )
    async def handle_charge_requested(event: TransactionChargeRequested, context: WebhookContext) -> ActionResponse:
        return await answer(event, context)

    @saleor.webhook(
        "TRANSACTION_REFUND_REQUESTED", query="transaction_refund_requested.graphql", on_error=action_as_recorded
    )
    async def handle_refund_requested(event: TransactionRefundRequested, context: WebhookContext) -> ActionResponse:
        return await answer(event, context)

    @saleor.webhook(
        "TRANSACTION_CANCELATION_REQUESTED",
        query="transaction_cancelation_requested.graphql",
        on_error=action_as_recorded,
    )
    async def handle_cancelation_requested(
        event: TransactionCancelationRequested, context: WebhookContext
    ) -> ActionResponse:
        return await answer(event, context)


def _define_stored_methods(saleor: SaleorApp, services: Services) -> None:
    @saleor.webhook("LIST_STORED_PAYMENT_METHODS", query="list_stored_payment_methods.graphql")
    async def handle_list_stored_methods(
        event: ListStoredPaymentMethods, context: WebhookContext
    ) -> StoredMethodsResponse:
        return await list_saved_cards(services, event, _installation(context))

    @saleor.webhook("STORED_PAYMENT_METHOD_DELETE_REQUESTED", query="stored_payment_method_delete_requested.graphql")
    async def handle_delete_stored_method(
        event: StoredPaymentMethodDeleteRequested, context: WebhookContext
    ) -> MethodDeletedResponse:
        return await delete_saved_card(services, event, _installation(context))


def _define_app(saleor: SaleorApp, services: Services) -> None:
    @saleor.webhook("APP_DELETED", query="app_deleted.graphql")
    async def on_app_deleted(event: AppDeleted, context: WebhookContext) -> Acknowledgement:
        if event.is_about_recipient:
            await handle_app_deleted(services, saleor.client, _installation(context))
        return Acknowledgement()

    @saleor.webhook("APP_STATUS_CHANGED", query="app_status_changed.graphql")
    async def on_app_status_changed(event: AppStatusChanged, context: WebhookContext) -> Acknowledgement:
        if event.is_about_recipient:
            await handle_app_status_changed(services, saleor.client, _installation(context))
        return Acknowledgement()


def _define_customers(saleor: SaleorApp, services: Services) -> None:
    async def delete_cards(event: CustomerEvent, context: WebhookContext) -> Acknowledgement:
        return await delete_customer_cards(services, event, _installation(context))

    @saleor.webhook("CUSTOMER_DELETED", query="customer_deleted.graphql")
    async def handle_customer_deleted(event: CustomerDeleted, context: WebhookContext) -> Acknowledgement:
        return await delete_cards(event, context)

    @saleor.webhook("ACCOUNT_DELETED", query="account_deleted.graphql")
    async def handle_account_deleted(event: AccountDeleted, context: WebhookContext) -> Acknowledgement:
        return await delete_cards(event, context)


def _installation(context: WebhookContext) -> OpenInstallation:
    return _as_stored(context.installation)


def _as_stored(installation: Installation) -> OpenInstallation:
    """Return the installation as the database passed it to the SDK, which knows it only by a protocol."""
    if not isinstance(installation, OpenInstallation):
        raise TypeError("installations come from the database")
    return installation
