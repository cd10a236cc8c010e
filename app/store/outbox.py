"""The outbox: events to report to Saleor, claimed one at a time per payment, in the order in which they happened."""

from sqlalchemy import exists
from sqlalchemy.orm import aliased
from sqlmodel import col

from app.core.vocabulary import EventState
from app.store.job_queue import JobQueue
from app.store.tables import Installation, SaleorEvent

_earlier = aliased(SaleorEvent)

EVENTS = JobQueue(
    "events",
    SaleorEvent,
    row_id=col(SaleorEvent.id),
    due=col(SaleorEvent.next_attempt_at),
    tenant=col(SaleorEvent.installation_id),
    tenants=col(Installation.id),
    tries=col(SaleorEvent.attempts),
    trace=col(SaleorEvent.trace_id),
    # An event waits for every earlier one of its payment: reported out of order, "refunded" could be overwritten by
    # "you may refund". So at most one event of a payment is ever claimed at once.
    ready=(
        ~exists().where(
            col(_earlier.payment_id) == col(SaleorEvent.payment_id),
            col(_earlier.state) == EventState.WAITING,
            col(_earlier.id) < col(SaleorEvent.id),
        ),
    ),
)
