"""The overview page: each payment with its operations and webhooks, and buttons to act as bank, portal and network."""

import contextlib
from collections import defaultdict
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import RedirectResponse, Response

from gateway_client.sandbox.api.access import SandboxDep, base_url
from gateway_client.sandbox.control.access import reject_cross_site
from gateway_client.sandbox.core import attempts, secondary, shares
from gateway_client.sandbox.core.codes import INSUFFICIENT_FUNDS, OK, Status
from gateway_client.sandbox.core.gateway_state import GatewayState
from gateway_client.sandbox.core.records import Operation, Payment
from gateway_client.sandbox.core.refusals import RefusalError, UnknownRecordError
from gateway_client.sandbox.deliveries import Delivery
from gateway_client.sandbox.pages.rendering import render_page
from gateway_client.sandbox.pages.texts import format_money
from gateway_client.sandbox.render import checkout_url
from gateway_client.sandbox.sandbox import Sandbox
from gateway_client.sandbox.settings import PointOfSale

router = APIRouter(dependencies=[Depends(reject_cross_site)])

MAX_ROWS = 100
"""How many payments the page shows, newest first."""

_PILL_BY_STATE = {
    "delivered": "success",
    "failed": "failure",
    "refused": "failure",
    "dropped": "failure",
    "waiting": "pending",
    "held": "init",
}


@dataclass(frozen=True)
class OrderRow:
    """One payment as the page shows it."""

    payment: Payment
    amount: str
    operations: list[tuple[Operation, str]]
    deliveries: list[Delivery]
    links: list[tuple[str, str]]
    acts: list[tuple[str, str]]


@router.get("/")
async def overview(request: Request, sandbox: SandboxDep) -> Response:
    """Return the overview of the newest payments."""
    sandbox.catch_up()
    deliveries = defaultdict[UUID, list[Delivery]](list)
    for delivery in reversed(sandbox.deliveries):
        deliveries[delivery.payment_id].append(delivery)
    newest = list(sandbox.state.payments.values())[: -MAX_ROWS - 1 : -1]
    return render_page(
        request,
        "overview.html",
        rows=[_row(sandbox, payment, deliveries[payment.payment_id]) for payment in newest],
        total=len(sandbox.state.payments),
        points_of_sale=sandbox.settings.points_of_sale,
        standard=PointOfSale(),
        scheme_word=sandbox.settings.scheme_word,
        address=base_url(request),
        now=sandbox.now(),
        moved=sandbox.state.clock_offset,
        rules=len(sandbox.rules.faults) + len(sandbox.rules.webhooks) + len(sandbox.state.scripts),
        sign=_PILL_BY_STATE,
    )


@router.post("/overview/payment")
async def act(sandbox: SandboxDep, payment_id: Annotated[UUID, Form()], act: Annotated[str, Form()]) -> Response:
    """Handle a button of a payment."""
    sandbox.catch_up()
    payment = sandbox.state.payments.get(payment_id)
    if payment is None:
        raise UnknownRecordError("Payment not found")
    # The page may be stale; reloaded, it offers what is possible now.
    with contextlib.suppress(RefusalError):
        _perform_action(sandbox, payment, act)
    sandbox.publish_changes()
    return RedirectResponse("/", 303)


@router.post("/overview/webhook")
async def send_again(sandbox: SandboxDep, delivery_id: Annotated[UUID, Form()]) -> Response:
    """Resend a webhook, or send one that was held."""
    for delivery in sandbox.deliveries:
        if delivery.delivery_id == delivery_id:
            if delivery.state == "held":
                sandbox.send(delivery)
            else:
                sandbox.repeat(delivery)
            sandbox.save()
            return RedirectResponse("/", 303)
    raise UnknownRecordError("Webhook not found")


def _perform_action(sandbox: Sandbox, payment: Payment, name: str) -> None:
    state, now = sandbox.state, sandbox.now()
    rest = secondary.taken_amount(state, payment) - secondary.refunded_amount(state, payment)
    operation_request = secondary.OperationRequest(server_url=payment.server_url)
    match name:
        case "accept" | "decline":
            code = OK if name == "accept" else INSUFFICIENT_FUNDS
            pending = [entry for entry in state.operations_of(payment) if not entry.final]
            if payment.final and pending:
                secondary.settle(state, pending[-1], code, now)
            else:
                attempts.settle(state, payment, code, now)
        case "capture":
            secondary.capture(state, payment, operation_request, now)
        case "void":
            secondary.void(state, payment, operation_request, now)
        case "refund":
            secondary.refund(
                state, payment, secondary.OperationRequest(amount=rest, server_url=payment.server_url), now
            )
        case "webhook" if payment.server_url is not None:
            sandbox.send(sandbox.create_webhook(payment, payment.server_url))


def _row(sandbox: Sandbox, payment: Payment, deliveries: list[Delivery]) -> OrderRow:
    state = sandbox.state
    operations = state.operations_of(payment)
    return OrderRow(
        payment=payment,
        amount=format_money(payment.paid_amount, payment.currency, "en"),
        operations=[(entry, format_money(entry.amount, entry.currency, "en")) for entry in reversed(operations)],
        deliveries=deliveries,
        links=_links(payment),
        acts=_available_actions(state, payment, operations),
    )


def _links(payment: Payment) -> list[tuple[str, str]]:
    if payment.status is Status.INIT and payment.mode == "hosted":
        return [("Payment page", checkout_url(payment, "form")), ("QR code", checkout_url(payment, "qr"))]
    if payment.waits_for_payer:
        return [("3-D Secure page", checkout_url(payment, "3ds"))]
    return []


def _available_actions(state: GatewayState, payment: Payment, operations: list[Operation]) -> list[tuple[str, str]]:
    acts = []
    pending = payment.status is Status.PENDING or any(not entry.final for entry in operations)
    if pending:
        acts += [("accept", "Bank accepts"), ("decline", "Bank declines")]
    if state.is_open_hold(payment):
        acts += [("capture", "Capture"), ("void", "Void")]
    rest = secondary.taken_amount(state, payment) - secondary.refunded_amount(state, payment)
    if rest > 0 and not shares.received_shares(state, payment):
        acts.append(("refund", "Refund"))
    if payment.server_url is not None:
        acts.append(("webhook", "Send webhook"))
    return acts
