"""Subscriptions (gateway interface, 8 and 12; starting, refunding and ending are provisional)."""

from app.gateway.models import Checkout, Method, PaymentRecord, RecurringPlan, Status
from app.gateway.models.subscriptions import SubscriptionRefund
from tests.gateway_contract.requests import AMOUNT, PARTS, a_page
from tests.gateway_contract.stage import Stage


async def test_a_subscription_from_its_first_charge_to_its_end(stage: Stage) -> None:
    order_id = stage.order_id("monthly")
    plan = RecurringPlan(interval_unit="month", interval_count=1)
    checkout = await stage.client.create_hosted(a_page(stage, "monthly", init_recurring=plan), timeout=stage.timeout)
    assert isinstance(checkout, Checkout)
    await stage.hands.pay(order_id, checkout.checkout_url)
    (first,) = await stage.client.order(order_id, timeout=stage.timeout)
    assert isinstance(first, PaymentRecord)
    assert first.recurring is not None
    subscription = first.recurring.id

    charges = await stage.client.subscriptions.transactions(
        subscription, method=Method.PURCHASE, status=Status.SUCCESS, timeout=stage.timeout
    )
    assert [(charge.payment_id, charge.amount) for charge in charges] == [(first.payment_id, AMOUNT)]

    back = SubscriptionRefund(order_currency=stage.currency, refund_amount=PARTS[1])
    refund = await stage.client.subscriptions.refund(subscription, first.payment_id, back, timeout=stage.timeout)
    assert (refund.method, refund.status, refund.amount) == (Method.REFUND, Status.SUCCESS, PARTS[1])

    ended = await stage.client.subscriptions.cancel(subscription, timeout=stage.timeout)
    assert ended.recurring_status == "canceled"
