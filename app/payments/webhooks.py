"""Saleor's six webhooks, each tied to the function that answers it."""

from app.ledger.installations import OpenInstallation
from app.ledger.repository import ByTransaction, PaymentNotFoundError
from app.ledger.sheets import Sheet
from app.ledger.tables import Operation
from app.payments.begin.elsewhere import begun_elsewhere, not_ours
from app.payments.begin.initialize import initialize
from app.payments.begin.offer import offer
from app.payments.begin.process import process
from app.payments.begin.recorded import recorded_answer
from app.payments.change.answering import answered
from app.payments.change.requested import requested
from app.payments.desk import Desk
from app.payments.outcome.answers import action_answer
from app.payments.outcome.apply import Posting
from app.payments.outcome.references import keep_reference
from app.saleor.answers import ActionAnswer, GatewayConfigAnswer, SessionAnswer
from app.saleor.app import SaleorApp, WebhookContext
from app.saleor.events import (
    PaymentGatewayInitializeSession,
    RequestedAction,
    SessionEvent,
    TransactionCancelationRequested,
    TransactionChargeRequested,
    TransactionInitializeSession,
    TransactionProcessSession,
    TransactionRefundRequested,
)


def define_webhooks(saleor: SaleorApp, desk: Desk) -> None:
    """Define all webhooks of a payment app on ``saleor``."""

    async def session_as_recorded(event: SessionEvent, context: WebhookContext, error: Exception) -> SessionAnswer:
        """After an error of ours: what is recorded is still true, and a payment that exists has not failed."""
        answer = await recorded_answer(desk, _installation(context), event.transaction.id)
        if answer is None:
            raise error
        return answer

    async def action_as_recorded(event: RequestedAction, context: WebhookContext, error: Exception) -> ActionAnswer:
        """After an error of ours: an operation that was recorded is pending until it is settled, never failed."""
        installation = _installation(context)

        def answer(sheet: Sheet) -> ActionAnswer | None:
            operation = _asked_for(sheet, event, context)
            if operation is None:
                return None
            keep_reference(sheet.payment, operation)
            answered(sheet, operation, Posting(now=desk.now(), schedule=desk.schedule))
            page = desk.addresses.payment_page(installation.saleor_api_url, sheet.payment.order_id)
            return action_answer(sheet, operation, event.kind, page)

        try:
            recorded = await desk.payments.update(ByTransaction(installation.id, event.transaction.id), answer)
        except PaymentNotFoundError:
            raise error from None
        if recorded is None:
            raise error
        return recorded

    @saleor.webhook("PAYMENT_GATEWAY_INITIALIZE_SESSION", query="payment_gateway_initialize_session.graphql")
    async def offered(event: PaymentGatewayInitializeSession, context: WebhookContext) -> GatewayConfigAnswer:
        return await offer(desk, event, _installation(context))

    @saleor.webhook(
        "TRANSACTION_INITIALIZE_SESSION",
        query="transaction_initialize_session.graphql",
        otherwise=session_as_recorded,
    )
    async def initialized(event: TransactionInitializeSession, context: WebhookContext) -> SessionAnswer:
        if await begun_elsewhere(desk, _installation(context), event.transaction.id):
            return not_ours(event)
        return await initialize(desk, event, _installation(context), context.deadline)

    @saleor.webhook(
        "TRANSACTION_PROCESS_SESSION", query="transaction_process_session.graphql", otherwise=session_as_recorded
    )
    async def processed(event: TransactionProcessSession, context: WebhookContext) -> SessionAnswer:
        return await process(desk, event, _installation(context), context.deadline)

    @saleor.webhook(
        "TRANSACTION_CHARGE_REQUESTED", query="transaction_charge_requested.graphql", otherwise=action_as_recorded
    )
    async def charge_requested(event: TransactionChargeRequested, context: WebhookContext) -> ActionAnswer:
        return await requested(desk, event, _installation(context), context.deadline, digest=context.digest)

    @saleor.webhook(
        "TRANSACTION_REFUND_REQUESTED", query="transaction_refund_requested.graphql", otherwise=action_as_recorded
    )
    async def refund_requested(event: TransactionRefundRequested, context: WebhookContext) -> ActionAnswer:
        return await requested(desk, event, _installation(context), context.deadline, digest=context.digest)

    @saleor.webhook(
        "TRANSACTION_CANCELATION_REQUESTED",
        query="transaction_cancelation_requested.graphql",
        otherwise=action_as_recorded,
    )
    async def cancelation_requested(event: TransactionCancelationRequested, context: WebhookContext) -> ActionAnswer:
        return await requested(desk, event, _installation(context), context.deadline, digest=context.digest)


def _asked_for(sheet: Sheet, event: RequestedAction, context: WebhookContext) -> Operation | None:
    """Return the operation that this webhook asked for, if it was recorded; None also where that is not certain."""
    recorded = sheet.by_digest(context.digest) if context.digest else None
    return sheet.by_key(event.request_keys[0]) if recorded is None and len(event.request_keys) == 1 else recorded


def _installation(context: WebhookContext) -> OpenInstallation:
    """Return the installation as the ledger handed it to the SDK, which knows it only by a protocol."""
    if not isinstance(context.installation, OpenInstallation):
        raise TypeError("installations come from the ledger")
    return context.installation
