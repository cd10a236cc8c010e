"""Subscriptions: a purchase with a plan starts one, it is charged over time, the merchant may cancel it.

Source: gateway interface, 8 and 9 (`recurring` of a record); the plan's fields from the provider's public pages.
"""

import calendar
from datetime import UTC, date, datetime, time, timedelta

from gateway_client.sandbox.core.codes import INVALID_OPERATION, Status
from gateway_client.sandbox.core.gateway_state import GatewayState
from gateway_client.sandbox.core.records import Payment, RecurringPlan, Subscription
from gateway_client.sandbox.core.refusals import NotPossibleError

_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_DAYS = {"day": 1, "week": 7}


def add_interval(moment: datetime, plan: RecurringPlan) -> datetime:
    """Return the moment one interval later. In a month that is too short it is the last day."""
    if plan.interval_unit in _DAYS:
        return moment + timedelta(days=_DAYS[plan.interval_unit] * plan.interval_count)
    months = moment.month - 1 + _MONTHS[plan.interval_unit] * plan.interval_count
    year, month = moment.year + months // 12, months % 12 + 1
    return moment.replace(year=year, month=month, day=min(moment.day, calendar.monthrange(year, month)[1]))


def create_subscription(state: GatewayState, payment: Payment, plan: RecurringPlan, now: datetime) -> None:
    """Create a subscription as `init`; it becomes `active` when its first payment succeeds."""
    subscription = Subscription(
        recurring_id=state.new_id(),
        pos_id=payment.pos_id,
        first_payment_id=payment.payment_id,
        plan=plan,
        created_at=now,
        updated_at=now,
    )
    state.subscriptions[subscription.recurring_id] = subscription
    payment.plan = plan
    payment.recurring_id = subscription.recurring_id


def activate(state: GatewayState, payment: Payment, now: datetime) -> None:
    """Activate the subscription of a first payment that succeeded: charges follow from now on."""
    subscription = state.subscriptions.get(payment.recurring_id) if payment.recurring_id else None
    if subscription is None or subscription.status != "init":
        return
    subscription.status = "active"
    subscription.updated_at = now
    plan = subscription.plan
    first = add_interval(now, plan)
    if plan.start_date:
        first = max(now, datetime.combine(date.fromisoformat(plan.start_date), time(tzinfo=UTC)))
    if plan.time:
        first = datetime.combine(first.date(), time.fromisoformat(plan.time), tzinfo=UTC)
    subscription.next_charge_at = subscription.regular_charge_at = first


def stop(subscription: Subscription, now: datetime) -> None:
    """Cancel a subscription. Raises NotPossibleError when it is canceled already."""
    if subscription.status == "canceled":
        raise NotPossibleError("This subscription is canceled", INVALID_OPERATION)
    subscription.status = "canceled"
    subscription.updated_at = now
    subscription.next_charge_at = subscription.regular_charge_at = None


def due_subscriptions(state: GatewayState, now: datetime) -> list[Subscription]:
    """Return the active subscriptions whose next charge is due."""
    return [
        subscription
        for subscription in state.subscriptions.values()
        if subscription.next_charge_at is not None and subscription.next_charge_at <= now
    ]


def create_due_payment(state: GatewayState, subscription: Subscription, now: datetime) -> Payment | None:
    """Create the payment of a due charge, not attempted yet; return None when the plan has expired."""
    plan = subscription.plan
    if plan.expiry_date and now.date() > date.fromisoformat(plan.expiry_date):
        stop(subscription, now)
        return None
    first = state.payments[subscription.first_payment_id]
    payment = first.model_copy(
        deep=True,
        update={
            "payment_id": state.new_id(),
            "checkout_id": state.new_id(),
            "transaction_id": None,
            "gateway_order_id": None,
            "billing_order_id": None,
            "mode": "direct",
            "amount": plan.amount or first.amount,
            "status": Status.INIT,
            "status_code": None,
            "created_at": now,
            "processed_at": None,
            "processed_amount": None,
            "fee": None,
            "settles_at": None,
            "plan": None,
            "server_url": plan.notification_url or first.server_url,
        },
    )
    state.add_payment(payment)
    return payment


def reschedule(subscription: Subscription, now: datetime, *, failed: bool) -> None:
    """Schedule the next charge: a retry of a failed one while the plan allows it, otherwise the next interval's."""
    plan = subscription.plan
    if failed and subscription.failed_attempts < plan.retry_attempts:
        subscription.failed_attempts += 1
        hours = plan.retry_interval_hours or (2 if plan.interval_unit == "day" else 24)
        subscription.next_charge_at = now + timedelta(hours=hours)
        return
    subscription.failed_attempts = 0
    regular = add_interval(subscription.regular_charge_at or now, plan)
    subscription.next_charge_at = subscription.regular_charge_at = regular
