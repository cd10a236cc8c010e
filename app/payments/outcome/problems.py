"""What staff must look at: each problem of a payment under its cause, and gone when the cause is gone.

====================  =====================================  ====================================
cause                 raised when                            cleared when
====================  =====================================  ====================================
``KEYS``              the gateway refuses the account's keys it accepts them again
``of_event``          Saleor refuses an event for good       it has taken the event after all
``of_waiting``        an outcome is not known for a day      it is known
``SEALED``            no key of ours opens a notification    one of its order opens
``of_words``          the gateway's word does not agree      staff have looked (``looked_at``)
                      with what was asked, or with itself
====================  =====================================  ====================================

``Payment.problem`` holds the words of all that are open, one a line; None when there is nothing to look at.
"""

import hashlib
from datetime import datetime
from enum import StrEnum
from typing import Any

from app.ledger.sheets import Sheet, payment_of, with_problem
from app.ledger.tables import Operation, Payment, SaleorEvent
from app.payments.desk import Desk
from app.payments.said import Kept, Said

KEYS = "keys"
KEYS_REFUSED = Said("The gateway refuses the keys of this merchant account: check them, nothing can be paid.")
SEALED = "sealed"
_EVENT = "event:"
_WORDS = "words:"
_WAITING = "waiting:"
_EARLIER = "earlier"  # raised before causes were kept
_LOOKED_AT = ""


class ProblemKind(StrEnum):
    """What kind of cause a problem has. ``Payment.problem_kinds`` has those of the open ones, sorted, with ``+``."""

    KEYS = "keys"
    MISMATCH = "mismatch"
    REFUSED = "refused"
    SEALED = "sealed"
    WAITING = "waiting"


_KINDS = {
    "event": ProblemKind.REFUSED,
    "waiting": ProblemKind.WAITING,
    KEYS: ProblemKind.KEYS,
    SEALED: ProblemKind.SEALED,
}


def of_event(event: SaleorEvent) -> str:
    """Return the cause of a problem with an event that Saleor refuses."""
    return f"{_EVENT}{event.type}:{event.psp_reference}"


def of_waiting(operation: Operation) -> str:
    """Return the cause of a problem with an operation whose outcome is open for too long."""
    return f"{_WAITING}{operation.id}"


def of_words(words: str) -> str:
    """Return the cause of a problem that is known only by its words."""
    return f"{_WORDS}{hashlib.sha256(words.encode()).hexdigest()[:16]}"


def needs_decision(cause: str) -> bool:
    """Return True when only a person can end it, who has looked into the merchant portal (``decide``)."""
    return cause.startswith((_WAITING, _WORDS))


def open_problems(payment: Payment) -> dict[str, str]:
    """Return the words of what staff must look at, by cause, the oldest first."""
    return {cause: _words(kept) for cause, kept in _kept(payment).items() if kept != _LOOKED_AT}


def disagrees(payment: Payment) -> bool:
    """Return True when the gateway has said something that does not agree, whether staff have looked at it or not."""
    return any(cause.startswith(_WORDS) for cause in _kept(payment))


def raise_on(payment: Payment, cause: str, words: str, now: datetime) -> None:
    """Make a problem visible, unless staff have looked at this very one before: the gateway repeats itself."""
    raised = {cause: words.kept() if isinstance(words, Said) else words}
    _keep(payment, _kept(payment) | ({} if cause in _kept(payment) else raised))
    if payment.problem is not None:
        payment.problem_since = payment.problem_since or now


def clear(payment: Payment, cause: str) -> None:
    """Take a problem away whose cause is gone. If it comes back, so does the problem."""
    kept = _kept(payment)
    if kept.pop(cause, None) is not None:
        _keep(payment, kept)


def looked_at(payment: Payment) -> tuple[str, ...]:
    """Take away what only a person can judge; return the words. The keys stay a problem until they are accepted.

    A word of the gateway that staff have looked at is no problem again when it is repeated; another one is.
    """
    kept, seen = _kept(payment), []
    for cause, words in open_problems(payment).items():
        if cause == KEYS:
            continue
        seen.append(words)
        kept[cause] = _LOOKED_AT
        if cause.startswith(_EVENT):
            del kept[cause]
    _keep(payment, kept)
    return tuple(seen)


async def keys_accepted(desk: Desk, account_id: str, sheet: Sheet) -> None:
    """The gateway has just accepted an account's keys, for ``sheet``: none of its payments has that problem any more.

    The others are looked for now and then only, because this happens at every call.
    """
    if KEYS not in open_problems(sheet.payment) and not desk.gateways.time_to_compare(account_id, desk.now()):
        return
    async with desk.database.transaction() as session:
        found = await with_problem(session, account_id, KEYS_REFUSED)
    for payment_id in found:  # each under its own lock and for itself: two locks at once can wait for each other
        async with desk.database.transaction() as session:
            clear(await payment_of(session, payment_id), KEYS)


def _kept(payment: Payment) -> dict[str, Any]:
    if not payment.problems and payment.problem:
        return {KEYS if payment.problem == KEYS_REFUSED else _EARLIER: payment.problem}
    return dict(payment.problems)


def _keep(payment: Payment, kept: dict[str, Any]) -> None:
    payment.problems, payment.problem = kept, None
    open_ones = open_problems(payment)
    payment.problem = "\n".join(open_ones.values()) or None
    payment.problem_kinds = "+".join(sorted({_kind_of(cause) for cause in open_ones})) or None
    if payment.problem is None:
        payment.problem_since = None


def _kind_of(cause: str) -> ProblemKind:
    return _KINDS.get(cause.partition(":")[0], ProblemKind.MISMATCH)


def _words(kept: Any) -> str:
    """Return the words of a problem; those of before were kept as text, in English."""
    return Kept(kept) if isinstance(kept, str) else Said.of(kept)
