"""Three processes on loopback: a Saleor, the app, a gateway. Whole stories are played on them."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy import ColumnElement
from sqlmodel import col, select

from app.bootstrap import open_services, utc_now
from app.core.vocabulary import EventState
from app.demo.processes import ServerProcess, app_process, free_port, gateway_process, saleor_process
from app.settings import Settings
from app.store.accounts import AccountKeys, NewAccount
from app.store.tables import SaleorEvent
from gateway_client.dialect import DIALECTS, DialectName
from gateway_client.sandbox.control.client import SandboxControl
from gateway_client.sandbox.settings import PointOfSale
from integration_base_tests.waiting import eventually  # noqa: F401 - programs that play stories take it from here
from saleor_app_sdk.testing.client import FakeSaleor

STOREFRONT = "https://shop.test"

# Short enough for a story to be told in seconds; the proportions are those of the real thing. A webhook has its usual
# time: a busy machine may need it, and where it runs out, a story takes another course.
PATIENCE = {
    "APP_ANSWER_WINDOW_SECONDS": "0.5",
    "APP_UNKNOWN_FIRST_LOOK_UP_SECONDS": "0.3",
    "APP_PENDING_FIRST_LOOK_UP_SECONDS": "0.5",
    "APP_UNKNOWN_TIMEOUT_SECONDS": "3",
    "APP_WORKER_LEASE_SECONDS": "4",
}


@dataclass
class Stack:
    """The three, and the people in them."""

    saleor: FakeSaleor
    gateway: SandboxControl
    app: ServerProcess
    settings: Settings
    gateway_url: str
    dialect: DialectName = DialectName.PUBLIC
    """What the gateway speaks, and the account is told."""
    now: Callable[[], datetime] = utc_now
    """The clock of the app, which also says since when there is the account."""

    async def open_account(self, **different: object) -> str:
        """Add the sandbox's point of sale for the only channel, as an operator would; return the account's id."""
        point = PointOfSale()
        async with open_services(self.settings, self.now) as services:
            installation = await services.installations.find(self.saleor.api_url)
            assert installation is not None, "install the app first"
            new = {
                "installation_id": installation.id,
                "name": point.name,
                "pos_id": str(point.pos_id),
                "base_url": self.gateway_url,
                "scheme_word": "CPAY",
                "keys": AccountKeys(
                    api_key=point.api_key,
                    api_secret=point.api_secret.get_secret_value(),
                    endpoints_key=point.endpoints_key.get_secret_value(),
                ),
                "currencies": ["UAH"],
                "storefront_origins": [STOREFRONT],
            } | different
            spoken = {"dialect": self.dialect.value, "order_3ds_bypass": DIALECTS[self.dialect].order_3ds_bypass.value}
            new["options"] = spoken | dict(different.get("options") or {})  # type: ignore[call-overload] # a story's
            account = await services.accounts.add(NewAccount(**new))  # type: ignore[arg-type] # the story chooses
            await services.accounts.map_channel("uah", account.id)
        return account.id

    async def undelivered_events(self) -> int:
        """Return the number of events that Saleor has not received yet."""
        return len(await self._events(col(SaleorEvent.state) == EventState.WAITING))

    async def attempts(self, event: str) -> int:
        """Return how often the app has tried to deliver such an event to Saleor."""
        return sum(row.attempts for row in await self._events(col(SaleorEvent.type) == event))

    async def _events(self, condition: ColumnElement[bool]) -> Sequence[SaleorEvent]:
        async with open_services(self.settings) as services, services.database.transaction() as session:
            return (await session.exec(select(SaleorEvent).where(condition))).all()


@contextmanager
def open_neighbours(folder: Path) -> Iterator[tuple[str, str]]:
    """Start a Saleor and a gateway, each in a process of its own, for many stories; yield their addresses."""
    saleor = saleor_process(free_port(), folder, os.environ, "--delay-factor", "0.01")
    gateway = gateway_process(free_port(), folder, os.environ)

    async def start() -> None:
        await asyncio.gather(saleor.start(), gateway.start())

    try:
        asyncio.run(start())
        yield saleor.url, gateway.url
    finally:
        asyncio.run(saleor.stop())
        asyncio.run(gateway.stop())


@asynccontextmanager
async def open_stack(
    database_url: str,
    folder: Path,
    neighbours: tuple[str, str],
    *,
    dialect: DialectName = DialectName.PUBLIC,
    patience: Mapping[str, str] = PATIENCE,
    process: Callable[..., ServerProcess] = ServerProcess,
) -> AsyncIterator[Stack]:
    """Start the app with an empty database beside its neighbours, which are reset too. Its log is in ``folder``.

    ``dialect`` is what the gateway speaks; ``patience`` are further settings of the app; ``process`` starts it.
    """
    saleor_url, gateway_url = neighbours
    data = folder / "data"
    environment = {**os.environ, **patience, "APP_DATA_DIR": str(data), "APP_DATABASE_URL": database_url}
    app = app_process(free_port(), folder, environment, process)
    settings = Settings(data_dir=data, database_url=database_url, base_url=app.url)
    settings.open_vault()
    async with FakeSaleor(saleor_url) as saleor, SandboxControl(gateway_url) as gateway:
        await gateway.reset()
        await gateway.options(dialect=dialect.value)
        await saleor.clear_faults()
        for installed in await saleor.apps():
            await saleor.uninstall(installed.identifier)
        await saleor.clear_traffic()
        try:
            await app.start()
            yield Stack(saleor, gateway, app, settings, gateway_url, dialect)
        finally:
            await app.stop()
