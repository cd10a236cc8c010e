"""Notes: events that change no amount, but tell staff where a payment stands and what Saleor may offer to do. Pure."""

from collections.abc import Iterable
from datetime import datetime

from app.db.tables import EventState, SaleorEvent
from app.saleor.answers import EventType


def says_what_is_possible(event: SaleorEvent) -> bool:
    """Return True when it replaces what Saleor offers to do."""
    return event.available_actions is not None


def is_note(event: SaleorEvent) -> bool:
    """Return True for a note about where a payment stands, which is stale as soon as something newer is told."""
    return event.type == EventType.INFO and says_what_is_possible(event)


def make_way(events: Iterable[SaleorEvent], now: datetime, *, possible: bool) -> None:
    """Let the notes that nobody has begun to tell make way for an event that is about to follow them.

    ``possible``: it says what is possible, and so they are not needed any more. Else they are told at once, because
    what follows waits for them. One that somebody has begun to tell can be on its way to Saleor, and is left alone:
    what is newer must not overtake it there.
    """
    for each in events:
        if is_note(each) and each.state is EventState.WAITING and each.attempts == 0:
            each.state, each.next_attempt_at = (EventState.SUPERSEDED, None) if possible else (each.state, now)
