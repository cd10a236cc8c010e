"""Finds the outcome of an operation that is not concluded, by looking its order up (laws of money, 2).

Used by the worker for everything that is due, and by ``process`` for a payment to which a shopper has returned.
"""

from dataclasses import dataclass

import structlog

from app.core.ids import OperationRowId
from app.core.payment import Operation, PaymentAggregate, row_id_of
from app.core.vocabulary import State
from app.flows.execute import send
from app.flows.look_up import clear_account_problems, look_up_order, opens_keys
from app.rules.decisions.look_up import OrderLookedUp, TurnCame
from app.rules.page_cancellation import needs_look_up_first
from app.services import Services
from app.store.aggregates import ById, ByOperation, account_of
from app.store.tables import MerchantAccount
from gateway_client.errors import GatewayError
from integration_base.outbound import Deadline

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Due:
    row_id: OperationRowId
    aggregate: PaymentAggregate
    operation: Operation

    @property
    def payment(self) -> ById:
        return ById(row_id_of(self.aggregate.payment))

    @property
    def account(self) -> MerchantAccount:
        return account_of(self.aggregate.payment)


async def resolve_operation(
    services: Services,
    operation_row_id: OperationRowId,
    deadline: Deadline,
    *,
    answering: bool = False,
    scheduled: bool = False,
) -> GatewayError | None:
    """Look an operation up and post the result; or send it, if it was waiting for its turn.

    Returns the gateway's error if the look-up failed.

    ``answering``: a webhook will be answered with the result (see ``DecisionContext``). ``scheduled``: the worker polls
    because the operation was due. Each such poll lengthens the pause before the next; look-ups for shoppers do not, and
    are not made while the gateway wants no requests.
    """
    due = await _load_due(services, operation_row_id)
    if due is None:
        return None
    busy = None if scheduled else services.gateways.current_pause(due.account.id, services.now())
    if busy is not None:
        return busy
    if due.operation.state is State.WAITING and not needs_look_up_first(due.operation):
        await _send_waiting(services, due, deadline)
        return None
    records = await look_up_order(services, due.account, due.aggregate.payment, deadline)
    context = services.decision_context(answered_operation_id=operation_row_id if answering else None)
    ended = frozenset(operation.id for operation in due.aggregate.operations if operation.state.final)
    looked_up = OrderLookedUp(operation_row_id, ended, records, context, scheduled)
    unpaid = await services.payments.record(due.payment, looked_up)
    if not isinstance(records, GatewayError):
        await clear_account_problems(services, due.aggregate)
    if unpaid is not None:
        aggregate, closing = unpaid
        await send(services, aggregate, closing, deadline, answering=False)
    return records if isinstance(records, GatewayError) else None


async def _load_due(services: Services, operation_row_id: OperationRowId) -> _Due | None:
    aggregate = await services.payments.find(ByOperation(operation_row_id))
    if aggregate is None:
        raise LookupError(f"no operation {operation_row_id}")
    operation = aggregate.operation_by_id(operation_row_id)
    if operation.state.final and operation.next_poll_at is None:
        return None
    return _Due(operation_row_id, aggregate, operation)


async def _send_waiting(services: Services, due: _Due, deadline: Deadline) -> None:
    """Turn a waiting operation into an intent and send it, unless another operation is in flight."""
    turn = TurnCame(due.row_id, services.decision_context(), can_be_sent=opens_keys(services, due.aggregate.payment))
    aggregate = await services.payments.record(due.payment, turn)
    if aggregate is not None:
        await send(services, aggregate, aggregate.operation_by_id(due.row_id), deadline, answering=False, waited=True)
