"""Manual resolution of alerts by staff: acknowledge them, resend events to Saleor, or settle an operation by hand.

Staff settle by hand when the gateway's own record is gone or contradicts what really happened. They have checked the
merchant portal, and state who they are and why. The decision is stored with the operation for ever, reported to Saleor
like any outcome, and lets the operations continue that waited for it.
"""

from dataclasses import dataclass
from decimal import Decimal

from app.amounts import format_amount, is_amount
from app.core.payment import Operation, PaymentAggregate
from app.core.vocabulary import Kind, State
from app.db.aggregates import ByOrder
from app.db.attention import accounts_of, clear_trouble, find_undelivered, refused_event_ids
from app.db.reconciliations import mark_unknown_orders_seen
from app.db.repository import PaymentNotFoundError
from app.db.turned_away import acknowledge_reasons
from app.i18n.messages import gettext_noop
from app.payments.alerts.open_alerts import NOTIFICATION_ALERTS, AlertKind
from app.payments.alerts.turned_away import WINDOW, find_closed_channels
from app.payments.core.apply import apply, conclude, withdraw_contradiction
from app.payments.core.balance import balance
from app.payments.core.posting import Posting
from app.payments.core.problems import acknowledge, needs_decision, open_problems
from app.payments.core.refusal import RefusalCode, RefusalError
from app.payments.services import Services
from app.payments.sync.on_demand import resend_events

_REVIEWED = gettext_noop("Staff have reviewed what the gateway reported: the payment counts as it is recorded")

BATCH_SIZE = 200
"""Events that one request resends. For more, the request is repeated."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's finding. ``amount`` None: the requested amount. ``state`` is success or failure."""

    state: State
    by: str
    reason: str
    amount: Decimal | None = None


def operation_to_settle(aggregate: PaymentAggregate, row_id: int | None = None) -> Operation:
    """Return the operation with that row id; without one, the only one whose outcome is open. Raises RefusalError."""
    if row_id is not None:
        for each in aggregate.operations:
            if each.id == row_id:
                return each
        raise _refusal(f"This payment has no operation {row_id}.")
    kinds = {Kind.CREATE, Kind.CAPTURE, Kind.VOID, Kind.REFUND, Kind.DISPUTE}
    found = [
        each
        for each in aggregate.operations
        if each.kind in kinds and (not each.state.final or each.contradicted) and each.state is not State.WAITING
    ]
    if len(found) != 1:
        named = ", ".join(
            f"{each.id} ({each.kind.value}, {each.state.value})" for each in found or aggregate.operations
        )
        what = "Several operations are open" if found else "Nothing is open"
        raise _refusal(f"{what}: specify the operation ({named}).")
    return found[0]


def settle_by_hand(
    aggregate: PaymentAggregate, operation: Operation, decision: Decision, pos_id: str, posting: Posting
) -> None:
    """Post a decision to the aggregate, which is locked. Raises RefusalError when it cannot be right.

    This is the only way from a failure to a success besides the gateway's own record (laws of money, 7). There is no
    way back from a success, except of a dispute, which turns: Saleor has booked it, and cannot unbook it under the same
    reference.
    """
    amount = operation.amount if decision.amount is None else decision.amount
    _check(aggregate, operation, decision, amount, posting)
    moves = decision.state is not operation.state
    turns = operation.kind is Kind.DISPUTE and operation.state.final and amount != operation.amount
    moves = moves or turns
    if moves and operation.state.final:
        operation.state = State.UNKNOWN
    operation.decision = {
        "state": decision.state.value,
        "amount": str(amount),
        "by": decision.by,
        "reason": decision.reason,
        "at": posting.now.isoformat(),
    }
    operation.next_poll_at = None
    message = f"Settled by {decision.by}: {decision.reason}"
    if moves:
        operation.contradicted = False
        if decision.state is State.SUCCESS:
            operation.amount = amount
        conclude(aggregate, operation, decision.state, posting, message=message)
    withdraw_contradiction(aggregate, operation, message, posting)
    operation.inferred = False
    acknowledge(aggregate.payment, posting.now, aggregate.operations)
    # The consequences: the rest of a reservation, a page to close, waiting operations.
    apply(aggregate, pos_id, [], posting)


async def settle(
    services: Services, order_id: str, operation_row_id: int | None, decision: Decision
) -> PaymentAggregate:
    """Settle an operation of that payment by hand and commit it. Raises RefusalError; nothing is changed then."""
    posting = services.posting()

    def step(locked: PaymentAggregate) -> PaymentAggregate:
        operation = operation_to_settle(locked, operation_row_id)
        settle_by_hand(locked, operation, decision, locked.payment.account.pos_id, posting)
        return locked

    try:
        return await services.payments.update(ByOrder(order_id), step)
    except PaymentNotFoundError:
        raise _refusal("There is no such payment.") from None


