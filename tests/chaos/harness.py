"""Where stories happen: a played Saleor, the app and the sandbox in one process, with one clock and no sockets."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx2
from sqlalchemy import text
from sqlmodel import SQLModel

from app.db.accounts import AccountKeys, NewAccount
from app.db.columns import Moment
from app.db.moves import move
from app.saleor.testing.engine import Saleor
from app.saleor.testing.http import create_saleor
from app.saleor.testing.settings import SaleorFaults, SaleorSettings
from app.sandbox.application import create_sandbox
from app.sandbox.sandbox import Sandbox
from app.sandbox.settings import Behaviour, PointOfSale, SandboxSettings
from tests.chaos.app_under_test import AppSettings, AppUnderTest
from tests.chaos.fault_gate import FaultGate
from tests.chaos.retries import Retries
from tests.chaos.roads import Place, Roads, serve
from tests.conftest import Clock

SALEOR, MOVED, GATEWAY, APP = (f"http://127.0.0.1:{port}" for port in (8000, 8001, 8077, 8100))
MANIFEST = f"{APP}/api/manifest"
_STAY = {"installation", "merchant_account", "channel_route", "card_key"}  # tables that a story does not write
_NEXT_DUE = text(
    "SELECT min(due) AS due FROM (SELECT min(next_poll_at) AS due FROM operation"
    " UNION ALL SELECT min(next_attempt_at) FROM saleor_event"
    " UNION ALL SELECT min(next_attempt_at) FROM notification) AS jobs"
).columns(due=Moment)


@dataclass
class Harness:
    """All that a story plays with. ``told`` is what has happened so far, in words."""

    clock: Clock
    saleor: Saleor
    sandbox: Sandbox
    app: AppUnderTest
    gate: FaultGate
    http: httpx2.AsyncClient
    point: PointOfSale
    retries: Retries
    told: list[str] = field(default_factory=list)
    keys_open: bool = True
    known_at: str = SALEOR  # the address by which the app knows what was paid until now

    async def clear(self, gateway: Mapping[str, Any]) -> None:
        """Forget the last story. ``gateway`` are options of the point of sale for the next one."""
        await self.saleor.state.stop()
        await self.app_is_back()
        if self.saleor_is_at != SALEOR:
            await self.saleor_moves()
            await self.operator_moves_it()
        async with self.app.services.database.transaction() as session:
            connection = await session.connection()
            for table in reversed(SQLModel.metadata.sorted_tables):
                if table.name not in _STAY:
                    await connection.execute(text(f"DELETE FROM {table.name}"))  # noqa: S608 - our own tables' names
        state = self.saleor.state
        for kept in (state.checkouts, state.orders, state.transactions, state.deliveries, state.reports):
            kept.clear()
        state.faults = SaleorFaults()
        self.sandbox.reset()
        # The cents of an amount choose nothing here: what the bank says is a step of the story.
        behaviour = Behaviour.model_validate({"amount_endings": False, **gateway})
        self.sandbox.state.behaviours[self.point.pos_id] = behaviour
        self.app.fates.clear()
        self.gate.forget()
        self.told.clear()

    async def keys(self, *, opening: bool) -> None:
        """Let nothing open the account's keys from now on, or let them open again. The app is started anew.

        A key's name is in what it has sealed: another name is a key that nobody has.
        """
        if opening is self.keys_open:
            return
        before, after = ("v1.lost-", "v1.") if opening else ("v1.", "v1.lost-")
        async with self.app.services.database.transaction() as session:
            for column in ("api_key_sealed", "api_secret_sealed", "endpoints_key_sealed"):
                changed = text(f"UPDATE merchant_account SET {column} = replace({column}, :before, :after)")  # noqa: S608
                await (await session.connection()).execute(changed, {"before": before, "after": after})
        self.keys_open = opening
        self.app.die()

    @property
    def saleor_is_at(self) -> str:
        """The address of Saleor; it answers at no other."""
        return self.saleor.state.settings.public_url

    async def saleor_moves(self) -> str | None:
        """Saleor has another address from now on, where staff install the app anew."""
        if self.saleor_is_at != self.known_at:
            return "it has just moved"
        here = MOVED if self.saleor_is_at == SALEOR else SALEOR
        self.saleor.state.settings = self.saleor.state.settings.model_copy(update={"public_url": here})
        if self.saleor.state.apps:
            await self.until_heard(self.saleor.apps.uninstall)
        await self.app_is_back()
        return None

    async def operator_moves_it(self) -> str | None:
        """The operator says that it is the same store (``saleor-gateway installations move``)."""
        if self.saleor_is_at == self.known_at:
            return "it has not moved"
        services = await self.app.start() if self.app.dead else self.app.services
        rows = [await services.installations.find(f"{each}/graphql/") for each in (self.known_at, self.saleor_is_at)]
        old, new = (row.id for row in rows if row is not None)
        now = self.clock.now
        async with services.database.transaction() as session:
            await move(session, old, new, emails=services.emails, personal=services.personal, now=now)
        services.installations.forget()
        self.known_at = self.saleor_is_at
        return None

    async def app_is_back(self) -> None:
        """Whatever has become of it: the app runs, is installed and active."""
        await self.keys(opening=True)
        self.saleor.state.faults = SaleorFaults()
        self.app.fates.clear()
        await self.app.start() if self.app.dead else None
        if not self.saleor.state.apps:
            installed = await self.saleor.apps.install(MANIFEST)
            assert installed.status == "INSTALLED", installed.message
        await self.until_heard(self.saleor.apps.activate)

    async def until_heard(self, act: Callable[[], object]) -> None:
        """Do something that Saleor tells the app of in the background, and wait for that and nothing else.

        Saleor may be between two retries then. What went on beside the next step would want the database while that has
        it, and all here is one thread: it would wait for itself, for as long as one waits for a lock.
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
    clock, told = Clock(), list[str]()
    places: dict[int, Place] = {}

    def connect() -> httpx2.AsyncClient:
        return httpx2.AsyncClient(transport=Roads(places), follow_redirects=False, trust_env=False)

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
        gate = FaultGate(sandbox_application, sandbox, app, told.append)

        async def to_saleor(request: httpx2.Request) -> httpx2.Response:
            if request.url.port != httpx2.URL(saleor.state.settings.public_url).port:
                raise httpx2.ConnectError("nobody is at this address any more")
            return await serve(saleor_application, request)

        for address, place in ((SALEOR, to_saleor), (MOVED, to_saleor), (GATEWAY, gate.answer), (APP, app.answer)):
            places[httpx2.URL(address).port or 80] = place
        try:
            services = await app.start()
            installed = await saleor.apps.install(MANIFEST)
            assert installed.status == "INSTALLED", installed.message
            installation = await services.installations.find(f"{SALEOR}/graphql/")
            assert installation is not None
            opened = await services.accounts.add(_account(installation.id, point, account or {}))
            await services.accounts.map_channel("uah", opened.id)
            yield Harness(clock, saleor, sandbox, app, gate, http, point, retries, told)
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
