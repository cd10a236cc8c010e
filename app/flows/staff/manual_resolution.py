"""Manual resolution of alerts by staff: acknowledge them, resend events to Saleor, or settle an operation by hand."""

from app.core.alerts import AlertKind
from app.core.ids import OperationRowId
from app.core.payment import PaymentAggregate
from app.flows.on_demand import resend_events
from app.i18n.messages import LazyMessage
from app.reports.alerts.turned_away import WINDOW, find_closed_channels
from app.rules.decisions.manual_resolution import Decision, OperationSettled, ProblemsReviewed, operation_to_settle
from app.rules.refusal import RefusalCode, RefusalError
from app.services import Services
from app.store.aggregates import ByOrder
from app.store.attention import (
    accounts_of,
    clear_trouble,
    mark_unknown_orders_seen,
    refused_event_ids,
    undelivered_events,
)
from app.store.repository import PaymentNotFoundError
from app.store.turned_away import acknowledge_reasons

__all__ = [
    "BATCH_SIZE",
    "Decision",
    "acknowledge_notifications",
    "acknowledge_problems",
    "acknowledge_turned_away",
    "acknowledge_unknown_orders",
    "operation_to_settle",
    "resend_refused_events",
    "send_undelivered_events",
    "settle",
]

BATCH_SIZE = 200
"""Events that one request resends. For more, the request is repeated."""


async def settle(
    services: Services, order_id: str, operation_row_id: OperationRowId | None, decision: Decision
) -> PaymentAggregate:
    """Settle an operation of that payment by hand and commit it. Raises RefusalError; nothing is changed then."""
    try:
        return await services.payments.record(
            ByOrder(order_id), OperationSettled(operation_row_id, decision, services.decision_context())
        )
    except PaymentNotFoundError:
        raise RefusalError(RefusalCode.NOT_POSSIBLE, LazyMessage("There is no such payment.")) from None


async def acknowledge_problems(
    services: Services, installation_id: int, order_id: str, kind: AlertKind | None = None
) -> tuple[str, ...] | None:
    """Remove a payment's problems that a person has reviewed, or those of one kind; return their texts.

    None: the store has no such payment.

    A problem of an operation that is still open stays until that has ended.
    """
    which = ByOrder(order_id, installation_id=installation_id)
    try:
        return await services.payments.record(which, ProblemsReviewed(services.decision_context(), kind))
    except PaymentNotFoundError:
        return None


async def acknowledge_notifications(services: Services, installation_id: int, what: AlertKind) -> int:
    """Remove all notifications of that kind from the open alerts; return how many there were."""
    async with services.database.transaction() as session:
        accounts = await accounts_of(session, installation_id)
        return await clear_trouble(session, [account.id for account in accounts], what)


async def acknowledge_unknown_orders(services: Services, installation_id: int) -> int:
    """Remove the unknown orders of the gateway's books from the open alerts; return how many there were."""
    async with services.database.transaction() as session:
        accounts = await accounts_of(session, installation_id)
        return await mark_unknown_orders_seen(session, [account.id for account in accounts], services.now())


async def acknowledge_turned_away(services: Services, installation_id: int) -> int:
    """Remove the channels in which shoppers are turned away from the open alerts; return how many there were."""
    now = services.now()
    async with services.database.transaction() as session:
        closed = await find_closed_channels(session, installation_id, now)
        for channel in closed:
            await acknowledge_reasons(
                session, installation_id, channel.channel, channel.codes, since=now - WINDOW, now=now
            )
    return len(closed)


async def resend_refused_events(services: Services, installation_id: int, order_id: str | None = None) -> int:
    """Resend the events that Saleor has refused, of one payment or of all; return how many there are."""
    async with services.database.transaction() as session:
        events = await refused_event_ids(session, installation_id, order_id=order_id, most=BATCH_SIZE)
    return len(await resend_events(services, events))


async def send_undelivered_events(services: Services, installation_id: int) -> int:
    """Send the events at once that Saleor has not accepted yet; return how many there are."""
    async with services.database.transaction() as session:
        waiting = (await session.exec(undelivered_events(installation_id, before=services.now()))).all()
    return len(await resend_events(services, [event.id for event in waiting[:BATCH_SIZE]]))
