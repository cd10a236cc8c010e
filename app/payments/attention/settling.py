"""What staff do about what needs them, for one store: look at it, or let Saleor be told again."""

from app.ledger.attention import accounts_of, forget_trouble, refused_events, undelivered
from app.ledger.sheets import load_by_order
from app.payments.attention.items import OF_NOTIFICATIONS, What
from app.payments.desk import Desk
from app.payments.learn.retry import tell_again
from app.payments.outcome.problems import looked_at

AT_ONCE = 200
"""Events that are told again by one request. Who wants more asks again."""


async def mark_looked_at(desk: Desk, installation_id: int, order_id: str) -> tuple[str, ...] | None:
    """Take away from a payment what somebody has looked at; return its words. None: the store has no such payment.

    What is about an operation that is still open stays: it is there until that has ended (``problems.looked_at``).
    """
    async with desk.database.transaction() as session:
        sheet = await load_by_order(session, order_id, installation_id=installation_id)
        return None if sheet is None else looked_at(sheet.payment, sheet.operations)


async def mark_notifications_looked_at(desk: Desk, installation_id: int, what: What) -> int:
    """Take away all notifications of that kind from what needs somebody; return how many there were."""
    async with desk.database.transaction() as session:
        accounts = await accounts_of(session, installation_id)
        return await forget_trouble(session, [each.id for each in accounts], OF_NOTIFICATIONS[what])


async def tell_refused_again(desk: Desk, installation_id: int, order_id: str | None = None) -> int:
    """Let Saleor be told again what it has refused, of one payment or of all; return how many events these are."""
    async with desk.database.transaction() as session:
        events = await refused_events(session, installation_id, order_id=order_id, most=AT_ONCE)
    return len(await tell_again(desk, events))


async def tell_waiting_now(desk: Desk, installation_id: int) -> int:
    """Let Saleor be told at once what it has not taken yet; return how many events these are."""
    async with desk.database.transaction() as session:
        waiting = await undelivered(session, installation_id, before=desk.now())
    return 0 if waiting is None else len(await tell_again(desk, waiting.event_ids[:AT_ONCE]))
