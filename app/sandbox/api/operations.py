"""Capture, void, refund, split refund, cancel (gateway interface, 3 to 7)."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.sandbox.api.access import JsonObject, PathPos, TheSandbox, authenticate
from app.sandbox.api.answers import json_answer
from app.sandbox.core import attempts, secondary
from app.sandbox.core.bodies import CaptureBody, RefundBody, SplitCaptureBody, SplitRefundBody, VoidBody, read_body
from app.sandbox.core.fields import check_webhook_port
from app.sandbox.core.records import Operation, OperationMethod, Payment
from app.sandbox.core.refusals import NotPossibleError
from app.sandbox.render import operation_record, payment_record
from app.sandbox.sandbox import Sandbox
from app.sandbox.settings import PointOfSale

router = APIRouter()


@router.post("/api/v1/capture")
async def capture(request: Request, sandbox: TheSandbox, body: JsonObject) -> Response:
    """Capture without split; not in the interface, but in the provider's public pages."""
    pos = authenticate(sandbox, request, body.get("pos_id"))
    return _capture(sandbox, pos, read_body(CaptureBody, body))


@router.post("/api/v1/split/capture")
async def split_capture(request: Request, sandbox: TheSandbox, body: JsonObject) -> Response:
    """3: take a hold, whole or in part; `split` distributes what is taken."""
    pos = authenticate(sandbox, request, body.get("pos_id"))
    return _capture(sandbox, pos, read_body(SplitCaptureBody, body))


@router.post("/api/v1/void")
async def void(request: Request, sandbox: TheSandbox, body: JsonObject) -> Response:
    """4: give a hold back."""
    pos = authenticate(sandbox, request, body.get("pos_id"))
    fields = read_body(VoidBody, body)
    order = secondary.Order(currency=fields.order_currency, comment=fields.comment, server_url=fields.server_url)
    return act(sandbox, _payment(sandbox, pos, fields.order_id), "void", order)


@router.post("/api/v1/refund")
async def refund(request: Request, sandbox: TheSandbox, body: JsonObject) -> Response:
    """5: give money back."""
    pos = authenticate(sandbox, request, body.get("pos_id"))
    fields = read_body(RefundBody, body)
    order = secondary.Order(
        amount=fields.refund_amount,
        currency=fields.order_currency,
        comment=fields.comment,
        server_url=fields.server_url,
        products=fields.goods,
    )
    return act(sandbox, _payment(sandbox, pos, fields.order_id), "refund", order)


@router.post("/api/v1/split/refund")
async def split_refund(request: Request, sandbox: TheSandbox, body: JsonObject) -> Response:
    """6: give money back, each sub-merchant its part."""
    pos = authenticate(sandbox, request, body.get("pos_id"))
    fields = read_body(SplitRefundBody, body)
    order = secondary.Order(
        amount=fields.refund_amount,
        currency=fields.currency,
        split=fields.shares,
        through_split=True,
        comment=fields.comment,
        server_url=fields.server_url,
    )
    return act(sandbox, _payment(sandbox, pos, fields.order_id), "refund", order)


@router.post("/api/v1/pos/{pos_id}/order/{order_id}/cancel")
async def cancel(sandbox: TheSandbox, pos: PathPos, order_id: str) -> Response:
    """7: cancel an unpaid hosted payment; the answer is an array."""
    payment = _payment(sandbox, pos, order_id)
    attempts.cancel(sandbox.state, payment, sandbox.now())
    sandbox.publish_changes()
    return json_answer([payment_record(sandbox.state, payment, "processing_time")])


def act(sandbox: Sandbox, payment: Payment, method: OperationMethod, order: secondary.Order) -> Response:
    """Carry out an operation and answer with its record; a refusal is answered as the point of sale's options say."""
    check_webhook_port(sandbox.state.behaviour(payment.pos_id), order.server_url)
    try:
        operation = secondary.operate(sandbox.state, payment, method, order, sandbox.now())
    except NotPossibleError as refusal:
        if sandbox.state.behaviour(payment.pos_id).refusal == "message":
            raise
        return json_answer(_refused_record(sandbox, payment, method, order, refusal))
    finally:
        sandbox.publish_changes()
    return json_answer(operation_record(operation))


def _capture(sandbox: Sandbox, pos: PointOfSale, fields: CaptureBody) -> Response:
    through_split = isinstance(fields, SplitCaptureBody)
    order = secondary.Order(
        amount=fields.charge_amount,
        currency=fields.order_currency,
        split=fields.shares if isinstance(fields, SplitCaptureBody) else [],
        through_split=through_split,
        comment=fields.comment,
        server_url=fields.server_url,
        products=fields.goods,
    )
    return act(sandbox, _payment(sandbox, pos, fields.order_id), "capture", order)


def _payment(sandbox: Sandbox, pos: PointOfSale, order_id: str) -> Payment:
    sandbox.catch_up()  # what expired a moment ago must not be operated on
    return sandbox.state.first_payment(pos.pos_id, order_id)


def _refused_record(
    sandbox: Sandbox, payment: Payment, method: OperationMethod, order: secondary.Order, refusal: NotPossibleError
) -> dict[str, Any]:
    operation = Operation(
        operation_id=sandbox.state.new_id(),
        payment_id=payment.payment_id,
        order_id=payment.order_id,
        pos_id=payment.pos_id,
        method=method,
        amount=order.amount or payment.amount,
        currency=payment.currency,
        created_at=sandbox.now(),
        comment=order.comment,
        through_split=order.through_split,
    )
    operation.move(refusal.status_code, sandbox.now())
    return operation_record(operation)
