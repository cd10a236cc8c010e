"""Control endpoints: play the payer, the bank, the merchant portal, the broken network, and time."""

import asyncio
from datetime import timedelta
from typing import Annotated, Any, TypeVar
from uuid import UUID

from fastapi import APIRouter, Body, Depends, Query, Request
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from app.sandbox.api.access import JsonObject, TheSandbox, sandbox_of
from app.sandbox.control.access import only_from_here
from app.sandbox.control.views import (
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
    Release,
    Settle,
    SubMerchants,
    SubMerchantView,
    TakenCalls,
    payment_view,
)
from app.sandbox.core import attempts, secondary
from app.sandbox.core.bodies import read_body
from app.sandbox.core.cards import coded_card
from app.sandbox.core.creation import card_on_file
from app.sandbox.core.gateway_state import Script
from app.sandbox.core.records import Operation, Payment
from app.sandbox.core.refusals import UnknownRecordError
from app.sandbox.deliveries import Delivery
from app.sandbox.sandbox import Sandbox
from app.sandbox.scripting import FaultRule, Rules, WebhookRule
from app.sandbox.settings import Behaviour

_LONGEST_WAIT = 60.0
Found = TypeVar("Found")


router = APIRouter(prefix="/_sandbox", dependencies=[Depends(only_from_here)])


async def _the_payment(request: Request, order_id: str, pos_id: UUID | None = None) -> Payment:
    sandbox = sandbox_of(request)
    sandbox.catch_up()
    places = [pos_id] if pos_id else list(sandbox.points_of_sale)
    found = [payment for place in places for payment in sandbox.state.payments_of(place, order_id)]
    if not found:
        raise UnknownRecordError("Payment not found")
    return found[0]


ThePayment = Annotated[Payment, Depends(_the_payment)]


@router.get("/payments")
async def payments(sandbox: TheSandbox) -> Payments:
    """All payments."""
    sandbox.catch_up()
    return Payments(payments=[payment_view(sandbox.state, p) for p in sandbox.state.payments.values()])


@router.get("/payments/{order_id}")
async def payment(sandbox: TheSandbox, payment: ThePayment) -> PaymentView:
    """One payment."""
    return payment_view(sandbox.state, payment)


@router.post("/payments/{order_id}/pay")
async def pay(sandbox: TheSandbox, payment: ThePayment, ask: Pay) -> PaymentView:
    """Pay with a test card; `challenge` answers 3-D Secure at once when the card asks for it."""
    card = card_on_file(sandbox.state, payment.pos_id, ask.card.replace(" ", ""), sandbox.now())
    attempts.attempt(sandbox.state, payment, card, sandbox.now(), processed_amount=ask.processed_amount)
    if payment.waits_for_payer and ask.challenge != "leave":
        attempts.answer_challenge(sandbox.state, payment, sandbox.now(), passed=ask.challenge == "pass")
    return _done(sandbox, payment)


@router.post("/payments/{order_id}/decline")
async def decline(sandbox: TheSandbox, payment: ThePayment, ask: Decline) -> PaymentView:
    """Pay with a card that ends with a failure code."""
    card = card_on_file(sandbox.state, payment.pos_id, coded_card(ask.status_code), sandbox.now())
    attempts.attempt(sandbox.state, payment, card, sandbox.now())
    return _done(sandbox, payment)


@router.post("/payments/{order_id}/challenge")
async def challenge(sandbox: TheSandbox, payment: ThePayment, ask: Challenge) -> PaymentView:
    """Pass or fail 3-D Secure."""
    attempts.answer_challenge(sandbox.state, payment, sandbox.now(), passed=ask.passed)
    return _done(sandbox, payment)


@router.post("/payments/{order_id}/abandon")
async def abandon(sandbox: TheSandbox, payment: ThePayment) -> PaymentView:
    """The payer closes the page. Nothing happens, and nobody is told."""
    return payment_view(sandbox.state, payment)


@router.post("/payments/{order_id}/expire")
async def expire(sandbox: TheSandbox, payment: ThePayment) -> PaymentView:
    """The lifetime of the page ends now."""
    attempts.expire(sandbox.state, payment, sandbox.now())
    return _done(sandbox, payment)


