"""One of several attempts to pay the same has come further: what becomes of the others (laws of money, 12).

Whoever learns of it commits that it is to be done (``Payment.attempts_due_at``), in the same step; the worker does it,
under the locks of all of them. So nothing is lost between the two.
"""

from app.ledger.attempts import load_attempts
from app.ledger.tables import MerchantAccount
from app.payments.begin.attempts import compare
from app.payments.desk import Desk
from app.payments.outcome.apply import Posting


async def compare_attempts(desk: Desk, payment_id: int) -> None:
    """Close the pages of the other attempts that must not be paid any more; tell staff of what is paid twice."""
    posting = Posting(now=desk.now(), schedule=desk.schedule)
    async with desk.database.transaction() as session:
        sheets = await load_attempts(session, payment_id)
        own = next(each.payment for each in sheets if each.payment.id == payment_id)
        account = await session.get_one(MerchantAccount, own.account_id)
        own.attempts_due_at = None
        # The newest was told last what there is to pay.
        compare(sheets, sheets[-1].payment, posting, replacing=account.cancel_older)
        for sheet in sheets:
            session.add_all([*sheet.operations, *sheet.events])
    desk.wake_for(sheets)
