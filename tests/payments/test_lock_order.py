"""Whoever reads in order to decide waits for the payment's lock, and everybody locks the payment first (PostgreSQL)."""

import asyncio
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError
from sqlmodel import select

from app.db.aggregates import ById, load_by_operation, load_by_order, load_by_transaction, lock_payment, row_id_of
from app.db.database import Database, create_engine, is_sqlite
from app.db.outbox import lock_event_with_payment
from app.db.tables import SaleorEvent
from app.payments.core.event_queue import supersede_notes
from app.worker.deliver import deliver
from tests.payments.shop import Shop
from tests.payments.test_at_once import queue_for_the_lock, second_process

__all__ = ["second_process"]


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
                deliver(second_process.services, second_process.saleor, note.id)
            )  # claimed meanwhile
            await queue_for_the_lock(holder, 1)
            supersede_notes(aggregate.events, shop.clock.now, has_actions=True)
            await session.flush()
    except OperationalError as error:
        pytest.fail(f"the posting of what was paid is undone: {type(error.orig).__name__}")
    finally:
        await holder.close()
        if telling is not None:
            done = (await asyncio.gather(telling, return_exceptions=True))[0]
    assert not isinstance(done, Exception), f"the delivery is undone: {type(done).__name__}: {done}"
    assert shop.saleor.reported_types == []


@pytest.mark.parametrize("locker", ["update", "payment_of", "event_with_payment", "load_by_order", "load_by_operation"])
async def test_whoever_locks_a_payment_waits_for_whoever_has_it(shop: Shop, database_url: str, locker: str) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    aggregate = await shop.aggregate()
    payment_id, operation_id = row_id_of(aggregate.payment), row_id_of(aggregate.create)
    event_id = aggregate.events[0].id or 0
    holder = Database(create_engine(database_url))

    async def read() -> Any:
        if locker == "update":
            return await shop.services.payments.update(ById(payment_id), lambda payment: payment)
        async with shop.services.database.transaction() as session:
            match locker:
                case "payment_of":
                    return await lock_payment(session, payment_id)
                case "event_with_payment":
                    return await lock_event_with_payment(session, event_id)
                case "load_by_order":
                    return await load_by_order(session, shop.order_id)
                case _:
                    return await load_by_operation(session, operation_id)

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
