"""Looking up, and having a webhook sent again (gateway interface, 8 and 9). Subscriptions have stories of their own."""

from contextlib import aclosing
from datetime import timedelta
from decimal import Decimal

import pytest

from app.gateway.models import Method, OperationRecord, PaymentRecord, Refund, Status, UnreadableLine
from tests.gateway_contract.requests import AMOUNT, a_card
from tests.gateway_contract.stage import Stage


async def test_all_operations_of_an_order_and_those_of_one_kind(stage: Stage) -> None:
    order_id = stage.order_id("seen")
    paid = await stage.client.create_direct(a_card(stage, "seen"), timeout=stage.timeout)
    await stage.client.refund(
        Refund(order_id=order_id, order_currency=stage.currency, refund_amount=Decimal("0.50")), timeout=stage.timeout
    )
    records = await stage.client.order(order_id, timeout=stage.timeout)
    assert {type(record) for record in records} == {PaymentRecord, OperationRecord}
    assert {record.payment_id for record in records} == {paid.payment_id}
    for method, amount in ((Method.PURCHASE, AMOUNT), (Method.REFUND, Decimal("0.50"))):
        found = await stage.client.operation(order_id, method, timeout=stage.timeout)
        assert [(record.method, record.amount) for record in found] == [(method, amount)]


@pytest.mark.reads_only
async def test_an_order_that_never_was(stage: Stage) -> None:
    order_id = stage.order_id("never")
    assert await stage.client.order(order_id, timeout=stage.timeout) == ()
    assert await stage.client.operation(order_id, Method.VOID, timeout=stage.timeout) == ()


async def test_all_transactions_of_a_period(stage: Stage) -> None:
    paid = await stage.client.create_direct(a_card(stage, "listed"), timeout=stage.timeout)
    start, end = stage.moment - timedelta(minutes=5), stage.moment + timedelta(minutes=5)
    async with aclosing(stage.client.reports.period(start, end, timeout=stage.timeout)) as lines:
        read = [line async for line in lines if not isinstance(line, UnreadableLine)]
    found = [line for line in read if line.order_id == paid.order_id]
    assert [(line.payment_id, line.method, line.status) for line in found] == [
        (paid.payment_id, Method.PURCHASE, Status.SUCCESS)
    ]
    assert (found[0].amount, found[0].currency) == (AMOUNT, stage.currency)


async def test_a_webhook_is_sent_again(stage: Stage) -> None:
    order_id = stage.order_id("again")
    paid = await stage.client.create_direct(a_card(stage, "again"), timeout=stage.timeout)
    (record,) = await stage.client.resend(order_id, Method.PURCHASE, timeout=stage.timeout)
    assert (record.payment_id, record.status) == (paid.payment_id, Status.SUCCESS)
