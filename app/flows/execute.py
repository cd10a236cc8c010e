"""The only way to call the gateway for something that moves money (laws of money, 1 and 2).

The operation is committed first, with everything that the call sends. Then the call is made, once, and its outcome is
recorded. No database transaction is held across the call. If the process dies in between, a look-up finds the outcome.

The call that creates a payment is passed in by the caller, who knows what the payment is paid with. Captures, voids,
refunds and cancellations are sent from their stored operation alone (``send``).
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias, TypeVar

import structlog

from app.core.ids import OperationRowId, PaymentRowId
from app.core.payment import Operation, Payment, PaymentAggregate, row_id_of
from app.core.vocabulary import Kind, State
from app.flows.look_up import clear_account_problems, client_of, look_up_order
from app.rules.call_errors import RefundedElsewhereError, is_state_conflict
from app.rules.decisions.gateway_call import CallReturned, Outcome
from app.rules.observation import Observations
from app.rules.page_cancellation import LOST_PAGE
from app.rules.requests.operation import operation_request
from app.rules.schedule import Schedule
from app.services import Services
from app.store.aggregates import ById, ByTransaction, Payable, account_of
from app.store.errors import DatabaseUnavailableError
from app.store.tables import MerchantAccount
from gateway_client.errors import GatewayError, NotSentError
from gateway_client.models import OperationRecord, PaymentRecord
from gateway_client.models.operations import Capture, Refund, SplitRefund, Void
from gateway_client.models.subscriptions import SubscriptionRefund
from integration_base.outbound import Deadline

log = structlog.get_logger(__name__)

T = TypeVar("T")

Call: TypeAlias = Callable[[float], Awaitable[Outcome]]
"""A call to the gateway. Its argument is the rest of the budget, in seconds."""


async def execute(
    services: Services,
    journaled: PaymentAggregate,
    operation: Operation,
    call: Call,
    deadline: Deadline,
    *,
    answering: bool,
    waited: bool = False,
    payable: Payable | None = None,
) -> PaymentAggregate:
    """Call the gateway for a committed operation, record the outcome, and return the payment as it stands then.

    ``answering``: a webhook waits for the outcome (see ``DecisionContext``). ``waited``: the operation had waited for
    its turn (see ``CallReturned``). ``payable``: the outcome is compared with the other attempts to pay it, with all of
    them locked. After an operation has ended, the whole order is looked up once more; immediately if the gateway
    reports that the operation no longer fits the payment, because then someone else has acted on it (laws of money, 2
    and 10).

    Errors of the gateway are recorded, not raised. Raises DatabaseUnavailableError; then the outcome is looked up.
    """
    payment_id, operation_id = row_id_of(journaled.payment), row_id_of(operation)

    async def is_still_intent() -> bool:
        return await _is_still_intent(services, payment_id, operation_id)

    outcome = await retry_unsent(call, deadline, services.schedule, is_still_intent)
    others_acted, shown = await _look_up_after_conflict(services, journaled, outcome, deadline)
    failure = outcome if isinstance(outcome, GatewayError) else None
    if failure is not None:
        services.gateways.remember_pause(journaled.payment.account_id, failure, services.now())
        log.warning("gateway_call.failed", operation=operation_id, kind=operation.kind.value, error=str(failure))
    context = services.decision_context(answered_operation_id=operation_id if answering else None)
    returned = CallReturned(operation_id, outcome, context, others_acted, shown, waited)
    which, among = ById(payment_id), payable if failure is None else None
    try:
        payment = await services.payments.record_of_attempt(which, among, returned)
    except DatabaseUnavailableError as error:  # the gateway does not repeat its answer: retry before a look-up
        log.warning("outcome.not_recorded", operation=operation_id, error=str(error))
        payment = await services.payments.record_of_attempt(which, among, returned)
    if failure is None:
        await clear_account_problems(services, payment)
    elif operation.kind is Kind.CREATE and payment.operation_by_key(LOST_PAGE) is not None:
        log.warning("page_link.lost", payment=payment.payment.order_id, error=str(failure))
    return payment


async def retry_unsent(
    call: Callable[[float], Awaitable[T]],
    deadline: Deadline,
    schedule: Schedule,
    is_still_needed: Callable[[], Awaitable[bool]],
) -> T | GatewayError:
    """Make a call and return its result, or the gateway's error.

    Retries only a call that provably never left this machine, a few times and as long as the budget allows: the one
    case in which repeating cannot move money twice. A call that may have arrived is never repeated (laws of money, 2).
    ``is_still_needed`` is checked before each retry: a notification or look-up may have settled the outcome by then.
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
        if not await is_still_needed():
            return unsent


async def _look_up_after_conflict(
    services: Services, journaled: PaymentAggregate, outcome: Outcome | GatewayError, deadline: Deadline
) -> tuple[bool, Observations | None]:
    """Return whether others acted first; if so, and time is left, with the whole order as the gateway shows it."""
    others_acted = is_state_conflict(outcome)
    if not others_acted or not deadline.left:
        return others_acted, None
    payment = journaled.payment
    account = await services.accounts.find(payment.account_id)
    observations = None if account is None else await look_up_order(services, account, payment, deadline)
    if not isinstance(observations, Observations) or observations.unreadable:
        return others_acted, None
    return others_acted, observations


async def _is_still_intent(services: Services, payment_id: PaymentRowId, operation_id: OperationRowId) -> bool:
    """Return False if a notification or a look-up has ended the operation while its call could not be sent."""
    payment = await services.payments.find(ById(payment_id))
    return payment is not None and payment.operation_by_id(operation_id).state is State.INTENT


async def send(
    services: Services,
    aggregate: PaymentAggregate,
    operation: Operation,
    deadline: Deadline,
    *,
    answering: bool,
    waited: bool = False,
) -> PaymentAggregate:
    """Execute a capture, void, refund or cancellation whose intent is committed (see ``execute``)."""
    call = partial(_call_gateway, services, account_of(aggregate.payment), aggregate, operation)
    return await execute(services, aggregate, operation, call, deadline, answering=answering, waited=waited)


async def _call_gateway(
    services: Services, account: MerchantAccount, aggregate: PaymentAggregate, operation: Operation, timeout: float
) -> PaymentRecord | OperationRecord:
    client, payment = client_of(services, account), aggregate.payment
    if operation.granted_refund_id is not None:
        await _check_granted_once(services, payment, operation.granted_refund_id)
    if operation.kind is Kind.CANCEL:
        return await client.cancel(payment.order_id, timeout=timeout)
    request = operation_request(payment, operation, account, services.addresses.notifications(account.id))
    match request:
        case Capture():
            return await client.capture(request, timeout=timeout)
        case Void():
            return await client.void(request, timeout=timeout)
        case SplitRefund():
            return await client.split_refund(request, timeout=timeout)
        case Refund():
            return await client.refund(request, timeout=timeout)
        case SubscriptionRefund():
            of, charge = payment.recurring_id or "", operation.charge_id or ""
            return await client.subscriptions.refund(of, charge, request, timeout=timeout)


async def _check_granted_once(services: Services, payment: Payment, granted_refund_id: str) -> None:
    """Send no granted refund that was taken from another payment, or may have been. Raises RefundedElsewhereError.

    Saleor lets staff choose another payment for a refund that it takes for failed, which it is not if only our answer
    was lost. Its intent is committed by now: of two payments that are asked at the same moment, one sees the other.
    """
    which = ByTransaction(payment.installation_id, payment.transaction_id)
    order_id = await services.payments.order_of_other_refund(which, granted_refund_id)
    if order_id is not None:
        raise RefundedElsewhereError(order_id)
