"""What staff can do with a payment on its page: what is offered, what a form says, and how it went. No I/O."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import uuid4

from app.dashboard.payments.amounts import read_amount, read_amounts
from app.dashboard.translation import marked
from app.ledger.tables import Kind, Operation, State
from app.payments.change.by_staff import Wish, possible
from app.payments.outcome.balance import Balance
from app.payments.said import Kept

KINDS = (Kind.CAPTURE, Kind.VOID, Kind.REFUND, Kind.CANCEL)
_KEY = re.compile(r"[0-9a-f]{32}")


class NotOurForm(Exception):  # noqa: N818 - whoever sent it
    """What was sent is no form of ours: it has no key."""


@dataclass(frozen=True, slots=True)
class Offer:
    """Something that can be done now. ``most`` is its greatest amount.

    ``key`` makes the form that is filled in known: sent twice, it is done once (laws of money, 4).
    """

    kind: Kind
    most: Decimal
    key: str


@dataclass(frozen=True, slots=True)
class News:
    """What has just become of something that staff did. ``status`` is the Dashboard's."""

    words: str
    status: str = "success"
    why: str | None = None


_DONE: Mapping[Kind, str] = {
    Kind.CAPTURE: marked("It is charged."),
    Kind.VOID: marked("The reservation is released."),
    Kind.REFUND: marked("It is refunded."),
    Kind.CANCEL: marked("The payment is cancelled, and its page is closed."),
}
_WAITS = marked("It is accepted, and sent when what is under way is settled.")
_OPEN = marked("It is asked. How it ends is not known yet: the app finds out, and tells Saleor.")
FAILED = marked("It was not done:")


def offers(now: Balance) -> list[Offer]:
    """Return what can be done now, each with a key of its own."""
    return [Offer(step.kind, step.amount, uuid4().hex) for step in possible(now).values()]


def read_wish(kind: Kind, by: str, fields: Sequence[tuple[str, str]]) -> Wish:
    """Return what a form says. Raises NotAnAmount and NotOurForm."""
    said = dict(fields)
    if not _KEY.fullmatch(said.get("key", "")):
        raise NotOurForm
    typed = said.get("amount", "").strip()
    amount = read_amount(typed) if typed and kind in {Kind.CAPTURE, Kind.REFUND} else None
    taken_from = read_amounts(fields) if kind is Kind.REFUND else {}
    return Wish(kind, by=by, key=said["key"], amount=amount, taken_from=taken_from or None)


def news_of(operation: Operation) -> News:
    """Return how it went."""
    match operation.state:
        case State.SUCCESS:
            return News(_DONE[operation.kind])
        case State.FAILURE:
            return News(FAILED, "error", Kept(operation.message or ""))
        case State.WAITING:
            return News(_WAITS, "info")
        case _:
            return News(_OPEN, "info")
