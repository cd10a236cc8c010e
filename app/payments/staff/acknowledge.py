"""What staff do about what needs them, for one store: look at it, or let Saleor be told again."""

from app.db.aggregates import load_by_order
from app.db.attention import accounts_of, forget_trouble, refused_events, undelivered
from app.payments.alerts.items import OF_NOTIFICATIONS, AlertKind
from app.payments.core.problems import acknowledge
from app.payments.services import Services
from app.payments.sync.retry import tell_again

AT_ONCE = 200
"""Events that are told again by one request. Who wants more asks again."""


async def mark_looked_at(services: Services, installation_id: int, order_id: str) -> tuple[str, ...] | None:
    """Take away from a payment what somebody has looked at; return its words. None: the store has no such payment.

    What is about an operation that is still open stays: it is there until that has ended (``problems.acknowledge``).
    """
    async with services.database.transaction() as session:
        aggregate = await load_by_order(session, order_id, installation_id=installation_id)
        return None if aggregate is None else acknowledge(aggregate.payment, aggregate.operations)


async def mark_notifications_looked_at(services: Services, installation_id: int, what: AlertKind) -> int:
    """Take away all notifications of that kind from what needs somebody; return how many there were."""
    async with services.database.transaction() as session:
        accounts = await accounts_of(session, installation_id)
        return await forget_trouble(session, [each.id for each in accounts], OF_NOTIFICATIONS[what])


async def tell_refused_again(services: Services, installation_id: int, order_id: str | None = None) -> int:
    """Let Saleor be told again what it has refused, of one payment or of all; return how many events these are."""
    async with services.database.transaction() as session:
        events = await refused_events(session, installation_id, order_id=order_id, most=AT_ONCE)
    return len(await tell_again(services, events))


async def tell_waiting_now(services: Services, installation_id: int) -> int:
    """Let Saleor be told at once what it has not taken yet; return how many events these are."""
    async with services.database.transaction() as session:
        waiting = await undelivered(session, installation_id, before=services.now())
    return 0 if waiting is None else len(await tell_again(services, waiting.event_ids[:AT_ONCE]))
