"""One of several attempts to pay the same has come further: what becomes of the others (laws of money, 12).

Whoever learns of it commits that it is to be done (``Payment.attempts_due_at``), in the same step; the worker does it,
under the locks of all of them. So nothing is lost between the two.
"""

from collections.abc import Sequence

from app.ledger.repository import ById, SameDebt
from app.ledger.sheets import Sheet
from app.payments.begin.attempts import compare
from app.payments.desk import Desk
from app.payments.outcome.apply import Posting


async def compare_attempts(desk: Desk, payment_id: int) -> None:
    """Close the pages of the other attempts that must not be paid any more; tell staff of what is paid twice."""
    which = ById(payment_id)
    known = await desk.payments.find(which)
    assert known is not None  # noqa: S101 - payments are never deleted
    posting = Posting(now=desk.now(), schedule=desk.schedule)

    def step(own: Sheet, attempts: Sequence[Sheet]) -> Sequence[Sheet]:
        own.payment.attempts_due_at = None
        # The newest was told last what there is to pay.
        compare(attempts, attempts[-1].payment, posting, replacing=own.payment.account.cancel_older)
        return attempts

    debt = SameDebt(known.payment.installation_id, known.payment.source_id)
    desk.wake_for(await desk.payments.update_attempts(which, debt, step))
