"""Where a payment stands, in two or three words. Pure."""

from app.gateway.statuses import Kind as CodeKind
from app.gateway.statuses import Status, explain
from app.ledger.sheets import Sheet
from app.ledger.tables import Flow, Kind, State
from app.payments.balance import Balance, balance

_UNDER_WAY = {
    Kind.CAPTURE: "charge under way",
    Kind.VOID: "release under way",
    Kind.REFUND: "refund under way",
    Kind.CANCEL: "cancellation under way",
}


def standing(sheet: Sheet) -> str:
    """Return where the payment stands, for people: "paid", "waiting for the shopper", "paid, refund under way"."""
    now = balance(sheet.payment.flow, sheet.operations)
    under_way = [_UNDER_WAY[each.kind] for each in sheet.operations if each.kind in _UNDER_WAY and not each.state.final]
    return ", ".join([_standing(sheet, now), *dict.fromkeys(under_way)])


def _standing(sheet: Sheet, now: Balance) -> str:
    create = sheet.create
    match create.state:
        case State.SUCCESS:
            return _of_money(sheet, now)
        case State.FAILURE:
            cancelled = explain(Status.FAILURE, create.status_code).kind is CodeKind.CANCELLED
            return "cancelled" if cancelled else "failed"
        case State.INIT:
            return "waiting for the shopper"
        case State.PENDING:
            return "waiting for the shopper" if create.waits_for_shopper else "waiting for the bank"
        case _:
            return "not known yet"


def _of_money(sheet: Sheet, now: Balance) -> str:
    if now.refunded:
        return "refunded" if now.refunded >= now.charged else "partly refunded"
    if now.charged:
        return "paid" if sheet.payment.flow is Flow.CHARGE else "charged"
    released = any(each.kind is Kind.VOID and each.state is State.SUCCESS for each in sheet.operations)
    return "released" if released else "reserved"
