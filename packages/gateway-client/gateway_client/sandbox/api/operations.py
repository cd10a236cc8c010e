"""Capture, void, refund, split refund, cancel (gateway interface, 3 to 7)."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from gateway_client.sandbox.api.access import AuthenticatedPos, JsonObject, SandboxDep, authenticate
from gateway_client.sandbox.api.responses import json_response
from gateway_client.sandbox.core import attempts, secondary
from gateway_client.sandbox.core.bodies import (
    CaptureBody,
    RefundBody,
    SplitCaptureBody,
    SplitRefundBody,
    VoidBody,
    read_body,
)
from gateway_client.sandbox.core.dialects import check_products, require_path
from gateway_client.sandbox.core.fields import check_webhook_port
from gateway_client.sandbox.core.records import Operation, OperationMethod, Payment
from gateway_client.sandbox.core.refusals import InvalidFieldsError, NotPossibleError
from gateway_client.sandbox.render import operation_record, payment_record
from gateway_client.sandbox.sandbox import Sandbox
from gateway_client.sandbox.settings import PointOfSale

router = APIRouter()


@router.post("/api/v1/capture")
async def capture(request: Request, sandbox: SandboxDep, body: JsonObject) -> Response:
    """Capture without split; not in the interface, but on the provider's public pages."""
    pos = authenticate(sandbox, request, body.get("pos_id"))
    require_path(sandbox.state.behaviour(pos.pos_id).plain_capture)
    check_products(sandbox.state.behaviour(pos.pos_id), body, at_creation=False)
    return _capture(sandbox, pos, read_body(CaptureBody, body))


@router.post("/api/v1/split/capture")
async def split_capture(request: Request, sandbox: SandboxDep, body: JsonObject) -> Response:
    """3: capture a hold, whole or in part; `split` distributes the captured amount."""
    pos = authenticate(sandbox, request, body.get("pos_id"))
    check_products(sandbox.state.behaviour(pos.pos_id), body, at_creation=False)
    return _capture(sandbox, pos, read_body(SplitCaptureBody, body))


@router.post("/api/v1/void")
async def void(request: Request, sandbox: SandboxDep, body: JsonObject) -> Response:
    """4: void a hold."""
    pos = authenticate(sandbox, request, body.get("pos_id"))
    fields = read_body(VoidBody, body)
    operation_request = secondary.OperationRequest(
        currency=fields.order_currency, comment=fields.comment, server_url=fields.server_url
    )
    return perform_operation(sandbox, _payment(sandbox, pos, fields.order_id), "void", operation_request)


@router.post("/api/v1/refund")
async def refund(request: Request, sandbox: SandboxDep, body: JsonObject) -> Response:
    """5: refund a payment."""
    pos = authenticate(sandbox, request, body.get("pos_id"))
    check_products(sandbox.state.behaviour(pos.pos_id), body, at_creation=False)
    fields = read_body(RefundBody, body)
    operation_request = secondary.OperationRequest(
        amount=fields.refund_amount,
        currency=fields.order_currency,
        comment=fields.comment,
        server_url=fields.server_url,
        products=fields.goods,
    )
    return perform_operation(sandbox, _payment(sandbox, pos, fields.order_id), "refund", operation_request)


@router.post("/api/v1/split/refund")
async def split_refund(request: Request, sandbox: SandboxDep, body: JsonObject) -> Response:
    """6: refund a payment, each sub-merchant its share."""
    pos = authenticate(sandbox, request, body.get("pos_id"))
    fields = read_body(SplitRefundBody, body)
    operation_request = secondary.OperationRequest(
        amount=fields.refund_amount,
        currency=fields.currency,
        split=fields.shares,
        through_split=True,
        comment=fields.comment,
        server_url=fields.server_url,
    )
    return perform_operation(sandbox, _payment(sandbox, pos, fields.order_id), "refund", operation_request)


@router.post("/api/v1/pos/{pos_id}/order/{order_id:path}/cancel")
async def cancel(request: Request, sandbox: SandboxDep, pos: AuthenticatedPos, order_id: str) -> Response:
    """7: cancel an unpaid hosted payment; there is no body, and the response is an array."""
    if await request.body():
        raise InvalidFieldsError([("body", "is not expected")])
    payment = _payment(sandbox, pos, order_id)
    attempts.cancel(sandbox.state, payment, sandbox.now())
    sandbox.publish_changes()
    return json_response([payment_record(sandbox.state, payment, "processing_time")])


def perform_operation(
    sandbox: Sandbox, payment: Payment, method: OperationMethod, operation_request: secondary.OperationRequest
) -> Response:
    """Perform an operation and return its record; the response to a refusal depends on the point of sale's options."""
    check_webhook_port(sandbox.state.behaviour(payment.pos_id), operation_request.server_url)
    try:
        operation = secondary.operate(sandbox.state, payment, method, operation_request, sandbox.now())
    except NotPossibleError as refusal:
        if sandbox.state.behaviour(payment.pos_id).refusal == "message":
            raise
        return json_response(_refused_record(sandbox, payment, method, operation_request, refusal))
    finally:
        sandbox.publish_changes()
    return json_response(operation_record(sandbox.state, operation))


def _capture(sandbox: Sandbox, pos: PointOfSale, fields: CaptureBody) -> Response:
    through_split = isinstance(fields, SplitCaptureBody)
    operation_request = secondary.OperationRequest(
        amount=fields.charge_amount,
        currency=fields.order_currency,
        split=fields.shares if isinstance(fields, SplitCaptureBody) else [],
        through_split=through_split,
        comment=fields.comment,
        server_url=fields.server_url,
        products=fields.goods,
    )
    return perform_operation(sandbox, _payment(sandbox, pos, fields.order_id), "capture", operation_request)


def _payment(sandbox: Sandbox, pos: PointOfSale, order_id: str) -> Payment:
    sandbox.catch_up()  # an expired payment must not be operated on
    return sandbox.state.first_payment(pos.pos_id, order_id)


def _refused_record(
    sandbox: Sandbox,
    payment: Payment,
    method: OperationMethod,
    operation_request: secondary.OperationRequest,
    refusal: NotPossibleError,
) -> dict[str, Any]:
    operation = Operation(
        operation_id=sandbox.state.new_id(),
        payment_id=payment.payment_id,
        order_id=payment.order_id,
        pos_id=payment.pos_id,
        method=method,
        amount=operation_request.amount or payment.amount,
        currency=payment.currency,
        created_at=sandbox.now(),
        comment=operation_request.comment,
        through_split=operation_request.through_split,
    )
    operation.set_status(refusal.status_code, sandbox.now())
    return operation_record(sandbox.state, operation)
