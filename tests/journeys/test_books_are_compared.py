"""The gateway's books and ours are compared, by processes: whoever dies over it, another one goes on."""

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fnmatch import fnmatch

import pytest
from sqlmodel import update

from app.bootstrap import open_services
from app.store.tables import Process
from gateway_client.sandbox.scripting import FaultRule
from integration_base_tests.waiting import eventually
from tests.journeys.stack import Stack
from tests.journeys.stories import assert_books_agree, order_of, wait_for_event
from tests.journeys.terminal import Terminal
from tests.journeys.test_staff_act import paid

REFUND = Decimal("30.00")


@pytest.mark.long
@pytest.mark.fault("process-killed")
@pytest.mark.law(13)
@pytest.mark.parametrize("where", ["/streaming-report/fetch/*", "/api/v1/pos/*/orders/*"])
async def test_a_comparison_that_is_killed_is_ended_by_the_worker(shop: Stack, terminal: Terminal, where: str) -> None:
    since = f"{datetime.now(UTC):%Y-%m-%d}"  # it may be midnight before all is paid
    transactions = [await paid(shop) for _ in range(2)]
    for paid_before in transactions:  # behind the shop's back, and no notification tells of it
        await shop.gateway.portal(order_of(paid_before), "refund", REFUND, silent=True)
    before = len(await shop.gateway.calls())
    await shop.gateway.fault(FaultRule(path=where, moment="before", effect="latency", seconds=600))
    command = terminal.begin("reconcile", "run", "--from", since, "--to", f"{datetime.now(UTC):%Y-%m-%d}")

    async def is_asking() -> bool:
        calls = (await shop.gateway.calls())[before:]
        # The worker looks orders up, too: a command that has not fetched the register yet may have recorded nothing.
        has_begun = any(fnmatch(call.path, "/streaming-report/fetch/*") for call in calls)
        return has_begun and any(fnmatch(call.path, where) and call.seconds is None for call in calls)

    try:
        await eventually(is_asking)
    finally:
        command.kill()
        await asyncio.to_thread(command.wait)
    await shop.gateway.clear_rules()  # whoever looks up beside it, and whoever goes on, is not slow
    for paid_before in transactions:
        transaction = await wait_for_event(shop, paid_before.id, "REFUND_SUCCESS")
        assert transaction.amounts.refunded == REFUND
        assert transaction.event_types().count("REFUND_SUCCESS") == 1
        await assert_books_agree(shop, paid_before.id)


@pytest.mark.long
@pytest.mark.fault("notification-lost")
@pytest.mark.law(13)
async def test_what_happened_while_the_app_was_down_is_told_when_it_is_back(shop: Stack) -> None:
    transaction = await paid(shop)
    await shop.app.stop()
    await shop.gateway.portal(order_of(transaction), "refund", REFUND, silent=True)
    an_hour_ago = datetime.now(UTC) - timedelta(hours=1)
    async with open_services(shop.settings) as services, services.database.transaction() as session:
        await session.exec(update(Process).values(seen_at=an_hour_ago))
    await shop.app.start()
    assert (await wait_for_event(shop, transaction.id, "REFUND_SUCCESS")).amounts.refunded == REFUND
    await assert_books_agree(shop, transaction.id)
