"""The one way in which anything is asked of the gateway that moves money (laws of money, 1 and 2).

Its operation was committed before, with everything that the call says. The call is made, once; then what came of it is
recorded. No transaction is held across the call. Whatever dies in between is found by a look-up.

Payments are created by whoever knows what they are paid with; captures, voids, refunds and cancellations are said by
their rows (``send``).
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

import structlog

from app.db.aggregates import ById, PaymentAggregate, SameDebt, row_id_of
from app.db.errors import DatabaseUnavailableError
from app.db.tables import Kind, MerchantAccount, Operation, State
from app.gateway.errors import GatewayError, NotSentError
from app.gateway.models import OperationRecord, PaymentRecord
from app.gateway.models.operations import Capture, Refund, SplitRefund, Void
from app.gateway.models.subscriptions import SubscriptionRefund
from app.outbound import Deadline
from app.payments.core.call_errors import others_have_acted
from app.payments.core.observation import Shown
from app.payments.core.schedule import Schedule
from app.payments.operations.look_up import keys_accepted, opened, shown_at_gateway
from app.payments.operations.transition import Answer, Outcome, transition
from app.payments.services import Services
from app.payments.split.planning import split_in

log = structlog.get_logger(__name__)

T = TypeVar("T")

Call: TypeAlias = Callable[[float], Awaitable[Outcome]]
"""Asks the gateway; it is given the seconds that are left of the budget."""


async def execute(
    services: Services,
    journaled: PaymentAggregate,
    operation: Operation,
    call: Call,
    deadline: Deadline,
    *,
    answering: bool,
    debt: SameDebt | None = None,
) -> PaymentAggregate:
    """Ask the gateway for a committed operation, record what came of it, and return the payment as it is then.

    ``answering``: a webhook waits for the outcome (see ``Posting``). ``debt``: the outcome is compared with the other
    attempts to pay it, under the locks of all of them. An operation that has ended is followed by one look at the whole
    order; at once if the gateway says that it does not fit the payment any more, because somebody else has acted then
    (laws of money, 2 and 10).

    No answer of the gateway is raised, and no error of its. Raises DatabaseUnavailableError: the outcome is looked up.
    """
    payment_id, operation_id = row_id_of(journaled.payment), row_id_of(operation)

    async def is_intended() -> bool:
        return await _is_intended(services, payment_id, operation_id)

    answer = await _answer(
        services, journaled, await retry_unsent(call, deadline, services.schedule, is_intended), deadline
    )
    failed = isinstance(answer.outcome, GatewayError)
    posting = services.posting(answering=operation_id if answering else None)

    def step(payment: PaymentAggregate, attempts: Sequence[PaymentAggregate]) -> Sequence[PaymentAggregate]:
        transition(payment, payment.by_id(operation_id), answer, posting, attempts)
        return attempts

    which, among = ById(payment_id), None if failed else debt
    try:
        attempts = await services.payments.update_attempts(which, among, step)
    except DatabaseUnavailableError as error:  # the gateway will not say it again: once more, before it is looked up
        log.warning("outcome not recorded", operation=operation_id, error=str(error))
        attempts = await services.payments.update_attempts(which, among, step)
    payment = next(each for each in attempts if each.payment.id == payment_id)
    if not failed:
        await keys_accepted(services, payment)
    services.wake_for(attempts)
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
        except NotSentError as error:
            pause = next(pauses, None)
            if pause is None or deadline.left <= pause.total_seconds():
                return error
            unsent = error
        except GatewayError as error:
            return error
        await asyncio.sleep(pause.total_seconds())
        if not await still():
            return unsent


async def _answer(
    services: Services, journaled: PaymentAggregate, outcome: Outcome | GatewayError, deadline: Deadline
) -> Answer:
    """Return what came of a call. Where others were faster, Saleor is told what there is, if the time suffices."""
    acted = others_have_acted(outcome)
    if not acted or not deadline.left:
        return Answer(outcome, acted)
    payment = journaled.payment
    account = await services.accounts.find(payment.account_id)
    shown = None if account is None else await shown_at_gateway(services, account, payment, deadline)
    return Answer(outcome, acted, shown if isinstance(shown, Shown) and not shown.unreadable else None)


async def _is_intended(services: Services, payment_id: int, operation_id: int) -> bool:
    """Return False when a notification or a look-up has ended the operation while its call could not be sent."""
    payment = await services.payments.find(ById(payment_id))
    return payment is not None and payment.by_id(operation_id).state is State.INTENT


async def send(
    services: Services, aggregate: PaymentAggregate, operation: Operation, deadline: Deadline, *, answering: bool
) -> PaymentAggregate:
    """Execute a capture, void, refund or cancellation, which is an intent. See ``execute``."""
    call = partial(_call, services, aggregate.payment.account, aggregate, operation)
    return await execute(services, aggregate, operation, call, deadline, answering=answering)


async def _call(
    services: Services, account: MerchantAccount, aggregate: PaymentAggregate, operation: Operation, timeout: float
) -> PaymentRecord | OperationRecord:
    client = opened(services, account)
    order_id, currency = aggregate.payment.order_id, aggregate.payment.currency
    server_url = services.addresses.notifications(account.id)
    split, comment = split_in(operation), operation.request.get("comment")
    match operation.kind:
        case Kind.CAPTURE:
            capture = Capture(
                order_id=order_id,
                order_currency=currency,
                charge_amount=operation.amount,
                split=split,
                server_url=server_url,
                comment=comment,
                products=operation.request.get("products"),
            )
            return await client.capture(capture, timeout=timeout)
        case Kind.VOID:
            void = Void(order_id=order_id, order_currency=currency, server_url=server_url, comment=comment)
            return await client.void(void, timeout=timeout)
        case Kind.REFUND if operation.charge_id is not None:
            of_charge = SubscriptionRefund(
                order_currency=currency, refund_amount=operation.amount, comment=comment, server_url=server_url
            )
            recurring_id = aggregate.payment.recurring_id or ""
            return await client.subscriptions.refund(recurring_id, operation.charge_id, of_charge, timeout=timeout)
        case Kind.REFUND if split is not None:
            shared = SplitRefund(
                order_id=order_id,
                currency=currency,
                refund_amount=operation.amount,
                split=split,
                server_url=server_url,
                comment=comment,
            )
            return await client.split_refund(shared, timeout=timeout)
        case Kind.REFUND:
            refund = Refund(
                order_id=order_id,
                order_currency=currency,
                refund_amount=operation.amount,
                server_url=server_url,
                comment=comment,
                products=operation.request.get("products"),
                f_receipt_delivery=operation.request.get("f_receipt_delivery"),
            )
            return await client.refund(refund, timeout=timeout)
        case Kind.CANCEL:
            return await client.cancel(order_id, timeout=timeout)
        case Kind.CREATE | Kind.DISPUTE | Kind.RECURRING:
            raise ValueError("a payment is created by `initialize`, once; disputes and later charges are others' work")
