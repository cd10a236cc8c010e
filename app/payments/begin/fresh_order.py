"""A payment page whose address got lost with the gateway's answer is closed, and another one is opened in its place.

All of it within the webhook that the shopper waits for, each step journaled like any other (laws of money, 1), and only
on the gateway's own word: it must show the page, and it must say that it has closed it. As long as it shows nothing,
the payment may still appear, and there is no second one (laws of money, 2).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from sqlmodel.ext.asyncio.session import AsyncSession

from app.gateway.errors import GatewayError
from app.gateway.models import OperationRecord, PaymentRecord
from app.gateway.models.payments import HostedPayment
from app.ledger.sheets import Sheet, load_by_operation, row_id_of
from app.ledger.tables import BurntOrder, Kind, MerchantAccount, Operation, State
from app.payments.begin.intent import add_creation
from app.payments.deadline import Deadline
from app.payments.desk import Desk
from app.payments.insist import outcome_of
from app.payments.outcome.apply import Posting, apply, raise_problem, what_is_known
from app.payments.outcome.balance import in_flight
from app.payments.outcome.closing import (
    BEGIN_ANEW,
    LINK_IS_LOST,
    PAGE_CLOSED,
    being_closed,
    cancellation,
    page_is_unknown,
)
from app.payments.outcome.errors import post_error
from app.payments.outcome.mapper import Seen, judge
from app.payments.outcome.references import fresh_order_id
from app.payments.outcome.seen import seen_in
from app.payments.said import Money, Said

log = structlog.get_logger(__name__)

_MOST = 3  # attempts to open a page for one payment
_WORTH_TRYING = 4  # of the budget, this part must be left to begin a step: a quarter


@dataclass(frozen=True, slots=True)
class _Lost:
    """A creation whose answer got lost, by its row."""

    desk: Desk
    account: MerchantAccount
    request: HostedPayment
    create_id: int
    deadline: Deadline

    @property
    def time_is_short(self) -> bool:
        return self.deadline.left < self.desk.schedule.budget.total_seconds() / _WORTH_TRYING

    @property
    def posting(self) -> Posting:
        return Posting(now=self.desk.now(), schedule=self.desk.schedule, answering=self.create_id)


async def begin_anew(
    desk: Desk, account: MerchantAccount, request: HostedPayment, create_id: int, deadline: Deadline
) -> tuple[HostedPayment, Sheet] | None:
    """Close the page that ``request`` has opened, and return the request for another one, with its intent on the sheet.

    ``create_id`` is the row of the creation whose answer got lost. None: there is nothing to be done anew, or not in
    time. What was found until then is posted, and the worker goes on from there.
    """
    lost = _Lost(desk, account, request, create_id, deadline)
    if lost.time_is_short:
        return None
    client = desk.gateways.client(account)
    try:
        records = await client.order(request.order_id, timeout=deadline.left)
    except GatewayError as error:
        log.warning("look-up failed", order_id=request.order_id, error=str(error))
        return None
    closing_id = await _intend_to_close(lost, records)
    if closing_id is None:
        return None
    outcome = await outcome_of(
        lambda seconds: client.cancel(request.order_id, timeout=seconds), deadline, desk.schedule
    )
    return await _intend_anew(lost, closing_id, outcome)


async def _intend_to_close(lost: _Lost, records: Sequence[PaymentRecord | OperationRecord]) -> int | None:
    """Post what the gateway shows; if that is a page that nobody can have, commit that it is to be closed."""
    posting, desk = lost.posting, lost.desk
    async with desk.database.transaction() as session:
        sheet = await load_by_operation(session, lost.create_id)
        seen = [each for each in (seen_in(record, sheet.payment.language) for record in records) if each is not None]
        apply(sheet, lost.account.pos_id, seen, posting)
        open_now = any(each.kind is Kind.CREATE and each.state is State.INIT for each in seen)
        closing = _closing(sheet, posting) if open_now and not lost.time_is_short else None
        session.add_all([*sheet.operations, *sheet.events])
        await session.flush()
    return None if closing is None else closing.id


def _closing(sheet: Sheet, posting: Posting) -> Operation | None:
    payment, create, attempt = sheet.payment, sheet.create, _attempts(sheet)
    busy = being_closed(sheet) or any(in_flight(each) for each in sheet.operations)
    if create.state is not State.INIT or not _nobody_was_told(sheet) or busy or attempt >= _MOST:
        return None
    soon = posting.schedule.after_intent(posting.now)
    key = f"{BEGIN_ANEW}{attempt}"
    closing = cancellation(payment, key=key, why=LINK_IS_LOST, state=State.INTENT, next_look_at=soon, now=posting.now)
    create.next_look_at = soon
    sheet.operations.append(closing)
    return closing


async def _intend_anew(
    lost: _Lost, closing_id: int, outcome: PaymentRecord | GatewayError
) -> tuple[HostedPayment, Sheet] | None:
    """Post that the page was closed, and commit what is to be asked next in the same step; or post what else came."""
    posting = lost.posting
    async with lost.desk.database.transaction() as session:
        sheet = await load_by_operation(session, closing_id)
        closing = sheet.by_id(closing_id)
        if isinstance(outcome, GatewayError):
            post_error(sheet, closing, outcome, posting)
        elif (seen := seen_in(outcome, sheet.payment.language)) is not None:
            in_time = closing.state is State.INTENT and not lost.time_is_short
            if in_time and _nobody_was_told(sheet) and _is_closed(sheet, lost.account, seen):
                return await _burn(session, lost, sheet, closing, seen)
            apply(sheet, lost.account.pos_id, [seen], posting)
        session.add_all([*sheet.operations, *sheet.events])
    return None


def _nobody_was_told(sheet: Sheet) -> bool:
    """Return True when neither the page nor a reference of the payment was ever told to anybody (laws of money, 9)."""
    return page_is_unknown(sheet) and sheet.create.psp_reference is None


def _is_closed(sheet: Sheet, account: MerchantAccount, seen: Seen) -> bool:
    """Return True when the gateway says of the payment itself that it has failed, and all that it says agrees."""
    verdict = judge(what_is_known(sheet.payment, sheet.create, account.pos_id), seen)
    return seen.kind is Kind.CREATE and verdict.state is State.FAILURE and verdict.problem is None


async def _burn(
    session: AsyncSession, lost: _Lost, sheet: Sheet, closing: Operation, seen: Seen
) -> tuple[HostedPayment, Sheet]:
    """Conclude the closed attempt, of which Saleor has heard nothing and will not; add the intent of the next one."""
    payment, create, now = sheet.payment, sheet.create, lost.desk.now()
    session.add(BurntOrder(order_id=payment.order_id, payment_id=row_id_of(payment), burnt_at=now))
    create.operation_id, create.status_code = seen.gateway_id, seen.status_code
    create.message = f"{LINK_IS_LOST}; another one is opened in its place"
    closing.message = PAGE_CLOSED
    for each, state in ((create, State.FAILURE), (closing, State.SUCCESS)):
        each.state, each.next_look_at, each.updated_at = state, None, now
    attempt = _attempts(sheet) + 1
    fresh = _request_for(lost, fresh_order_id(payment.transaction_id, attempt))
    payment.order_id, payment.updated_at = fresh.order_id, now
    payment.expires_at = now + timedelta(seconds=lost.account.order_timeout)
    await add_creation(session, lost.desk, sheet, fresh, key=f"create-{attempt}")
    return fresh, sheet


def _request_for(lost: _Lost, order_id: str) -> HostedPayment:
    """Return the same request under another order id."""
    request = lost.request
    names = {"order_id": order_id, "result_url": lost.desk.addresses.return_page(order_id)}
    if request.description is not None:
        names["description"] = request.description.replace(request.order_id, order_id)
    return request.model_copy(update=names)


def post_former(sheet: Sheet, seen: Seen, now: datetime) -> str:
    """Post what the gateway says of an order that the payment had before; return what came of it, for the record.

    That it was closed is no news. That somebody has paid on a page that nobody could know is for a person to look at.
    """
    if seen.kind is Kind.CREATE and seen.state is State.SUCCESS:
        words = Said(
            "Order %(order)s was closed before anybody could be sent to it, and now the gateway says that %(sum)s was "
            "paid on it: look at it in the merchant portal and refund it there.",
            order=seen.order_id,
            sum=Money(seen.amount, seen.currency),
        )
        raise_problem(sheet, words, now)
        return "success of an order that this payment had before: a problem for staff"
    return f"{seen.kind.value} {seen.state.value} of an order that this payment had before: nothing to do"


def _attempts(sheet: Sheet) -> int:
    return sum(each.kind is Kind.CREATE for each in sheet.operations)
