"""Look-ups, and resending webhooks (gateway interface, 8 and 9)."""

from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import unquote
from uuid import UUID

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from gateway_client.sandbox.api.access import AuthenticatedPos, SandboxDep
from gateway_client.sandbox.api.responses import json_response, ndjson_response
from gateway_client.sandbox.core.records import Operation, Payment
from gateway_client.sandbox.core.refusals import InvalidFieldsError, UnknownRecordError
from gateway_client.sandbox.render import lookup_record, period_row
from gateway_client.sandbox.sandbox import Sandbox
from gateway_client.sandbox.settings import PointOfSale

router = APIRouter()

_SUBSCRIPTION_METHODS = {"purchase", "refund"}


@router.get("/api/v1/pos/{pos_id}/orders/{steps:path}")
async def order(request: Request, sandbox: SandboxDep, pos: AuthenticatedPos) -> Response:
    """Return all transactions of an order, or the latest of one kind, if the path names one behind the order.

    The credential check looks up order 0.
    """
    sandbox.catch_up()
    # An id may have slashes. They are escaped, and only in the path as it was sent they are no end of a step.
    sent = request.scope["raw_path"].decode("ascii").partition("/orders/")[2]
    order_id, *operation = (unquote(step) for step in sent.split("/", 1))
    if operation:
        return _one_operation(request, sandbox, pos, order_id, operation[0])
    records = sandbox.state.records_of(pos.pos_id, order_id)
    if not records and sandbox.state.behaviour(pos.pos_id).unknown_order == "not_found":
        raise UnknownRecordError("Payment not found")
    return json_response([lookup_record(sandbox.state, entry) for entry in records])


def _one_operation(request: Request, sandbox: Sandbox, pos: PointOfSale, order_id: str, operation: str) -> Response:
    """Return the latest transaction of one kind; with `callback=true`, also resend its webhook."""
    found = [e for e in sandbox.state.records_of(pos.pos_id, order_id) if e.method == operation]
    if transaction_id := request.query_params.get("transactionId"):
        found = [e for e in found if str(e.transaction_id) == transaction_id]
    if not found:
        raise UnknownRecordError("Payment not found")
    if (callback := request.query_params.get("callback")) is not None:
        if callback != "true":
            raise InvalidFieldsError([("callback", "must be true")])
        _resend_webhook(sandbox, found[-1])
        return json_response(lookup_record(sandbox.state, found[-1]))
    if sandbox.state.behaviour(pos.pos_id).one_operation_answer == "array":
        return json_response([lookup_record(sandbox.state, entry) for entry in found])
    return json_response(lookup_record(sandbox.state, found[-1]))


@router.get("/api/v1/pos/{pos_id}/recurring/{recurring_id}")
async def subscription(
    sandbox: SandboxDep,
    pos: AuthenticatedPos,
    recurring_id: UUID,
    method: str | None = None,
    status: str | None = None,
) -> Response:
    """Return transactions of a subscription. `method` and `status` are required; we read them from the query."""
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
    return json_response([lookup_record(sandbox.state, entry) for entry in chosen])


@router.get("/api/v1/pos/{pos_id}/transactions")
async def period(
    sandbox: SandboxDep,
    pos: AuthenticatedPos,
    start: Annotated[str | None, Query(alias="startDate")] = None,
    end: Annotated[str | None, Query(alias="enddate")] = None,
) -> Response:
    """Return all transactions created in a period (Unix milliseconds), one per line."""
    sandbox.catch_up()
    first, last = _parse_milliseconds("startDate", start), _parse_milliseconds("enddate", end)
    state = sandbox.state
    entries: list[Payment | Operation] = [*state.payments.values(), *state.operations.values()]
    inside = [e for e in entries if e.pos_id == pos.pos_id and first <= e.created_at <= last]
    inside.sort(key=lambda entry: entry.created_at)
    return ndjson_response(period_row(state, entry) for entry in inside)


def _resend_webhook(sandbox: Sandbox, entry: Payment | Operation) -> None:
    if entry.server_url is not None:
        sandbox.send(sandbox.create_webhook(entry, entry.server_url))
        sandbox.save()


def _parse_milliseconds(name: str, value: str | None) -> datetime:
    if value is None or not value.isdecimal() or len(value) > 14:
        raise InvalidFieldsError([(name, "must be a Unix time in milliseconds")])
    return datetime.fromtimestamp(int(value) / 1000, UTC)
