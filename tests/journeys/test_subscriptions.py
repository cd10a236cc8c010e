"""A customer subscribes, the gateway charges every month by itself, and staff give one charge back and end it."""

from datetime import timedelta
from decimal import Decimal

import pytest

from app.bootstrap import open_services
from app.core.vocabulary import Kind
from app.flows.staff.actions import StaffRequest, request_action
from app.flows.staff.subscription import cancel_subscription
from app.store.aggregates import ByOrder
from gateway_client.sandbox.scripting import FaultRule, WebhookRule
from integration_base_tests.waiting import eventually
from saleor_app_sdk.testing.views import TransactionView
from tests.journeys.stack import Stack
from tests.journeys.stories import (
    BACK,
    TOTAL,
    begin,
    order_id_of,
    order_of,
    paid_order,
    wait_for_event,
    wait_until_quiet,
)

A_MONTH = timedelta(days=32)


async def subscribed(shop: Stack) -> TransactionView:
    """A shopper pays an order, and with that subscribes to one each month."""
    async with open_services(shop.settings) as services:
        [account] = await services.accounts.all()
        await services.accounts.change(account.id, subscriptions=True)

    async def offered() -> bool:  # the app remembers the account for a moment
        checkout = await shop.saleor.create_checkout()
        return bool((await shop.saleor.gateway_initialize(checkout.id)).data["subscriptions"])

    await eventually(offered)
    checkout_id, session = await begin(shop, data={**BACK, "subscription": {"interval": "month"}})
    await shop.gateway.pay(order_id_of(session))
    transaction = await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
    await paid_order(shop, checkout_id)
    return transaction


async def charged(shop: Stack, transaction: TransactionView, times: int) -> TransactionView:
    """Wait until Saleor knows of so many charges."""

    async def known() -> TransactionView | None:
        now = await shop.saleor.transaction(transaction.id)
        return now if now.amounts.charged + now.amounts.refunded == TOTAL * times else None

    return await eventually(known)


async def a_month_later(shop: Stack) -> None:
    await shop.gateway.advance(A_MONTH)


async def test_each_month_is_charged_and_saleor_knows(shop: Stack) -> None:
    transaction = await subscribed(shop)
    for month in (2, 3):
        await a_month_later(shop)
        assert (await charged(shop, transaction, month)).event_types().count("CHARGE_SUCCESS") == month
    await shop.gateway.webhook_rule(WebhookRule(effect="duplicate", copies=2))
    await a_month_later(shop)
    await charged(shop, transaction, 4)
    assert (await wait_until_quiet(shop, transaction.id)).event_types().count("CHARGE_SUCCESS") == 4


@pytest.mark.long
async def test_the_app_is_down_while_it_is_charged(shop: Stack) -> None:
    transaction = await subscribed(shop)
    await shop.app.stop()
    await a_month_later(shop)
    await shop.app.start()
    await charged(shop, transaction, 2)


@pytest.mark.long
@pytest.mark.parametrize("moment", ["before", "after"])
async def test_staff_give_one_charge_back_and_the_answer_gets_lost(shop: Stack, moment: str) -> None:
    transaction = await subscribed(shop)
    await a_month_later(shop)
    await charged(shop, transaction, 2)
    order_id = order_of(transaction)
    await shop.gateway.fault(FaultRule(path="*/refund", moment=moment, effect="drop", times=1))
    async with open_services(shop.settings) as services:
        found = await services.payments.find(ByOrder(order_id))
        assert found is not None
        [second] = [operation for operation in found.operations if operation.kind is Kind.RECURRING]
        asked = StaffRequest(Kind.REFUND, by="olena", key="k", amount=Decimal("100.00"), charge_id=second.operation_id)
        for _ in range(2):
            await request_action(services, order_id, asked)

    async def settled() -> bool:
        now = await shop.saleor.transaction(transaction.id)
        return bool({"REFUND_SUCCESS", "REFUND_FAILURE"} & set(now.event_types()))

    await eventually(settled)
    now = await wait_until_quiet(shop, transaction.id)
    refunded = Decimal("100.00") if moment == "after" else Decimal(0)
    assert (now.amounts.refunded, now.amounts.charged) == (refunded, TOTAL * 2 - refunded)


async def test_after_it_is_cancelled_nothing_more_is_charged(shop: Stack) -> None:
    transaction = await subscribed(shop)
    async with open_services(shop.settings) as services:
        ended = await cancel_subscription(services, order_of(transaction), "olena")
        assert ended.payment.recurring_status == "canceled"
    await a_month_later(shop)
    now = await wait_until_quiet(shop, transaction.id)
    assert now.amounts.charged == TOTAL
    assert any("olena" in (event.message or "") for event in now.events)
