"""Finds out what became of an operation that is not concluded, by looking its order up (laws of money, 2).

Used by the worker for everything that is due, and by ``process`` for the payment that a shopper has come back to.
"""

from dataclasses import dataclass
from datetime import datetime

import structlog

from app.gateway.errors import BadCredentials, GatewayError
from app.ledger.outbox import EVENTS
from app.ledger.sheets import LOOKS, Sheet, load_by_operation
from app.ledger.tables import Kind, MerchantAccount, Operation, Payment, State
from app.payments.change.send import send
from app.payments.deadline import Deadline
from app.payments.desk import Desk
from app.payments.outcome.apply import Posting, apply, conclude, raise_problem
from app.payments.outcome.balance import balance
from app.payments.outcome.closing import (
    LINK_IS_LOST,
    TIME_IS_OVER,
    being_begun_anew,
    being_closed,
    cancellation,
    link_is_missing,
)
from app.payments.outcome.mapper import Seen
from app.payments.outcome.problems import KEYS, KEYS_REFUSED, disagrees, keys_accepted, of_waiting
from app.payments.outcome.seen import seen_in
from app.payments.refusal import Refusal
from app.payments.said import Money, Said, marked
from app.payments.show.names import NAMES
from app.payments.split.planning import keep_shares, renew

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Due:
    row_id: int
    sheet: Sheet
    operation: Operation
    account: MerchantAccount


async def look(
    desk: Desk, operation_row_id: int, deadline: Deadline, *, answering: bool = False, scheduled: bool = False
) -> GatewayError | None:
    """Look one operation up and post what is found; send it, if it had to wait for its turn until now.

    Return why nothing could be found, if so.

    ``answering``: a webhook will answer with what is found (see ``Posting``). ``scheduled``: the worker looks because
    it was time to, and each such look makes it more patient; looks of shoppers, however many, do not.
    """
    due = await _due(desk, operation_row_id)
    if due is None:
        return None
    if due.operation.state is State.WAITING:
        await _take_its_turn(desk, due, deadline)
        return None
    records = await shown_at_gateway(desk, due.account, due.sheet.payment, deadline)
    posting = Posting(now=desk.now(), schedule=desk.schedule, answering=operation_row_id if answering else None)
    unpaid = await _post(desk, due, records, posting, scheduled=scheduled)
    if not isinstance(records, GatewayError):
        await keys_accepted(desk, due.account.id, due.sheet)
    if unpaid is not None:
        sheet, closing = unpaid
        await send(desk, due.account, sheet, closing, deadline, answering=False)
    desk.wake(LOOKS, EVENTS)
    return records if isinstance(records, GatewayError) else None


async def shown_at_gateway(
    desk: Desk, account: MerchantAccount, payment: Payment, deadline: Deadline
) -> tuple[Seen, ...] | GatewayError:
    """Return what the gateway shows of a payment, or why it does not."""
    try:
        found = await desk.gateways.client(account).order(payment.order_id, timeout=deadline.left)
    except GatewayError as error:
        log.warning("look-up failed", order_id=payment.order_id, error=str(error))
        return error
    return tuple(seen for each in found if (seen := seen_in(each, payment.language)) is not None)


async def _due(desk: Desk, operation_row_id: int) -> _Due | None:
    async with desk.database.transaction() as session:
        sheet = await load_by_operation(session, operation_row_id)
    operation = sheet.by_id(operation_row_id)
    if operation.state.final and operation.next_look_at is None:
        return None
    account = await desk.accounts.find(sheet.payment.account_id)
    assert account is not None  # noqa: S101 - an account with payments is never deleted
    return _Due(operation_row_id, sheet, operation, account)


async def _take_its_turn(desk: Desk, due: _Due, deadline: Deadline) -> None:
    """Turn a waiting operation into an intent, unless another one got in before it, and send it."""
    now = desk.now()
    async with desk.database.transaction() as session:
        sheet = await load_by_operation(session, due.row_id)
        operation = sheet.by_id(due.row_id)
        if operation.state is not State.WAITING or balance(sheet.payment.flow, sheet.operations).in_flight:
            return
        try:
            renew(sheet, operation)
        except Refusal as refusal:
            posting = Posting(now=now, schedule=desk.schedule)
            conclude(sheet, operation, State.FAILURE, posting, message=refusal.message)
            session.add_all(sheet.events)
            return
        await keep_shares(session, operation, sheet)
        operation.state = State.INTENT
        operation.updated_at = now
        operation.next_look_at = desk.schedule.after_intent(now)
    await send(desk, due.account, sheet, operation, deadline, answering=False)


