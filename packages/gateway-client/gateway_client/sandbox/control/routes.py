"""Control endpoints: simulate the payer, the bank, the merchant portal, network faults, and time."""

import asyncio
from datetime import timedelta
from typing import Annotated, Any, TypeVar
from uuid import UUID

from fastapi import APIRouter, Body, Depends, Query, Request
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from gateway_client.sandbox.api.access import JsonObject, SandboxDep, sandbox_of
from gateway_client.sandbox.control.access import reject_cross_site
from gateway_client.sandbox.control.views import (
    Advance,
    Challenge,
    Clock,
    Decline,
    Deliveries,
    Dispute,
    Fire,
    Idle,
    Pay,
    Payments,
    PaymentView,
    Portal,
    RecordedCalls,
    Release,
    Settle,
    SubMerchants,
    SubMerchantView,
    payment_view,
)
from gateway_client.sandbox.core import attempts, secondary
from gateway_client.sandbox.core.bodies import read_body
from gateway_client.sandbox.core.cards import coded_card
from gateway_client.sandbox.core.creation import get_or_create_card
from gateway_client.sandbox.core.gateway_state import Script
from gateway_client.sandbox.core.records import Operation, Payment
from gateway_client.sandbox.core.refusals import UnknownRecordError
from gateway_client.sandbox.deliveries import Delivery
from gateway_client.sandbox.sandbox import Sandbox
from gateway_client.sandbox.scripting import FaultRule, Rules, WebhookRule
from gateway_client.sandbox.settings import DIALECTS, Behaviour

_LONGEST_WAIT = 60.0
Found = TypeVar("Found")


router = APIRouter(prefix="/_sandbox", dependencies=[Depends(reject_cross_site)])


async def _get_payment(request: Request, order_id: str, pos_id: UUID | None = None) -> Payment:
    sandbox = sandbox_of(request)
    sandbox.catch_up()
    places = [pos_id] if pos_id else list(sandbox.points_of_sale)
    found = [payment for place in places for payment in sandbox.state.payments_of(place, order_id)]
    if not found:
        raise UnknownRecordError("Payment not found")
    return found[0]


PaymentDep = Annotated[Payment, Depends(_get_payment)]


@router.get("/payments")
async def payments(sandbox: SandboxDep) -> Payments:
    """Return all payments."""
    sandbox.catch_up()
    return Payments(payments=[payment_view(sandbox.state, p) for p in sandbox.state.payments.values()])


@router.get("/payments/{order_id:path}")
async def payment(sandbox: SandboxDep, payment: PaymentDep) -> PaymentView:
    """Return one payment."""
    return payment_view(sandbox.state, payment)


@router.post("/payments/{order_id:path}/pay")
async def pay(sandbox: SandboxDep, payment: PaymentDep, command: Pay) -> PaymentView:
    """Pay with a test card; `challenge` answers 3-D Secure at once when the card asks for it."""
    card = get_or_create_card(sandbox.state, payment.pos_id, command.card.replace(" ", ""), sandbox.now())
    attempts.attempt(sandbox.state, payment, card, sandbox.now(), processed_amount=command.processed_amount)
    if payment.waits_for_payer and command.challenge != "leave":
        attempts.answer_challenge(sandbox.state, payment, sandbox.now(), passed=command.challenge == "pass")
    return _publish_and_view(sandbox, payment)


@router.post("/payments/{order_id:path}/decline")
async def decline(sandbox: SandboxDep, payment: PaymentDep, command: Decline) -> PaymentView:
    """Pay with a card that ends with a failure code."""
    card = get_or_create_card(sandbox.state, payment.pos_id, coded_card(command.status_code), sandbox.now())
    attempts.attempt(sandbox.state, payment, card, sandbox.now())
    return _publish_and_view(sandbox, payment)


@router.post("/payments/{order_id:path}/challenge")
async def challenge(sandbox: SandboxDep, payment: PaymentDep, command: Challenge) -> PaymentView:
    """Pass or fail 3-D Secure."""
    attempts.answer_challenge(sandbox.state, payment, sandbox.now(), passed=command.passed)
    return _publish_and_view(sandbox, payment)


@router.post("/payments/{order_id:path}/abandon")
async def abandon(sandbox: SandboxDep, payment: PaymentDep) -> PaymentView:
    """Close the page as the payer. Nothing happens, and no webhook is sent."""
    return payment_view(sandbox.state, payment)


@router.post("/payments/{order_id:path}/expire")
async def expire(sandbox: SandboxDep, payment: PaymentDep) -> PaymentView:
    """End the lifetime of the page now."""
    attempts.expire(sandbox.state, payment, sandbox.now())
    return _publish_and_view(sandbox, payment)


