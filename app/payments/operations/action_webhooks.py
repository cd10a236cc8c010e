"""Saleor's door: staff, or Saleor itself, ask by a webhook to charge, refund or cancel."""

from app.db.aggregates import PaymentAggregate
from app.db.installations import OpenInstallation
from app.db.repository import ByTransaction
from app.payments.core.action_request import ActionRequest
from app.payments.core.answers import action_answer
from app.payments.core.references import reference_of_refusal
from app.payments.core.refusal import RefusalCode, RefusalError
from app.payments.operations.actions import act
from app.payments.services import Services
from app.saleor.answers import ActionAnswer, unique_reference
from app.saleor.deadline import Deadline
from app.saleor.events import RequestedAction, TransactionRefundRequested


async def requested(
    services: Services,
    event: RequestedAction,
    installation: OpenInstallation,
    deadline: Deadline | None = None,
    *,
    digest: str = "",
) -> ActionAnswer:
    """Answer a charge, refund or cancelation request (see ``act``).

    ``deadline`` is the request's, ``digest`` that of its body.
    """
    which = ByTransaction(installation.id, event.transaction.id)
    try:
        aggregate, operation = await act(services, _asked(event, digest), which, deadline)
    except RefusalError as refusal:
        question = digest or event.request_key  # the same delivery gets the same answer
        reference = reference_of_refusal(question) if question else unique_reference()
        known = await services.payments.find(which)
        page = None if known is None else _page(services, installation, known)
        return ActionAnswer.failure(event.kind, psp_reference=reference, message=refusal.message, external_url=page)
    return action_answer(aggregate, operation, event.kind, _page(services, installation, aggregate))


def _page(services: Services, installation: OpenInstallation, aggregate: PaymentAggregate) -> str | None:
    return services.addresses.payment_page(installation.saleor_api_url, aggregate.payment.order_id)


def _asked(event: RequestedAction, digest: str) -> ActionRequest:
    if not event.request_keys:
        raise RefusalError(RefusalCode.INVALID_DATA, "Saleor does not say which request this is: nothing was done.")
    return ActionRequest(
        action=event.kind,
        amount=event.action.amount,
        currency=event.action.currency,
        keys=event.request_keys,
        digest=digest,
        granted=event.granted_refund if isinstance(event, TransactionRefundRequested) else None,
        order=event.transaction.order,
    )
