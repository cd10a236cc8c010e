"""What came of asking for a payment is posted to its sheet, under the locks of all attempts to pay the same.

Whoever is about to open a page does so under these locks: of two attempts at the same moment the second to open sees
the first. Saleor's list of transactions follows a checkout into its order; where there is none, the id of the checkout
or order must do.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import structlog
from sqlmodel.ext.asyncio.session import AsyncSession

from app.ledger.begun import Begun, load_begun
from app.ledger.errors import DatabaseUnavailableError
from app.ledger.sheets import Sheet, row_id_of
from app.payments.begin.intent import others_of
from app.payments.desk import Desk
from app.saleor.events import SessionEvent

log = structlog.get_logger(__name__)

Post: TypeAlias = Callable[[Sheet, Sequence[Sheet]], None]


async def post_outcome(desk: Desk, written: Sheet, post: Post, *, among: SessionEvent | None = None) -> Sheet:
    """Let ``post`` change the sheet of a payment that was just begun, commit that, and return it.

    ``post`` also gets the sheets of all attempts to pay what ``among`` is about, oldest first, this one among them; it
    is called again, with sheets that are read anew, when a transaction came to nothing, or nobody knows whether it did.
    """
    payment_id, others = row_id_of(written.payment), None
    if among is not None:
        others = others_of(among)
    begun = Begun(payment_id, written.payment.installation_id, written, others)
    posted = _Posted(begun, post)
    try:
        attempts = await desk.database.together(_post_all, posted)
    except DatabaseUnavailableError as error:  # the gateway will not say it again: once more, before it is looked up
        log.warning("outcome not posted", error=str(error))
        attempts = await desk.database.together(_post_all, posted)
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
