"""Staff let something be done again that came to nothing: events that Saleor refused, or that wait."""

from collections.abc import Sequence

from app.ledger.inbox import Kept
from app.ledger.outbox import EVENTS
from app.ledger.sheets import Sheet
from app.ledger.tables import EventState, SaleorEvent
from app.payments.desk import Desk
from app.payments.learn.notify import digest


async def tell_again(desk: Desk, event_ids: Sequence[int]) -> list[int]:
    """Let the worker tell Saleor these events again, now; return those for which it will.

    For somebody who has mended in Saleor what made it refuse. The problem is gone when Saleor has taken the event. One
    that waits is told at once; one that has been told, or is not needed any more, is left alone.
    """
    again = []
    for event_id in event_ids:
        async with desk.database.transaction() as session:
            event = await session.get(SaleorEvent, event_id, with_for_update=True)
            if event is None or event.state not in {EventState.REFUSED, EventState.WAITING}:
                continue
            event.state = EventState.WAITING
            event.next_attempt_at = desk.now()
            again.append(event_id)
    desk.wake(EVENTS)
    return again


def untold(sheet: Sheet) -> list[SaleorEvent]:
    """Return the events of a payment that Saleor has refused, or has not taken though it was asked to. Pure."""
    return [
        each
        for each in sheet.events
        if each.state is EventState.REFUSED or (each.state is EventState.WAITING and each.last_error is not None)
    ]


def undigested(notifications: Sequence[Kept]) -> list[Kept]:
    """Return the notifications of which something was to be made, in vain until now. Pure."""
    return [each for each in notifications if each.processed_at is None and each.outcome is not None]


async def digest_again(desk: Desk, notifications: Sequence[Kept]) -> bool:
    """Make something of notifications again, here and now; return whether that went well with all."""
    return all([await digest(desk, each.id) is not None for each in notifications])
