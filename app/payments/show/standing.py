"""Where a payment stands, in two or three words. Pure."""

from enum import StrEnum

from app.gateway.statuses import Kind as CodeKind
from app.gateway.statuses import Status, explain
from app.ledger.sheets import Sheet
from app.ledger.tables import Flow, Kind, State
from app.payments.outcome.balance import Balance, balance


class Standing(StrEnum):
    """Where a payment stands, or what is being done to it, in English for people."""

    PAID = "paid"
    RESERVED = "reserved"
    CHARGED = "charged"
    RELEASED = "released"
    PARTLY_REFUNDED = "partly refunded"
    REFUNDED = "refunded"
    CANCELLED = "cancelled"
    FAILED = "failed"
    WAITING_FOR_SHOPPER = "waiting for the shopper"
    WAITING_FOR_BANK = "waiting for the bank"
    NOT_KNOWN = "not known yet"
    CHARGING = "charge under way"
    RELEASING = "release under way"
    REFUNDING = "refund under way"
    CANCELLING = "cancellation under way"
    DISPUTED = "dispute under way"
    CHARGED_BACK = "charged back"


_UNDER_WAY = {
    Kind.CAPTURE: Standing.CHARGING,
    Kind.VOID: Standing.RELEASING,
    Kind.REFUND: Standing.REFUNDING,
    Kind.CANCEL: Standing.CANCELLING,
    Kind.DISPUTE: Standing.DISPUTED,
}


def standing(sheet: Sheet) -> str:
    """Return where the payment stands, for people: "paid", "waiting for the shopper", "paid, refund under way"."""
    return ", ".join(standings(sheet))


def standings(sheet: Sheet) -> tuple[Standing, ...]:
    """Return where the payment stands, and then what is being done to it."""
    now = balance(sheet.payment.flow, sheet.operations)
    under_way = [_UNDER_WAY[each.kind] for each in sheet.operations if each.kind in _UNDER_WAY and not each.state.final]
    if any(each.kind is Kind.DISPUTE and each.state is State.SUCCESS for each in sheet.operations):
        under_way.append(Standing.CHARGED_BACK)
    return (_standing(sheet, now), *dict.fromkeys(under_way))


def _standing(sheet: Sheet, now: Balance) -> Standing:
    create = sheet.create
    match create.state:
        case State.SUCCESS:
            return _of_money(sheet, now)
        case State.FAILURE:
            cancelled = explain(Status.FAILURE, create.status_code).kind is CodeKind.CANCELLED
            return Standing.CANCELLED if cancelled else Standing.FAILED
        case State.INIT:
            return Standing.WAITING_FOR_SHOPPER
        case State.PENDING:
            return Standing.WAITING_FOR_SHOPPER if create.waits_for_shopper else Standing.WAITING_FOR_BANK
        case _:
            return Standing.NOT_KNOWN


def _of_money(sheet: Sheet, now: Balance) -> Standing:
    if now.refunded:
        return Standing.REFUNDED if now.refunded >= now.charged else Standing.PARTLY_REFUNDED
    if now.charged:
        return Standing.PAID if sheet.payment.flow is Flow.CHARGE else Standing.CHARGED
    released = any(each.kind is Kind.VOID and each.state is State.SUCCESS for each in sheet.operations)
    return Standing.RELEASED if released else Standing.RESERVED
