"""From outside: a crowd at a shopper's page makes the gateway answer once, and every webhook gets through."""

import asyncio

from app.main import create_app
from app.shopper.look_ups import BETWEEN_LOOKS, OF_ALL
from tests.browsing import serving
from tests.dashboard.counter import Counter

CROWD = 100


async def begun(counter: Counter, name: str = "page") -> str:
    """A shopper is sent to the payment page; return the order."""
    counter.till.will(counter.till.page(name))
    basket = await counter.saleor.new_checkout()
    session = await counter.saleor.initialize(basket.id)
    [sheet] = await counter.sheets_of(session.paid_for.id)
    return sheet.payment.order_id


def look_ups(counter: Counter) -> int:
    """Return how often the gateway was asked about any order."""
    return counter.till.looks


async def test_thirty_at_once_are_one_look_up(counter: Counter) -> None:
    order_id = await begun(counter)
    before = look_ups(counter)
    answers = await asyncio.gather(*(counter.http.get(f"/pay/return/{order_id}") for _ in range(30)))
    assert {answer.status_code for answer in answers} == {200}
    assert look_ups(counter) - before == 1
    await counter.http.get(f"/pay/return/{order_id}")
    assert look_ups(counter) - before == 1
    counter.clock.forward(seconds=BETWEEN_LOOKS.total_seconds())
    await counter.http.get(f"/pay/return/{order_id}")
    assert look_ups(counter) - before == 2


async def test_of_two_processes_one_looks(counter: Counter) -> None:
    order_id = await begun(counter)
    before = look_ups(counter)
    app = create_app(counter.settings, counter.clock)
    async with app.router.lifespan_context(app), serving(app) as other:
        addresses = [f"{place}/pay/return/{order_id}" for place in (counter.url, other)] * 10
        await asyncio.gather(*(counter.http.get(address) for address in addresses))
    assert look_ups(counter) - before == 1


async def test_many_payments_are_not_looked_up_without_end(counter: Counter) -> None:
    orders = [await begun(counter, f"page-{number}") for number in range(OF_ALL + 5)]
    before = look_ups(counter)
    for order_id in orders:
        assert (await counter.http.get(f"/pay/return/{order_id}")).status_code == 200
    assert look_ups(counter) - before == OF_ALL


async def test_a_webhook_is_answered_amid_a_crowd(counter: Counter) -> None:
    order_id = await begun(counter)
    crowd = [asyncio.create_task(counter.http.get(f"/pay/return/{order_id}")) for _ in range(CROWD)]
    await begun(counter, "amid")
    answers = await asyncio.gather(*crowd)
    assert {answer.status_code for answer in answers} <= {200, 503}
