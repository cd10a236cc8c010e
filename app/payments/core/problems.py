"""What staff must look at: each problem of a payment has a cause, and ends with it.

====================  =====================================  ====================================
cause                 raised when                            ends when
====================  =====================================  ====================================
``KEYS``              the gateway refuses the account's keys it accepts them again
``ADDRESS``           something else answers in its place,   the gateway answers again
                      or its answer leads elsewhere
``of_event``          Saleor refuses an event for good       it has taken the event after all
``of_waiting``        an outcome is not known for a day      it is known
``of_dispute``        a payer disputes, or has won           it has ended, and staff have looked
``PAID_TWICE``        several payments pay the same          enough is given back, or ... looked
``SEALED``            no key of ours opens a notification    one of its order opens
``UNREADABLE``        a look-up shows unreadable records     one shows none, or staff have looked
``of_words``          the gateway's word does not agree      what it is about has ended in
                      with what was asked, or with itself    agreement, or staff have looked
====================  =====================================  ====================================

Looking ends nothing (laws of money, 13): what is about an operation that is still open stays until it has ended.

A problem is a row of ``Problem``, saved with its payment and under its lock. The payment itself has only whether there
are any, so that nobody reads the rows of a payment without.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.db.columns import fitting
from app.db.tables import Operation, Payment, Problem, ProblemKind, SaleorEvent, State
from app.i18n.messages import LazyMessage, Money

KEYS_REFUSED = LazyMessage("The gateway refuses the keys of this merchant account: check them, nothing can be paid.")
ADDRESS_DOUBTED = LazyMessage(
    "What answers at the address of this merchant account leads elsewhere, and not to a payment page: check the "
    "account's address of the gateway."
)
NOT_THE_GATEWAY = LazyMessage(
    "What answers at this merchant account's address is not the gateway: a firewall or proxy on the way, or the "
    "address is wrong."
)
AND_MORE = LazyMessage(
    "The gateway says more that does not agree than is listed here: look at it in the merchant portal."
)
_MOST = 20  # problems of a payment: nobody reads more, and the gateway may say any number of things
_LONGEST = 4000  # characters of all that is said of one payment


@dataclass(frozen=True, slots=True)
class Cause:
    """What a problem comes from. ``kind`` and ``key`` make it another one than all others of the same payment.

    ``operation_id`` is the row of the operation that it is about; ``gateway_id`` the gateway's id of what it is about
    when that has no row.
    """

    kind: ProblemKind
    key: str = ""
    operation_id: int | None = None
    gateway_id: str | None = None


KEYS = Cause(ProblemKind.KEYS)
ADDRESS = Cause(ProblemKind.ADDRESS)
PAID_TWICE = Cause(ProblemKind.PAID_TWICE)
SEALED = Cause(ProblemKind.SEALED)
UNREADABLE = Cause(ProblemKind.MISMATCH, "unreadable")
_MORE = Cause(ProblemKind.MISMATCH, "more")

OF_ACCOUNT = frozenset({ProblemKind.KEYS, ProblemKind.ADDRESS})
"""What is true of the whole merchant account: no payment's own, and gone when the gateway answers again."""


def of_event(event: SaleorEvent) -> Cause:
    """Return the cause of a problem with an event that Saleor refuses. It may be told under another reference later."""
    return Cause(ProblemKind.REFUSED, str(event.id), operation_id=event.operation_id)


def of_waiting(operation: Operation) -> Cause:
    """Return the cause of a problem with an operation whose outcome is open for too long."""
    return Cause(ProblemKind.WAITING, str(operation.id), operation_id=operation.id)


def of_words(words: str, operation_id: int | None, gateway_id: str) -> Cause:
    """Return the cause of a problem that is known only by its words and by the operation that they are about.

    That is the operation of that row, or what the gateway calls ``gateway_id`` if it has none.
    """
    about = f"@{gateway_id}" if operation_id is None else str(operation_id)
    key = hashlib.sha256(fitting(f"{about}:{words}").encode()).hexdigest()[:16]
    return Cause(ProblemKind.MISMATCH, key, operation_id, gateway_id if operation_id is None else None)


def of_dispute(operation: Operation, *, lost: bool) -> Cause:
    """Return the cause of the problem with a dispute that is open, or that the store has lost."""
    key = fitting(f"{'lost' if lost else 'open'}:{operation.operation_id}", 100)
    return Cause(ProblemKind.DISPUTE, key, operation_id=operation.id)


def open_problems(payment: Payment) -> list[Problem]:
    """Return what staff must look at, the oldest first."""
    return [each for each in _lasting(payment) if each.acknowledged_at is None]


def has_problem(payment: Payment, cause: Cause) -> bool:
    """Return True when staff must look at a problem that comes from this cause."""
    return any(map(_comes_from(cause), open_problems(payment)))


def message_of(problem: Problem) -> LazyMessage:
    """Return what is said of a problem."""
    return LazyMessage.of(problem.message)


def problem_messages(payment: Payment) -> list[LazyMessage]:
    """Return what staff must look at, in words, the oldest first."""
    return [message_of(each) for each in open_problems(payment)]


def problem_words(payment: Payment) -> str | None:
    """Return what staff must look at in one text, one a line; None when there is nothing to look at."""
    return fitting("\n".join(problem_messages(payment)), _LONGEST) or None


