"""What staff must look at: each problem of a payment under its cause, and gone when the cause is gone.

====================  =====================================  ====================================
cause                 raised when                            cleared when
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

``Payment.problem`` holds the words of all that are open, one a line; None when there is nothing to look at.
"""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from app.db.tables import Kind, Operation, Payment, SaleorEvent, State
from app.i18n.messages import LazyMessage, Money

KEYS = "keys"
KEYS_REFUSED = LazyMessage("The gateway refuses the keys of this merchant account: check them, nothing can be paid.")
ADDRESS = "address"
ADDRESS_DOUBTED = LazyMessage(
    "What answers at the address of this merchant account leads elsewhere, and not to a payment page: check the "
    "account's address of the gateway."
)
NOT_THE_GATEWAY = LazyMessage(
    "What answers at this merchant account's address is not the gateway: a firewall or proxy on the way, or the "
    "address is wrong."
)
PAID_TWICE = "paid twice"
SEALED = "sealed"
UNREADABLE = "unreadable"
AND_MORE = LazyMessage(
    "The gateway says more that does not agree than is listed here: look at it in the merchant portal."
)
_EVENT = "event:"
_WORDS = "words:"
_WAITING = "waiting:"
_MORE = "words:more"
_MOST = 20  # problems of a payment: nobody reads more, and the gateway may say any number of things
_LOOKED_AT = ""


_DISPUTE = "dispute:"


class ProblemKind(StrEnum):
    """What kind of cause a problem has. ``Payment.problem_kinds`` has those of the open ones, sorted, with ``+``."""

    ADDRESS = "address"
    DISPUTE = "dispute"
    KEYS = "keys"
    MISMATCH = "mismatch"
    PAID_TWICE = "paid twice"
    REFUSED = "refused"
    SEALED = "sealed"
    WAITING = "waiting"


_KINDS = {
    "dispute": ProblemKind.DISPUTE,
    "event": ProblemKind.REFUSED,
    "waiting": ProblemKind.WAITING,
    ADDRESS: ProblemKind.ADDRESS,
    KEYS: ProblemKind.KEYS,
    PAID_TWICE: ProblemKind.PAID_TWICE,
    SEALED: ProblemKind.SEALED,
}


def of_event(event: SaleorEvent) -> str:
    """Return the cause of a problem with an event that Saleor refuses."""
    return f"{_EVENT}{event.type}:{event.psp_reference}"


def of_waiting(operation: Operation) -> str:
    """Return the cause of a problem with an operation whose outcome is open for too long."""
    return f"{_WAITING}{operation.id}"


def of_words(words: str, about: str) -> str:
    """Return the cause of a problem that is known only by its words, and by what it is ``about`` (``subject_of``)."""
    return f"{_WORDS}{about}:{hashlib.sha256(words.encode()).hexdigest()[:16]}"


def subject_of(operation: Operation, gateway_id: str) -> str:
    """Return by what the problems of an operation are known: its row, or the gateway's id if it has none."""
    return f"@{gateway_id}" if operation.id is None else str(operation.id)


def needs_decision(cause: str) -> bool:
    """Return True when only a person can end it, who has looked into the merchant portal (``decide``)."""
    return cause.startswith((_WAITING, _WORDS))


def open_problems(payment: Payment) -> dict[str, str]:
    """Return the words of what staff must look at, by cause, the oldest first."""
    return {cause: LazyMessage.of(kept) for cause, kept in payment.problems.items() if kept != _LOOKED_AT}


def disagrees(payment: Payment) -> bool:
    """Return True when the gateway has said something that does not agree, whether staff have looked at it or not."""
    return any(cause.startswith(_WORDS) for cause in payment.problems)


def raise_on(payment: Payment, cause: str, words: LazyMessage, now: datetime) -> None:
    """Make a problem visible, unless staff have looked at this very one before: the gateway repeats itself."""
    known = payment.problems
    if cause not in known:
        if len(known) >= _MOST and cause.startswith(_WORDS):
            cause, words = _MORE, AND_MORE
        _keep(payment, known | {cause: words.kept()})
    if payment.problem is not None:
        payment.problem_since = payment.problem_since or now


def clear(payment: Payment, cause: str) -> None:
    """Take a problem away whose cause is gone. If it comes back, so does the problem."""
    kept = dict(payment.problems)
    if kept.pop(cause, None) is not None:
        _keep(payment, kept)


def clear_about(payment: Payment, subject: str) -> None:
    """Take away what did not agree about an operation that has ended in agreement with what was asked."""
    kept = dict(payment.problems)
    theirs = [cause for cause in kept if cause.startswith(f"{_WORDS}{subject}:")]
    for cause in theirs:
        del kept[cause]
    if theirs:
        _keep(payment, kept)


def acknowledge(payment: Payment, operations: Sequence[Operation] = ()) -> tuple[str, ...]:
    """Take away what only a person can judge; return the words. The keys stay a problem until they are accepted.

    So does what is about one of these ``operations`` as long as it is open: it is settled, not looked away. A word of
    the gateway that staff have looked at is no problem again when it is repeated; another one is.
    """
    kept, seen = dict(payment.problems), []
    for cause, words in open_problems(payment).items():
        if cause in {KEYS, ADDRESS} or _is_open(cause, operations):
            continue
        seen.append(words)
        kept[cause] = _LOOKED_AT
        if cause.startswith(_EVENT):
            del kept[cause]
    _keep(payment, kept)
    return tuple(seen)


def _is_open(cause: str, operations: Sequence[Operation]) -> bool:
    """Return whether a problem is about an operation that has not ended."""
    name, _, rest = cause.partition(":")
    subject, named, _ = rest.partition(":")
    still_open = [each for each in operations if not each.state.final]
    if f"{name}:" == _WAITING:
        return any(str(each.id) == subject for each in still_open)
    if name == ProblemKind.DISPUTE:
        of_gateway = rest.rpartition(":")[0]
        return any(each.kind is Kind.DISPUTE and each.operation_id == of_gateway for each in still_open)
    if f"{name}:" != _WORDS:
        return False
    if named:
        return any(str(each.id) == subject for each in still_open)
    # More than are listed (``_MORE``), of whatever: nobody looks at those that disagree.
    return any(each.next_poll_at is None and each.state is not State.WAITING for each in still_open)


def _keep(payment: Payment, kept: dict[str, Any]) -> None:
    payment.problems, payment.problem = kept, None
    open_ones = open_problems(payment)
    payment.problem = "\n".join(open_ones.values()) or None
    payment.problem_kinds = "+".join(sorted({_kind_of(cause) for cause in open_ones})) or None
    if payment.problem is None:
        payment.problem_since = None


def _kind_of(cause: str) -> ProblemKind:
    return _KINDS.get(cause.partition(":")[0], ProblemKind.MISMATCH)


def of_dispute(operation: Operation, *, lost: bool) -> str:
    """Return the cause of the problem with a dispute that is open, or that the store has lost."""
    return f"{_DISPUTE}{operation.operation_id}:{'lost' if lost else 'open'}"


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
