"""Behind PgBouncer in transaction mode: each transaction is on whatever connection to the server is free."""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import text

from app.store.database import Database, create_engine
from tests.conftest import MigratedDatabases
from tests.fork_server import ForkServer
from tests.journeys.audit import assert_three_books_agree
from tests.journeys.crashing_process import CrashingProcess
from tests.journeys.stack import Stack, open_stack
from tests.journeys.stories import begin, order_id_of, paid_order, wait_for_event
from tests.postgresql import open_pooler
from tests.worker.test_processes import started

SHOPPERS = 12


@pytest.fixture
async def pooled_url(migrated: MigratedDatabases, new_postgresql: Callable[[], str]) -> AsyncIterator[str]:
    """A migrated database, reached over three connections that many share."""
    with open_pooler(await migrated.postgresql(new_postgresql), connections=3) as pooler:
        yield pooler.url


@pytest.fixture
async def shop(
    pooled_url: str, tmp_path: Path, neighbours: tuple[str, str], fork_server: ForkServer
) -> AsyncIterator[Stack]:
    process = partial(CrashingProcess, fork_server=fork_server)
    async with open_stack(pooled_url, tmp_path, neighbours, process=process) as stack:
        installed = await stack.saleor.install(f"{stack.app.url}/api/manifest")
        assert installed.status == "INSTALLED", installed.message
        await stack.open_account()
        yield stack


@pytest.mark.law(5, 6)
async def test_payments_live_their_whole_lives_with_a_worker_beside(shop: Stack, tmp_path: Path) -> None:
    """More at once than there are connections, and more often than a statement is asked before it is prepared."""

    async def pay() -> None:
        checkout_id, session = await begin(shop)
        await shop.gateway.pay(order_id_of(session))
        await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
        await paid_order(shop, checkout_id)

    async with started(shop.settings, "worker", tmp_path / "worker.log") as worker:
        await asyncio.gather(*(pay() for _ in range(SHOPPERS)))
        worker.process.terminate()
        await worker.ended()
    await assert_three_books_agree(shop)
    logs = shop.app.log.read_text() + (tmp_path / "worker.log").read_text()
    assert "prepared statement" not in logs
    assert "Traceback" not in logs


@pytest.mark.fault("database-slow")
async def test_what_is_waited_for_has_an_end_on_every_connection(pooled_url: str) -> None:
    """Limits that were set once for a connection would be those of whoever gets it next, and perhaps of nobody."""
    database = Database(create_engine(pooled_url))

    async def limits(_: int) -> tuple[str, ...]:
        async with database.transaction() as session:
            names = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")
            settings = ", ".join(f"current_setting('{name}')" for name in names)
            await asyncio.sleep(0.01)
            return tuple((await (await session.connection()).execute(text(f"SELECT {settings}"))).one())

    found = await asyncio.gather(*(limits(number) for number in range(30)))
    await database.close()
    assert set(found) == {("5s", "9s", "20s")}
    other = Database(create_engine(pooled_url, timeouts=None))
    async with other.transaction() as session:
        [kept] = (await (await session.connection()).execute(text("SELECT current_setting('lock_timeout')"))).one()
    await other.close()
    assert kept == "0", "a connection to the server keeps what one of those who share it has set"
