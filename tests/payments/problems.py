"""What staff must look at about a payment, as tests want to read it."""

from datetime import datetime

from app.core.ids import PaymentRowId
from app.core.payment import Payment, Stored, row_id_of
from app.i18n.messages import LazyMessage
from app.rules.issues import Issue, IssueCode
from app.rules.problems import Cause, add_problem, message_of, open_problems
from app.store.aggregates import ById
from app.store.database import Database
from app.store.repository import PaymentRepository
from tests.payments.changes import Change


def issue_saying(words: str) -> Issue:
    """Return an issue whose sentence begins with these words, whatever it is about."""
    return Issue(IssueCode.OVERPAID, excess=words)


async def raise_problem(
    database: Database, payment: Stored[PaymentRowId], cause: Cause, issue: Issue, now: datetime
) -> None:
    """Let a stored payment have a problem."""
    await PaymentRepository(database).record(
        ById(row_id_of(payment)), Change(lambda aggregate: add_problem(aggregate.payment, cause, issue, now))
    )


def by_cause(payment: Payment) -> dict[Cause, LazyMessage]:
    """Return the words of the open problems by where they come from, the oldest first."""
    return {
        Cause(problem.kind, problem.key, problem.operation_id, problem.gateway_id): message_of(problem)
        for problem in open_problems(payment)
    }


def kinds_of(payment: Payment) -> str | None:
    """Return of which kinds the open problems are, joined with ``+``; None when there are none."""
    return "+".join(sorted({problem.kind for problem in open_problems(payment)})) or None
