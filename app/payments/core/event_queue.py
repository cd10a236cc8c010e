"""Puts what Saleor must hear into the outbox: one queue for each payment, told in the order in which it is written."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from app.db.aggregates import PaymentAggregate, row_id_of
from app.db.tables import EventState, Operation, SaleorEvent
from app.payments.core.info_events import make_way
from app.payments.core.precedence import supersede_failures
from app.saleor.answers import EventType

_MESSAGE_LIMIT = 512  # Saleor contract, A.7: longer messages are cut there


def enqueue(
    aggregate: PaymentAggregate,
    event: EventType,
    *,
    reference: str,
    amount: Decimal,
    message: str,
    actions: list[str] | None,
    now: datetime,
    due: datetime | None = None,
    card: dict[str, Any] | None = None,
    of: Operation | None = None,
) -> None:
    """Add an event unless the same one is there already: Saleor knows an event by its type and its reference.

    ``of``: the operation of which it tells. While a webhook that asks for that is being answered, it waits.
    Saleor has no transaction of a trial, so there is nothing to tell.
    """
    if aggregate.payment.trial or any(
        each.type == event.value and each.psp_reference == reference for each in aggregate.events
    ):
        return
    make_way(aggregate.events, now, possible=actions is not None)
    if event.value.endswith("_SUCCESS"):
        supersede_failures(aggregate.payment, aggregate.events, event, reference)
    answered = now if of is None or of.answer_awaited_until is None else of.answer_awaited_until
    told = SaleorEvent(
        payment_id=row_id_of(aggregate.payment),
        installation_id=aggregate.payment.installation_id,
        type=event.value,
        psp_reference=reference,
        amount=amount,
        message=message[:_MESSAGE_LIMIT],
        available_actions=actions,
        card=card,
        state=EventState.WAITING,
        next_attempt_at=max(due or now, answered),
        created_at=now,
    )
    aggregate.events.append(told)
    if of is not None and of.saleor_requests:
        aggregate.tie(told, of)
