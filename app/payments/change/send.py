"""Sends a recorded secondary operation to the gateway, and posts what came of it.

The operation's row is in state ``intent`` before, and says everything that the call says: the same function serves the
webhook that asks, the worker that sends what had to wait, and the settler that closes an abandoned payment page.
"""

from dataclasses import dataclass
from functools import partial

import structlog
from sqlmodel import select

from app.gateway.errors import GatewayError
from app.gateway.models import OperationRecord, PaymentRecord
from app.gateway.models.operations import Capture, Refund, SplitRefund, Void
from app.ledger.errors import DatabaseUnavailableError
from app.ledger.sheets import Sheet, load_by_operation, row_id_of
from app.ledger.tables import Kind, MerchantAccount, Operation, State
from app.payments.change.answering import answered
from app.payments.deadline import Deadline
from app.payments.desk import Desk
from app.payments.insist import outcome_of
from app.payments.look_up import opened, shown_at_gateway
from app.payments.outcome.apply import Posting, apply
from app.payments.outcome.errors import others_have_acted, post_error
from app.payments.outcome.problems import keys_accepted
from app.payments.outcome.references import keep_reference
from app.payments.outcome.seen import Shown, gateway_id_of, seen_in
from app.payments.split.planning import split_in

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Heard:
    """What came of a call; whether others ``acted`` before it; and what is ``shown`` of the order, if so."""

    outcome: PaymentRecord | OperationRecord | GatewayError
    acted: bool
    shown: Shown | None


async def send(
    desk: Desk, account: MerchantAccount, sheet: Sheet, operation: Operation, deadline: Deadline, *, answering: bool
) -> Sheet:
    """Make the call of ``operation`` and return the sheet as it is after it.

    ``answering``: a webhook waits for the outcome (see ``Posting``). An operation that has ended is followed by one
    look at the whole order; at once if the gateway says that it does not fit the payment any more, because somebody
    else has acted then (laws of money, 2 and 10).
    """
    operation_id = row_id_of(operation)  # an intent is committed before it is sent
    outcome = await outcome_of(
        lambda seconds: _call(desk, account, sheet, operation, seconds),
        deadline,
        desk.schedule,
        still=partial(_is_intended, desk, operation_id),
    )
    acted = others_have_acted(outcome)
    # Somebody else was faster: Saleor is told with this answer what there is, if the time suffices.
    shown = await shown_at_gateway(desk, account, sheet.payment, deadline) if acted and deadline.left else None
    heard = _Heard(outcome, acted, shown if isinstance(shown, Shown) and not shown.unreadable else None)
    posting = Posting(now=desk.now(), schedule=desk.schedule, answering=operation_id if answering else None)
    try:
        sheet = await _post(desk, account, operation_id, heard, posting)
    except DatabaseUnavailableError as error:  # the gateway will not say it again: once more, before it is looked up
        log.warning("outcome not posted", operation=operation_id, error=str(error))
        sheet = await _post(desk, account, operation_id, heard, posting)
    if not isinstance(outcome, GatewayError):
        await keys_accepted(desk, account.id, sheet)
    desk.wake_for([sheet])
    return sheet


async def _post(desk: Desk, account: MerchantAccount, operation_id: int, heard: _Heard, posting: Posting) -> Sheet:
    """Commit what came of the call. Posted twice it is posted once: nothing that is said again changes anything."""
    outcome = heard.outcome
    async with desk.database.transaction() as session:
        sheet = await load_by_operation(session, operation_id)
        operation = sheet.by_id(operation_id)
        if isinstance(outcome, GatewayError):
            post_error(sheet, operation, outcome, posting)
        else:
            _name(sheet, operation, outcome)
            seen = seen_in(outcome, sheet.payment.language)
            apply(sheet, account.pos_id, [seen] if seen else [], posting)
        if heard.shown is not None:
            apply(sheet, account.pos_id, heard.shown, posting)
        elif operation.state.final:
            operation.next_look_at = posting.now if heard.acted else posting.schedule.after_end(posting.now)
        keep_reference(sheet.payment, operation)
        if posting.answering is not None:
            answered(sheet, operation, desk)
        session.add_all([*sheet.operations, *sheet.events])
    return sheet


async def _is_intended(desk: Desk, operation_id: int) -> bool:
    """Return False when a notification or a look-up has ended the operation while its call could not be sent."""
    async with desk.database.transaction() as session:
        state = (await session.exec(select(Operation.state).where(Operation.id == operation_id))).one()
    return state is State.INTENT


def _name(sheet: Sheet, operation: Operation, outcome: PaymentRecord | OperationRecord) -> None:
    """Note the gateway's id of the operation, unless a notification has tied that id to another one meanwhile."""
    if isinstance(outcome, PaymentRecord) or operation.operation_id is not None:
        return
    gateway_id = gateway_id_of(outcome)
    if all(each.operation_id != gateway_id for each in sheet.operations):
        operation.operation_id = gateway_id


async def _call(
    desk: Desk, account: MerchantAccount, sheet: Sheet, operation: Operation, timeout: float
) -> PaymentRecord | OperationRecord:
    client = opened(desk, account)
    order_id, currency = sheet.payment.order_id, sheet.payment.currency
    server_url = desk.addresses.notifications(account.id)
    split = split_in(operation)
    match operation.kind:
        case Kind.CAPTURE:
            capture = Capture(
                order_id=order_id,
                order_currency=currency,
                charge_amount=operation.amount,
                split=split,
                server_url=server_url,
                products=operation.request.get("products"),
            )
            return await client.capture(capture, timeout=timeout)
        case Kind.VOID:
            void = Void(order_id=order_id, order_currency=currency, server_url=server_url)
            return await client.void(void, timeout=timeout)
        case Kind.REFUND if split is not None:
            shared = SplitRefund(
                order_id=order_id,
                currency=currency,
                refund_amount=operation.amount,
                split=split,
                server_url=server_url,
            )
            return await client.split_refund(shared, timeout=timeout)
        case Kind.REFUND:
            refund = Refund(
                order_id=order_id,
                order_currency=currency,
                refund_amount=operation.amount,
                server_url=server_url,
                products=operation.request.get("products"),
                f_receipt_delivery=operation.request.get("f_receipt_delivery"),
            )
            return await client.refund(refund, timeout=timeout)
        case Kind.CANCEL:
            return await client.cancel(order_id, timeout=timeout)
        case Kind.CREATE | Kind.DISPUTE:
            raise ValueError("a payment is created by `initialize`, once, and nobody here asks for a dispute")