@router.post("/payments/{order_id:path}/settle")
async def settle(sandbox: SandboxDep, payment: PaymentDep, command: Settle) -> PaymentView:
    """Settle what is pending, as the bank; if nothing is, decide the last dispute the other way."""
    entries = sandbox.state.operations_of(payment)
    pending = [entry for entry in entries if not entry.final] or [
        entry for entry in entries if entry.method == "dispute"
    ]
    if command.operation_id is not None:
        pending = [entry for entry in pending if entry.operation_id == command.operation_id]
    if payment.final and pending:
        secondary.settle(sandbox.state, pending[-1], command.status_code, sandbox.now())
    else:
        attempts.settle(sandbox.state, payment, command.status_code, sandbox.now())
    return _publish_and_view(sandbox, payment)


@router.post("/payments/{order_id:path}/portal")
async def portal(sandbox: SandboxDep, payment: PaymentDep, command: Portal) -> PaymentView:
    """Capture, void or refund as in the merchant portal; the webhook goes to the payment's address."""
    operation_request = secondary.OperationRequest(
        amount=command.amount,
        split=command.split,
        through_split=bool(command.split),
        comment=command.comment,
        server_url=payment.server_url,
    )
    sandbox.publish_changes()  # earlier changes are not silent
    secondary.operate(sandbox.state, payment, command.operation, operation_request, sandbox.now())
    if command.silent:
        sandbox.save_without_webhooks()
    return _publish_and_view(sandbox, payment)


@router.post("/payments/{order_id:path}/dispute")
async def dispute(sandbox: SandboxDep, payment: PaymentDep, command: Dispute) -> PaymentView:
    """Take money back, as the payer's bank; the webhook goes to the payment's address."""
    sandbox.publish_changes()
    script = Script(status_code=command.status_code, method="dispute", order_id=payment.order_id)
    sandbox.state.scripts.insert(0, script)
    try:
        operation_request = secondary.OperationRequest(amount=command.amount, server_url=payment.server_url)
        secondary.operate(sandbox.state, payment, "dispute", operation_request, sandbox.now())
    finally:
        sandbox.state.scripts = [other for other in sandbox.state.scripts if other is not script]
    if command.silent:
        sandbox.save_without_webhooks()
    return _publish_and_view(sandbox, payment)


@router.post("/payments/{order_id:path}/webhook")
async def fire(sandbox: SandboxDep, payment: PaymentDep, body: JsonObject) -> Delivery:
    """Send a new webhook of the current state. Numbers in `changes` are sent exactly as given."""
    command = read_body(Fire, body)
    entries = sandbox.state.records_of(payment.pos_id, payment.order_id)
    wanted = [e for e in entries if command.operation in {None, e.method}]
    entry: Payment | Operation = payment if command.operation is None else _last(wanted)
    if entry.server_url is None:
        raise UnknownRecordError("The request named no server_url")
    delivery = sandbox.create_webhook(entry, entry.server_url, changes=command.changes, secret=command.secret)
    sandbox.send(delivery)
    sandbox.save()
    return delivery


@router.get("/sub-merchants")
async def sub_merchants(sandbox: SandboxDep) -> SubMerchants:
    """Return what sub-merchants have from split payments, at all points of sale."""
    sandbox.catch_up()
    accounts = [sub_account for pos in sandbox.state.sub_accounts.values() for sub_account in pos.values()]
    return SubMerchants(
        sub_merchants=[SubMerchantView(**account.model_dump(), balance=account.balance) for account in accounts]
    )


@router.get("/webhooks")
async def webhooks(sandbox: SandboxDep, order_id: str | None = None) -> Deliveries:
    """Return all webhooks, or those of one order."""
    return Deliveries(webhooks=[d for d in sandbox.deliveries if order_id in {None, d.order_id}])


@router.post("/webhooks/release")
async def release(sandbox: SandboxDep, command: Release) -> Deliveries:
    """Send the held webhooks, oldest or newest first, and stop holding."""
    rules = sandbox.rules.webhooks
    rules[:] = [r for r in rules if r.effect != "hold" or command.order_id not in {None, r.order_id}]
    held = [d for d in sandbox.deliveries if d.state == "held" and command.order_id in {None, d.order_id}]
    if command.newest_first:
        held.reverse()
    for delivery in held:
        sandbox.send(delivery)
    sandbox.save()
    return Deliveries(webhooks=held)


@router.post("/webhooks/{delivery_id}/repeat")
async def repeat(sandbox: SandboxDep, delivery_id: UUID) -> Delivery:
    """Send an identical webhook once more."""
    found = [delivery for delivery in sandbox.deliveries if delivery.delivery_id == delivery_id]
    copy = sandbox.repeat(_last(found))
    sandbox.save()
    return copy


