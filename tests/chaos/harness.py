"""The systems of a story: a played Saleor, the app and the sandbox in one process, with one clock and no sockets."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
from sqlalchemy import text
from sqlmodel import SQLModel

from app.rules.order_standing import PATIENT_POLLS
from app.store.accounts import AccountKeys, NewAccount
from app.store.columns import Moment
from app.store.moves import MoveRefusedError, move
from gateway_client.sandbox.application import create_sandbox
from gateway_client.sandbox.sandbox import Sandbox
from gateway_client.sandbox.settings import Behaviour, PointOfSale, SandboxSettings
from integration_base_tests.clock import Clock
from saleor_app_sdk.testing.engine import Saleor
from saleor_app_sdk.testing.http import create_saleor
from saleor_app_sdk.testing.settings import SaleorFaults, SaleorSettings
from tests.chaos.app_under_test import AppSettings, AppUnderTest
from tests.chaos.fault_gate import FaultGate
from tests.chaos.retries import Retries
from tests.chaos.story import TOTAL
from tests.chaos.transport import Endpoint, PortRouter, serve

SALEOR, MOVED, GATEWAY, APP = (f"http://127.0.0.1:{port}" for port in (8000, 8001, 8077, 8100))
MANIFEST = f"{APP}/api/manifest"
_KEPT_TABLES = {"installation", "merchant_account", "channel_route", "card_key"}  # tables that a story does not change
_NEXT_DUE_QUERY = text(
    "SELECT min(due) AS due FROM (SELECT min(next_poll_at) AS due FROM operation"
    " UNION ALL SELECT min(next_attempt_at) FROM saleor_event"
    " UNION ALL SELECT min(next_order_poll_at) FROM payment WHERE order_polls <= :polls"  # then staff know of it
    " UNION ALL SELECT min(next_attempt_at) FROM notification) AS jobs"
)
_NEXT_DUE = _NEXT_DUE_QUERY.bindparams(polls=PATIENT_POLLS).columns(due=Moment)


@dataclass
class Harness:
    """Everything that a story uses. ``log`` is the record of what has happened so far."""

    clock: Clock
    saleor: Saleor
    sandbox: Sandbox
    app: AppUnderTest
    gate: FaultGate
    http: httpx2.AsyncClient
    point: PointOfSale
    retries: Retries
    log: list[str] = field(default_factory=list)
    totals: list[Decimal] = field(default_factory=lambda: [TOTAL])  # what was to be paid, one after the other
    total_changed_at: datetime = field(init=False)  # the last time; or when the story began
    paid_before: set[UUID] = field(default_factory=set)  # at the gateway, when the last of them began
    are_keys_open: bool = True
    known_address: str = SALEOR  # the address under which the app has recorded the payments so far

    async def clear(self, gateway: Mapping[str, Any]) -> None:
        """Clear the last story. ``gateway`` are options of the point of sale for the next one."""
        await self.saleor.state.stop()
        await self.restore_app()
        if self.saleor_address != SALEOR:
            await self.move_saleor()
            await self.record_move()
        async with self.app.services.database.transaction() as session:
            connection = await session.connection()
            for table in reversed(SQLModel.metadata.sorted_tables):
                if table.name not in _KEPT_TABLES:
                    await connection.execute(text(f"DELETE FROM {table.name}"))  # noqa: S608 - our own tables' names
        state = self.saleor.state
        for kept in (state.checkouts, state.orders, state.transactions, state.deliveries, state.reports):
            kept.clear()
        state.faults = SaleorFaults()
        self.sandbox.reset()
        # The cents of an amount select no outcome here: the bank's answer is a step of the story.
        behaviour = Behaviour.model_validate({"amount_endings": False, **gateway})
        self.sandbox.state.behaviours[self.point.pos_id] = behaviour
        self.app.fates.clear()
        self.gate.reset()
        self.log.clear()
        self.totals[:], self.total_changed_at = [TOTAL], self.clock.now
        self.paid_before.clear()

    async def keys(self, *, opening: bool) -> None:
        """Make the account's keys impossible to open from now on, or possible again. The app is restarted.

        A sealed value contains its key's name: another name is a key that does not exist.
        """
        if opening is self.are_keys_open:
            return
        before, after = ("v1.lost-", "v1.") if opening else ("v1.", "v1.lost-")
        async with self.app.services.database.transaction() as session:
            for column in ("api_key_sealed", "api_secret_sealed", "endpoints_key_sealed"):
                changed = text(f"UPDATE merchant_account SET {column} = replace({column}, :before, :after)")  # noqa: S608
                await (await session.connection()).execute(changed, {"before": before, "after": after})
        self.are_keys_open = opening
        self.app.die()

    @property
    def saleor_address(self) -> str:
        """The address of Saleor, which answers at no other."""
        return self.saleor.state.settings.public_url

    async def move_saleor(self) -> str | None:
        """Give Saleor another address from now on, where staff install the app again."""
        if self.saleor_address != self.known_address:
            return "it has just moved"
        here = MOVED if self.saleor_address == SALEOR else SALEOR
        self.saleor.state.settings = self.saleor.state.settings.model_copy(update={"public_url": here})
        if self.saleor.state.apps:
            await self.run_until_delivered(self.saleor.apps.uninstall)
        await self.restore_app()
        return None

    async def record_move(self) -> str | None:
        """Record as the operator that it is the same store (``saleor-gateway installations move``)."""
        if self.saleor_address == self.known_address:
            return "it has not moved"
        services = await self.app.start() if self.app.dead else self.app.services
        rows = [
            await services.installations.find(f"{address}/graphql/")
            for address in (self.known_address, self.saleor_address)
        ]
        old, new = (row.id for row in rows if row is not None)
        now = self.clock.now
        try:
            async with services.database.transaction() as session:
                await move(session, old, new, emails=services.emails, personal=services.personal, now=now)
        except MoveRefusedError:
            if self.saleor.state.apps:
                raise
            return "the operator is refused: the app is not installed there"
        services.installations.invalidate()
        self.known_address = self.saleor_address
        return None

    async def restore_app(self) -> None:
        """Get the app running, installed and active, whatever its state."""
        await self.keys(opening=True)
        self.saleor.state.faults = SaleorFaults()
        self.app.fates.clear()
        await self.app.start() if self.app.dead else None
        if not self.saleor.state.apps:
            installed = await self.saleor.apps.install(MANIFEST)
            assert installed.status == "INSTALLED", installed.message
        await self.run_until_delivered(self.saleor.apps.activate)

    async def run_until_delivered(self, act: Callable[[], object]) -> None:
        """Do something that Saleor notifies the app of in the background, and wait for that and nothing else.

        Saleor may be between two retries afterwards. Work that continued beside the next step would need the database
        while that step holds it, and there is only one thread: it would wait for itself until the lock timeout.
        """
        background = self.saleor.state._background
        before = set(background)
        act()
        await self.retries.settle(background - before)

    async def next_due(self) -> datetime | None:
        """Return when the next job in the database becomes due."""
        async with self.app.services.database.engine.connect() as connection:
            due: datetime | None = (await connection.execute(_NEXT_DUE)).scalar_one()
        return due


@asynccontextmanager
async def open_harness(
    database_url: str, folder: Path, account: Mapping[str, Any] | None = None
) -> AsyncIterator[Harness]:
    """Open a harness over an empty, migrated database. ``account`` are options of the merchant account (NewAccount)."""
    clock, log = Clock(), list[str]()
    endpoints: dict[int, Endpoint] = {}

    def connect() -> httpx2.AsyncClient:
        return httpx2.AsyncClient(transport=PortRouter(endpoints), follow_redirects=False, trust_env=False)

    settings = AppSettings(data_dir=folder, database_url=database_url, base_url=APP, worker=False)
    app = AppUnderTest(settings, clock, connect)
    async with connect() as http:
        saleor_application = create_saleor()
        retries = Retries(clock)
        saleor = Saleor(SaleorSettings(public_url=SALEOR), http, clock, retries.sleep)
        saleor_application.state.saleor = saleor
        point = PointOfSale()
        sandbox_application = create_sandbox(SandboxSettings(clock=clock, seed="chaos", public_url=GATEWAY))
        sandbox: Sandbox = sandbox_application.state.sandbox
        gate = FaultGate(sandbox_application, sandbox, app, log.append)

        async def to_saleor(request: httpx2.Request) -> httpx2.Response:
            if request.url.port != httpx2.URL(saleor.state.settings.public_url).port:
                raise httpx2.ConnectError("nobody is at this address any more")
            return await serve(saleor_application, request)

        for address, endpoint in ((SALEOR, to_saleor), (MOVED, to_saleor), (GATEWAY, gate.answer), (APP, app.answer)):
            endpoints[httpx2.URL(address).port or 80] = endpoint
        try:
            services = await app.start()
            installed = await saleor.apps.install(MANIFEST)
            assert installed.status == "INSTALLED", installed.message
            installation = await services.installations.find(f"{SALEOR}/graphql/")
            assert installation is not None
            opened = await services.accounts.add(_account(installation.id, point, account or {}))
            await services.accounts.change(opened.id, pci_dss_confirmed_at=clock.now)
            await services.accounts.map_channel("uah", opened.id)
            yield Harness(clock, saleor, sandbox, app, gate, http, point, retries, log)
        finally:
            await app.stop()


def _account(installation_id: int, point: PointOfSale, options: Mapping[str, Any]) -> NewAccount:
    members: dict[str, Any] = {
        "installation_id": installation_id,
        "name": "Sandbox",
        "pos_id": str(point.pos_id),
        "base_url": GATEWAY,
        "scheme_word": "CPAY",
        "keys": AccountKeys(
            api_key=point.api_key,
            api_secret=point.api_secret.get_secret_value(),
            endpoints_key=point.endpoints_key.get_secret_value(),
        ),
        "currencies": ["UAH"],
        "storefront_origins": ["https://shop.test"],
    }
    return NewAccount(**(members | dict(options)))
