"""Applies what the gateway says to a payment: states move, events for Saleor are written, all in one commit.

Nothing here reads or writes anything but the aggregate it is given; the caller holds the payment's lock and commits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from app.amounts import is_amount
from app.db.aggregates import PaymentAggregate, row_id_of
from app.db.saved_cards import NewCard
from app.db.tables import Kind, Operation, Payment, Problem, State
from app.i18n.messages import LazyMessage, gettext_noop
from app.payments.core.balance import ZERO, balance, book, status_of
from app.payments.core.details import Details, as_kept
from app.payments.core.event_queue import enqueue
from app.payments.core.mapper import (
    Observation,
    Transition,
    event_of,
    expectation_of,
    follow_the_shopper,
    judge,
)
from app.payments.core.observation import OTHERS, as_recorded, is_ours, owner_of, reference_of_others
from app.payments.core.page_cancellation import PAGE_CLOSED, is_pursued, reason_of_closing
from app.payments.core.problems import (
    Cause,
    clear,
    clear_about,
    disagrees,
    dispute_words,
    of_dispute,
    of_waiting,
    of_words,
    raise_on,
)
from app.payments.core.references import (
    keep_reference,
    reference_of_note,
    reference_of_problem,
    reference_of_release,
)
from app.payments.core.saved_cards import mind_card
from app.payments.core.schedule import Schedule
from app.payments.core.subscription import charge_of
from app.saleor.answers import EventType

_UNCLEAR = gettext_noop("The gateway tells of this payment what was not asked: look at its problem first")
_TOO_LATE = gettext_noop("The shopper paid before the payment could be cancelled: refund it instead")


@dataclass(frozen=True, slots=True)
class Posting:
    """Under what circumstances something is posted.

    ``answering``: the operation whose outcome the current webhook's answer will carry. Its events are also in the
    outbox, because an answer can get lost; but they are reported only when Saleor must have read the answer.
    ``alone``: what is posted is a single word of the gateway, not all that it has of the order.
    ``new_card`` makes the row of a card that is kept for the next time; None: none is kept.
    """

    now: datetime
    schedule: Schedule
    answering: int | None = None
    alone: bool = False
    new_card: NewCard | None = None


def apply(aggregate: PaymentAggregate, pos_id: str, records: Sequence[Observation], posting: Posting) -> None:
    """Post ``records`` of one gateway order to its payment.

    A record belongs to the operation with its id; else to an operation of the same kind and amount whose id we do not
    know yet; else it is something that others did (laws of money, 10), and gets an operation of its own.
    """
    for each in sorted(records, key=lambda each: each.kind is not Kind.CREATE):
        seen = as_recorded(aggregate, each)
        operation = owner_of(aggregate, seen, posting.answering)
        if operation is None:
            _post_from_outside(aggregate, pos_id, seen, posting)
        else:
            before, bound = operation.state, operation.operation_id is not None
            transition = judge(expectation_of(aggregate.payment, operation, pos_id), seen)
            _post(aggregate, operation, transition, seen, posting)
            if seen.kind is Kind.CREATE and transition.problem is None:
                mind_card(aggregate, seen.card, posting.new_card, posting.now, transition.state)
            taken_for_ours = not bound and operation.operation_id is not None
            ended = operation.state.final and not before.final and is_ours(operation)
            if posting.alone and operation.kind is not Kind.CREATE and (taken_for_ours or ended):
                # Taken for ours by its amount alone, somebody else may have done the same. And at whatever has ended
                # somebody else may have acted whose notification was lost: one look at the whole order tells (10).
                operation.next_poll_at = posting.schedule.after_end(posting.now)
    _release_the_rest(aggregate, posting)
    _conclude_cancellation(aggregate, posting)
    _go_on(aggregate, posting.now)


def conclude(
    aggregate: PaymentAggregate,
    operation: Operation,
    state: State,
    posting: Posting,
    *,
    message: str,
    shopper_message: str = "",
    status_code: str | None = None,
    inferred: bool = False,
) -> None:
    """Bring ``operation`` to ``state`` by our own conclusion: refused, not sent, unknown, or settled by silence.

    Does nothing when the gateway has told more in the meantime: its notification can overtake its answer.
    """
    if operation.state.rank >= state.rank:
        return
    operation.state = state
    operation.inferred = inferred
    operation.message = message
    operation.shopper_message = shopper_message or operation.shopper_message
    operation.status_code = status_code or operation.status_code
    _reschedule(aggregate.payment, operation, posting)
    _book(aggregate, operation)
    event = event_of(operation.kind, aggregate.payment.flow, state)
    if event is not None:
        _write(aggregate, operation, event, posting, amount=operation.amount, message=message)
    _conclude_cancellation(aggregate, posting)
    _go_on(aggregate, posting.now)


def note(
    aggregate: PaymentAggregate,
    message: str,
    posting: Posting,
    *,
    reference: str | None = None,
    due: datetime | None = None,
    of: Operation | None = None,
) -> None:
    """Write an event that changes no amount, but tells staff where the payment stands and what they may do.

    ``due``: when it is told; now, unless that can wait. ``of``: the operation that it is about (see ``enqueue``).
    """
    payment = aggregate.payment
    actions = balance(payment.flow, aggregate.operations).actions
    enqueue(
        aggregate,
        EventType.INFO,
        reference=reference or payment.order_id,
        amount=ZERO,
        message=message,
        actions=[each.value for each in actions],
        now=posting.now,
        due=due,
        of=of,
    )


def raise_problem(aggregate: PaymentAggregate, words: LazyMessage, now: datetime, *, cause: Cause) -> Problem:
    """Make a problem visible to staff: on the payment (``problems``), and in Saleor's history of the transaction."""
    problem = raise_on(aggregate.payment, cause, words, now)
    reference = reference_of_problem(aggregate.payment.order_id, words)
    enqueue(aggregate, EventType.INFO, reference=reference, amount=ZERO, message=words, actions=None, now=now)
    return problem


