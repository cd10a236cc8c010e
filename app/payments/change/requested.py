"""Saleor's door: staff, or Saleor itself, ask by a webhook to charge, refund or cancel."""

from sqlmodel.ext.asyncio.session import AsyncSession

from app.ledger.installations import OpenInstallation
from app.ledger.sheets import Sheet, load_by_transaction
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
    page: str | None = None

    async def find(session: AsyncSession) -> Sheet | None:
        nonlocal page
        sheet = await load_by_transaction(session, installation.id, event.transaction.id)
        if sheet is not None:
            page = desk.addresses.payment_page(installation.saleor_api_url, sheet.payment.order_id)
        return sheet

    try:
        sheet, operation = await act(desk, _asked(event, digest), find, deadline)
    except Refusal as refusal:
        question = digest or event.request_key  # the same delivery gets the same answer
        reference = reference_of_refusal(question) if question else unique_reference()
        return ActionAnswer.failure(event.kind, psp_reference=reference, message=refusal.message, external_url=page)
    return action_answer(sheet, operation, event.kind, page)


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
