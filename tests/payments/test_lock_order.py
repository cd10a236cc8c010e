"""Whoever reads in order to decide waits for the payment's lock, and everybody locks the payment first (PostgreSQL)."""

import asyncio
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError
from sqlmodel import select

from app.core.ids import EventRowId
from app.core.payment import row_id_of
from app.rules.event_queue import supersede_notes
from app.store.aggregates import ByEvent, ById, ByOrder, PaymentSelector, save_all
from app.store.database import Database, create_engine, is_sqlite
from app.store.tables import SaleorEvent
from app.worker.deliver import deliver
from tests.db.rows import load_by_transaction
from tests.payments.changes import Change
from tests.payments.shop import Shop
from tests.payments.test_at_once import queue_for_the_lock


@pytest.fixture(autouse=True)
def only_postgresql(database_url: str) -> None:
    if is_sqlite(database_url):
        pytest.skip("SQLite has one connection")


async def test_telling_a_note_and_superseding_it_do_not_wait_for_each_other(
    shop: Shop, second_process: Shop, database_url: str
) -> None:
    """Both want the payment and its event: locked in two orders, one of them is undone as a deadlock."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()  # a note is in the outbox
    shop.clock.forward(seconds=30)  # it is due
    async with shop.services.database.transaction() as session:
        note = (await session.exec(select(SaleorEvent))).one()
    assert note.id is not None
    holder = Database(create_engine(database_url))
    telling = None
    try:
        async with holder.transaction() as session:  # a notification is being posted: "paid"
            aggregate = await load_by_transaction(session, shop.installation.id, shop.transaction.id)
            assert aggregate is not None
            telling = asyncio.create_task(
                deliver(second_process.services, second_process.saleor, EventRowId(note.id))
            )  # claimed meanwhile
            await queue_for_the_lock(holder, 1)
            supersede_notes(aggregate.events, shop.clock.now, has_actions=True)
            await save_all(session, [aggregate])
    except OperationalError as error:
        pytest.fail(f"the context of what was paid is undone: {type(error.orig).__name__}")
    finally:
        await holder.close()
        if telling is not None:
            done = (await asyncio.gather(telling, return_exceptions=True))[0]
    assert not isinstance(done, Exception), f"the delivery is undone: {type(done).__name__}: {done}"
    assert shop.saleor.reported_types == []


@pytest.mark.parametrize("locker", ["by_id", "by_event", "by_order"])
async def test_whoever_locks_a_payment_waits_for_whoever_has_it(shop: Shop, database_url: str, locker: str) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    aggregate = await shop.aggregate()
    payment_id = row_id_of(aggregate.payment)
    event_id = aggregate.events[0].id or 0
    holder = Database(create_engine(database_url))

    which: dict[str, PaymentSelector] = {
        "by_id": ById(payment_id), "by_event": ByEvent(EventRowId(event_id)), "by_order": ByOrder(shop.order_id),
    }  # fmt: skip

    async def read() -> Any:
        return await shop.services.payments.record(which[locker], Change(lambda payment: payment))

    try:
        async with holder.transaction() as session:
            await load_by_transaction(session, shop.installation.id, shop.transaction.id)
            reading = asyncio.create_task(read())
            waiting = asyncio.create_task(queue_for_the_lock(holder, 1))
            await asyncio.wait([reading, waiting], return_when=asyncio.FIRST_COMPLETED)
            assert not reading.done(), "it did not wait for the payment's lock"
            await waiting
    finally:
        await holder.close()
        await reading
