"""Granted refunds, over HTTP: whatever is lost on the way, one grant is one refund, and ends as done."""

from decimal import Decimal
from typing import Literal

import pytest

from integration_base_tests.waiting import eventually
from saleor_app_sdk.testing.views import RequestedAction, TransactionView
from tests.journeys.stack import Stack
from tests.journeys.stories import assert_books_agree
from tests.journeys.test_staff_act import paid


async def grant(shop: Stack, transaction: TransactionView, amount: str) -> tuple[str, str]:
    """Promise a refund; return the ids of the order and of the grant."""
    order_id = (await shop.saleor.transaction(transaction.id)).order_id
    assert order_id is not None
    granted = (await shop.saleor.grant_refund(order_id, Decimal(amount), transaction_id=transaction.id)).granted_refund
    assert granted is not None
    return order_id, granted.id


async def done(shop: Stack, order_id: str, how_many: int = 1) -> None:
    """Wait until all grants of an order are done."""

    async def all_done() -> bool:
        grants = (await shop.saleor.order(order_id)).granted_refunds
        return [grant.status for grant in grants] == ["SUCCESS"] * how_many

    await eventually(all_done)


@pytest.mark.fault("network-cut")
@pytest.mark.parametrize("lost", ["bad_gateway", "dropped"])
async def test_an_answer_that_is_lost(shop: Stack, lost: Literal["bad_gateway", "dropped"]) -> None:
    transaction = await paid(shop)
    order_id, granted = await grant(shop, transaction, "100.00")
    await shop.saleor.set_faults(webhook_answer_lost=lost, webhook_times=1)
    await shop.saleor.request_refund_for_granted_refund(granted)
    await done(shop, order_id)
    transaction = await shop.saleor.transaction(transaction.id)
    assert (transaction.amounts.charged, transaction.amounts.refunded) == (Decimal("469.50"), Decimal("100.00"))
    await assert_books_agree(shop, transaction.id)


async def test_two_at_the_same_moment(shop: Stack) -> None:
    transaction = await paid(shop)
    order_id, one = await grant(shop, transaction, "75.00")
    _, other = await grant(shop, transaction, "75.00")
    asked = [RequestedAction(transaction_id=transaction.id, granted_refund_id=grant) for grant in (one, other)]
    await shop.saleor.request_actions(*asked)
    await done(shop, order_id, 2)
    transaction = await shop.saleor.transaction(transaction.id)
    assert transaction.amounts.refunded == Decimal("150.00")
    await assert_books_agree(shop, transaction.id)