async def _post(
    desk: Desk, due: _Due, records: tuple[Seen, ...] | GatewayError, posting: Posting, *, scheduled: bool
) -> tuple[Sheet, Operation] | None:
    """Post a look-up. Return a cancellation to be sent, when an unpaid payment page must be closed."""
    closing = None
    async with desk.database.transaction() as session:
        sheet = await load_by_operation(session, due.row_id)
        operation = sheet.by_id(due.row_id)
        operation.looks += scheduled
        operation.looked_at = posting.now
        if being_begun_anew(sheet, posting.schedule, posting.now):
            return None
        if isinstance(records, BadCredentials):
            raise_problem(sheet, KEYS_REFUSED, posting.now, cause=KEYS)
        if not isinstance(records, GatewayError):
            apply(sheet, due.account.pos_id, records, posting)
            _conclude_from_silence(sheet, operation, records, posting)
            closing = _close_the_page(sheet, operation, posting)
        if operation.state.final and not isinstance(records, GatewayError):
            operation.next_look_at = None
        elif scheduled and operation.next_look_at is not None:
            operation.next_look_at = _next_look(sheet, operation, posting)
        _mind_what_is_overdue(sheet, operation, posting)
        session.add_all([*sheet.operations, *sheet.events])
    return None if closing is None else (sheet, closing)


def _conclude_from_silence(sheet: Sheet, operation: Operation, records: tuple[Seen, ...], posting: Posting) -> None:
    """An operation of which the gateway shows nothing, for long enough, did not happen."""
    now, schedule, payment = posting.now, posting.schedule, sheet.payment
    at_gateway = any(seen.kind is Kind.CREATE for seen in records)
    if operation.operation_id is not None or (operation.kind is Kind.CREATE and disagrees(payment)):
        return  # the gateway has spoken of it: silence does not undo that, and what does not agree is for a person
    if operation.state in {State.INTENT, State.UNKNOWN}:
        if schedule.settled_by_silence(operation.updated_at, now):
            words = marked("The gateway has no trace of it: nothing was charged or changed")
            conclude(sheet, operation, State.FAILURE, posting, message=words, inferred=True)
        elif operation.state is State.INTENT:
            words = marked("The outcome is not known yet: we are looking the payment up")
            conclude(sheet, operation, State.UNKNOWN, posting, message=words)
    elif operation.state is State.INIT and operation.kind is Kind.CREATE:
        ends = payment.expires_at
        not_closed = any(
            each.kind is Kind.CANCEL and each.state is State.FAILURE and ends is not None and each.updated_at >= ends
            for each in sheet.operations
        )
        over = ends is not None and schedule.settled_by_silence(ends, now)
        if over and (not_closed or not at_gateway):
            words = marked("The time to pay is over and the gateway knows of no payment")
            conclude(sheet, operation, State.FAILURE, posting, message=words, inferred=True)


def _close_the_page(sheet: Sheet, operation: Operation, posting: Posting) -> Operation | None:
    """Return the intent to cancel a payment that nobody can make any more.

    Either its time is over, or its link got lost with the gateway's answer: nobody will ever be sent to that page, so
    it is closed, and the shopper can begin anew.
    """
    payment, now = sheet.payment, posting.now
    if operation.kind is not Kind.CREATE or operation.state is not State.INIT or disagrees(payment):
        return None
    lost = link_is_missing(payment) and now >= posting.schedule.after_intent(payment.created_at)
    over = payment.expires_at is not None and now >= payment.expires_at + posting.schedule.expiry_grace
    if being_closed(sheet) or not (lost or over):
        return None
    closing = cancellation(
        payment,
        key=f"close-page-{len(sheet.operations)}",
        why=LINK_IS_LOST if lost else TIME_IS_OVER,
        state=State.INTENT,
        next_look_at=posting.schedule.after_intent(now),
        now=now,
    )
    sheet.operations.append(closing)
    return closing


def _mind_what_is_overdue(sheet: Sheet, operation: Operation, posting: Posting) -> None:
    """Make an outcome that is open for too long a problem for staff: nothing waits for ever in silence."""
    since = operation.updated_at
    if operation.state is State.INIT and sheet.payment.expires_at is not None:
        since = max(since, sheet.payment.expires_at)  # until then it is the shopper who is waited for
    if operation.state.final or not posting.schedule.is_overdue(since, posting.now):
        return
    words = Said(
        "Since %(since)s it is not known what became of the %(what)s of %(sum)s. The app goes on asking the gateway; "
        "compare this payment with the merchant portal.",
        since=since,
        what=NAMES[operation.kind],
        sum=Money(operation.amount, operation.currency),
    )
    raise_problem(sheet, words, posting.now, cause=of_waiting(operation))


def _next_look(sheet: Sheet, operation: Operation, posting: Posting) -> datetime | None:
    payment, now = sheet.payment, posting.now
    # The answer with the link may still be on its way: the gateway's notification can overtake it.
    link_due = posting.schedule.after_intent(payment.created_at)
    if operation.state is State.INIT and link_is_missing(payment) and now < link_due:
        return link_due
    # One that is final is looked at once more (see ``apply``), as patiently as one at the bank until that is possible.
    state = State.PENDING if operation.state.final else operation.state
    return posting.schedule.next_look(
        state, operation.looks, now, since=operation.updated_at, expires_at=payment.expires_at
    )