@router.post("/webhooks/idle")
async def wait_until_idle(
    sandbox: SandboxDep, timeout: Annotated[float, Query(gt=0, le=_LONGEST_WAIT)] = _LONGEST_WAIT
) -> Idle:
    """Wait until no webhook is in flight, or until the timeout, in seconds."""
    if sandbox.webhook_sender is not None:
        try:
            await asyncio.wait_for(sandbox.webhook_sender.wait_until_idle(), timeout)
        except TimeoutError:
            return Idle(idle=False)
    return Idle(idle=True)


@router.get("/rules")
async def rules(sandbox: SandboxDep) -> Rules:
    """Return the fault and webhook rules that are not used up."""
    return sandbox.rules


@router.delete("/rules")
async def clear_rules(sandbox: SandboxDep) -> Rules:
    """Clear all rules and scripted outcomes, and end the delays of earlier rules."""
    sandbox.clear_rules()
    return sandbox.rules


@router.post("/rules/fault")
async def add_fault(sandbox: SandboxDep, rule: FaultRule) -> FaultRule:
    """Add a fault of the next matching calls."""
    rule.rule_id = str(sandbox.state.new_id())
    sandbox.rules.faults.append(rule)
    return rule


@router.post("/rules/webhook")
async def add_webhook_rule(sandbox: SandboxDep, rule: WebhookRule) -> WebhookRule:
    """Add a fault of the next matching webhooks."""
    rule.rule_id = str(sandbox.state.new_id())
    sandbox.rules.webhooks.append(rule)
    return rule


@router.post("/rules/outcome")
async def add_outcome(sandbox: SandboxDep, script: Script) -> Script:
    """Choose the code that the next matching payment or operation ends with."""
    script.script_id = str(sandbox.state.new_id())
    sandbox.state.scripts.append(script)
    sandbox.save()
    return script


@router.get("/options")
async def options(sandbox: SandboxDep, pos_id: UUID | None = None) -> Behaviour:
    """Return the options of a point of sale."""
    return sandbox.state.behaviour(_resolve_pos_id(sandbox, pos_id))


@router.patch("/options")
async def change_options(
    sandbox: SandboxDep, changes: Annotated[dict[str, Any], Body()], pos_id: UUID | None = None
) -> Behaviour:
    """Change options of a point of sale; those not named stay. `dialect` stands for several (`settings.DIALECTS`)."""
    resolved_pos_id = _resolve_pos_id(sandbox, pos_id)
    dialect = changes.pop("dialect", None)
    if dialect not in {None, *DIALECTS}:
        raise HTTPException(400, f"There is no dialect {dialect!r}")
    changes = {**DIALECTS.get(dialect, {}), **changes}
    try:
        behaviour = Behaviour.model_validate(
            sandbox.state.behaviour(resolved_pos_id).model_dump() | changes, by_name=True
        )
    except ValidationError as error:
        names = ", ".join(str(problem["loc"][0]) for problem in error.errors())
        raise HTTPException(400, f"These options are not understood: {names}") from None
    sandbox.state.behaviours[resolved_pos_id] = behaviour
    sandbox.save()
    return behaviour


@router.get("/clock")
async def clock(sandbox: SandboxDep) -> Clock:
    """Return the sandbox's time."""
    return Clock(now=sandbox.now())


@router.post("/clock")
async def advance(sandbox: SandboxDep, command: Advance) -> Clock:
    """Move time forward; changes that become due are applied before the response."""
    sandbox.state.clock_offset += timedelta(seconds=command.seconds)
    sandbox.catch_up()
    sandbox.save()
    return Clock(now=sandbox.now())


@router.get("/calls")
async def calls(sandbox: SandboxDep) -> RecordedCalls:
    """Return the newest calls to the gateway's own paths, including the payer's pages."""
    return RecordedCalls(calls=list(sandbox.calls.calls))


@router.post("/reset")
async def reset(sandbox: SandboxDep) -> Payments:
    """Start anew, as if just started."""
    sandbox.reset()
    sandbox.save()
    return Payments(payments=[])


def _publish_and_view(sandbox: Sandbox, payment: Payment) -> PaymentView:
    sandbox.publish_changes()
    return payment_view(sandbox.state, payment)


def _last(entries: list[Found]) -> Found:
    if not entries:
        raise UnknownRecordError("Nothing of the kind is known")
    return entries[-1]


def _resolve_pos_id(sandbox: Sandbox, pos_id: UUID | None) -> UUID:
    return sandbox.point_of_sale(pos_id or sandbox.settings.points_of_sale[0].pos_id).pos_id
