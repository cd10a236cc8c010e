"""From outside: a crowd at a shopper's page makes the gateway answer once, and every webhook gets through."""

import asyncio

import pytest

from app.main import create_app
from app.web.shopper.look_ups import LOOK_UP_INTERVAL, MAX_PER_INTERVAL
from integration_base_tests.loopback import serve_app
from tests.dashboard.order_page_stack import OrderPageStack

CROWD = 100


async def begun(stack: OrderPageStack, name: str = "page") -> str:
    """A shopper is sent to the payment page; return the order."""
    stack.gateway.will_answer(stack.gateway.page(name))
    basket = await stack.saleor.create_checkout()
    session = await stack.saleor.initialize(basket.id)
    [aggregate] = await stack.aggregates_of(session.required_transaction.id)
    return aggregate.payment.order_id


def look_ups(stack: OrderPageStack) -> int:
    """Return how often the gateway was asked about any order."""
    return stack.gateway.polls


@pytest.mark.threat("flood")
async def test_thirty_at_once_are_one_look_up(stack: OrderPageStack) -> None:
    order_id = await begun(stack)
    before = look_ups(stack)
    answers = await asyncio.gather(*(stack.http.get(f"/pay/return/{order_id}") for _ in range(30)))
    assert {answer.status_code for answer in answers} == {200}
    assert look_ups(stack) - before == 1
    await stack.http.get(f"/pay/return/{order_id}")
    assert look_ups(stack) - before == 1
    stack.clock.forward(seconds=LOOK_UP_INTERVAL.total_seconds())
    await stack.http.get(f"/pay/return/{order_id}")
    assert look_ups(stack) - before == 2


async def test_of_two_processes_one_looks(stack: OrderPageStack) -> None:
    order_id = await begun(stack)
    before = look_ups(stack)
    app = create_app(stack.settings, stack.clock)
    async with app.router.lifespan_context(app), serve_app(app) as other:
        addresses = [f"{place}/pay/return/{order_id}" for place in (stack.url, other)] * 10
        await asyncio.gather(*(stack.http.get(address) for address in addresses))
    assert look_ups(stack) - before == 1


@pytest.mark.threat("flood")
async def test_many_payments_are_not_looked_up_without_end(stack: OrderPageStack) -> None:
    orders = [await begun(stack, f"page-{number}") for number in range(MAX_PER_INTERVAL + 5)]
    before = look_ups(stack)
    for order_id in orders:
        assert (await stack.http.get(f"/pay/return/{order_id}")).status_code == 200
    assert look_ups(stack) - before == MAX_PER_INTERVAL


@pytest.mark.threat("flood")
async def test_a_webhook_is_answered_amid_a_crowd(stack: OrderPageStack) -> None:
    order_id = await begun(stack)
    crowd = [asyncio.create_task(stack.http.get(f"/pay/return/{order_id}")) for _ in range(CROWD)]
    await begun(stack, "amid")
    answers = await asyncio.gather(*crowd)
    assert {answer.status_code for answer in answers} <= {200, 503}
