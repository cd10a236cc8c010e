"""Turns the gateway's records into what the mapper judges."""

from app.gateway.models import OperationRecord, PaymentRecord, Status
from app.gateway.statuses import Kind as CodeKind
from app.gateway.statuses import explain
from app.ledger.tables import Flow, Kind, State
from app.payments.outcome.mapper import Seen
from app.payments.outcome.paid_with import paid_with
from app.payments.outcome.particulars import Particulars, web_address

_FLOWS = {"purchase": Flow.CHARGE, "auth": Flow.AUTHORIZATION}
_SECONDARY = {"capture": Kind.CAPTURE, "void": Kind.VOID, "refund": Kind.REFUND}
_STATES = {
    Status.INIT: State.INIT,
    Status.PENDING: State.PENDING,
    Status.SUCCESS: State.SUCCESS,
    Status.FAILURE: State.FAILURE,
}


def seen_in(record: PaymentRecord | OperationRecord, language: str) -> Seen | None:
    """Return what a record says; None for a kind of operation that no payment of ours has (a dispute, say)."""
    words = explain(record.status, record.status_code)
    kind: Kind | None
    flow = None
    if isinstance(record, PaymentRecord):
        flow = _FLOWS.get(str(record.method))
        kind = Kind.CREATE if flow else None
        gateway_id = record.payment_id
    else:
        kind = _SECONDARY.get(str(record.method))
        gateway_id = record.operation_id
    if kind is None:
        return None
    paid, paid_currency, method, acts, action_url = None, None, None, False, None
    if isinstance(record, PaymentRecord):
        paid, paid_currency = record.processed_amount, record.processed_currency
        method = paid_with(record)
        acts = bool(record.user_action_required)
        action_url = web_address(record.user_action_url) if acts else None
    return Seen(
        kind=kind,
        state=_STATES[record.status],
        amount=record.amount,
        currency=record.currency,
        pos_id=record.pos_id,
        order_id=record.order_id,
        gateway_id=gateway_id,
        flow=flow,
        status_code=record.status_code,
        message=_for_staff(words.staff, record.status_code),
        shopper_message=words.shopper(language),
        waits_for_shopper=acts or words.kind is CodeKind.SHOPPER,
        action_url=action_url,
        paid=paid,
        paid_currency=paid_currency,
        method=method,
        particulars=Particulars.of(record),
    )


def _for_staff(words: str, code: str | None) -> str:
    return f"{words.rstrip('.')} [{code}]" if code else words.rstrip(".")