@router.post("/payments/{order_id}/settle")
async def settle(sandbox: TheSandbox, payment: ThePayment, ask: Settle) -> PaymentView:
    """The bank decides about what is pending."""
    pending = [entry for entry in sandbox.state.operations_of(payment) if not entry.final]
    if ask.operation_id is not None:
        pending = [entry for entry in pending if entry.operation_id == ask.operation_id]
    if payment.final and pending:
        secondary.settle(sandbox.state, pending[-1], ask.status_code, sandbox.now())
    else:
        attempts.settle(sandbox.state, payment, ask.status_code, sandbox.now())
    return _done(sandbox, payment)


@router.post("/payments/{order_id}/portal")
async def portal(sandbox: TheSandbox, payment: ThePayment, ask: Portal) -> PaymentView:
    """Capture, void or refund as a person in the merchant portal would; its webhook goes to the payment's address."""
    order = secondary.Order(
        amount=ask.amount,
        split=ask.split,
        through_split=bool(ask.split),
        comment=ask.comment,
        server_url=payment.server_url,
    )
    sandbox.publish_changes()  # what happened before is not silent
    secondary.operate(sandbox.state, payment, ask.operation, order, sandbox.now())
    if ask.silent:
        sandbox.save_silently()
    return _done(sandbox, payment)


@router.post("/payments/{order_id}/dispute")
async def dispute(sandbox: TheSandbox, payment: ThePayment, ask: Dispute) -> PaymentView:
    """The payer's bank takes money back; the webhook goes to the payment's address."""
    sandbox.publish_changes()
    script = Script(status_code=ask.status_code, method="dispute", order_id=payment.order_id)
    sandbox.state.scripts.insert(0, script)
    try:
        order = secondary.Order(amount=ask.amount, server_url=payment.server_url)
        secondary.operate(sandbox.state, payment, "dispute", order, sandbox.now())
    finally:
        sandbox.state.scripts = [each for each in sandbox.state.scripts if each is not script]
    if ask.silent:
        sandbox.save_silently()
    return _done(sandbox, payment)


@router.post("/payments/{order_id}/webhook")
async def fire(sandbox: TheSandbox, payment: ThePayment, body: JsonObject) -> Delivery:
    """Send a fresh webhook about how things are now. Numbers in `changes` are sent exactly as given."""
    ask = read_body(Fire, body)
    entries = sandbox.state.records_of(payment.pos_id, payment.order_id)
    wanted = [e for e in entries if ask.operation in {None, e.method}]
    entry: Payment | Operation = payment if ask.operation is None else _last(wanted)
    if entry.server_url is None:
        raise UnknownRecordError("The request named no server_url")
    delivery = sandbox.write_webhook(entry, entry.server_url, changes=ask.changes, secret=ask.secret)
    sandbox.send(delivery)
    sandbox.save()
    return delivery


@router.get("/sub-merchants")
async def sub_merchants(sandbox: TheSandbox) -> SubMerchants:
    """What sub-merchants have of split payments, at all points of sale."""
    sandbox.catch_up()
    accounts = [each for pos in sandbox.state.sub_accounts.values() for each in pos.values()]
    return SubMerchants(sub_merchants=[SubMerchantView(**each.model_dump(), balance=each.balance) for each in accounts])


@router.get("/webhooks")
async def webhooks(sandbox: TheSandbox, order_id: str | None = None) -> Deliveries:
    """Webhooks, all or those of one order."""
    return Deliveries(webhooks=[d for d in sandbox.deliveries if order_id in {None, d.order_id}])


@router.post("/webhooks/release")
async def release(sandbox: TheSandbox, ask: Release) -> Deliveries:
    """Send what was held, oldest or newest first. Holding ends."""
    rules = sandbox.rules.webhooks
    rules[:] = [r for r in rules if r.effect != "hold" or ask.order_id not in {None, r.order_id}]
    held = [d for d in sandbox.deliveries if d.state == "held" and ask.order_id in {None, d.order_id}]
    if ask.newest_first:
        held.reverse()
    for delivery in held:
        sandbox.send(delivery)
    sandbox.save()
    return Deliveries(webhooks=held)


@router.post("/webhooks/{delivery_id}/repeat")
async def repeat(sandbox: TheSandbox, delivery_id: UUID) -> Delivery:
    """Send the very same webhook once more."""
    found = [delivery for delivery in sandbox.deliveries if delivery.delivery_id == delivery_id]
    copy = sandbox.repeat(_last(found))
    sandbox.save()
    return copy


