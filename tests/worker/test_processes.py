"""Workers as processes: started, stopped, killed, several at once. Saleor is real HTTP, and as slow as a test wants."""

import asyncio
import os
import signal
import socket
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from sqlmodel import col, select
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.bootstrap import open_services, utc_now
from app.core.vocabulary import EventState, Flow
from app.services import Services
from app.settings import Settings
from app.store.accounts import AccountKeys, NewAccount
from app.store.tables import Payment, SaleorEvent
from integration_base_tests.loopback import serve_app
from integration_base_tests.places import REPOSITORY
from integration_base_tests.waiting import LONGEST_WAIT, eventually

pytestmark = pytest.mark.long
SHORT = {"APP_WORKER_LEASE_SECONDS": "2"}  # how long a dead worker's claim stands


@dataclass
class SlowSaleor:
    """Counts the reports that come in, and answers them when it is let go."""

    url: str = ""
    reports: Counter[str] = field(default_factory=Counter)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    let_go: asyncio.Event = field(default_factory=asyncio.Event)

    async def graphql(self, request: Request) -> Response:
        asked = (await request.json())["variables"]
        references = {name: answer for name, answer in asked.items() if name.startswith("pspReference")}
        self.reports.update(references.values())
        self.arrived.set()
        await self.let_go.wait()
        report = {"alreadyProcessed": False, "transactionEvent": {"id": "RXZlbnQ6MQ=="}, "errors": []}
        # Several in one document stand there by their aliases, which are at the end of their variables' names.
        places = [name.removeprefix("pspReference") or "transactionEventReport" for name in references]
        return JSONResponse({"data": dict.fromkeys(places, report)})


@pytest.fixture
async def saleor() -> AsyncIterator[SlowSaleor]:
    slow = SlowSaleor()
    app = Starlette(routes=[Route("/graphql/", slow.graphql, methods=["POST"])])
    async with serve_app(app) as address:
        slow.url = f"{address}/graphql/"
        yield slow
        slow.let_go.set()


@pytest.fixture
async def settings(database_url: str, tmp_path: Path) -> Settings:
    settings = Settings(database_url=database_url, data_dir=tmp_path / "data")
    settings.open_vault()
    return settings


@pytest.fixture
async def services(settings: Settings) -> AsyncIterator[Services]:
    async with open_services(settings) as services:
        yield services


async def leave_work(services: Services, saleor: SlowSaleor, payments: int) -> None:
    """Put one event of each of so many payments into the outbox."""
    await services.installations.save(
        saleor_api_url=saleor.url, saleor_domain="shop", schema_version="3.23", app_id="QXBwOjE=", token="a-token",
        jwks=None,
    )  # fmt: skip
    installation = await services.installations.find(saleor.url)
    assert installation is not None
    keys = AccountKeys(api_key="key", api_secret="secret", endpoints_key="endpoints")
    account = await services.accounts.add(
        NewAccount(
            installation_id=installation.id, name="Shop", pos_id="5a9db0c5-7d1f-4c2b-9b60-3b1f2a4c5d6e",
            base_url="http://127.0.0.1:9", scheme_word="CPAY", keys=keys, currencies=["UAH"], storefront_origins=[],
        )
    )  # fmt: skip
    now = utc_now()
    for number in range(payments):
        row = Payment(
            installation_id=installation.id, account_id=account.id, transaction_id=f"transaction-{number}",
            order_id=f"order{number}", flow=Flow.CHARGE, amount=Decimal("1.00"), currency="UAH", channel="uah",
            source_id="checkout", created_at=now, updated_at=now,
        )  # fmt: skip
        async with services.database.transaction() as session:
            session.add(row)
            await session.flush()
            assert row.id is not None
            session.add(
                SaleorEvent(
                    payment_id=row.id, installation_id=row.installation_id,
                    type="INFO", psp_reference=f"event-{number}", amount=Decimal("0.00"),
                    next_attempt_at=now - timedelta(minutes=1), created_at=now,
                )
            )  # fmt: skip


@dataclass
class Started:
    """A process of ours and what it has logged until now."""

    process: asyncio.subprocess.Process
    log: Path

    async def logged(self, words: str) -> None:
        """Wait until it has logged that."""

        async def there() -> bool:
            return words in self.log.read_text()

        await eventually(there)

    async def stopping(self, number: signal.Signals = signal.SIGTERM, words: str = "process.stop_requested") -> None:
        """Send a signal and see that it is heard, and that the process is still there."""
        self.process.send_signal(number)
        await self.logged(words)
        assert self.process.returncode is None

    async def ended(self) -> int:
        """Wait for its end."""
        return await asyncio.wait_for(self.process.wait(), LONGEST_WAIT)


