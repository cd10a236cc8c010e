"""Staff request a charge, refund or cancelation: planned under the payment's lock, recorded, then sent.

A request arrives through Saleor (``answer_action_request``) or in the app itself (``flows.staff.actions``); both are
handled alike (``perform_action``).
"""

import asyncio
from dataclasses import replace
from functools import partial

import structlog

from app.core.payment import Operation, PaymentAggregate
from app.core.vocabulary import State
from app.flows.execute import send
from app.flows.look_up import opens_keys
from app.i18n.messages import LazyMessage
from app.rules.action_request import ActionRequest
from app.rules.decisions.action import ActionRequested
from app.rules.references import reference_of_refusal
from app.rules.refusal import RefusalCode, RefusalError
from app.rules.responses import action_response
from app.services import Services
from app.store.aggregates import ByTransaction, PaymentSelector
from app.store.errors import CommitUnknownError
from app.store.installations import OpenInstallation
from app.store.repository import PaymentNotFoundError
from integration_base.outbound import Deadline
from saleor_app_sdk.errors import StillUnderwayError
from saleor_app_sdk.events import RequestedAction, TransactionRefundRequested
from saleor_app_sdk.responses import ActionResponse, unique_reference

log = structlog.get_logger(__name__)

_NO_PAYMENT = LazyMessage("There is no such payment.")
_NOT_OURS = LazyMessage("This payment was not made with this app: nothing was done.")


async def perform_action(
    services: Services, request: ActionRequest, which: PaymentSelector, deadline: Deadline | None = None
) -> tuple[PaymentAggregate, Operation]:
    """Perform an action on a payment; return the payment and the operation. Raises RefusalError.

    Idempotent: a repeated request returns the same operation and calls no one (laws of money, 4). While another
    operation of the payment is open, the new one is accepted, and sent when its turn comes (3). ``deadline`` is that of
    the request; None: it begins now.
    """
    deadline = deadline or Deadline(services.schedule.budget.total_seconds())
    requested = ActionRequested(request, services.decision_context(), partial(opens_keys, services))
    # An action that is not recorded in time is not performed: it must not begin after it was answered as failed.
    async with asyncio.timeout(deadline.left):
        try:
            recorded = await services.payments.record(which, requested)
        except PaymentNotFoundError:
            raise RefusalError(RefusalCode.UNKNOWN_PAYMENT, _NO_PAYMENT if request.by else _NOT_OURS) from None
        except CommitUnknownError as error:
            log.warning("intent.not_confirmed", error=str(error), detail="it is read, or recorded again")
            recorded = await services.payments.record(which, replace(requested, is_retry=True))
    aggregate, operation = recorded.aggregate, recorded.operation
    if not recorded.is_new or operation.state is not State.INTENT:
        return aggregate, operation
    try:
        aggregate = await send(services, aggregate, operation, deadline, answering=request.by is None)
    except Exception as error:
        if request.by is not None:
            raise
        # The call may have been sent, and its intent is committed: a look-up will settle it. Saleor must not be told
        # that it failed.
        log.exception("outcome.not_recorded", operation=operation.id)
        raise StillUnderwayError("the outcome of what was sent could not be recorded") from error
    return aggregate, aggregate.operation_by_id(operation.id)


async def answer_action_request(
    services: Services,
    event: RequestedAction,
    installation: OpenInstallation,
    deadline: Deadline | None = None,
    *,
    digest: str = "",
) -> ActionResponse:
    """Answer a charge, refund or cancelation request (see ``perform_action``).

    ``deadline`` is that of the request, ``digest`` that of its body.
    """
    which = ByTransaction(installation.id, event.transaction.id)
    try:
        aggregate, operation = await perform_action(services, _action_request(event, digest), which, deadline)
    except RefusalError as refusal:
        request_id = digest or event.request_key  # the same delivery gets the same answer
        reference = reference_of_refusal(request_id) if request_id else unique_reference()
        known = await services.payments.find(which)
        page = None if known is None else _payment_page(services, installation, known)
        return ActionResponse.failure(event.kind, psp_reference=reference, message=refusal.message, external_url=page)
    return action_response(aggregate, operation, event.kind, _payment_page(services, installation, aggregate))


def _payment_page(services: Services, installation: OpenInstallation, aggregate: PaymentAggregate) -> str | None:
    return services.addresses.payment_page(installation.saleor_api_url, aggregate.payment.order_id)


def _action_request(event: RequestedAction, digest: str) -> ActionRequest:
    if not event.request_keys:
        raise RefusalError(RefusalCode.INVALID_DATA, "Saleor does not say which request this is: nothing was done.")
    refund = event if isinstance(event, TransactionRefundRequested) else None
    return ActionRequest(
        action=event.kind,
        amount=event.action.amount,
        currency=event.action.currency,
        keys=event.request_keys,
        digest=digest,
        granted=None if refund is None else refund.granted_refund,
        order=event.transaction.order,
        reasons={} if refund is None else refund.reasons,
    )
