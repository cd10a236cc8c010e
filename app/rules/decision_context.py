"""The context in which a fact decides, and how Saleor and staff are told of what follows. Pure."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from app.core.ids import OperationRowId, PspReference
from app.core.payment import Operation, PaymentAggregate, Problem, SealToken
from app.core.vocabulary import Kind, Origin
from app.i18n.messages import Money, Verbatim
from app.rules.balance import ZERO, actions_to_offer
from app.rules.event_queue import enqueue
from app.rules.issues import Issue, IssueCode
from app.rules.observation import UnexplainedMoney
from app.rules.problems import Cause, add_problem, cause_of_mismatch
from app.rules.references import ensure_reference, reference_of_problem
from app.rules.schedule import Schedule
from app.rules.stored_issues import has_code, is_stored
from saleor_app_sdk.responses import EventType


@dataclass(frozen=True, slots=True)
class DecisionContext:
    """The context in which a fact decides.

    ``answered_operation_id``: row id of the operation whose outcome the answer to the current webhook will carry. Its
    events are also in the outbox, because an answer can get lost; but they are reported only once Saleor must have
    read the answer. ``is_single_record``: the gateway's record of one operation is posted, not all records of the
    order. ``seal_token`` seals the token of a card that is saved for later payments; None: no card is saved.
    ``arrived_at``: when the records arrived; None: now.
    """

    now: datetime
    schedule: Schedule
    answered_operation_id: OperationRowId | None = None
    is_single_record: bool = False
    seal_token: SealToken | None = None
    arrived_at: datetime | None = None


def enqueue_note(
    aggregate: PaymentAggregate,
    message: str,
    context: DecisionContext,
    *,
    reference: PspReference | None = None,
    due: datetime | None = None,
    operation: Operation | None = None,
) -> None:
    """Enqueue an event that changes no amount, but shows staff the payment's status and the actions available to them.

    ``due``: when it is reported; None: now. ``operation``: the operation that it is about (see ``enqueue``).
    """
    enqueue(
        aggregate,
        EventType.INFO,
        reference=reference or PspReference(aggregate.payment.order_id),
        amount=ZERO,
        message=message,
        actions=actions_to_offer(aggregate),
        now=context.now,
        due=due,
        operation=operation,
    )


def raise_problem(
    aggregate: PaymentAggregate, issue: Issue, now: datetime, *, cause: Cause, actions: list[str] | None = None
) -> Problem:
    """Show staff a problem: on the payment (``problems``), and in Saleor's history of the transaction.

    ``actions`` are those that staff may request now; None: they are the same as before.
    """
    problem = add_problem(aggregate.payment, cause, issue, now)
    if has_code(problem.message) or not is_stored(issue, problem.message):  # else an earlier version has reported it
        reference = reference_of_problem(aggregate.payment.order_id, issue.digest)
        message = issue.message
        enqueue(aggregate, EventType.INFO, reference=reference, amount=ZERO, message=message, actions=actions, now=now)
    return problem


def flag_unexplained(aggregate: PaymentAggregate, money: UnexplainedMoney, now: datetime) -> None:
    """Put money to staff of which we do not know what it was: it is never skipped (laws of money, 16)."""
    amount = Money(money.amount, money.currency)
    issue = Issue(IssueCode.UNEXPLAINED_MONEY, method=money.method, sum=amount)
    if money.unknown_status is not None:
        word = Verbatim(money.unknown_status)
        issue = Issue(IssueCode.UNEXPLAINED_STATUS, method=money.method, sum=amount, word=word)
    raise_problem(aggregate, issue, now, cause=cause_of_mismatch(issue, None, money.gateway_id))


def report_operation(
    aggregate: PaymentAggregate,
    operation: Operation,
    event: EventType,
    context: DecisionContext,
    *,
    amount: Decimal,
    message: str,
    reference: PspReference | None = None,
    card: dict[str, Any] | None = None,
) -> None:
    """Enqueue an event of an operation, which keeps the reference under which it is reported (laws of money, 9).

    The app's own closing of an abandoned payment page is not reported: Saleor receives the payment's outcome. What
    staff requested in the app is reported as such.
    """
    if operation.requester is Origin.STAFF:
        message = f"Requested by staff in the app: {message}"
    elif operation.kind is Kind.CANCEL and operation.requester is Origin.APP:
        return
    own_reference = ensure_reference(aggregate.payment, operation)
    answered = reference is None and operation.id is not None and context.answered_operation_id == operation.id
    enqueue(
        aggregate,
        event,
        reference=reference or own_reference,
        amount=amount,
        message=message,
        actions=actions_to_offer(aggregate),
        now=context.now,
        due=context.now + context.schedule.answer_window if answered else context.now,
        card=card,
        operation=operation,
    )