@asynccontextmanager
async def started(settings: Settings, command: str, log: Path, **more: str) -> AsyncIterator[Started]:
    """Start a process; at the end it is killed, if it is still there."""
    mine = {name: value for name, value in os.environ.items() if not name.startswith("APP_")}
    environment = {
        **mine, "PYTHONPATH": str(REPOSITORY), "APP_DATABASE_URL": settings.database,
        "APP_DATA_DIR": str(settings.data_dir), **more,
    }  # fmt: skip
    with log.open("ab") as file:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "app.cli", command, env=environment, stdout=file, stderr=file
        )
    try:
        yield Started(process, log)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def events(services: Services) -> list[SaleorEvent]:
    async with services.database.transaction() as session:
        return list((await session.exec(select(SaleorEvent).order_by(col(SaleorEvent.id)))).all())


@pytest.mark.fault("process-stopped")
async def test_stopped_in_the_middle_of_a_delivery_it_finishes_it(
    settings: Settings, services: Services, saleor: SlowSaleor, tmp_path: Path
) -> None:
    await leave_work(services, saleor, payments=1)
    async with started(settings, "worker", tmp_path / "log") as worker:
        await asyncio.wait_for(saleor.arrived.wait(), LONGEST_WAIT)
        await worker.stopping()
        await leave_one_more(services)
        saleor.let_go.set()
        assert await worker.ended() == 0
    assert [event.state for event in await events(services)] == [EventState.DELIVERED, EventState.WAITING]
    assert saleor.reports == {"event-0": 1}
    assert "rror" not in worker.log.read_text()


async def leave_one_more(services: Services) -> None:
    now = utc_now()
    async with services.database.transaction() as session:
        payment = (await session.exec(select(Payment))).first()
        assert payment is not None
        assert payment.id is not None
        session.add(
            SaleorEvent(
                payment_id=payment.id, installation_id=payment.installation_id,
                type="INFO", psp_reference="late", amount=Decimal("0.00"), next_attempt_at=now,
                created_at=now,
            )
        )  # fmt: skip


@pytest.mark.fault("process-stopped")
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_a_second_signal_ends_it_at_once_and_another_worker_takes_over(
    settings: Settings, services: Services, saleor: SlowSaleor, tmp_path: Path
) -> None:
    await leave_work(services, saleor, payments=1)
    async with started(settings, "worker", tmp_path / "log", **SHORT) as worker:
        await asyncio.wait_for(saleor.arrived.wait(), LONGEST_WAIT)
        await worker.stopping(signal.SIGINT)
        worker.process.send_signal(signal.SIGINT)
        assert await worker.ended() == -signal.SIGINT
    await taken_over(settings, services, saleor, tmp_path)


@pytest.mark.fault("process-killed")
async def test_killed_in_the_middle_of_a_delivery_another_worker_takes_over(
    settings: Settings, services: Services, saleor: SlowSaleor, tmp_path: Path
) -> None:
    await leave_work(services, saleor, payments=1)
    async with started(settings, "worker", tmp_path / "log", **SHORT) as worker:
        await asyncio.wait_for(saleor.arrived.wait(), LONGEST_WAIT)
        worker.process.kill()
        await worker.ended()
    await taken_over(settings, services, saleor, tmp_path)


async def taken_over(settings: Settings, services: Services, saleor: SlowSaleor, folder: Path) -> None:
    """Another worker tells Saleor again, as soon as the dead one's claim has run out."""
    assert [event.state for event in await events(services)] == [EventState.WAITING]
    saleor.let_go.set()

    async def told() -> bool:
        return [event.state for event in await events(services)] == [EventState.DELIVERED]

    async with started(settings, "worker", folder / "another log"):
        await eventually(told)
    assert saleor.reports == {"event-0": 2}
    assert [event.attempts for event in await events(services)] == [2]


@pytest.mark.fault("two-workers")
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_two_workers_at_once_do_each_job_once(
    settings: Settings, services: Services, saleor: SlowSaleor, tmp_path: Path
) -> None:
    await leave_work(services, saleor, payments=60)
    saleor.let_go.set()

    async def all_told() -> bool:
        return {event.state for event in await events(services)} == {EventState.DELIVERED}

    one, two = (started(settings, "worker", tmp_path / name) for name in ("one", "two"))
    async with one as first, two as second:
        await eventually(all_told)
        for worker in (first, second):
            await worker.logged("worker.started")
            worker.process.terminate()
        assert (await first.ended(), await second.ended()) == (0, 0)
    assert saleor.reports == {f"event-{number}": 1 for number in range(60)}
    assert {event.attempts for event in await events(services)} == {1}


@pytest.mark.fault("process-stopped")
async def test_a_web_process_finishes_its_workers_jobs_too(
    settings: Settings, services: Services, saleor: SlowSaleor, tmp_path: Path
) -> None:
    await leave_work(services, saleor, payments=1)
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = str(listener.getsockname()[1])
    async with started(settings, "run", tmp_path / "log", APP_PORT=port) as app:
        await asyncio.wait_for(saleor.arrived.wait(), LONGEST_WAIT)
        await app.logged("running on")
        await app.stopping(words="Waiting for application shutdown")
        saleor.let_go.set()
        await app.ended()
    assert [event.state for event in await events(services)] == [EventState.DELIVERED]
    assert saleor.reports == {"event-0": 1}
