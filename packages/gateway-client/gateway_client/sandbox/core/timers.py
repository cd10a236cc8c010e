"""Changes that time causes: pages expire, the bank decides, holds are captured or voided, subscriptions are charged."""

from datetime import datetime

from gateway_client.sandbox.core import attempts, secondary, subscriptions
from gateway_client.sandbox.core.codes import OK, Status
from gateway_client.sandbox.core.gateway_state import GatewayState
from gateway_client.sandbox.core.records import Payment, Subscription


def tick(state: GatewayState, now: datetime) -> bool:
    """Apply all changes that are due at `now`. Return whether there were any."""
    changed = False
    for entry in state.open_entries():
        if isinstance(entry, Payment):
            changed |= _advance_payment(state, entry, now) or _advance_hold(state, entry, now)
        elif entry.settles_at is not None and entry.settles_at <= now:
            secondary.settle(state, entry, OK, now)
            changed = True
    while due := subscriptions.due_subscriptions(state, now):
        for subscription in due:
            _charge(state, subscription, subscription.next_charge_at or now)
        changed = True
    return changed


def _advance_payment(state: GatewayState, payment: Payment, now: datetime) -> bool:
    if payment.settles_at is not None and payment.settles_at <= now:
        attempts.settle(state, payment, OK, now)
        return True
    open_page = payment.status is Status.INIT or payment.waits_for_payer
    if open_page and payment.expires_at <= now:
        attempts.expire(state, payment, now)
        return True
    return False


def _advance_hold(state: GatewayState, payment: Payment, now: datetime) -> bool:
    if payment.processed_at is None or not state.is_open_hold(payment):
        return False
    behaviour = state.behaviour(payment.pos_id)
    for after, operation in (
        (behaviour.automatic_capture_after, secondary.capture),
        (behaviour.automatic_void_after, secondary.void),
    ):
        if after is not None and payment.processed_at + after <= now:
            operation(state, payment, secondary.OperationRequest(server_url=payment.server_url), now)
            return True
    return False


def _charge(state: GatewayState, subscription: Subscription, moment: datetime) -> None:
    payment = subscriptions.create_due_payment(state, subscription, moment)
    if payment is None or payment.card is None:
        return
    attempts.attempt(state, payment, payment.card, moment)
    subscriptions.reschedule(subscription, moment, failed=payment.status is Status.FAILURE)
