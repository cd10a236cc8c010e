"""The one way in which anything is asked of the gateway that moves money (laws of money, 1 and 2).

Its operation was committed before, with everything that the call says. The call is made, once; then what came of it is
recorded. No transaction is held across the call. Whatever dies in between is found by a look-up.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias, TypeVar

import structlog

from app.gateway.errors import GatewayError, NotSent
from app.ledger.errors import DatabaseUnavailableError
from app.ledger.repository import ById, SameDebt
from app.ledger.sheets import Sheet, row_id_of
from app.ledger.tables import Operation, State
from app.payments.deadline import Deadline
from app.payments.desk import Desk
from app.payments.look_up import shown_at_gateway
from app.payments.operations.transition import Answer, Outcome, transition
from app.payments.outcome.apply import Posting
from app.payments.outcome.errors import others_have_acted
from app.payments.outcome.problems import keys_accepted
from app.payments.outcome.seen import Shown
from app.payments.schedule import Schedule

log = structlog.get_logger(__name__)

T = TypeVar("T")

Call: TypeAlias = Callable[[float], Awaitable[Outcome]]
"""Asks the gateway; it is given the seconds that are left of the budget."""


async def execute(
    desk: Desk,
    journaled: Sheet,
    operation: Operation,
    call: Call,
    deadline: Deadline,
    *,
    answering: bool,
    debt: SameDebt | None = None,
) -> Sheet:
    """Ask the gateway for a committed operation, record what came of it, and return the payment as it is then.

    ``answering``: a webhook waits for the outcome (see ``Posting``). ``debt``: the outcome is compared with the other
    attempts to pay it, under the locks of all of them. An operation that has ended is followed by one look at the whole
    order; at once if the gateway says that it does not fit the payment any more, because somebody else has acted then
    (laws of money, 2 and 10).

    No answer of the gateway is raised, and no error of its. Raises DatabaseUnavailableError: the outcome is looked up.
    """
    payment_id, operation_id = row_id_of(journaled.payment), row_id_of(operation)

    async def is_intended() -> bool:
        return await _is_intended(desk, payment_id, operation_id)

    answer = await _answer(desk, journaled, await retry_unsent(call, deadline, desk.schedule, is_intended), deadline)
    failed = isinstance(answer.outcome, GatewayError)
    posting = Posting(now=desk.now(), schedule=desk.schedule, answering=operation_id if answering else None)

    def step(payment: Sheet, attempts: Sequence[Sheet]) -> Sequence[Sheet]:
        transition(payment, payment.by_id(operation_id), answer, posting, attempts)
        return attempts

    which, among = ById(payment_id), None if failed else debt
    try:
        attempts = await desk.payments.update_attempts(which, among, step)
    except DatabaseUnavailableError as error:  # the gateway will not say it again: once more, before it is looked up
        log.warning("outcome not recorded", operation=operation_id, error=str(error))
        attempts = await desk.payments.update_attempts(which, among, step)
    payment = next(each for each in attempts if each.payment.id == payment_id)
    if not failed:
        await keys_accepted(desk, payment.payment.account_id, payment)
    desk.wake_for(attempts)
    return payment


async def retry_unsent(
    call: Callable[[float], Awaitable[T]],
    deadline: Deadline,
    schedule: Schedule,
    still: Callable[[], Awaitable[bool]],
) -> T | GatewayError:
    """Return what came of a call: the gateway's word, or its error.

    A call that provably never left this machine is made again, a few times and as long as the budget allows: the one
    case in which repeating cannot move money twice. What may have arrived is never repeated (laws of money, 2).
    ``still``: whether it is to be made at all, asked before it is made again; what has become known meanwhile can make
    it needless.
    """
    pauses = iter(schedule.pauses_before_resending)
    while True:
        try:
            return await call(deadline.left)
        except NotSent as error:
            pause = next(pauses, None)
            if pause is None or deadline.left <= pause.total_seconds():
                return error
            unsent = error
        except GatewayError as error:
            return error
        await asyncio.sleep(pause.total_seconds())
        if not await still():
            return unsent


async def _answer(desk: Desk, journaled: Sheet, outcome: Outcome | GatewayError, deadline: Deadline) -> Answer:
    """Return what came of a call. Where others were faster, Saleor is told what there is, if the time suffices."""
    acted = others_have_acted(outcome)
    if not acted or not deadline.left:
        return Answer(outcome, acted)
    payment = journaled.payment
    account = await desk.accounts.find(payment.account_id)
    shown = None if account is None else await shown_at_gateway(desk, account, payment, deadline)
    return Answer(outcome, acted, shown if isinstance(shown, Shown) and not shown.unreadable else None)


async def _is_intended(desk: Desk, payment_id: int, operation_id: int) -> bool:
    """Return False when a notification or a look-up has ended the operation while its call could not be sent."""
    payment = await desk.payments.find(ById(payment_id))
    return payment is not None and payment.by_id(operation_id).state is State.INTENT
