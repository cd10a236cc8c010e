"""What came of asking for a payment is posted to its sheet, under the locks of all attempts to pay the same.

Whoever is about to open a page does so under these locks: of two attempts at the same moment the second to open sees
the first. Saleor's list of transactions follows a checkout into its order; where there is none, the id of the checkout
or order must do.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sqlmodel.ext.asyncio.session import AsyncSession

from app.ledger.begun import Begun, Others, load_begun
from app.ledger.sheets import Sheet, row_id_of
from app.payments.desk import Desk
from app.saleor.events import SessionEvent

Post: TypeAlias = Callable[[Sheet, Sequence[Sheet]], None]


async def post_outcome(desk: Desk, written: Sheet, post: Post, *, among: SessionEvent | None = None) -> Sheet:
    """Let ``post`` change the sheet of a payment that was just begun, commit that, and return it.

    ``post`` also gets the sheets of all attempts to pay what ``among`` is about, oldest first, this one among them; it
    is called again, with sheets that are read anew, when a transaction came to nothing.
    """
    payment_id, others = row_id_of(written.payment), None
    if among is not None:
        others = Others(among.source.id, [among.transaction.id, *(each.id for each in among.source.transactions)])
    begun = Begun(payment_id, written.payment.installation_id, written, others)
    attempts = await desk.database.together(_post_all, _Posted(begun, post))
    desk.wake_for(attempts)
    return next(each for each in attempts if each.payment.id == payment_id)


@dataclass(frozen=True, slots=True)
class _Posted:
    begun: Begun
    post: Post


async def _post_all(session: AsyncSession, many: Sequence[_Posted]) -> list[list[Sheet]]:
    groups = await load_begun(session, [each.begun for each in many])
    for each, attempts in zip(many, groups, strict=True):
        each.post(next(one for one in attempts if one.payment.id == each.begun.payment_id), attempts)
        for sheet in attempts:
            session.add_all([*sheet.operations, *sheet.events])
    return groups
