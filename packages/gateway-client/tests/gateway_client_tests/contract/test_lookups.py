"""Looking up, and having a webhook sent again (gateway interface, 8 and 9). Subscriptions have stories of their own."""

from contextlib import aclosing
from datetime import timedelta
from decimal import Decimal

import pytest

from gateway_client.dialect import CaptureEndpoint
from gateway_client.models import Method, OperationRecord, PaymentRecord, Refund, Status, UnreadableLine
from gateway_client_tests.contract.harness import Harness
from gateway_client_tests.contract.requests import AMOUNT, a_card


async def test_all_operations_of_an_order_and_those_of_one_kind(harness: Harness) -> None:
    order_id = harness.order_id("seen")
    paid = await harness.client.create_direct(a_card(harness, "seen"), timeout=harness.timeout)
    await harness.client.refund(
        Refund(order_id=order_id, order_currency=harness.currency, refund_amount=Decimal("0.50")),
        timeout=harness.timeout,
    )
    records = await harness.client.get_order(order_id, timeout=harness.timeout)
    assert {type(record) for record in records} == {PaymentRecord, OperationRecord}
    assert {record.payment_id for record in records} == {paid.payment_id}
    for method, amount in ((Method.PURCHASE, AMOUNT), (Method.REFUND, Decimal("0.50"))):
        found = await harness.client.get_operation(order_id, method, timeout=harness.timeout)
        assert [(record.method, record.amount) for record in found] == [(method, amount)]


@pytest.mark.reads_only
async def test_an_order_that_never_was(harness: Harness) -> None:
    order_id = harness.order_id("never")
    assert await harness.client.get_order(order_id, timeout=harness.timeout) == ()
    assert await harness.client.get_operation(order_id, Method.VOID, timeout=harness.timeout) == ()


async def test_all_transactions_of_a_period(harness: Harness) -> None:
    paid = await harness.client.create_direct(a_card(harness, "listed"), timeout=harness.timeout)
    start, end = harness.moment - timedelta(minutes=5), harness.moment + timedelta(minutes=5)
    async with aclosing(harness.client.reports.period(start, end, timeout=harness.timeout)) as lines:
        read = [line async for line in lines if not isinstance(line, UnreadableLine)]
    found = [line for line in read if line.order_id == paid.order_id]
    assert [(line.payment_id, line.method, line.status) for line in found] == [
        (paid.payment_id, Method.PURCHASE, Status.SUCCESS)
    ]
    assert (found[0].amount, found[0].currency) == (AMOUNT, harness.currency)


@pytest.mark.reads_only
async def test_whether_captures_without_split_have_a_path(harness: Harness) -> None:
    """A capture without an order moves nothing, and neither does a path that does not exist."""
    found = await harness.client.discovery.capture_endpoint(timeout=harness.timeout)
    assert found in {CaptureEndpoint.PLAIN, CaptureEndpoint.SPLIT}


async def test_a_webhook_is_sent_again(harness: Harness) -> None:
    order_id = harness.order_id("again")
    paid = await harness.client.create_direct(a_card(harness, "again"), timeout=harness.timeout)
    (record,) = await harness.client.resend(order_id, Method.PURCHASE, timeout=harness.timeout)
    assert (record.payment_id, record.status) == (paid.payment_id, Status.SUCCESS)