def _post_from_outside(aggregate: PaymentAggregate, pos_id: str, seen: Observation, posting: Posting) -> None:
    """Post what others did. What cannot be right is only a problem: as an operation it would be in flight for ever."""
    operation = Operation(
        payment_id=row_id_of(aggregate.payment),
        kind=seen.kind,
        idempotency_key=f"{OTHERS}{seen.gateway_id}",
        state=State.INTENT,
        amount=seen.amount if is_amount(seen.amount) else ZERO,
        currency=seen.currency,
        asked_by_saleor=False,
        psp_reference=reference_of_others(aggregate, seen),
        operation_id=seen.gateway_id,
        charge_id=charge_of(aggregate, seen.payment_id),
        created_at=posting.now,
        updated_at=posting.now,
    )
    transition = judge(expectation_of(aggregate.payment, operation, pos_id), seen)
    if transition.state is not None:
        aggregate.operations.append(operation)
    _post(aggregate, operation, transition, seen, posting)
    if operation.kind is Kind.RECURRING and operation.state.final and posting.alone:
        # The notification of an earlier charge may be lost: one look at the whole order tells.
        operation.next_poll_at = posting.schedule.after_end(posting.now)


def _post(
    aggregate: PaymentAggregate, operation: Operation, transition: Transition, seen: Observation, posting: Posting
) -> None:
    payment = aggregate.payment
    _keep_particulars(operation, transition, seen)
    if transition.problem is not None:
        cause = of_words(transition.problem, operation.id, seen.gateway_id)
        raise_problem(aggregate, transition.problem, posting.now, cause=cause)
        # Nothing that the gateway repeats will mend it. A person must look, and is told until it has ended (13).
        operation.next_poll_at = None
        if operation.state is State.INTENT:
            operation.state = State.UNKNOWN  # the call is over, and nobody can say what came of it
    if transition.state is None:
        _book(aggregate, operation)  # its fee may come late
        if transition.problem is None:
            turn = operation.waits_for_shopper
            follow_the_shopper(payment, operation, seen)
            if operation.waits_for_shopper is not turn and payment.has_rivals:
                payment.attempts_due_at = posting.now
        return
    if transition.state.final:
        clear_about(payment, operation.id, seen.gateway_id, posting.now)
    left_the_page = operation.kind is Kind.CREATE and operation.state is State.INIT
    # The shopper was told already why it has failed, and is told nothing else when the gateway agrees (4).
    told_already = operation.state is transition.state and operation.status_code is not None
    operation.state = transition.state
    operation.inferred = False
    operation.operation_id = operation.operation_id or seen.gateway_id
    operation.waits_for_shopper = seen.waits_for_shopper
    payment.redirect_url = seen.action_url or payment.redirect_url
    why = reason_of_closing(aggregate, seen)
    operation.message = why or seen.message
    if not told_already:
        operation.status_code = seen.status_code  # of this state: an earlier one's code would explain it wrongly
        operation.shopper_message = seen.shopper_message or operation.shopper_message
    if transition.amount is not None:
        operation.amount = transition.amount
    _reschedule(payment, operation, posting)
    _book(aggregate, operation)
    if transition.event is not None:
        _write(
            aggregate,
            operation,
            transition.event,
            posting,
            amount=operation.amount,
            message=why or transition.message,
            card=as_kept(seen.method),
        )
    elif left_the_page:
        # Saleor still offers to cancel it, which the gateway would refuse now.
        note(
            aggregate, operation.message or "", posting, reference=reference_of_note(payment.order_id, operation.state)
        )
    if operation.kind is Kind.DISPUTE:
        _tell_of_dispute(aggregate, operation, posting)


