"""Staff, or Saleor itself, ask to charge, refund or cancel: planned under the payment's lock, recorded, then sent."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlmodel.ext.asyncio.session import AsyncSession

from app.ledger.installations import OpenInstallation
from app.ledger.sheets import Sheet, load_by_transaction
from app.ledger.tables import Kind, MerchantAccount, Operation, State
from app.payments.answers import action_answer
from app.payments.balance import ZERO, Balance, balance
from app.payments.deadline import Deadline
from app.payments.desk import Desk
from app.payments.fiscal import said_again
from app.payments.impossible import why_not
from app.payments.plan import check_amount
from app.payments.references import keep_reference, reference_of_refusal
from app.payments.refusal import Refusal, RefusalCode
from app.payments.send import send
from app.payments.split.planning import keep_shares, split_of_step
from app.saleor.answers import ActionAnswer, AvailableAction, unique_reference
from app.saleor.events import RequestedAction, TransactionRefundRequested

_KINDS = {
    AvailableAction.CHARGE: Kind.CAPTURE,
    AvailableAction.REFUND: Kind.REFUND,
    AvailableAction.CANCEL: Kind.CANCEL,
}


@dataclass(frozen=True, slots=True)
class Step:
    """The one operation at the gateway that does what was asked, and its amount."""

    kind: Kind
    amount: Decimal


def step_for(action: AvailableAction, amount: Decimal, now: Balance) -> Step:
    """Return what to do at the gateway. Raises Refusal, in words for staff. Pure.

    Rules: gateway interface, States and transitions; a reservation is taken once and voided only as a whole (gateway
    facts, 6).
    """
    if action is AvailableAction.CANCEL:
        return _cancellation(now)
    possible = now.capturable if action is AvailableAction.CHARGE else now.refundable
    if amount <= 0:  # Saleor asks so when it believes that nothing is left (Saleor contract, A.2)
        words = f"The amount is zero: for Saleor nothing is left to {action.lower()}." if possible else None
        raise Refusal(RefusalCode.INVALID_AMOUNT, words or why_not(action, amount, now), "amount")
    check_amount(amount)
    if amount > possible:
        raise Refusal(RefusalCode.NOT_POSSIBLE, why_not(action, amount, now), "amount")
    return Step(_KINDS[action], amount)


def _cancellation(now: Balance) -> Step:
    if now.capturable:
        return Step(Kind.VOID, now.capturable)
    if now.unpaid:
        return Step(Kind.CANCEL, ZERO)
    raise Refusal(RefusalCode.NOT_POSSIBLE, why_not(AvailableAction.CANCEL, ZERO, now))


async def act(desk: Desk, event: RequestedAction, installation: OpenInstallation) -> ActionAnswer:
    """Answer a charge, refund or cancelation request.

    The same question gets the same answer and calls nobody (laws of money, 4). While another operation of the payment
    is open, this one is accepted, answered as pending, and sent when its turn comes (3).
    """
    deadline = Deadline(desk.schedule.budget.total_seconds())
    async with desk.database.transaction() as session:
        sheet = await load_by_transaction(session, installation.id, event.transaction.id)
        account = None if sheet is None else await session.get(MerchantAccount, sheet.payment.account_id)
        page = None
        if sheet is not None:
            page = desk.addresses.payment_page(installation.saleor_api_url, sheet.payment.order_id)
        try:
            operation, fresh = _find_or_add(desk, session, sheet, event, account)
        except Refusal as refusal:
            reference = reference_of_refusal(event.request_key) if event.request_key else unique_reference()
            return ActionAnswer.failure(event.kind, psp_reference=reference, message=refusal.message, external_url=page)
        assert sheet is not None  # noqa: S101 - a missing sheet is refused
        assert account is not None  # noqa: S101 - an account with payments is never deleted
        if fresh:
            await session.flush()
            await keep_shares(session, operation, sheet)
        if not fresh or operation.state is not State.INTENT:
            keep_reference(sheet.payment, operation)
            return action_answer(sheet, operation, event.kind, page)
    sheet = await send(desk, account, sheet, operation, deadline, answering=True)
    return action_answer(sheet, sheet.by_id(operation.id), event.kind, page)


def _find_or_add(
    desk: Desk, session: AsyncSession, sheet: Sheet | None, event: RequestedAction, account: MerchantAccount | None
) -> tuple[Operation, bool]:
    if sheet is None or account is None:
        raise Refusal(RefusalCode.UNKNOWN_PAYMENT, "This payment was not made with this app: nothing was done.")
    key = event.request_key
    if key is None:
        raise Refusal(RefusalCode.INVALID_DATA, "Saleor does not say which request this is: nothing was done.")
    known = sheet.by_key(key)
    if known is not None:
        return known, False
    if event.action.currency != sheet.payment.currency:
        raise Refusal(RefusalCode.CURRENCY_NOT_SUPPORTED, f"This payment is in {sheet.payment.currency}.")
    operation = _added(desk, sheet, event, key, account)
    session.add(operation)
    sheet.operations.append(operation)
    return operation, True


def _added(desk: Desk, sheet: Sheet, event: RequestedAction, key: str, account: MerchantAccount) -> Operation:
    """Return a new operation: the intent, one that has to wait, or one that is refused by how the payment stands.

    Such a refusal is recorded too. When the same question comes again, the payment may stand otherwise; but Saleor has
    been told that it failed, and staff may have acted on that.
    """
    now = desk.now()
    granted = event.granted_refund if isinstance(event, TransactionRefundRequested) else None
    standing = balance(sheet.payment.flow, sheet.operations)
    state, message = (State.WAITING if standing.in_flight else State.INTENT), None
    more: dict[str, Any] = {}
    try:
        step = step_for(event.kind, event.action.amount, standing)
        more = split_of_step(sheet, step.kind, step.amount, event, account)
        more = more or said_again(sheet, step.kind, step.amount, granted)
    except Refusal as refusal:
        if refusal.code is not RefusalCode.NOT_POSSIBLE:
            raise
        amount = ZERO if event.kind is AvailableAction.CANCEL else event.action.amount
        step, state, message = Step(_KINDS[event.kind], amount), State.FAILURE, refusal.message
    return Operation(
        payment_id=sheet.create.payment_id,
        kind=step.kind,
        idempotency_key=key,
        state=state,
        amount=step.amount,
        currency=sheet.payment.currency,
        request={
            "amount": str(step.amount),
            "currency": sheet.payment.currency,
            "order_id": sheet.payment.order_id,
            **more,
        },
        message=message,
        next_look_at=desk.schedule.after_intent(now) if state is State.INTENT else None,
        created_at=now,
        updated_at=now,
    )
