"""PostgreSQL dies in the middle of payments and comes back: the app goes on by itself, nothing is lost or doubled."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import pytest

from app.store.migrate import migrate
from integration_base_tests.waiting import eventually
from saleor_app_sdk.testing.views import NewCheckout, SessionView
from tests.fork_server import ForkServer
from tests.journeys.audit import assert_three_books_agree
from tests.journeys.crashing_process import CrashingProcess
from tests.journeys.stack import Stack, open_stack
from tests.journeys.stories import BACK, order_id_of, paid_order, wait_for_event
from tests.postgresql import Program, open_postgresql_server

SHOPPERS = 10
RIGHT = {"CHARGE_ACTION_REQUIRED", "CHARGE_REQUEST", "CHARGE_FAILURE"}


@pytest.fixture
def server() -> Iterator[Program]:
    with open_postgresql_server() as server:
        yield server


@pytest.fixture
async def shop(
    server: Program, tmp_path: Path, neighbours: tuple[str, str], fork_server: ForkServer
) -> AsyncIterator[Stack]:
    await migrate(server.url)
    process = partial(CrashingProcess, fork_server=fork_server)
    async with open_stack(server.url, tmp_path, neighbours, process=process) as stack:
        installed = await stack.saleor.install(f"{stack.app.url}/api/manifest")
        assert installed.status == "INSTALLED", installed.message
        await stack.open_account()
        yield stack


def _has_page(session: SessionView) -> bool:
    return isinstance(session.data, dict) and "checkoutUrl" in session.data


@pytest.mark.fault("database-restarts")
@pytest.mark.long
@pytest.mark.law(1, 2, 5, 6)
async def test_in_the_middle_of_payments(shop: Stack, server: Program) -> None:
    """Some have begun when it dies, others begin while it is away, and try until it works."""
    answers: list[SessionView] = []
    begun, away = asyncio.Event(), asyncio.Event()

    async def pay(number: int) -> None:
        if number >= SHOPPERS // 2:
            await away.wait()
        checkout = await shop.saleor.create_checkout(NewCheckout())

        async def page() -> SessionView | None:
            session = await shop.saleor.initialize(checkout.id, data=BACK)
            answers.append(session)
            return session if _has_page(session) else None

        session = await eventually(page)
        begun.set()
        await shop.gateway.pay(order_id_of(session))
        await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
        await paid_order(shop, checkout.id)

    async def restart() -> None:
        await begun.wait()
        await asyncio.to_thread(server.die)
        away.set()
        await eventually(some_failed)
        await asyncio.to_thread(server.start)

    async def some_failed() -> bool:
        return not all(_has_page(answer) for answer in answers)

    await asyncio.gather(restart(), *(pay(number) for number in range(SHOPPERS)))
    assert all(answer.event is not None and answer.event.type in RIGHT for answer in answers), answers
    await assert_three_books_agree(shop)
