"""What staff can do with a payment on its page: what is offered, what a form says, and how it went. No I/O."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import uuid4

from app.amounts import read_amount
from app.dashboard.payments.amounts import read_amounts
from app.db.tables import Kind, Operation, State
from app.i18n.messages import StoredMessage, gettext_noop
from app.payments.core.balance import Balance
from app.payments.staff.actions import StaffRequest, possible

KINDS = (Kind.CAPTURE, Kind.VOID, Kind.REFUND, Kind.CANCEL)
_KEY = re.compile(r"[0-9a-f]{32}")


class NotOurFormError(Exception):
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
class Flash:
    """What has just become of something that staff did. ``status`` is the Dashboard's."""

    words: str
    status: str = "success"
    why: str | None = None


_DONE: Mapping[Kind, str] = {
    Kind.CAPTURE: gettext_noop("It is charged."),
    Kind.VOID: gettext_noop("The reservation is released."),
    Kind.REFUND: gettext_noop("It is refunded."),
    Kind.CANCEL: gettext_noop("The payment is cancelled, and its page is closed."),
}
_WAITS = gettext_noop("It is accepted, and sent when what is under way is settled.")
_OPEN = gettext_noop("It is asked. How it ends is not known yet: the app finds out, and tells Saleor.")
FAILED = gettext_noop("It was not done:")


def offers(now: Balance) -> list[Offer]:
    """Return what can be done now, each with a key of its own."""
    return [Offer(step.kind, step.amount, uuid4().hex) for step in possible(now).values()]


def read_staff_request(kind: Kind, by: str, fields: Sequence[tuple[str, str]]) -> StaffRequest:
    """Return what a form says. Raises NotAnAmountError and NotOurFormError."""
    said = dict(fields)
    if not _KEY.fullmatch(said.get("key", "")):
        raise NotOurFormError
    typed = said.get("amount", "").strip()
    amount = read_amount(typed) if typed and kind in {Kind.CAPTURE, Kind.REFUND} else None
    taken_from = read_amounts(fields) if kind is Kind.REFUND else {}
    reason = said.get("reason", "").strip()
    return StaffRequest(kind, by=by, key=said["key"], amount=amount, taken_from=taken_from or None, reason=reason)


def flash_of(operation: Operation) -> Flash:
    """Return how it went."""
    match operation.state:
        case State.SUCCESS:
            return Flash(_DONE[operation.kind])
        case State.FAILURE:
            return Flash(FAILED, "error", StoredMessage(operation.message or ""))
        case State.WAITING:
            return Flash(_WAITS, "info")
        case _:
            return Flash(_OPEN, "info")
