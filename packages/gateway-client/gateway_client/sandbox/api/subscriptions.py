"""Subscriptions, wallet tokens and the health check. What the interface omits is from the provider's public pages."""

from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response

from gateway_client.sandbox.api.access import (
    AuthenticatedPos,
    JsonObject,
    SandboxDep,
    authenticate,
    authenticate_by_api_key,
)
from gateway_client.sandbox.api.operations import perform_operation
from gateway_client.sandbox.api.responses import json_response
from gateway_client.sandbox.core import secondary, wallets
from gateway_client.sandbox.core.bodies import SubscriptionRefundBody, WalletSessionBody, WalletTokenBody, read_body
from gateway_client.sandbox.core.creation import create_wallet_card
from gateway_client.sandbox.core.dialects import require_path
from gateway_client.sandbox.core.records import Payment, Subscription
from gateway_client.sandbox.core.refusals import UnknownRecordError
from gateway_client.sandbox.core.subscriptions import stop
from gateway_client.sandbox.render import timestamp
from gateway_client.sandbox.settings import Behaviour

router = APIRouter()


@router.get("/health")
async def health() -> PlainTextResponse:
    """Respond OK: the sandbox is running."""
    return PlainTextResponse("OK")


@router.put("/api/v1/recurring/{recurring_id}/cancel")
async def cancel(request: Request, sandbox: SandboxDep, recurring_id: UUID) -> Response:
    """Cancel a subscription: there are no further charges."""
    caller = authenticate_by_api_key(sandbox, request)
    require_path(sandbox.state.behaviour(caller.pos_id).subscriptions)
    subscription = sandbox.state.subscriptions.get(recurring_id)
    if subscription is None or sandbox.points_of_sale[subscription.pos_id].api_key != caller.api_key:
        raise UnknownRecordError("Subscription not found")
    sandbox.catch_up()
    stop(subscription, sandbox.now())
    sandbox.publish_changes()
    first = sandbox.state.payments[subscription.first_payment_id]
    return json_response(_cancellation_record(subscription, first, sandbox.state.behaviour(caller.pos_id)))


@router.post("/api/v1/pos/{pos_id}/recurring/{recurring_id}/payments/{payment_id}/refund")
async def refund(
    sandbox: SandboxDep, pos: AuthenticatedPos, recurring_id: UUID, payment_id: UUID, body: JsonObject
) -> Response:
    """Refund one charge."""
    require_path(sandbox.state.behaviour(pos.pos_id).subscriptions)
    fields = read_body(SubscriptionRefundBody, body)
    payment = sandbox.state.payments.get(payment_id)
    if payment is None or (payment.pos_id, payment.recurring_id) != (pos.pos_id, recurring_id):
        raise UnknownRecordError("Payment not found")
    operation_request = secondary.OperationRequest(
        amount=fields.refund_amount,
        currency=fields.order_currency,
        comment=fields.comment,
        server_url=fields.server_url,
    )
    return perform_operation(sandbox, payment, "refund", operation_request)


@router.post("/api/v1/tokenization/tokenize")
async def tokenize(request: Request, sandbox: SandboxDep, body: JsonObject) -> Response:
    """Return a card token for a wallet's token. Only X-API-AUTH is needed."""
    pos = authenticate(sandbox, request, body.get("pos_id"), with_endpoints_key=False)
    require_path(sandbox.state.behaviour(pos.pos_id).wallet_calls)
    wallets.check_allowed(sandbox.state, pos.pos_id, str(body.get("token")).partition(":")[0])
    fields = read_body(WalletTokenBody, body)
    card = create_wallet_card(sandbox.state, pos.pos_id, sandbox.now(), wallets.code_of(fields.token))
    sandbox.save()
    return json_response({"cc_token": card.token})


@router.post("/api/v1/applepay/session")
async def wallet_session(request: Request, sandbox: SandboxDep, body: JsonObject) -> Response:
    """Return a merchant session for Apple's payment sheet. Apple is not called: the session is made up."""
    pos = authenticate(sandbox, request, body.get("pos_id"))
    require_path(sandbox.state.behaviour(pos.pos_id).wallet_calls)
    wallets.check_allowed(sandbox.state, pos.pos_id, "applepay")
    read_body(WalletSessionBody, body)
    session = {
        "epochTimestamp": int(sandbox.now().timestamp() * 1000),
        "merchantSessionIdentifier": str(sandbox.state.new_id()),
        "displayName": pos.name,
        "signature": "made-up",
    }
    return json_response(session)


def _cancellation_record(subscription: Subscription, first: Payment, behaviour: Behaviour) -> dict[str, Any]:
    plan = subscription.plan
    return {
        "recurring_payment": {
            "pos_id": str(subscription.pos_id),
            "order_id": first.order_id,
            "amount": plan.amount or first.amount,
            "currency": first.currency,
            "cc_token": first.card.token if first.card else None,
            "description": first.description,
            "payway": first.payway,
            "server_url": first.server_url,
        },
        "recurring_config": plan.model_dump(exclude_none=True),
        "recurring_status": subscription.status,
        "metadata": {
            "id": str(subscription.recurring_id),
            "created_at": timestamp(subscription.created_at, behaviour),
            "updated_at": timestamp(subscription.updated_at, behaviour),
        },
    }
