"""Staff do not want to wait: the gateway is asked now, or asked to notify again; Saleor is told again."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.db.aggregates import ById, ByOrder, PaymentAggregate, row_id_of
from app.db.inbox import StoredNotification
from app.db.outbox import EVENTS, event_with_payment, events_beside, later_events
from app.db.tables import EventState, Flow, Kind, MerchantAccount, Operation, SaleorEvent, State
from app.gateway.errors import GatewayError, KeysNotOpenedError
from app.gateway.models import Records
from app.gateway.models.values import Method
from app.i18n.messages import LazyMessage
from app.outbound import Deadline
from app.payments.core.apply import apply
from app.payments.core.balance import in_flight
from app.payments.core.event_queue import has_succeeded, is_overtaken, says_what_is_possible, supersede
from app.payments.core.observation import Shown
from app.payments.core.refusal import RefusalCode, RefusalError
from app.payments.operations.look_up import opened, shown_at_gateway
from app.payments.services import Services
from app.payments.sync.notifications import mind_unreadable, process
from app.payments.sync.resolve import look

_BEING_ASKED = LazyMessage("The gateway is being asked at this moment: try again in a minute.")
_CREATIONS = {Flow.CHARGE: Method.PURCHASE, Flow.AUTHORIZATION: Method.AUTH, Flow.PAYOUT: Method.CREDIT}
_METHODS = {Kind.CAPTURE: Method.CAPTURE, Kind.VOID: Method.VOID, Kind.REFUND: Method.REFUND}


@dataclass(frozen=True, slots=True)
class Resent:
    """What came of asking for notifications of one kind: how many records the gateway has, or why it does not say."""

    method: Method
    records: int
    error: GatewayError | None = None


async def ask_now(services: Services, order_id: str) -> GatewayError | None:
    """Look a payment up now and post what is found, as the worker does when it is due; return why it failed, if so.

    A payment with nothing open is looked up too: others may have acted on it (laws of money, 10). Raises RefusalError.
    """
    aggregate, account = await _read(services, order_id)
    deadline = Deadline(services.schedule.budget.total_seconds())
    waiting_for = _first_open(aggregate)
    if waiting_for is None:
        return await _compare(services, account, aggregate, deadline)
    calling_until = services.schedule.after_intent(waiting_for.updated_at)
    if waiting_for.state is State.INTENT and services.now() < calling_until:
        raise RefusalError(RefusalCode.NOT_POSSIBLE, _BEING_ASKED)
    return await look(services, row_id_of(waiting_for), deadline)


async def post_records(services: Services, account: MerchantAccount, records: Records) -> tuple[str, ...]:
    """Post some records of the gateway to the payments of this account that they tell of; return their orders.

    They are single words of the gateway, as notifications are, not all that it has of an order. Another payment of the
    same order is none of ours, unless ours has begun a subscription: then it is a later charge of that.
    """
    orders = dict.fromkeys(each.order_id for each in records)
    posted, posting = [], services.posting(alone=True)
    for order_id in orders:
        found = await services.payments.find(ByOrder(order_id, installation_id=account.installation_id))
        if found is None or found.payment.account_id != account.id:
            continue
        paid, subscribed = found.create.operation_id, found.payment.recurring_id is not None
        mine = Records(
            each for each in records if each.order_id == order_id and (subscribed or paid in {None, each.payment_id})
        )
        if not mine:
            continue
        shown = Shown.of(mine, found.payment.language)

        def step(locked: PaymentAggregate, shown: Shown = shown) -> PaymentAggregate:
            apply(locked, account.pos_id, shown, posting)
            return locked

        services.wake_for([await services.payments.update(ById(row_id_of(found.payment)), step)])
        posted.append(order_id)
    return tuple(posted)


async def ask_to_notify(
    services: Services, order_id: str, method: Method | None = None, *, transaction_id: str | None = None
) -> list[Resent]:
    """Ask the gateway to notify us again of everything that was done with a payment (gateway interface, 9).

    ``method``: only of that. ``transaction_id``: of a subscription, only of that one of its payments.
    """
    aggregate, account = await _read(services, order_id)
    first = _CREATIONS[aggregate.payment.flow]
    try:
        client = opened(services, account)
    except KeysNotOpenedError as error:
        return [Resent(first, 0, error)]
    done = [first, *(_METHODS[one.kind] for one in aggregate.operations if one.kind in _METHODS)]
    answers = []
    for each in dict.fromkeys(done) if method is None else [method]:
        try:
            records = await client.resend(
                order_id, each, transaction_id=transaction_id, timeout=services.schedule.budget.total_seconds()
            )
        except GatewayError as error:
            answers.append(Resent(each, 0, error))
        else:
            answers.append(Resent(each, len(records)))
    return answers


async def records_now(services: Services, order_id: str) -> Records | GatewayError:
    """Return what the gateway has of a payment at this moment, or why it does not say; nothing is made of it."""
    aggregate, account = await _read(services, order_id)
    try:
        return await opened(services, account).order(
            aggregate.payment.order_id, timeout=services.schedule.budget.total_seconds()
        )
    except GatewayError as error:
        return error


def _first_open(aggregate: PaymentAggregate) -> Operation | None:
    """Return what a look-up is for: what is in flight, or the payment itself, or what waits for its turn."""
    unsettled = [each for each in aggregate.operations if not each.state.final]
    return min(unsettled, key=lambda each: (not in_flight(each), each.state is State.WAITING), default=None)


async def _read(services: Services, order_id: str) -> tuple[PaymentAggregate, MerchantAccount]:
    aggregate = await services.payments.find(ByOrder(order_id))
    if aggregate is None:
        raise RefusalError(RefusalCode.UNKNOWN_PAYMENT, LazyMessage("There is no such payment."))
    return aggregate, aggregate.payment.account


async def _compare(
    services: Services, account: MerchantAccount, aggregate: PaymentAggregate, deadline: Deadline
) -> GatewayError | None:
    records = await shown_at_gateway(services, account, aggregate.payment, deadline)
    if isinstance(records, GatewayError):
        return records
    posting = services.posting()

    def step(locked: PaymentAggregate) -> PaymentAggregate:
        apply(locked, account.pos_id, records, posting)
        mind_unreadable(locked, records, posting.now)
        return locked

    services.wake_for([await services.payments.update(ById(row_id_of(aggregate.payment)), step)])
    return None


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
                supersede(payment, event, services.now())
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


def unprocessed(notifications: Sequence[StoredNotification]) -> list[StoredNotification]:
    """Return the notifications of which something was to be made, in vain until now. Pure."""
    return [each for each in notifications if each.processed_at is None and each.outcome is not None]


async def process_again(services: Services, notifications: Sequence[StoredNotification]) -> bool:
    """Make something of notifications again, here and now; return whether that went well with all."""
    return all([await process(services, each.id) is not None for each in notifications])
