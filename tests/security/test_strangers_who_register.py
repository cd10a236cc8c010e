"""From outside: whatever a stranger brings in the name of a Saleor, that Saleor goes on working with the app."""

import httpx2
import pytest

from app.store.presence import CHECK_INTERVAL
from app.store.tables import Installation
from tests.dashboard.order_page_stack import OrderPageStack


async def bring(stack: OrderPageStack, token: str, version: str = "3.99") -> httpx2.Response:
    """Register as anybody can who knows the address of a Saleor."""
    headers = {"Saleor-Api-Url": stack.saleor.api_url, "Saleor-Schema-Version": version}
    return await stack.http.post("/api/register", json={"auth_token": token}, headers=headers)


async def installation(stack: OrderPageStack) -> Installation:
    async with stack.services.database.transaction() as session:
        return await session.get_one(Installation, 1)


async def pays(stack: OrderPageStack) -> None:
    """A shopper begins to pay: Saleor's webhook is taken."""
    stack.gateway.will_answer(stack.gateway.page())
    basket = await stack.saleor.create_checkout()
    session = await stack.saleor.initialize(basket.id)
    assert session.event is not None
    assert session.event.type == "CHARGE_ACTION_REQUIRED", session


@pytest.mark.threat("stranger-installs")
async def test_garbage_changes_nothing_of_a_store_that_works(stack: OrderPageStack) -> None:
    before = (await installation(stack)).model_dump()
    for number in range(50):
        await bring(stack, f"garbage-{number}")
    assert (await installation(stack)).model_dump() == before
    await pays(stack)
    store = (await stack.services.installations.all())[0]
    assert store.unauthorised_since is None


@pytest.mark.threat("stranger-installs")
async def test_garbage_does_not_push_out_the_genuine_token_that_waits_for_its_activation(stack: OrderPageStack) -> None:
    await stack.saleor.uninstall()
    done = await stack.saleor.install(f"{stack.url}/api/manifest", activate=False)
    assert done.status == "INSTALLED", done.message
    for number in range(50):
        await bring(stack, f"garbage-{number}")
    await stack.saleor.activate()
    await pays(stack)
    store = (await stack.services.installations.all())[0]
    assert store.pending_tokens == ()


@pytest.mark.threat("stranger-installs")
@pytest.mark.parametrize("activate", [True, False])
async def test_garbage_keeps_no_store_from_installing_the_app(stack: OrderPageStack, *, activate: bool) -> None:
    """Not in the same minute, and not for a week, whether the app is activated at once or later."""
    await stack.saleor.uninstall()
    for number in range(60):
        await bring(stack, f"garbage-{number}")
    done = await stack.saleor.install(f"{stack.url}/api/manifest", activate=activate)
    assert done.status == "INSTALLED", done.message
    for number in range(10):
        stack.clock.forward(seconds=1)
        await bring(stack, f"more-{number}")
    if not activate:
        await stack.saleor.activate()
    await pays(stack)


async def test_an_app_that_was_removed_is_seen_to_be_and_what_waits_is_told_once_it_is_back(
    stack: OrderPageStack,
) -> None:
    stack.gateway.will_answer(stack.gateway.page())
    basket = await stack.saleor.create_checkout()
    session = await stack.saleor.initialize(basket.id)
    assert session.event is not None
    [aggregate] = await stack.aggregates_of(session.required_transaction.id)
    await stack.saleor.uninstall()
    await stack.pays(aggregate)
    await stack.work()
    stack.clock.forward(minutes=1)
    await stack.work()
    stack.services.installations.invalidate()
    [store] = await stack.services.installations.all()
    assert store.unauthorised_since is not None
    done = await stack.saleor.install(f"{stack.url}/api/manifest")
    assert done.status == "INSTALLED", done.message
    await stack.work()
    transaction = await stack.saleor.transaction(session.required_transaction.id)
    assert transaction.amounts.charged == aggregate.payment.amount
    [store] = await stack.services.installations.all()
    assert store.unauthorised_since is None
    assert CHECK_INTERVAL.total_seconds() > 60, "nothing of this was due by itself"