def needs_decision(problem: Problem) -> bool:
    """Return True when only a person can end it, who has looked into the merchant portal (``decide``)."""
    return problem.kind is ProblemKind.WAITING or _disagrees(problem)


def disagrees(payment: Payment) -> bool:
    """Return True when the gateway has said something that does not agree, whether staff have looked at it or not."""
    return any(map(_disagrees, _lasting(payment)))


def raise_on(payment: Payment, cause: Cause, words: LazyMessage, now: datetime) -> Problem:
    """Make a problem visible, unless staff have looked at this very one before: the gateway repeats itself."""
    known = _lasting(payment)
    is_new = not any(map(_comes_from(cause), known))
    if is_new and len(known) >= _MOST and cause.kind is ProblemKind.MISMATCH and cause != UNREADABLE:
        cause, words = _MORE, AND_MORE
    problem = next(filter(_comes_from(cause), payment.problems), None)
    if problem is None:
        problem = Problem(
            installation_id=payment.installation_id,
            account_id=payment.account_id,
            operation_id=cause.operation_id,
            gateway_id=cause.gateway_id,
            kind=cause.kind,
            key=cause.key,
            message=words.kept(),
            raised_at=now,
        )
        payment.problems.append(problem)
    elif problem.ended_at is not None or (cause == _MORE and problem.acknowledged_at is not None):
        # It ended in this very transaction, and goes on; or staff have looked at others, for which it stood as well.
        problem.message, problem.raised_at = words.kept(), now
        problem.acknowledged_at = problem.ended_at = None
    _mark(payment)
    return problem


def clear(payment: Payment, cause: Cause, now: datetime) -> None:
    """End a problem whose cause is gone. If it comes back, so does the problem."""
    _end(payment, filter(_comes_from(cause), _lasting(payment)), now)


def clear_about(payment: Payment, operation_id: int | None, gateway_id: str, now: datetime) -> None:
    """End what did not agree about an operation that has ended in agreement with what was asked."""
    about = [
        each
        for each in filter(_disagrees, _lasting(payment))
        if each.gateway_id == gateway_id or (operation_id is not None and each.operation_id == operation_id)
    ]
    _end(payment, about, now)


def acknowledge(payment: Payment, now: datetime, operations: Sequence[Operation] = ()) -> tuple[str, ...]:
    """Take away what only a person can judge; return the words. The keys stay a problem until they are accepted.

    So does what is about one of these ``operations`` as long as it is open: it is settled, not looked away. A word of
    the gateway that staff have looked at is no problem again when it is repeated; another one is.
    """
    seen = []
    for each in open_problems(payment):
        if each.kind in OF_ACCOUNT or _is_open(each, operations):
            continue
        each.acknowledged_at = now
        if each.kind is ProblemKind.REFUSED:
            each.ended_at = now
        seen.append(message_of(each))
    _mark(payment)
    return tuple(seen)


def _is_open(problem: Problem, operations: Sequence[Operation]) -> bool:
    """Return whether a problem is about an operation that has not ended."""
    still_open = [each for each in operations if not each.state.final]
    if _comes_from(_MORE)(problem):
        # More than are listed, of whatever: nobody looks at those that disagree.
        return any(each.next_poll_at is None and each.state is not State.WAITING for each in still_open)
    if problem.kind is ProblemKind.REFUSED:  # the event is told, whatever becomes of its operation
        return False
    return problem.operation_id is not None and any(each.id == problem.operation_id for each in still_open)


def _disagrees(problem: Problem) -> bool:
    return problem.kind is ProblemKind.MISMATCH and problem.key != UNREADABLE.key


def _comes_from(cause: Cause) -> Callable[[Problem], bool]:
    return lambda problem: (problem.kind, problem.key) == (cause.kind, cause.key)


def _lasting(payment: Payment) -> list[Problem]:
    """Return the problems that have not ended, those that staff have looked at among them."""
    return [each for each in payment.problems if each.ended_at is None]


def _end(payment: Payment, problems: Iterable[Problem], now: datetime) -> None:
    for each in problems:
        each.ended_at = now
    _mark(payment)


def _mark(payment: Payment) -> None:
    """Note with the payment what is there to load, and since when there has been anything to look at."""
    payment.has_problems = bool(_lasting(payment))
    payment.problem_since = min((each.raised_at for each in open_problems(payment)), default=None)


def dispute_words(operation: Operation) -> LazyMessage:
    """Return what staff must know of a dispute as it stands, as long as there is something to do.

    The interface names ``dispute`` among the methods and shows no record of one (gateway interface, 10 and 12). Its
    status is read as that of any operation: on the way, the bank decides; ``success``, the money went back to the
    payer; ``failure``, the store keeps it.
    """
    sum_ = Money(operation.amount, operation.currency)
    match operation.state:
        case State.SUCCESS:
            return LazyMessage(
                "The payer's bank has taken %(sum)s of this payment back after a dispute, and Saleor is told. Do not "
                "refund it too.",
                sum=sum_,
            )
        case State.FAILURE:
            return LazyMessage(
                "The dispute over %(sum)s has ended in the store's favour: nothing was taken back.", sum=sum_
            )
        case _:
            return LazyMessage(
                "The payer disputes %(sum)s of this payment at the bank. Answer in the merchant portal in time; what "
                "is disputed is not offered to be refunded.",
                sum=sum_,
            )
