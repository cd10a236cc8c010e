"""Stopping: no new work, what was begun is finished in bounded time, and nothing that was claimed is ever lost."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlmodel import select

from app.core.vocabulary import EventState
from app.services import Services
from app.store.job_queue import Claim
from app.store.tables import SaleorEvent
from app.worker.consumer import Consumer
from app.worker.loop import Worker
from integration_base_tests.waiting import LONGEST_WAIT
from tests.payments.fake_gateway import operation
from tests.payments.shop import Shop
from tests.worker.running_worker import SlowSaleor


async def refunded_in_the_portal(shop: Shop, *names: str) -> None:
    """Leave the worker something to tell Saleor."""
    for name in names:
        await shop.notify(operation("refund", shop.order_id, "1.00", operation_id=name))


async def events(shop: Shop) -> Sequence[SaleorEvent]:
    async with shop.services.database.transaction() as session:
        return (await session.exec(select(SaleorEvent).where(SaleorEvent.type == "REFUND_SUCCESS"))).all()


@pytest.mark.fault("process-stopped")
async def test_what_was_begun_is_finished_and_nothing_else_is_begun(paid_shop: Shop) -> None:
    await refunded_in_the_portal(paid_shop, "portal-1", "portal-2")
    saleor, worker = SlowSaleor(paid_shop), Worker(paid_shop.saleor)
    running = asyncio.create_task(worker.run(paid_shop.services))
    await saleor.arrived.wait()
    worker.stop()
    done, _ = await asyncio.wait({running}, timeout=0.1)
    assert not done
    saleor.let_go.set()
    await running

    assert paid_shop.saleor.reported_types == ["REFUND_SUCCESS"]
    assert sorted(event.state for event in await events(paid_shop)) == [EventState.DELIVERED, EventState.WAITING]
    assert await paid_shop.work() == 1  # by whoever comes next, without waiting for anything
    assert {report.psp_reference for report in paid_shop.saleor.reports} == {"portal-1", "portal-2"}


@pytest.mark.fault("process-stopped")
@pytest.mark.law(5)
async def test_a_claim_that_was_not_begun_is_given_back_at_once(
    paid_shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order to stop comes while the claim is being written."""
    await refunded_in_the_portal(paid_shop, "portal-1")
    worker, claim, claimed = Worker(paid_shop.saleor), Consumer.claim, []

    async def stopped_meanwhile(consumer: Consumer, services: Services) -> list[Claim]:
        found = await claim(consumer, services)
        claimed.extend(found)
        worker.stop()
        return found

    with monkeypatch.context() as patched:
        patched.setattr(Consumer, "claim", stopped_meanwhile)
        await worker.run(paid_shop.services)
    assert len(claimed) == 1
    assert paid_shop.saleor.reports == []
    assert await paid_shop.work() == 2  # the notification and the event that comes of it
    [event] = await events(paid_shop)
    assert (event.state, event.attempts) == (EventState.DELIVERED, 1)


@pytest.mark.fault("process-stopped")
@pytest.mark.law(5)
async def test_a_job_that_takes_too_long_is_left_to_another_worker(
    paid_shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    await refunded_in_the_portal(paid_shop, "portal-1")
    monkeypatch.setattr("app.worker.loop._MARGIN", timedelta(seconds=0.1))
    hurried = replace(paid_shop.services, schedule=replace(paid_shop.services.schedule, budget=timedelta(seconds=0.1)))
    saleor, worker = SlowSaleor(paid_shop), Worker(paid_shop.saleor)
    running = asyncio.create_task(worker.run(hurried))
    await saleor.arrived.wait()
    worker.stop()
    await asyncio.wait_for(running, LONGEST_WAIT)
    assert paid_shop.saleor.reports == []

    saleor.let_go.set()
    await paid_shop.pass_time(seconds=59)
    assert paid_shop.saleor.reports == []  # the claim still stands: nobody knows whether the first report arrived
    await paid_shop.pass_time(seconds=2)
    assert paid_shop.saleor.reported_types == ["REFUND_SUCCESS"]


async def test_a_worker_without_work_stops_at_once(shop: Shop) -> None:
    worker = Worker(shop.saleor)
    running = asyncio.create_task(worker.run(shop.services))
    await asyncio.sleep(0)
    worker.stop()
    await asyncio.wait_for(running, LONGEST_WAIT)
