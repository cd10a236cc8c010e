"""The worker erases in the night what is kept no longer, and the timeline of a payment says so."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.flows.notifications import process
from app.reports.timeline import timeline
from app.rules.decisions.notification import outcome_message
from app.store.aggregates import ByOrder
from app.store.retention import Retention
from app.worker.erase import next_night
from tests.db.rows import read_raw
from tests.payments.fake_gateway import payment
from tests.payments.shop import Shop

KEPT = Retention(personal=timedelta(days=540), notifications=timedelta(days=180))
SIZES = (
    "SELECT (SELECT count(*) FROM operation WHERE personal_sealed IS NOT NULL), "
    "(SELECT count(*) FROM notification WHERE data_sealed IS NOT NULL), "
    "(SELECT count(*) FROM payment WHERE email_digest IS NOT NULL)"
)


@pytest.mark.law(7)
async def test_a_payment_is_erased_when_it_is_old_enough_and_late_words_change_nothing(shop: Shop) -> None:
    shop.services = replace(shop.services, retention=KEPT)
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.notify(payment(shop.order_id))
    await shop.work()
    assert await read_raw(shop.services.database, SIZES) == [(1, 1, 1)]
    shop.clock.now = next_night(shop.clock.forward(days=200))
    await shop.work()
    assert await read_raw(shop.services.database, SIZES) == [(1, 0, 1)]
    shop.clock.now = next_night(shop.clock.forward(days=341))
    await shop.work()
    assert await read_raw(shop.services.database, SIZES) == [(0, 0, 0)]
    found = await shop.services.payments.find(ByOrder(shop.order_id))
    assert found is not None
    notified = await shop.services.inbox.find_for_order(found.payment.account_id, shop.order_id)
    said = [str(entry.words) for entry in timeline(found, notified)]
    assert any("erases the shopper's data" in line for line in said), said
    assert any("content is no longer stored" in line for line in said), said
    before = [(operation.state, operation.amount) for operation in found.operations]
    assert notified[0].outcome is not None
    replayed = await process(shop.services, notified[0].id)  # by an operator
    assert replayed == outcome_message(notified[0].outcome)
    await shop.notify(payment(shop.order_id))  # the gateway repeats itself
    await shop.work()
    found = await shop.services.payments.find(ByOrder(shop.order_id))
    assert found is not None
    assert [(operation.state, operation.amount) for operation in found.operations] == before
    assert not found.payment.has_problems


async def test_with_the_years_only_facts_about_money_grow(shop: Shop) -> None:
    shop.services = replace(shop.services, retention=KEPT)
    sizes = []
    for _ in range(6):  # a payment each half a year
        shop.transaction = shop.saleor.new_transaction()
        shop.gateway.will_answer(shop.gateway.page())
        await shop.begin()
        await shop.notify(payment(shop.order_id))
        await shop.work()
        shop.saleor.order(shop.transaction)
        shop.clock.now = next_night(shop.clock.forward(days=180))
        await shop.work()
        sizes += await read_raw(shop.services.database, SIZES)
    assert sizes == [(1, 0, 1), (2, 0, 2), *[(2, 0, 2)] * 4]


def test_it_is_done_at_night() -> None:
    noon = datetime(2026, 11, 21, 12, tzinfo=UTC)
    assert next_night(noon) == datetime(2026, 11, 22, 3, tzinfo=UTC)
    assert next_night(noon.replace(hour=1)) == datetime(2026, 11, 21, 3, tzinfo=UTC)
    assert next_night(next_night(noon)) == datetime(2026, 11, 23, 3, tzinfo=UTC)
