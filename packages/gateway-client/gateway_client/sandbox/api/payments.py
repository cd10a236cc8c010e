"""Creating payments: direct, hosted, QR, payouts, split (gateway interface, 1 and 2)."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from gateway_client.sandbox.api.access import JsonObject, SandboxDep, authenticate, base_url
from gateway_client.sandbox.api.responses import json_response
from gateway_client.sandbox.core.bodies import DirectPayment, HostedPayment, Payout, read_body
from gateway_client.sandbox.core.creation import create_direct_payment, create_hosted_payment, create_payout
from gateway_client.sandbox.core.dialects import check_creation
from gateway_client.sandbox.core.refusals import InvalidFieldsError
from gateway_client.sandbox.render import checkout_url, payment_record
from gateway_client.sandbox.sandbox import Sandbox
from gateway_client.sandbox.settings import Behaviour, PointOfSale

router = APIRouter()

Qr = Annotated[bool, Query(description="answer with the address of a QR page")]


@router.post("/api/v1/payment")
async def create(request: Request, sandbox: SandboxDep, body: JsonObject, qr: Qr = False) -> Response:
    """1: direct, hosted or payout."""
    return _create(request, sandbox, body, qr=qr)


@router.post("/api/v1/split/purchase")
async def create_split(request: Request, sandbox: SandboxDep, body: JsonObject, qr: Qr = False) -> Response:
    """2: like 1, with the amount distributed among sub-merchants."""
    return _create(request, sandbox, body, qr=qr, split=True)


def _create(request: Request, sandbox: Sandbox, body: dict[str, Any], *, qr: bool, split: bool = False) -> Response:
    pos = authenticate(sandbox, request, body.get("pos_id"))
    request.state.duplicate_http_status = sandbox.state.behaviour(pos.pos_id).duplicate_http_status
    order_id = body.get("order_id")
    if isinstance(order_id, str) and order_id:
        sandbox.state.use_order_id(pos.pos_id, order_id)
    check_creation(sandbox.state.behaviour(pos.pos_id), body)
    _check_split(sandbox.state.behaviour(pos.pos_id), body, split=split)
    try:
        if body.get("mode") == "hosted":
            return _create_hosted(request, sandbox, pos, body, qr=qr)
        return _create_direct(request, sandbox, pos, body)
    finally:
        sandbox.publish_changes()


def _create_hosted(request: Request, sandbox: Sandbox, pos: PointOfSale, body: dict[str, Any], *, qr: bool) -> Response:
    fields = read_body(HostedPayment, body)
    payment = create_hosted_payment(sandbox.state, pos.pos_id, fields, base_url(request), sandbox.now())
    if qr:
        return json_response({"qr_link": checkout_url(payment, "qr")})
    form = checkout_url(payment, "form")
    if sandbox.state.behaviour(pos.pos_id).hosted_answer == "json":
        return json_response({"redirect_url": form})
    return Response(status_code=303, headers={"location": form})


def _create_direct(request: Request, sandbox: Sandbox, pos: PointOfSale, body: dict[str, Any]) -> Response:
    state, now, address = sandbox.state, sandbox.now(), base_url(request)
    if body.get("method") == "credit":
        payment = create_payout(state, pos.pos_id, read_body(Payout, body), address, now)
    else:
        payment = create_direct_payment(state, pos.pos_id, read_body(DirectPayment, body), address, now)
    return json_response(payment_record(state, payment, "processing_time"))


def _check_split(behaviour: Behaviour, body: dict[str, Any], *, split: bool) -> None:
    """Check that purchases are split only at the split endpoint, which takes nothing else; options allow reservations.

    Raises InvalidFieldsError.
    """
    if split and body.get("split") is None:
        raise InvalidFieldsError([("split", "Field required")])
    if split and body.get("method") != "purchase":
        raise InvalidFieldsError([("method", "must be purchase")])
    reserved = body.get("method") == "auth" and behaviour.split_reservations
    if not split and "split" in body and not reserved:
        raise InvalidFieldsError([("split", "is no field of this request")])