@router.post("/webhooks/idle")
async def idle(sandbox: TheSandbox, timeout: Annotated[float, Query(gt=0, le=_LONGEST_WAIT)] = 10.0) -> Idle:
    """Wait until no webhook is under way, or the seconds are over."""
    if sandbox.webhook_sender is not None:
        try:
            await asyncio.wait_for(sandbox.webhook_sender.idle(), timeout)
        except TimeoutError:
            return Idle(idle=False)
    return Idle(idle=True)


@router.get("/rules")
async def rules(sandbox: TheSandbox) -> Rules:
    """Fault and webhook rules that wait to be used."""
    return sandbox.rules


@router.delete("/rules")
async def clear_rules(sandbox: TheSandbox) -> Rules:
    """Forget all rules and scripted outcomes."""
    sandbox.rules = Rules()
    sandbox.state.scripts.clear()
    return sandbox.rules


@router.post("/rules/fault")
async def add_fault(sandbox: TheSandbox, rule: FaultRule) -> FaultRule:
    """Let the next matching calls go wrong."""
    rule.rule_id = str(sandbox.state.new_id())
    sandbox.rules.faults.append(rule)
    return rule


@router.post("/rules/webhook")
async def add_webhook_rule(sandbox: TheSandbox, rule: WebhookRule) -> WebhookRule:
    """Let the next matching webhooks go astray."""
    rule.rule_id = str(sandbox.state.new_id())
    sandbox.rules.webhooks.append(rule)
    return rule


@router.post("/rules/outcome")
async def add_outcome(sandbox: TheSandbox, script: Script) -> Script:
    """Choose the code that the next matching payment or operation ends with."""
    script.script_id = str(sandbox.state.new_id())
    sandbox.state.scripts.append(script)
    sandbox.save()
    return script


@router.get("/options")
async def options(sandbox: TheSandbox, pos_id: UUID | None = None) -> Behaviour:
    """How a point of sale behaves."""
    return sandbox.state.behaviour(_pos(sandbox, pos_id))


@router.patch("/options")
async def change_options(
    sandbox: TheSandbox, changes: Annotated[dict[str, Any], Body()], pos_id: UUID | None = None
) -> Behaviour:
    """Change how a point of sale behaves; what is not named stays."""
    where = _pos(sandbox, pos_id)
    try:
        behaviour = Behaviour.model_validate(sandbox.state.behaviour(where).model_dump() | changes, by_name=True)
    except ValidationError as error:
        names = ", ".join(str(problem["loc"][0]) for problem in error.errors())
        raise HTTPException(400, f"These options are not understood: {names}") from None
    sandbox.state.behaviours[where] = behaviour
    sandbox.save()
    return behaviour


@router.get("/clock")
async def clock(sandbox: TheSandbox) -> Clock:
    """The sandbox's time."""
    return Clock(now=sandbox.now())


@router.post("/clock")
async def advance(sandbox: TheSandbox, ask: Advance) -> Clock:
    """Move time forward; what became due happens before the answer."""
    sandbox.state.clock_offset += timedelta(seconds=ask.seconds)
    sandbox.catch_up()
    sandbox.save()
    return Clock(now=sandbox.now())


@router.get("/calls")
async def calls(sandbox: TheSandbox) -> TakenCalls:
    """The newest calls to the gateway's own paths, payer's pages among them."""
    return TakenCalls(calls=list(sandbox.calls.calls))


@router.post("/reset")
async def reset(sandbox: TheSandbox) -> Payments:
    """Begin anew, as if just started."""
    sandbox.reset()
    sandbox.save()
    return Payments(payments=[])


def _done(sandbox: Sandbox, payment: Payment) -> PaymentView:
    sandbox.publish_changes()
    return payment_view(sandbox.state, payment)


def _last(entries: list[Found]) -> Found:
    if not entries:
        raise UnknownRecordError("Nothing of the kind is known")
    return entries[-1]


def _pos(sandbox: Sandbox, pos_id: UUID | None) -> UUID:
    return sandbox.point_of_sale(pos_id or sandbox.settings.points_of_sale[0].pos_id).pos_id
