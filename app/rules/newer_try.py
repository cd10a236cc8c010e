"""A newer try on the page of a payment that was declined: as long as the bank decides, it is perhaps paid. Pure.

The shopper tries another card, which the gateway counts as a payment of its own. Nothing of it moves the state that was
reported to Saleor: forward it goes with a success. But no other page is opened meanwhile, and the shopper is not asked
to pay again (laws of money, 7 and 12). Its own final record ends it, or a look-up that does not show it at the bank, or
the decision of staff.
"""

from app.core.ids import GatewayOperationId
from app.core.payment import Operation, Payment, PaymentAggregate
from app.core.vocabulary import Kind, Mode, State
from app.rules.decision_context import DecisionContext
from app.rules.details import Details
from app.rules.mapper import Observation
from app.rules.observation import Observations
from app.rules.references import is_same_id
from app.rules.schedule import look_up_order_after


def update_newer_try(payment: Payment, operation: Operation, seen: Observation, context: DecisionContext) -> None:
    """Note that a newer try is at the bank, or that it is there no more, by a record of it."""
    is_declined = (
        operation.kind is Kind.CREATE and operation.state is State.FAILURE and operation.operation_id is not None
    )
    if not is_declined or payment.mode is not Mode.HOSTED or seen.gateway_id == operation.operation_id:
        return
    if _is_at_the_bank(seen):
        _note(operation, seen.gateway_id)
        if payment.has_rivals:
            payment.attempts_due_at = context.now
        if context.is_single_record or operation.next_poll_at is None:
            look_up_order_after(operation, context.schedule, context.now)
    elif seen.gateway_id == operation.newer_try:
        _note(operation, None)


def end_newer_try(aggregate: PaymentAggregate, shown: Observations) -> None:
    """Note that a newer try is at the bank no more, if the whole order does not show it there."""
    create = aggregate.create
    if create.newer_try is None or shown.unreadable:
        return
    if not any(_is_at_the_bank(seen) and is_same_id(seen.gateway_id, create.newer_try) for seen in shown):
        _note(create, None)


def forget_newer_try(operation: Operation) -> None:
    """Note that a newer try counts no more: staff have decided how the payment ended, and nothing is looked up."""
    if operation.newer_try is not None:
        _note(operation, None)


def _is_at_the_bank(seen: Observation) -> bool:
    return seen.kind is Kind.CREATE and seen.state is State.PENDING and not seen.waits_for_shopper


def _note(operation: Operation, gateway_id: GatewayOperationId | None) -> None:
    operation.details = Details.from_row(operation.details).model_copy(update={"newer_try": gateway_id}).to_row()
