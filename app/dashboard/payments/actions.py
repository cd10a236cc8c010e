"""What staff can do with a payment on its page: what is offered, what a form says, and how it went. No I/O."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import uuid4

from app.amounts import NotAnAmountError, read_amount
from app.db.tables import Kind, Operation, State
from app.i18n.messages import StoredMessage, gettext_noop
from app.payments.core.balance import Balance, RecurringCharge
from app.payments.staff.actions import StaffRequest, possible

KINDS = (Kind.CAPTURE, Kind.VOID, Kind.REFUND, Kind.CANCEL)
_KEY = re.compile(r"[0-9a-f]{32}")
_SHARE = "from."  # before the sub-merchant's id in the name of a field


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
class ChargeOffer:
    """A later charge of the payment's subscription, with the ``key`` of the form that gives it back."""

    charge: RecurringCharge
    at: datetime
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


def charge_offers(now: Balance, operations: Sequence[Operation]) -> list[ChargeOffer]:
    """Return the later charges of a subscription, newest first."""
    at = {each.operation_id: each.booked_at or each.created_at for each in operations if each.kind is Kind.RECURRING}
    return [ChargeOffer(each, at[each.id], uuid4().hex) for each in reversed(now.recurring)]


def read_staff_request(kind: Kind, by: str, fields: Sequence[tuple[str, str]]) -> StaffRequest:
    """Return what a form says. Raises NotAnAmountError and NotOurFormError."""
    said = dict(fields)
    if not _KEY.fullmatch(said.get("key", "")):
        raise NotOurFormError
    typed = said.get("amount", "").strip()
    amount = read_amount(typed) if typed and kind in {Kind.CAPTURE, Kind.REFUND} else None
    taken_from = read_amounts(fields) if kind is Kind.REFUND else {}
    reason = said.get("reason", "").strip()
    charge_id = said.get("charge") or None if kind is Kind.REFUND else None
    return StaffRequest(
        kind,
        by=by,
        key=said["key"],
        amount=amount,
        taken_from=taken_from or None,
        charge_id=charge_id,
        reason=reason,
    )


def read_amounts(fields: Iterable[tuple[str, str]]) -> dict[str, Decimal]:
    """Return the amounts of a form by the sub-merchant from whom they are taken. Raises NotAnAmountError.

    Empty fields are of those who give nothing.
    """
    typed = [(name.removeprefix(_SHARE), text.strip()) for name, text in fields if name.startswith(_SHARE)]
    return {who: read_amount(text) for who, text in typed if text}


def amount_typed(fields: Sequence[tuple[str, str]]) -> Decimal | None:
    """Return how much a form for a refund says so far; None where that is nothing, or no amount."""
    typed = dict(fields).get("amount", "").strip()
    try:
        parts = read_amounts(fields)
        return sum(parts.values(), Decimal()) if parts else read_amount(typed)
    except NotAnAmountError:
        return None


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
