"""One of several attempts to pay the same has come further: what becomes of the others (laws of money, 12).

Whoever learns of it commits that it is to be done (``Payment.attempts_due_at``), in the same step; the worker does it,
under the locks of all of them. So nothing is lost between the two.
"""

from collections.abc import Sequence

from app.db.aggregates import PaymentAggregate
from app.db.repository import ById, SameDebt
from app.payments.core.apply import Posting
from app.payments.operations.competing_attempts import compare
from app.payments.services import Services


async def compare_attempts(services: Services, payment_id: int) -> None:
    """Close the pages of the other attempts that must not be paid any more; tell staff of what is paid twice."""
    which = ById(payment_id)
    known = await services.payments.find(which)
    assert known is not None  # noqa: S101 - payments are never deleted
    posting = Posting(now=services.now(), schedule=services.schedule)

    def step(own: PaymentAggregate, attempts: Sequence[PaymentAggregate]) -> Sequence[PaymentAggregate]:
        own.payment.attempts_due_at = None
        # The newest was told last what there is to pay.
        compare(attempts, attempts[-1].payment, posting, replacing=own.payment.account.cancel_older)
        return attempts

    debt = SameDebt(known.payment.installation_id, known.payment.source_id)
    services.wake_for(await services.payments.update_attempts(which, debt, step))
