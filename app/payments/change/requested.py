"""Saleor's door: staff, or Saleor itself, ask by a webhook to charge, refund or cancel."""

from app.ledger.installations import OpenInstallation
from app.ledger.repository import ByTransaction
from app.ledger.sheets import Sheet
from app.payments.change.act import act
from app.payments.change.asked import Asked
from app.payments.deadline import Deadline
from app.payments.desk import Desk
from app.payments.outcome.answers import action_answer
from app.payments.outcome.references import reference_of_refusal
from app.payments.refusal import Refusal, RefusalCode
from app.saleor.answers import ActionAnswer, unique_reference
from app.saleor.events import RequestedAction, TransactionRefundRequested


async def requested(
    desk: Desk,
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
        sheet, operation = await act(desk, _asked(event, digest), which, deadline)
    except Refusal as refusal:
        question = digest or event.request_key  # the same delivery gets the same answer
        reference = reference_of_refusal(question) if question else unique_reference()
        known = await desk.payments.find(which)
        page = None if known is None else _page(desk, installation, known)
        return ActionAnswer.failure(event.kind, psp_reference=reference, message=refusal.message, external_url=page)
    return action_answer(sheet, operation, event.kind, _page(desk, installation, sheet))


def _page(desk: Desk, installation: OpenInstallation, sheet: Sheet) -> str | None:
    return desk.addresses.payment_page(installation.saleor_api_url, sheet.payment.order_id)


def _asked(event: RequestedAction, digest: str) -> Asked:
    if not event.request_keys:
        raise Refusal(RefusalCode.INVALID_DATA, "Saleor does not say which request this is: nothing was done.")
    return Asked(
        action=event.kind,
        amount=event.action.amount,
        currency=event.action.currency,
        keys=event.request_keys,
        digest=digest,
        granted=event.granted_refund if isinstance(event, TransactionRefundRequested) else None,
        order=event.transaction.order,
    )
