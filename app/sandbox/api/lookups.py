"""Look-ups and the repetition of webhooks (gateway interface, 8 and 9)."""

from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from app.sandbox.api.access import PathPos, TheSandbox
from app.sandbox.api.answers import json_answer, lines_answer
from app.sandbox.core.records import Operation, Payment
from app.sandbox.core.refusals import InvalidFieldsError, UnknownRecordError
from app.sandbox.render import any_record, period_row
from app.sandbox.sandbox import Sandbox

router = APIRouter()

_SUBSCRIPTION_METHODS = {"purchase", "refund"}


@router.get("/api/v1/pos/{pos_id}/orders/{order_id}")
async def order(sandbox: TheSandbox, pos: PathPos, order_id: str) -> Response:
    """All transactions of an order. The credential check asks for order 0."""
    sandbox.catch_up()
    records = sandbox.state.records_of(pos.pos_id, order_id)
    if not records and sandbox.state.behaviour(pos.pos_id).unknown_order == "not_found":
        raise UnknownRecordError("Payment not found")
    return json_answer([any_record(sandbox.state, entry) for entry in records])


@router.get("/api/v1/pos/{pos_id}/orders/{order_id}/{operation}")
async def one_operation(request: Request, sandbox: TheSandbox, pos: PathPos, order_id: str, operation: str) -> Response:
    """The latest transaction of one kind; with `callback=true` its webhook is sent again."""
    sandbox.catch_up()
    found = [e for e in sandbox.state.records_of(pos.pos_id, order_id) if e.method == operation]
    if transaction_id := request.query_params.get("transactionId"):
        found = [e for e in found if str(e.transaction_id) == transaction_id]
    if not found:
        raise UnknownRecordError("Payment not found")
    if (callback := request.query_params.get("callback")) is not None:
        if callback != "true":
            raise InvalidFieldsError([("callback", "must be true")])
        _send_again(sandbox, found[-1])
        return json_answer(any_record(sandbox.state, found[-1]))
    if sandbox.state.behaviour(pos.pos_id).one_operation_answer == "array":
        return json_answer([any_record(sandbox.state, entry) for entry in found])
    return json_answer(any_record(sandbox.state, found[-1]))


@router.get("/api/v1/pos/{pos_id}/recurring/{recurring_id}")
async def subscription(
    sandbox: TheSandbox,
    pos: PathPos,
    recurring_id: UUID,
    method: str | None = None,
    status: str | None = None,
) -> Response:
    """Transactions of a subscription. `method` and `status` are required; we take them from the query."""
    sandbox.catch_up()
    if method not in _SUBSCRIPTION_METHODS:
        raise InvalidFieldsError([("method", "must be purchase or refund")])
    if status is None:
        raise InvalidFieldsError([("status", "Field required")])
    charges = [
        payment
        for payment in sandbox.state.payments.values()
        if payment.pos_id == pos.pos_id and payment.recurring_id == recurring_id
    ]
    if not charges:
        raise UnknownRecordError("Subscription not found")
    entries: list[Payment | Operation] = []
    for payment in charges:
        entries += [payment, *sandbox.state.operations_of(payment)]
    chosen = [entry for entry in entries if entry.method == method and entry.status == status]
    return json_answer([any_record(sandbox.state, entry) for entry in chosen])


@router.get("/api/v1/pos/{pos_id}/transactions")
async def period(
    sandbox: TheSandbox,
    pos: PathPos,
    start: Annotated[str | None, Query(alias="startDate")] = None,
    end: Annotated[str | None, Query(alias="enddate")] = None,
) -> Response:
    """All transactions created in a period (Unix milliseconds), one per line."""
    sandbox.catch_up()
    first, last = _moment("startDate", start), _moment("enddate", end)
    state = sandbox.state
    entries: list[Payment | Operation] = [*state.payments.values(), *state.operations.values()]
    inside = [e for e in entries if e.pos_id == pos.pos_id and first <= e.created_at <= last]
    inside.sort(key=lambda entry: entry.created_at)
    return lines_answer(period_row(state, entry) for entry in inside)


def _send_again(sandbox: Sandbox, entry: Payment | Operation) -> None:
    if entry.server_url is not None:
        sandbox.send(sandbox.write_webhook(entry, entry.server_url))
        sandbox.save()


def _moment(name: str, value: str | None) -> datetime:
    if value is None or not value.isdecimal() or len(value) > 14:
        raise InvalidFieldsError([(name, "must be a Unix time in milliseconds")])
    return datetime.fromtimestamp(int(value) / 1000, UTC)
