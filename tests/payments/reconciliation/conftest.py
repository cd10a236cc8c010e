"""A store whose gateway is the sandbox, over HTTP on this machine. None of its notifications ever arrives."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from pydantic import SecretStr
from sqlmodel import col, select

from app.flows.on_demand import look_up_now
from app.flows.reconciliation.run import begin_run, reconcile
from app.rules.problems import problem_messages
from app.services import Services
from app.store.database import Database
from app.store.reconciliations import update_run
from app.store.tables import Discrepancy, ReconciliationRun, RunState
from app.store.vault import Vault
from gateway_client.sandbox.control.client import SandboxControl
from gateway_client.sandbox.sandbox import Sandbox
from gateway_client.sandbox.server import running_sandbox
from gateway_client.sandbox.settings import Behaviour, PointOfSale, SandboxSettings
from integration_base_tests.clock import Clock
from tests.payments.fake_gateway import POS_ID, FakeGateway
from tests.payments.shop import SECRET, Shop, open_shop

POINT = PointOfSale(
    pos_id=UUID(POS_ID),
    api_key="the-api-key",
    api_secret=SecretStr(SECRET),
    endpoints_key=SecretStr("the-endpoints-key"),
    behaviour=Behaviour(amount_endings=False),
)


@dataclass
class Store:
    """A shop, and the people at its gateway."""

    shop: Shop
    control: SandboxControl
    sandbox: Sandbox

    @property
    def services(self) -> Services:
        return self.shop.services

    async def pay(self, amount: str = "100.00", *, flow: str = "CHARGE") -> str:
        """A shopper pays, and nobody tells the app. Return the order."""
        self.shop.transaction = self.shop.saleor.new_transaction()
        await self.shop.begin(flow=flow, amount=amount)
        await self.control.pay(self.shop.order_id)
        return self.shop.order_id

    async def complete_payment(self, amount: str = "100.00", *, flow: str = "CHARGE") -> str:
        """A shopper has paid, and both the app and Saleor know it."""
        order_id = await self.pay(amount, flow=flow)
        await self.look(order_id)
        return order_id

    async def look(self, order_id: str) -> None:
        """The app learns of an order, and tells Saleor."""
        assert await look_up_now(self.services, order_id) is None
        await self.shop.work()

    async def begin(self, start: datetime | None = None, end: datetime | None = None) -> int:
        """Somebody asks for a comparison, an hour later."""
        self.shop.clock.forward(hours=1)
        return await begin_run(self.services, self.shop.account, start, end)

    async def goes_on(self, run_id: int) -> ReconciliationRun:
        """It goes on until it has ended, each time when it is due."""
        while (run := await self.run(run_id)).due_at is not None:
            self.shop.clock.now = max(self.shop.clock.now, run.due_at)
            await reconcile(self.services, run_id)
        return run

    async def compare(self, start: datetime | None = None, end: datetime | None = None) -> ReconciliationRun:
        """Compare the books, from the beginning to the end; then Saleor is told what is to be told."""
        run = await self.goes_on(await self.begin(start, end))
        assert run.state is RunState.DONE, run.failure
        await self.shop.work()
        return run

    async def run(self, run_id: int) -> ReconciliationRun:
        async with self.services.database.transaction() as session:
            return await session.get_one(ReconciliationRun, run_id)

    async def runs(self) -> Sequence[ReconciliationRun]:
        """All comparisons, the planned one too, oldest first."""
        async with self.services.database.transaction() as session:
            return (await session.exec(select(ReconciliationRun).order_by(col(ReconciliationRun.id)))).all()

    async def differences(self) -> list[tuple[str, str]]:
        """What was found, and what became of it."""
        return [(discrepancy.kind.value, discrepancy.state.value) for discrepancy in await self.discrepancies()]

    async def discrepancies(self) -> Sequence[Discrepancy]:
        async with self.services.database.transaction() as session:
            return (await session.exec(select(Discrepancy).order_by(col(Discrepancy.id)))).all()

    async def words(self) -> list[str]:
        """What staff must look at of the last payment."""
        return [str(problem_message) for problem_message in problem_messages((await self.shop.aggregate()).payment)]

    async def looked_up(self) -> int:
        """How often the gateway was asked for an order."""
        return sum("/orders/" in call.path for call in await self.control.calls())

    async def write(self, order_id: str, **columns: object) -> None:
        """Change what the gateway has of a payment, as nobody could."""
        [payment] = self.sandbox.state.payments_of(POINT.pos_id, order_id)
        for name, value in columns.items():
            setattr(payment, name, value)

    async def make_due(self, run_id: int) -> None:
        async with self.services.database.transaction() as session:
            await update_run(session, run_id, due_at=self.shop.clock.now)


@asynccontextmanager
async def open_store(database: Database, vault: Vault, clock: Clock) -> AsyncIterator[Store]:
    settings = SandboxSettings(
        port=0, seed="books", clock=clock, tick=3600.0, points_of_sale=(POINT,), webhook_retries=()
    )
    async with (
        running_sandbox(settings) as (url, app),
        SandboxControl(url) as control,
        open_shop(database, vault, clock, FakeGateway(url=url)) as shop,
    ):
        schedule = replace(shop.services.schedule, between_look_ups=timedelta(0))
        shop.services = replace(shop.services, schedule=schedule)
        clock.forward(days=1)
        yield Store(shop, control, app.state.sandbox)


@pytest.fixture
async def store(database: Database, vault: Vault, clock: Clock) -> AsyncIterator[Store]:
    async with open_store(database, vault, clock) as store:
        yield store


@pytest.fixture
async def summing(store: Store) -> None:
    """Each day is summed once it is over."""
    await store.shop.enable_day_sums()