def _book(aggregate: PaymentAggregate, operation: Operation) -> None:
    """Note what an operation has moved, for the sums of each day; and where the payment stands now, for the list."""
    book(aggregate.payment, operation)
    aggregate.payment.status = status_of(aggregate.payment.flow, aggregate.operations)


def _tell_of_dispute(aggregate: PaymentAggregate, operation: Operation, posting: Posting) -> None:
    """Tell staff of a dispute, in the app and in Saleor's history, until there is nothing to do about it."""
    words = dispute_words(operation)
    if operation.state is State.FAILURE:
        note(aggregate, words, posting, reference=reference_of_note(operation.operation_id or "", operation.state))
    else:
        lost = operation.state is State.SUCCESS
        problem = raise_problem(aggregate, words, posting.now, cause=of_dispute(operation, lost=lost))
        aggregate.tie(problem, operation)


def _keep_particulars(operation: Operation, transition: Transition, seen: Observation) -> None:
    """Keep what is said besides the state, also of an operation that is final: its fee and its receipt may come late.

    A record from further back, or one that does not agree with what was asked, only fills in what nobody has said.
    """
    known = Details.kept(operation.details)
    behind = transition.problem is not None or seen.state.rank < operation.state.rank
    told = seen.details.completed_by(known) if behind else known.completed_by(seen.details)
    if told != known:
        operation.details = told.row()


def _release_the_rest(aggregate: PaymentAggregate, posting: Posting) -> None:
    """A capture of less than was reserved frees the rest at the bank (gateway facts, 6): Saleor must hear that too.

    Computed from the whole aggregate, because the gateway's word of the capture can come before that of the
    reservation.
    """
    taken = [each for each in aggregate.operations if each.kind is Kind.CAPTURE and each.state is State.SUCCESS]
    references = [reference_of_release(each.psp_reference) for each in taken if each.psp_reference is not None]
    freed = [each.amount for each in aggregate.operations if each.kind is Kind.VOID and each.state is State.SUCCESS]
    told = [each.amount for each in aggregate.events if each.psp_reference in references]
    reserved = balance(aggregate.payment.flow, aggregate.operations).authorized
    rest = reserved - sum((each.amount for each in taken), ZERO) - sum(freed, ZERO) - sum(told, ZERO)
    if taken and references and rest > ZERO:
        _write(
            aggregate,
            taken[-1],
            EventType.CANCEL_SUCCESS,
            posting,
            amount=rest,
            message="The rest of the reservation was released",
            reference=references[-1],
        )


