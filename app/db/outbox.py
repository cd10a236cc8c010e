"""The outbox: events to report to Saleor, claimed one at a time per payment, in the order in which they happened."""

from collections.abc import Sequence

from sqlalchemy import exists
from sqlalchemy.orm import aliased
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.db.job_queue import JobQueue
from app.db.problems import load_problems
from app.db.tables import EventState, Payment, SaleorEvent

_earlier = aliased(SaleorEvent)

EVENTS = JobQueue(
    "events",
    SaleorEvent,
    row_id=col(SaleorEvent.id),
    due=col(SaleorEvent.next_attempt_at),
    tenant=col(SaleorEvent.installation_id),
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


async def lock_event_with_payment(session: AsyncSession, event_id: int) -> tuple[SaleorEvent, Payment]:
    """Return that event and the payment it is about, both locked: the payment first, as everywhere."""
    owner = select(SaleorEvent.payment_id).where(SaleorEvent.id == event_id).scalar_subquery()
    payment = (await session.exec(select(Payment).where(col(Payment.id) == owner).with_for_update())).one()
    await load_problems(session, [payment])
    event = (await session.exec(select(SaleorEvent).where(SaleorEvent.id == event_id).with_for_update())).one()
    return event, payment


async def events_with_same_reference(session: AsyncSession, event: SaleorEvent) -> Sequence[SaleorEvent]:
    """Return the other events of the same payment under the same reference, oldest first."""
    same = (SaleorEvent.payment_id == event.payment_id, SaleorEvent.psp_reference == event.psp_reference)
    query = select(SaleorEvent).where(*same, SaleorEvent.id != event.id)
    return (await session.exec(query.order_by(col(SaleorEvent.id)))).all()


async def later_events(session: AsyncSession, event: SaleorEvent) -> Sequence[SaleorEvent]:
    """Return the events of the same payment that are newer than this one, oldest first."""
    query = select(SaleorEvent).where(SaleorEvent.payment_id == event.payment_id, col(SaleorEvent.id) > event.id)
    return (await session.exec(query.order_by(col(SaleorEvent.id)))).all()
