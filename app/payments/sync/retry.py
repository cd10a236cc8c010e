"""Staff let something be done again that came to nothing: events that Saleor refused, or that wait."""

from collections.abc import Sequence

from app.db.aggregates import PaymentAggregate
from app.db.inbox import StoredNotification
from app.db.outbox import EVENTS, event_with_payment, events_beside, later_events
from app.db.tables import EventState, SaleorEvent
from app.payments.core.event_queue import has_succeeded, is_overtaken, says_what_is_possible, supersede
from app.payments.services import Services
from app.payments.sync.notifications import digest


async def tell_again(services: Services, event_ids: Sequence[int]) -> list[int]:
    """Let the worker tell Saleor these events again, now; return those for which it will.

    For somebody who has mended in Saleor what made it refuse. The problem is gone when Saleor has taken the event. One
    that waits is told at once; one that has been told, or is not needed any more, is left alone. A failure is never
    told after the success of the same operation (laws of money, 5).
    """
    again = []
    for event_id in event_ids:
        async with services.database.transaction() as session:
            if await session.get(SaleorEvent, event_id) is None:
                continue
            event, payment = await event_with_payment(session, event_id)
            if event.state not in {EventState.REFUSED, EventState.WAITING}:
                continue
            beside = await events_beside(session, event)
            if is_overtaken(event, beside) or (event.state is EventState.REFUSED and has_succeeded(event, beside)):
                supersede(payment, event)
                continue
            later = await later_events(session, event)
            if event.state is EventState.REFUSED and any(says_what_is_possible(each) for each in later):
                event.available_actions = None  # Saleor has heard since what is possible now
            event.state = EventState.WAITING
            event.next_attempt_at = services.now()
            again.append(event_id)
    services.wake(EVENTS)
    return again


def untold(aggregate: PaymentAggregate) -> list[SaleorEvent]:
    """Return the events of a payment that Saleor has refused, or has not taken though it was asked to. Pure."""
    return [
        each
        for each in aggregate.events
        if each.state is EventState.REFUSED or (each.state is EventState.WAITING and each.last_error is not None)
    ]


def undigested(notifications: Sequence[StoredNotification]) -> list[StoredNotification]:
    """Return the notifications of which something was to be made, in vain until now. Pure."""
    return [each for each in notifications if each.processed_at is None and each.outcome is not None]


async def digest_again(services: Services, notifications: Sequence[StoredNotification]) -> bool:
    """Make something of notifications again, here and now; return whether that went well with all."""
    return all([await digest(services, each.id) is not None for each in notifications])