def _conclude_cancellation(aggregate: PaymentAggregate, posting: Posting) -> None:
    """A cancellation has no record of its own at the gateway: what became of the payment is its outcome."""
    create, unclear = aggregate.create, disagrees(aggregate.payment)
    if (not create.state.final and not unclear) or create.inferred:
        return
    for operation in aggregate.operations:
        if operation.kind is not Kind.CANCEL or operation.state.final:
            continue
        if create.state is State.FAILURE:
            operation.state = State.SUCCESS
            operation.message = PAGE_CLOSED
        elif not create.state.final:
            operation.state = State.FAILURE
            operation.message = _UNCLEAR
        else:
            operation.state = State.FAILURE
            operation.message = _TOO_LATE
        operation.next_poll_at = None
        operation.updated_at = posting.now
        event = event_of(Kind.CANCEL, aggregate.payment.flow, operation.state)
        if event is not None:
            _write(aggregate, operation, event, posting, amount=operation.amount, message=operation.message)


def _go_on(aggregate: PaymentAggregate, now: datetime) -> None:
    """Forget that somebody waited for what has ended. Let the worker send what waits, if nothing is in flight (3)."""
    for each in aggregate.operations:
        if each.state.final:
            clear(aggregate.payment, of_waiting(each), now)
        if each.state.final and each.kind is Kind.DISPUTE:
            clear(aggregate.payment, of_dispute(each, lost=False), now)
    if balance(aggregate.payment.flow, aggregate.operations).in_flight:
        return
    waiting = next(
        (each for each in aggregate.operations if each.state is State.WAITING and not is_pursued(each)), None
    )
    if waiting is not None:
        waiting.next_poll_at = now


def _reschedule(payment: Payment, operation: Operation, posting: Posting) -> None:
    operation.updated_at = payment.updated_at = posting.now
    if payment.has_rivals:
        payment.attempts_due_at = posting.now
    operation.next_poll_at = posting.schedule.next_poll(
        operation.state, operation.polls, posting.now, since=posting.now, expires_at=payment.expires_at
    )
    if operation.kind is Kind.DISPUTE and not operation.state.final:
        operation.next_poll_at = posting.schedule.next_poll_at_dispute(posting.now)


def _write(
    aggregate: PaymentAggregate,
    operation: Operation,
    event: EventType,
    posting: Posting,
    *,
    amount: Decimal,
    message: str,
    reference: str | None = None,
    card: dict[str, Any] | None = None,
) -> None:
    """Write an event of an operation, which keeps the reference that it is told under (laws of money, 9).

    That we close an abandoned payment page is our own affair: Saleor hears what became of the payment. What staff asked
    for at our own door it hears of with the word that they did.
    """
    if operation.asked_by is not None:
        message = f"Asked by staff in the app: {message}"
    elif operation.kind is Kind.CANCEL and not operation.asked_by_saleor:
        return
    kept = keep_reference(aggregate.payment, operation)
    answered = posting.answering is not None and posting.answering == operation.id and reference is None
    enqueue(
        aggregate,
        event,
        reference=reference or kept,
        amount=amount,
        message=message,
        actions=[each.value for each in balance(aggregate.payment.flow, aggregate.operations).actions],
        now=posting.now,
        due=posting.now + posting.schedule.answer_window if answered else posting.now,
        card=card,
        of=operation,
    )
