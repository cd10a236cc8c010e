"""From outside: whatever a stranger brings in the name of a Saleor, that Saleor goes on working with the app."""

import httpx2

from app.ledger.presence import BETWEEN_CHECKS
from app.ledger.tables import Installation
from app.saleor.registration import MOST_OF_ONE_SALEOR
from tests.dashboard.counter import Counter


async def bring(counter: Counter, token: str, version: str = "3.99") -> httpx2.Response:
    """Register as anybody can who knows the address of a Saleor."""
    headers = {"Saleor-Api-Url": counter.saleor.api_url, "Saleor-Schema-Version": version}
    return await counter.http.post("/api/register", json={"auth_token": token}, headers=headers)


async def installation(counter: Counter) -> Installation:
    async with counter.desk.database.transaction() as session:
        return await session.get_one(Installation, 1)


async def pays(counter: Counter) -> None:
    """A shopper begins to pay: Saleor's webhook is taken."""
    counter.till.will(counter.till.page())
    basket = await counter.saleor.new_checkout()
    session = await counter.saleor.initialize(basket.id)
    assert session.event is not None
    assert session.event.type == "CHARGE_ACTION_REQUIRED", session


async def test_garbage_changes_nothing_of_a_store_that_works(counter: Counter) -> None:
    before = (await installation(counter)).model_dump()
    answers = [(await bring(counter, f"garbage-{number}")).status_code for number in range(50)]
    assert answers.count(429) >= 50 - MOST_OF_ONE_SALEOR
    assert (await installation(counter)).model_dump() == before
    await pays(counter)
    store = (await counter.desk.installations.all())[0]
    assert store.unauthorised_since is None


async def test_garbage_does_not_push_out_the_genuine_token_that_waits_for_its_activation(counter: Counter) -> None:
    await counter.saleor.uninstall()
    done = await counter.saleor.install(f"{counter.url}/api/manifest", activate=False)
    assert done.status == "INSTALLED", done.message
    for number in range(50):
        await bring(counter, f"garbage-{number}")
    await counter.saleor.activate()
    await pays(counter)
    store = (await counter.desk.installations.all())[0]
    assert store.pending_tokens == ()


async def test_an_app_that_was_removed_is_seen_to_be_and_what_waits_is_told_once_it_is_back(counter: Counter) -> None:
    counter.till.will(counter.till.page())
    basket = await counter.saleor.new_checkout()
    session = await counter.saleor.initialize(basket.id)
    assert session.event is not None
    [sheet] = await counter.sheets_of(session.paid_for.id)
    await counter.saleor.uninstall()
    await counter.pays(sheet)
    await counter.work()
    counter.clock.forward(minutes=1)
    await counter.work()
    counter.desk.installations.forget()
    [store] = await counter.desk.installations.all()
    assert store.unauthorised_since is not None
    done = await counter.saleor.install(f"{counter.url}/api/manifest")
    assert done.status == "INSTALLED", done.message
    await counter.work()
    transaction = await counter.saleor.transaction(session.paid_for.id)
    assert transaction.amounts.charged == sheet.payment.amount
    [store] = await counter.desk.installations.all()
    assert store.unauthorised_since is None
    assert BETWEEN_CHECKS.total_seconds() > 60, "nothing of this was due by itself"
