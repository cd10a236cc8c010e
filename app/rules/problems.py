"""The problems that staff must look at: each problem of a payment has a cause, and ends with it.

================================  ====================================  ====================================
cause                             raised when                           ends when
================================  ====================================  ====================================
``KEYS``                          the gateway refuses the keys of the   it accepts them again
                                  account
``ADDRESS``                       something else answers at the         the gateway answers again
                                  gateway's address, or the answer
                                  leads elsewhere
``cause_of_refused_event``        Saleor refuses an event for good      it accepts the event after all
``cause_of_overdue_operation``    an outcome is not known for a day     it is known
``cause_of_dispute``              a payer disputes, or has won          it has ended, and staff have looked
``cause_of_unowed_money``         money arrives for an order that is    it is given back or ordered, or staff
                                  cancelled, or more than is owed, or   have looked
                                  its checkout is never completed
``cause_of_unpaid_order``         an order relies on a payment that     it is paid or cancelled, or staff have
                                  failed, or its total rose             looked, or the latter is given back
``PAID_TWICE``                    several payments pay for the same     enough is refunded, or staff have
                                                                        looked
``CHARGED_ON``,                   a deleted customer's subscription     it is cancelled, or staff have looked
``TEST_CHARGED_ON``               goes on, or a left test project's
``SEALED``                        no key of ours opens a notification   one of the same order opens
``UNREADABLE``                    a look-up shows unreadable records    one shows none, or staff have looked
``cause_of_mismatch``             a gateway record does not match the   the operation has ended without a
                                  request, or an earlier record         mismatch, or staff have looked
================================  ====================================  ====================================

Looking ends nothing (laws of money, 13): a problem with an operation that is still open stays until it has ended, and
one with an operation that has failed, but perhaps succeeded, until staff have decided.

A problem is a row of ``Problem``, saved with its payment and under its lock. The payment itself only has a flag for
whether there are any, so that no query is made for the rows of a payment without problems.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from app.core.alerts import AlertKind
from app.core.ids import OperationRowId
from app.core.payment import Operation, Payment, Problem, SaleorEvent
from app.core.text import fit_text
from app.core.vocabulary import State
from app.i18n.messages import LazyMessage, Money
from app.rules.issues import Issue, IssueCode, issue_from_json, while_disputed
from app.rules.stored_issues import is_stored, stored_message

_MAX_PROBLEMS = 20  # of a payment: nobody reads more, and there is no limit to the mismatches in gateway records
_MAX_TEXT_LENGTH = 4000  # characters, of all messages of one payment


class Unowed(StrEnum):
    """Why money of a payment is not owed."""

    CHECKOUT_GONE = "checkout-gone"
    NOT_ORDERED = "not-ordered"
    ORDER_CANCELED = "order-canceled"
    ORDER_EXPIRED = "order-expired"
    ORDER_RETURNED = "order-returned"
    OVERPAID = "overpaid"
    TEST_MONEY = "test-money"


@dataclass(frozen=True, slots=True)
class Cause:
    """The cause of a problem. ``kind`` and ``key`` identify the problem among those of the same payment.

    ``operation_id`` is the row id of the operation that it is about; ``gateway_id`` is the gateway's id of that
    operation if it has no row. ``issue`` is part of the identity of a mismatch. ``key_without_row`` identified the
    problem when its operation was reported for the first time, and had no row yet; None: it always had one.
    """

    kind: AlertKind
    key: str = ""
    operation_id: OperationRowId | None = None
    gateway_id: str | None = None
    issue: Issue | None = field(default=None, compare=False)
    key_without_row: str | None = field(default=None, compare=False)


KEYS = Cause(AlertKind.KEYS)
ADDRESS = Cause(AlertKind.ADDRESS)
PAID_TWICE = Cause(AlertKind.PAID_TWICE)
CHARGED_ON = Cause(AlertKind.CHARGED_ON)
TEST_CHARGED_ON = Cause(AlertKind.CHARGED_ON, "test-project")
SEALED = Cause(AlertKind.SEALED)
UNREADABLE = Cause(AlertKind.MISMATCH, "unreadable")
_MORE = Cause(AlertKind.MISMATCH, "more")

_OPEN_DISPUTE = "open:"  # how the key of a problem with an open dispute begins
_ADVISE_REFUND = frozenset({AlertKind.NOT_OWED, AlertKind.PAID_TWICE})

ACCOUNT_KINDS = frozenset({AlertKind.KEYS, AlertKind.ADDRESS})
"""Problems of the whole merchant account, not of a single payment; they end when the gateway answers again."""


def cause_of_refused_event(event: SaleorEvent) -> Cause:
    """Return the cause of a problem with an event that Saleor refuses.

    The event may be reported under another reference later.
    """
    return Cause(AlertKind.REFUSED, str(event.id), operation_id=event.operation_id)


def cause_of_overdue_operation(operation: Operation) -> Cause:
    """Return the cause of a problem with an operation whose outcome has been open for too long."""
    return Cause(AlertKind.WAITING, str(operation.id), operation_id=operation.id)


def cause_of_mismatch(issue: Issue, operation_id: OperationRowId | None, gateway_id: str) -> Cause:
    """Return the cause of a problem that is identified by its issue and by the operation that it is about.

    That is the operation with that row id, or, if it has no row, the one with that ``gateway_id``.
    """
    without_row = _mismatch_key(f"@{gateway_id}", issue)
    if operation_id is None:
        return Cause(AlertKind.MISMATCH, without_row, None, gateway_id, issue)
    key = _mismatch_key(str(operation_id), issue)
    return Cause(AlertKind.MISMATCH, key, operation_id, None, issue, without_row if gateway_id else None)


def cause_of_operation_mismatch(issue: Issue, operation: Operation) -> Cause:
    """Return the cause of a problem with a recorded operation, which may have no row yet."""
    return cause_of_mismatch(issue, operation.id, operation.operation_id or "")


def _mismatch_key(about: str, issue: Issue) -> str:
    return hashlib.sha256(f"{about}:{issue.digest}".encode(errors="backslashreplace")).hexdigest()[:16]


def cause_of_dispute(operation: Operation, *, lost: bool) -> Cause:
    """Return the cause of the problem with a dispute that is open, or that the store lost (``lost``)."""
    key = fit_text(f"{'lost:' if lost else _OPEN_DISPUTE}{operation.operation_id}", 100)
    return Cause(AlertKind.DISPUTE, key, operation_id=operation.id)


def cause_of_unowed_money(reason: Unowed, owed: Decimal) -> Cause:
    """Return the cause of a problem with money that is not owed; it ends when the payment holds only what is ``owed``.

    ``owed`` is the part of the payment's money that is owed.
    """
    return Cause(AlertKind.NOT_OWED, f"{reason.value}:{owed}")


def cause_of_unpaid_order(reason: str) -> Cause:
    """Return the cause of a problem with an order that was placed, or can be, only if more is paid."""
    return Cause(AlertKind.NOT_PAID, reason)


TOTAL_ROSE = cause_of_unpaid_order("total-rose")


def open_problems(payment: Payment) -> list[Problem]:
    """Return the problems that staff must still look at, oldest first."""
    return [problem for problem in _unended_problems(payment) if problem.acknowledged_at is None]


def has_problem(payment: Payment, cause: Cause) -> bool:
    """Return True when staff must still look at a problem with this cause."""
    return any(map(_has_cause(cause), open_problems(payment)))


def has_unended_problem(payment: Payment, cause: Cause) -> bool:
    """Return True when the cause of a problem has not ended, whether staff have looked at it or not."""
    return find_problem(payment, cause) is not None


def find_problem(payment: Payment, cause: Cause) -> Problem | None:
    """Return the problem with this cause, if that has not ended, whether staff have looked at it or not."""
    return next(filter(_has_cause(cause), _unended_problems(payment)), None)


def find_unowed_money(payment: Payment, reason: Unowed) -> Problem | None:
    """Return the problem with money that is not owed for that reason, if it has not ended."""
    return next((problem for problem in _unended_problems(payment) if _is_unowed(problem, reason)), None)


def message_of(problem: Problem) -> LazyMessage:
    """Return the message of a problem."""
    return stored_message(problem.message)


def problem_messages(payment: Payment, kind: AlertKind | None = None) -> list[LazyMessage]:
    """Return the messages of the problems that staff must still look at, or of one kind of them, oldest first."""
    # What is refunded while the payer's bank decides on a dispute, the payer may get twice.
    is_disputed = any(
        problem.kind is AlertKind.DISPUTE and problem.key.startswith(_OPEN_DISPUTE)
        for problem in _unended_problems(payment)
    )
    return [
        while_disputed(message_of(problem)) if is_disputed and problem.kind in _ADVISE_REFUND else message_of(problem)
        for problem in open_problems(payment)
        if kind in {None, problem.kind}
    ]


def problem_text(payment: Payment) -> str | None:
    """Return the messages of the problems that staff must still look at, one a line; None when there are none."""
    return fit_text("\n".join(problem_messages(payment)), _MAX_TEXT_LENGTH) or None


def needs_decision(problem: Problem) -> bool:
    """Return True when only a person who has looked into the merchant portal can end the problem (``decide``)."""
    return problem.kind is AlertKind.WAITING or _is_mismatch(problem)


def has_mismatch(payment: Payment) -> bool:
    """Return True when a gateway record of the payment does not match, whether staff have looked at it or not."""
    return any(map(_is_mismatch, _unended_problems(payment)))


def add_problem(payment: Payment, cause: Cause, issue: Issue, now: datetime) -> Problem:
    """Add a problem to the payment, and return it; one that staff have acknowledged stays so when it is repeated."""
    known = _unended_problems(payment)
    is_new = not any(map(_has_cause(cause), known))
    if is_new and len(known) >= _MAX_PROBLEMS and cause.kind is AlertKind.MISMATCH and cause != UNREADABLE:
        cause, issue = _MORE, Issue(IssueCode.MORE_MISMATCHES)
    problem = next(filter(_has_cause(cause), payment.problems), None)
    if problem is None:
        problem = Problem(
            operation_id=cause.operation_id,
            gateway_id=cause.gateway_id,
            kind=cause.kind,
            key=cause.key,
            message=issue.to_json(),
            raised_at=now,
        )
        payment.problems.append(problem)
    elif problem.ended_at is not None or (cause == _MORE and problem.acknowledged_at is not None):
        # It ended in this same transaction, and continues; or it stands for further mismatches, of which staff have
        # only looked at earlier ones.
        problem.message, problem.raised_at = issue.to_json(), now
        problem.acknowledged_at = problem.ended_at = None
    _update_problem_flags(payment)
    return problem


def clear_problem(payment: Payment, cause: Cause, now: datetime) -> None:
    """End a problem whose cause is gone. If the cause returns, so does the problem."""
    _end_problems(payment, filter(_has_cause(cause), _unended_problems(payment)), now)


def end_problem(payment: Payment, problem: Problem, now: datetime) -> None:
    """End this problem: its cause is gone."""
    _end_problems(payment, [problem], now)


def clear_mismatches(payment: Payment, operation_id: OperationRowId | None, gateway_id: str, now: datetime) -> None:
    """End the mismatches of an operation that has ended as requested."""
    _end_problems(payment, _mismatches_of(payment, operation_id, gateway_id), now)


def find_mismatch(payment: Payment, code: IssueCode, operation: Operation) -> Problem | None:
    """Return the mismatch of an operation with this code, whatever its sums, if it has not ended."""
    known = _mismatches_of(payment, operation.id, operation.operation_id or "")
    return next((problem for problem in known if _code_of(problem) is code), None)


def _code_of(problem: Problem) -> IssueCode | None:
    issue = issue_from_json(problem.message)
    return None if issue is None else issue.code


def _mismatches_of(payment: Payment, operation_id: OperationRowId | None, gateway_id: str) -> list[Problem]:
    return [
        problem
        for problem in filter(_is_mismatch, _unended_problems(payment))
        if problem.gateway_id == gateway_id or (operation_id is not None and problem.operation_id == operation_id)
    ]


def clear_unowed_money(payment: Payment, reason: Unowed, now: datetime) -> None:
    """End the problem with money that was not owed for that reason: now it is."""
    _end_problems(payment, [problem for problem in _unended_problems(payment) if _is_unowed(problem, reason)], now)


def clear_returned_money(payment: Payment, held: Decimal, now: datetime, *, later: Decimal) -> None:
    """End the problems with money that was not owed and that the payment, which still has ``held``, has given back.

    Of what was given back in part, the rest is stated. Nor does anybody pay more to a payment that is given back.
    ``later`` is what is left of the later charges of its subscription: they are paid for nothing that has ended.
    """
    if held <= 0:
        clear_problem(payment, TOTAL_ROSE, now)
    unowed = [problem for problem in _unended_problems(payment) if problem.kind is AlertKind.NOT_OWED]
    returned = []
    for problem in unowed:
        kept = held if _is_unowed(problem, Unowed.OVERPAID) else held + later
        issue, rest = issue_from_json(problem.message), kept - Decimal(problem.key.rpartition(":")[2])
        if rest <= 0:
            returned.append(problem)
        elif issue is not None:
            name = next(name for name, fact in issue.facts.items() if isinstance(fact, Money))
            restated = Issue(issue.code, **{**issue.facts, name: Money(rest, payment.currency)})
            restate_unowed_money(payment, problem, restated, now)
    _end_problems(payment, returned, now)


def restate_unowed_money(
    payment: Payment, problem: Problem, issue: Issue, now: datetime, cause: Cause | None = None
) -> None:
    """State how much is not owed now. If that is more than staff have acknowledged, they are shown it again.

    Of an order that has ended, more is only what arrived since, such as a later charge of its subscription. What is
    paid beyond a total, staff change themselves.
    """
    known = issue_from_json(problem.message)
    has_grown = known is not None and _sum_of(issue) > _sum_of(known)
    restate(problem, issue, cause)
    if has_grown and problem.acknowledged_at is not None and not _is_unowed(problem, Unowed.OVERPAID):
        problem.raised_at, problem.acknowledged_at = now, None
        _update_problem_flags(payment)


def _sum_of(issue: Issue) -> Decimal:
    return next(fact.amount for fact in issue.facts.values() if isinstance(fact, Money))


def restate(problem: Problem, issue: Issue, cause: Cause | None = None) -> None:
    """State the sums of a problem that are true now; whether staff have acknowledged it stays as it is."""
    problem.message = issue.to_json()
    problem.key = problem.key if cause is None else cause.key


def acknowledge(
    payment: Payment, now: datetime, operations: Sequence[Operation] = (), *, unless: Collection[Problem] = ()
) -> tuple[str, ...]:
    """Acknowledge the problems that only a person can judge, ``unless`` nobody has seen them; return their messages.

    Refused keys stay a problem until they are accepted. So does a problem of one of these ``operations`` as long as it
    is open, or has perhaps succeeded after all: looking does not settle it. A mismatch that staff have acknowledged is
    not raised again when the gateway repeats it; another one is.
    """
    messages = []
    for problem in open_problems(payment):
        if problem in unless or problem.kind in ACCOUNT_KINDS or _is_open(problem, operations):
            continue
        problem.acknowledged_at = now
        if problem.kind is AlertKind.REFUSED:
            problem.ended_at = now
        messages.append(message_of(problem))
    _update_problem_flags(payment)
    return tuple(messages)


def _is_open(problem: Problem, operations: Sequence[Operation]) -> bool:
    """Return True when a problem is about an operation that has not ended, or of which nobody knows how."""
    still_open = [
        operation
        for operation in operations
        if not operation.state.final or (operation.contradicted and operation.state is State.FAILURE)
    ]
    if _has_cause(_MORE)(problem):
        # It stands for mismatches that are not listed, of any operation; one with a mismatch is not looked up any more.
        return any(operation.next_poll_at is None and operation.state is not State.WAITING for operation in still_open)
    if problem.kind is AlertKind.REFUSED:  # the event is reported, whatever becomes of its operation
        return False
    return problem.operation_id is not None and any(operation.id == problem.operation_id for operation in still_open)


def _is_mismatch(problem: Problem) -> bool:
    return problem.kind is AlertKind.MISMATCH and problem.key != UNREADABLE.key


def _is_unowed(problem: Problem, reason: Unowed) -> bool:
    return problem.kind is AlertKind.NOT_OWED and problem.key.startswith(f"{reason.value}:")


def _has_cause(cause: Cause) -> Callable[[Problem], bool]:
    return lambda problem: (
        problem.kind is cause.kind
        and (problem.key in {cause.key, cause.key_without_row} or _is_of_earlier_version(problem, cause))
    )


def _is_of_earlier_version(problem: Problem, cause: Cause) -> bool:
    """Return True when a version without codes has raised this mismatch, whose key was another one."""
    about = (problem.operation_id, problem.gateway_id) == (cause.operation_id, cause.gateway_id)
    return cause.issue is not None and about and is_stored(cause.issue, problem.message)


def _unended_problems(payment: Payment) -> list[Problem]:
    """Return the problems that have not ended, including those that staff have acknowledged."""
    return [problem for problem in payment.problems if problem.ended_at is None]


def _end_problems(payment: Payment, problems: Iterable[Problem], now: datetime) -> None:
    for problem in problems:
        problem.ended_at = now
    _update_problem_flags(payment)


def _update_problem_flags(payment: Payment) -> None:
    """Update the payment's columns: whether it has problems to load, and since when there has been one to look at."""
    payment.has_problems = bool(_unended_problems(payment))
    payment.problem_since = min((problem.raised_at for problem in open_problems(payment)), default=None)
