"""What staff do about what needs them: look at it, let Saleor be told again, or settle an operation by hand.

They settle by hand when the gateway's own record is gone or contradicts what really happened. They have looked into the
merchant portal, and say who they are and why. What they say is kept with the operation for ever, told to Saleor like
any outcome, and lets the operations go on that waited for it.
"""

from dataclasses import dataclass
from decimal import Decimal

from app.amounts import is_amount
from app.db.aggregates import ByOrder, PaymentAggregate, load_by_order
from app.db.attention import accounts_of, forget_trouble, refused_events, undelivered
from app.db.reconciliations import look_at_orders_of_nobody
from app.db.repository import PaymentNotFoundError
from app.db.tables import Kind, Operation, State
from app.payments.alerts.items import OF_NOTIFICATIONS, AlertKind
from app.payments.core.apply import Posting, apply, conclude
from app.payments.core.balance import balance
from app.payments.core.problems import acknowledge
from app.payments.core.refusal import RefusalCode, RefusalError
from app.payments.services import Services
from app.payments.sync.on_demand import tell_again

AT_ONCE = 200
"""Events that are told again by one request. Who wants more asks again."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person found out. ``amount`` None: what was asked. ``state`` is success or failure."""

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
        if each.kind in kinds and not each.state.final and each.state is not State.WAITING
    ]
    if len(found) != 1:
        named = ", ".join(
            f"{each.id} ({each.kind.value}, {each.state.value})" for each in found or aggregate.operations
        )
        what = "Several operations are open" if found else "Nothing is open"
        raise _refusal(f"{what}: say which operation is meant ({named}).")
    return found[0]


def settle_by_hand(
    aggregate: PaymentAggregate, operation: Operation, decision: Decision, pos_id: str, posting: Posting
) -> None:
    """Post a decision to the aggregate, which is locked. Raises RefusalError when it cannot be right.

    This is the one way from a failure to a success besides the gateway's own word (laws of money, 7). There is no way
    back from a success: Saleor has booked it, and cannot unbook it under the same reference.
    """
    amount = operation.amount if decision.amount is None else decision.amount
    _check(aggregate, operation, decision, amount, posting)
    moves = decision.state is not operation.state
    if moves and operation.state is State.FAILURE:
        operation.state = State.UNKNOWN
    operation.decision = {
        "state": decision.state.value,
        "amount": str(amount),
        "by": decision.by,
        "reason": decision.reason,
        "at": posting.now.isoformat(),
    }
    operation.next_poll_at = None
    if moves:
        if decision.state is State.SUCCESS:
            operation.amount = amount
        conclude(aggregate, operation, decision.state, posting, message=f"Settled by {decision.by}: {decision.reason}")
    operation.inferred = False
    acknowledge(aggregate.payment, posting.now, aggregate.operations)
    apply(aggregate, pos_id, [], posting)  # what follows from it: the rest of a reservation, a page to close, who waits


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
        aggregate = await services.payments.update(ByOrder(order_id), step)
    except PaymentNotFoundError:
        raise _refusal("There is no such payment.") from None
    services.wake_for([aggregate])
    return aggregate


def _check(
    aggregate: PaymentAggregate, operation: Operation, decision: Decision, amount: Decimal, posting: Posting
) -> None:
    state, kind = operation.state, operation.kind
    if kind is Kind.CANCEL:
        raise _refusal("A cancellation ends with its payment: settle the payment instead.")
    if state is State.WAITING:
        raise _refusal("It has not been sent yet: it waits for the operation before it.")
    on_its_way = state is State.INTENT and posting.now < posting.schedule.after_intent(operation.updated_at)
    if on_its_way:
        raise _refusal("The gateway is being asked at this moment: try again in a minute.")
    if state is State.SUCCESS and (decision.state is not state or amount != operation.amount):
        raise _refusal("It has succeeded, and Saleor has booked it: what is wrong is corrected by a refund, or there.")
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
        raise _refusal(f"{amount} is no amount of money: it is above zero, with at most two decimals.")
    if amount != operation.amount and aggregate.shares_of(operation):
        raise _refusal("It is split among sub-merchants, whose shares are those of the amount that was asked.")
    if operation.kind is Kind.VOID and amount != operation.amount:
        raise _refusal(f"A reservation is released as a whole: {operation.amount}.")
    if operation.kind is not Kind.CREATE and amount > operation.amount:
        raise _refusal(f"{operation.amount} was asked, so it cannot be {amount}.")
    if operation.state is not State.FAILURE:
        return
    # It was taken for failed, so something else may have been done with the same money meanwhile.
    now = balance(aggregate.payment.flow, aggregate.operations)
    if operation.kind is Kind.REFUND and amount > now.refundable:
        raise _refusal(f"{now.refundable} of this payment is left to refund.")
    if operation.kind in {Kind.CAPTURE, Kind.VOID} and not now.capturable:
        raise _refusal("The reservation has been taken or released by another operation.")


def _refusal(words: str) -> RefusalError:
    return RefusalError(RefusalCode.NOT_POSSIBLE, words)


async def mark_looked_at(services: Services, installation_id: int, order_id: str) -> tuple[str, ...] | None:
    """Take away from a payment what somebody has looked at; return its words. None: the store has no such payment.

    What is about an operation that is still open stays: it is there until that has ended (``problems.acknowledge``).
    """
    async with services.database.transaction() as session:
        aggregate = await load_by_order(session, order_id, installation_id=installation_id)
        return None if aggregate is None else acknowledge(aggregate.payment, services.now(), aggregate.operations)


async def mark_notifications_looked_at(services: Services, installation_id: int, what: AlertKind) -> int:
    """Take away all notifications of that kind from what needs somebody; return how many there were."""
    async with services.database.transaction() as session:
        accounts = await accounts_of(session, installation_id)
        return await forget_trouble(session, [each.id for each in accounts], OF_NOTIFICATIONS[what])


async def mark_unknown_orders_looked_at(services: Services, installation_id: int) -> int:
    """Take away the orders of the gateway's books that are nobody's; return how many there were."""
    async with services.database.transaction() as session:
        accounts = await accounts_of(session, installation_id)
        return await look_at_orders_of_nobody(session, [each.id for each in accounts], services.now())


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
