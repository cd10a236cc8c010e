"""Saleor's webhooks, each tied to the function that answers it."""

from app.db.aggregates import ByTransaction, PaymentAggregate
from app.db.installations import OpenInstallation
from app.db.repository import PaymentNotFoundError
from app.db.tables import Operation
from app.payments.app_lifecycle import app_deleted, app_status_changed
from app.payments.cards.saved import customer_deleted, deleted, listed
from app.payments.core.answers import action_answer
from app.payments.core.references import keep_reference
from app.payments.operations.actions import requested
from app.payments.operations.answer_window import answered
from app.payments.operations.gateway_initialize import offer
from app.payments.operations.initialize import initialize, recorded_answer
from app.payments.services import Services
from app.payments.sync.process_session import process
from app.saleor.answers import Acknowledgement, ActionAnswer, GatewayConfigAnswer, SessionAnswer
from app.saleor.app import SaleorApp, WebhookContext
from app.saleor.events import (
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
from app.saleor.stored_methods import MethodDeletedAnswer, StoredMethodsAnswer

CUSTOMER_PERMISSION = "MANAGE_USERS"
"""Without it Saleor tells an app nothing of customers."""


def define_webhooks(saleor: SaleorApp, services: Services, *, customers: bool = False) -> None:
    """Define all webhooks of a payment app on ``saleor``; ``customers``: also those about customers who are deleted."""

    async def session_as_recorded(event: SessionEvent, context: WebhookContext, error: Exception) -> SessionAnswer:
        """After an error of ours: what is recorded is still true, and a payment that exists has not failed."""
        answer = await recorded_answer(services, _installation(context), event.transaction.id)
        if answer is None:
            raise error
        return answer

    async def action_as_recorded(event: RequestedAction, context: WebhookContext, error: Exception) -> ActionAnswer:
        """After an error of ours: an operation that was recorded is pending until it is settled, never failed."""
        installation = _installation(context)

        def answer(aggregate: PaymentAggregate) -> ActionAnswer | None:
            operation = _asked_for(aggregate, event, context)
            if operation is None:
                return None
            keep_reference(aggregate.payment, operation)
            answered(aggregate, operation, services.posting())
            page = services.addresses.payment_page(installation.saleor_api_url, aggregate.payment.order_id)
            return action_answer(aggregate, operation, event.kind, page)

        try:
            recorded = await services.payments.update(ByTransaction(installation.id, event.transaction.id), answer)
        except PaymentNotFoundError:
            raise error from None
        if recorded is None:
            raise error
        return recorded

    @saleor.webhook("PAYMENT_GATEWAY_INITIALIZE_SESSION", query="payment_gateway_initialize_session.graphql")
    async def offered(event: PaymentGatewayInitializeSession, context: WebhookContext) -> GatewayConfigAnswer:
        return await offer(services, event, _installation(context), context.deadline)

    @saleor.webhook(
        "TRANSACTION_INITIALIZE_SESSION",
        query="transaction_initialize_session.graphql",
        otherwise=session_as_recorded,
    )
    async def initialized(event: TransactionInitializeSession, context: WebhookContext) -> SessionAnswer:
        return await initialize(services, event, _installation(context), context.deadline)

    @saleor.webhook(
        "TRANSACTION_PROCESS_SESSION", query="transaction_process_session.graphql", otherwise=session_as_recorded
    )
    async def processed(event: TransactionProcessSession, context: WebhookContext) -> SessionAnswer:
        return await process(services, event, _installation(context), context.deadline)

    @saleor.webhook(
        "TRANSACTION_CHARGE_REQUESTED", query="transaction_charge_requested.graphql", otherwise=action_as_recorded
    )
    async def charge_requested(event: TransactionChargeRequested, context: WebhookContext) -> ActionAnswer:
        return await requested(services, event, _installation(context), context.deadline, digest=context.digest)

    @saleor.webhook(
        "TRANSACTION_REFUND_REQUESTED", query="transaction_refund_requested.graphql", otherwise=action_as_recorded
    )
    async def refund_requested(event: TransactionRefundRequested, context: WebhookContext) -> ActionAnswer:
        return await requested(services, event, _installation(context), context.deadline, digest=context.digest)

    @saleor.webhook(
        "TRANSACTION_CANCELATION_REQUESTED",
        query="transaction_cancelation_requested.graphql",
        otherwise=action_as_recorded,
    )
    async def cancelation_requested(event: TransactionCancelationRequested, context: WebhookContext) -> ActionAnswer:
        return await requested(services, event, _installation(context), context.deadline, digest=context.digest)

    @saleor.webhook("LIST_STORED_PAYMENT_METHODS", query="list_stored_payment_methods.graphql")
    async def cards_listed(event: ListStoredPaymentMethods, context: WebhookContext) -> StoredMethodsAnswer:
        return await listed(services, event, _installation(context))

    @saleor.webhook("STORED_PAYMENT_METHOD_DELETE_REQUESTED", query="stored_payment_method_delete_requested.graphql")
    async def card_deleted(event: StoredPaymentMethodDeleteRequested, context: WebhookContext) -> MethodDeletedAnswer:
        return await deleted(services, event, _installation(context))

    _define_app(saleor, services)
    if customers:
        _define_customers(saleor, services)


def _define_app(saleor: SaleorApp, services: Services) -> None:
    @saleor.webhook("APP_DELETED", query="app_deleted.graphql")
    async def removed(event: AppDeleted, context: WebhookContext) -> Acknowledgement:
        if event.is_about_recipient:
            await app_deleted(services, saleor.client, _installation(context))
        return Acknowledgement()

    @saleor.webhook("APP_STATUS_CHANGED", query="app_status_changed.graphql")
    async def switched(event: AppStatusChanged, context: WebhookContext) -> Acknowledgement:
        if event.is_about_recipient:
            await app_status_changed(services, saleor.client, _installation(context))
        return Acknowledgement()


def _define_customers(saleor: SaleorApp, services: Services) -> None:
    async def gone(event: CustomerEvent, context: WebhookContext) -> Acknowledgement:
        return await customer_deleted(services, event, _installation(context))

    @saleor.webhook("CUSTOMER_DELETED", query="customer_deleted.graphql")
    async def deleted_by_staff(event: CustomerDeleted, context: WebhookContext) -> Acknowledgement:
        return await gone(event, context)

    @saleor.webhook("ACCOUNT_DELETED", query="account_deleted.graphql")
    async def deleted_by_themselves(event: AccountDeleted, context: WebhookContext) -> Acknowledgement:
        return await gone(event, context)


def _asked_for(aggregate: PaymentAggregate, event: RequestedAction, context: WebhookContext) -> Operation | None:
    """Return the operation that this webhook asked for, if it was recorded; None also where that is not certain."""
    recorded = aggregate.by_digest(context.digest) if context.digest else None
    return aggregate.by_key(event.request_keys[0]) if recorded is None and len(event.request_keys) == 1 else recorded


def _installation(context: WebhookContext) -> OpenInstallation:
    """Return the installation as the database handed it to the SDK, which knows it only by a protocol."""
    if not isinstance(context.installation, OpenInstallation):
        raise TypeError("installations come from the database")
    return context.installation