def _check(
    aggregate: PaymentAggregate, operation: Operation, decision: Decision, amount: Decimal, posting: Posting
) -> None:
    state, kind = operation.state, operation.kind
    if kind is Kind.CANCEL:
        raise _refusal("A cancellation ends with its payment: settle the payment instead.")
    if state is State.WAITING:
        raise _refusal("It has not been sent yet: it is waiting for the operation before it.")
    in_flight = state is State.INTENT and posting.now < posting.schedule.intent_deadline(operation.updated_at)
    if in_flight:
        raise _refusal("A request to the gateway is in progress: try again in a minute.")
    if (
        state is State.SUCCESS
        and kind is not Kind.DISPUTE
        and (decision.state is not state or amount != operation.amount)
    ):
        raise _refusal("It has succeeded, and Saleor has recorded it: correct what is wrong by a refund, or in Saleor.")
    if decision.state is State.FAILURE:
        _check_failure(aggregate, operation, posting)
    elif state is not State.SUCCESS:
        _check_success(aggregate, operation, amount)


def _check_failure(aggregate: PaymentAggregate, operation: Operation, posting: Posting) -> None:
    if operation.kind is not Kind.CREATE:
        return
    if any(each.kind in {Kind.CAPTURE, Kind.REFUND} and each.state is State.SUCCESS for each in aggregate.operations):
        raise _refusal("Money of this payment was charged or refunded, so it cannot have failed.")
    ends = aggregate.payment.expires_at
    if operation.state is State.INIT and ends is not None and posting.now < ends:
        raise _refusal("The shopper can still pay: cancel the payment on the order in the Dashboard.")


def _check_success(aggregate: PaymentAggregate, operation: Operation, amount: Decimal) -> None:
    if not is_amount(amount):
        raise _refusal(
            f"{format_amount(amount)} is not a valid amount: it must be above zero, with at most two decimals."
        )
    if amount != operation.amount and operation.shares:
        raise _refusal("It is split among sub-merchants, whose shares are those of the requested amount.")
    if operation.kind is Kind.VOID and amount != operation.amount:
        raise _refusal(f"An authorization is released as a whole: {format_amount(operation.amount)}.")
    if operation.kind not in {Kind.CREATE, Kind.DISPUTE} and amount > operation.amount:
        requested = format_amount(operation.amount)
        raise _refusal(f"{requested} was requested, so it cannot be {format_amount(amount)}.")
    if operation.state is not State.FAILURE or operation.contradicted:
        return
    # It was considered failed, so another operation may have used the same money since.
    now = balance(aggregate.payment.flow, aggregate.operations)
    if operation.kind is Kind.REFUND and amount > now.refundable:
        raise _refusal(f"Only {format_amount(now.refundable)} of this payment is left to refund.")
    if operation.kind in {Kind.CAPTURE, Kind.VOID} and amount > now.capturable:
        raise _refusal("The authorization has been charged or released by another operation.")


def _refusal(message: str) -> RefusalError:
    return RefusalError(RefusalCode.NOT_POSSIBLE, message)


async def acknowledge_problems(services: Services, installation_id: int, order_id: str) -> tuple[str, ...] | None:
    """Remove a payment's problems that a person has reviewed; return their texts. None: the store has no such payment.

    A problem of an operation that is still open stays until that has ended (``problems.acknowledge``).
    """
    posting = services.posting()
    acknowledged: list[str] = []

    def step(locked: PaymentAggregate) -> None:
        acknowledged[:] = acknowledge(locked.payment, posting.now, locked.operations)
        if acknowledged and not any(map(needs_decision, open_problems(locked.payment))):
            for operation in locked.operations:
                if operation.state is State.SUCCESS:  # nothing else can be decided about it
                    withdraw_contradiction(locked, operation, _REVIEWED, posting)

    try:
        await services.payments.update(ByOrder(order_id, installation_id=installation_id), step)
    except PaymentNotFoundError:
        return None
    return tuple(acknowledged)


async def acknowledge_notifications(services: Services, installation_id: int, what: AlertKind) -> int:
    """Remove all notifications of that kind from the open alerts; return how many there were."""
    async with services.database.transaction() as session:
        accounts = await accounts_of(session, installation_id)
        return await clear_trouble(session, [each.id for each in accounts], NOTIFICATION_ALERTS[what])


async def acknowledge_unknown_orders(services: Services, installation_id: int) -> int:
    """Remove the unknown orders of the gateway's books from the open alerts; return how many there were."""
    async with services.database.transaction() as session:
        accounts = await accounts_of(session, installation_id)
        return await mark_unknown_orders_seen(session, [each.id for each in accounts], services.now())


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
        waiting = await find_undelivered(session, installation_id, before=services.now())
    return 0 if waiting is None else len(await resend_events(services, waiting.event_ids[:BATCH_SIZE]))
