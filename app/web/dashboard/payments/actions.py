"""The actions of staff on a payment's page: the offered ones, the parsing of forms, and the results. No I/O."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import uuid4

from app.core.ids import GatewayOperationId
from app.core.payment import Operation
from app.core.vocabulary import Kind, State
from app.flows.staff.actions import StaffRequest, possible_actions
from app.i18n.currencies import read_amount_in
from app.i18n.messages import StoredMessage, gettext_noop
from app.rules.balance import Balance, RecurringCharge
from app.rules.refusal import RefusalError
from app.web.dashboard.form import InvalidFieldsError
from integration_base.amounts import NotAnAmountError

KINDS = (Kind.CAPTURE, Kind.VOID, Kind.REFUND, Kind.CANCEL)
_KEY = re.compile(r"[0-9a-f]{32}")
_AMOUNT = "amount"
_SHARE = "from."  # before the sub-merchant's id in the name of a field


class InvalidFormError(Exception):
    """The submitted form is not one of ours: it has no key."""


@dataclass(frozen=True, slots=True)
class Offer:
    """An action that is possible now. ``most`` is its maximum amount.

    ``key`` identifies the submitted form: sent twice, it is executed once (laws of money, 4).
    """

    kind: Kind
    most: Decimal
    key: str


@dataclass(frozen=True, slots=True)
class ChargeOffer:
    """A later charge of the payment's subscription, with the ``key`` of the form that refunds it."""

    charge: RecurringCharge
    at: datetime
    key: str


@dataclass(frozen=True, slots=True)
class Flash:
    """The result of an action that staff have just taken. ``status`` is one of the Dashboard's.

    ``field`` is the field of the form that has to be corrected, if there is one.
    """

    words: str
    status: str = "success"
    why: str | None = None
    field: str | None = None


_SUCCEEDED: Mapping[Kind, str] = {
    Kind.CAPTURE: gettext_noop("The amount was captured."),
    Kind.VOID: gettext_noop("The authorized amount was released."),
    Kind.REFUND: gettext_noop("The amount was refunded."),
    Kind.CANCEL: gettext_noop("The payment was cancelled, and its payment page is closed."),
}
NOT_AN_AMOUNT = gettext_noop("Enter amounts like 1234.50.")
_WAITING = gettext_noop("Request accepted. It will be sent when the operation in progress has finished.")
_PENDING = gettext_noop(
    "Request sent. The outcome is not known yet, and it may have been done: do not do it again. The app will find out"
    " and report it to Saleor."
)
FAILED = gettext_noop("The operation failed:")


def offers(now: Balance) -> list[Offer]:
    """Return the actions that are possible now, each with a key of its own."""
    return [Offer(step.kind, step.amount, uuid4().hex) for step in possible_actions(now).values()]


def charge_offers(now: Balance, operations: Sequence[Operation]) -> list[ChargeOffer]:
    """Return the later charges of a subscription, newest first."""
    at = {
        operation.operation_id: operation.booked_at or operation.created_at
        for operation in operations
        if operation.kind is Kind.RECURRING
    }
    return [ChargeOffer(charge, at[charge.id], uuid4().hex) for charge in reversed(now.recurring)]


def read_staff_request(kind: Kind, by: str, fields: Sequence[tuple[str, str]], *, currency: str = "") -> StaffRequest:
    """Parse the form of an action. Raises InvalidFormError, and InvalidFieldsError with all invalid amounts.

    Without a ``currency`` amounts have two decimals at most.
    """
    params = dict(fields)
    if not _KEY.fullmatch(params.get("key", "")):
        raise InvalidFormError
    amounts = _read_amounts(fields, _is_amount, currency) if kind in {Kind.CAPTURE, Kind.REFUND} else {}
    amount = amounts.pop(_AMOUNT, None)
    taken_from = {name.removeprefix(_SHARE): part for name, part in amounts.items()} if kind is Kind.REFUND else {}
    reason = params.get("reason", "").strip()
    charge = params.get("charge") if kind is Kind.REFUND else None
    return StaffRequest(
        kind,
        by=by,
        key=params["key"],
        amount=amount,
        taken_from=taken_from or None,
        charge_id=GatewayOperationId(charge) if charge else None,
        reason=reason,
    )


def read_amounts(fields: Iterable[tuple[str, str]], *, currency: str) -> dict[str, Decimal]:
    """Return the amounts of a form by the sub-merchant from whom they are taken. Raises InvalidFieldsError.

    Empty fields belong to sub-merchants from whom nothing is taken.
    """
    amounts = _read_amounts(fields, _is_share, currency)
    return {name.removeprefix(_SHARE): amount for name, amount in amounts.items()}


def _is_share(name: str) -> bool:
    return name.startswith(_SHARE)


def _is_amount(name: str) -> bool:
    return name == _AMOUNT or _is_share(name)


def _read_amounts(
    fields: Iterable[tuple[str, str]], is_wanted: Callable[[str], bool], currency: str
) -> dict[str, Decimal]:
    """Return the amounts in those fields that are not empty. Raises InvalidFieldsError with all that are none."""
    amounts: dict[str, Decimal] = {}
    invalid: dict[str, str] = {}
    for name, text in fields:
        if not is_wanted(name) or not text.strip():
            continue
        try:
            amounts[name] = read_amount_in(currency, text.strip())
        except NotAnAmountError:
            invalid[name] = NOT_AN_AMOUNT
    if invalid:
        raise InvalidFieldsError(invalid)
    return amounts


def field_of(refusal: RefusalError, fields: Sequence[tuple[str, str]]) -> str | None:
    """Return the field of a form that a refusal concerns: the amount, or that of a sub-merchant."""
    names = dict(fields)
    return next((name for name in (refusal.field or "", f"{_SHARE}{refusal.field}") if name in names), None)


def typed_amount(fields: Sequence[tuple[str, str]], currency: str) -> Decimal | None:
    """Return the amount typed so far into a refund form; None when it is empty, or not an amount."""
    amount_text = dict(fields).get("amount", "").strip()
    try:
        parts = read_amounts(fields, currency=currency)
        return sum(parts.values(), Decimal()) if parts else read_amount_in(currency, amount_text)
    except (NotAnAmountError, InvalidFieldsError):
        return None


def flash_for(operation: Operation) -> Flash:
    """Return the message about the result of an operation."""
    match operation.state:
        case State.SUCCESS:
            return Flash(_SUCCEEDED[operation.kind])
        case State.FAILURE:
            return Flash(FAILED, "error", StoredMessage(operation.message or ""))
        case State.WAITING:
            return Flash(_WAITING, "info")
        case _:
            return Flash(_PENDING, "info")
