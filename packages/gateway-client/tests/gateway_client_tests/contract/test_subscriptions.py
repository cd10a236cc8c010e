"""Subscriptions (gateway interface, 8 and 12; starting, refunding and ending are provisional)."""

import pytest

from gateway_client.models import Checkout, Method, PaymentRecord, RecurringPlan, Status
from gateway_client.models.subscriptions import SubscriptionRefund
from gateway_client_tests.contract.harness import Harness
from gateway_client_tests.contract.requests import AMOUNT, PARTS, a_page


@pytest.mark.public_only("the interface does not show how one begins and ends")
async def test_a_subscription_from_its_first_charge_to_its_end(harness: Harness) -> None:
    order_id = harness.order_id("monthly")
    plan = RecurringPlan(interval_unit="month", interval_count=1)
    checkout = await harness.client.create_hosted(
        a_page(harness, "monthly", init_recurring=plan), timeout=harness.timeout
    )
    assert isinstance(checkout, Checkout)
    await harness.hands.pay(order_id, checkout.checkout_url)
    (first,) = await harness.client.get_order(order_id, timeout=harness.timeout)
    assert isinstance(first, PaymentRecord)
    assert first.recurring is not None
    subscription = first.recurring.id

    charges = await harness.client.subscriptions.transactions(
        subscription, method=Method.PURCHASE, status=Status.SUCCESS, timeout=harness.timeout
    )
    assert [(charge.payment_id, charge.amount) for charge in charges] == [(first.payment_id, AMOUNT)]

    back = SubscriptionRefund(order_currency=harness.currency, refund_amount=PARTS[1])
    refund = await harness.client.subscriptions.refund(subscription, first.payment_id, back, timeout=harness.timeout)
    assert (refund.method, refund.status, refund.amount) == (Method.REFUND, Status.SUCCESS, PARTS[1])

    ended = await harness.client.subscriptions.cancel(subscription, timeout=harness.timeout)
    assert ended.recurring_status == "canceled"
