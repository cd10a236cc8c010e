"""Opens what the app, the worker and the commands work with: the database, the connections, the services.

Nothing of the web is here, so a command starts without it.
"""

import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TypeAlias

import httpx2

from app import DISTRIBUTION
from app.db.accounts import AccountRepository
from app.db.blind_index import BlindIndex
from app.db.card_keys import CardKeyRepository
from app.db.database import Database, create_engine
from app.db.inbox import Inbox
from app.db.installations import InstallationRepository
from app.db.personal import PersonalData
from app.db.processes import RunningProcess
from app.db.saved_cards import SavedCards
from app.db.sealed_values import SealedValues
from app.doctor.deployment import Deployment
from app.gateway.hosts import on_private_network
from app.outbound import CheckedTransport, Guard, is_private, no_guard
from app.payments.services import Addresses, Gateways, Services
from app.saleor.addresses import AllowList
from app.saleor.documents import Documents
from app.saleor.graphql import SaleorClient
from app.settings import Settings
from app.worker.heartbeat import Heartbeat
from app.worker.loop import Worker

MANIFEST = Path(__file__).parent.parent / "manifest"

# Saleor and the gateway each get a pool of their own, so that a slow one does not starve the other; nor does one host
# have all of a pool.
_LIMITS = httpx2.Limits(max_connections=150, max_keepalive_connections=50, keepalive_expiry=30)

Connections: TypeAlias = Callable[[Guard], httpx2.AsyncClient]


def utc_now() -> datetime:
    """Return this moment, aware, in UTC."""
    return datetime.now(UTC)


def new_connections(guard: Guard) -> httpx2.AsyncClient:
    """Return a pool of connections to one side, the gateway's or Saleor's; whoever makes it closes it.

    Hosts that ``guard`` names only lead to the public internet.
    """
    transport = CheckedTransport(_tls(), _LIMITS, guard)
    return httpx2.AsyncClient(transport=transport, follow_redirects=False, trust_env=False)


def guard_of_gateways(settings: Settings) -> Guard:
    """Return the guard of gateways: the pages take addresses from whoever manages a store's apps.

    Not where the app itself is on a private network. What is private by its name was given in a terminal.
    """
    return no_guard if on_private_network(settings.base_url) else lambda host: not is_private(host)


def guard_of_saleors(settings: Settings) -> Guard:
    """Return the guard of Saleors: where the allow-list has a ``*``, strangers choose what stands there."""
    allowed = AllowList(settings.allowed_saleor_urls)
    return lambda host: allowed.chosen_by_strangers(host) and not is_private(host)


@asynccontextmanager
async def open_services(
    settings: Settings,
    now: Callable[[], datetime] = utc_now,
    connections: Connections = new_connections,
) -> AsyncIterator[Services]:
    """Give services with everything open behind it: the database and the gateway's connections.

    Raises SettingsError when the secret key cannot be used.
    """
    vault = settings.open_vault()
    async with AsyncExitStack() as stack:
        database = Database(create_engine(settings.database))
        stack.push_async_callback(database.close)
        accounts = AccountRepository(database, vault, now)
        http = await stack.enter_async_context(connections(guard_of_gateways(settings)))
        yield Services(
            database=database,
            installations=InstallationRepository(database, vault, now),
            accounts=accounts,
            inbox=Inbox(database, vault),
            card_keys=CardKeyRepository(database, vault),
            saved_cards=SavedCards(database, vault),
            emails=BlindIndex(vault),
            personal=PersonalData(vault),
            sealed=SealedValues(database, vault),
            gateways=Gateways(http, accounts),
            addresses=Addresses(settings.base_url, settings.iframe_base_url),
            now=now,
            schedule=settings.schedule,
            retention=settings.retention,
        )


@asynccontextmanager
async def open_worker(
    settings: Settings,
    now: Callable[[], datetime] = utc_now,
    connections: Connections = new_connections,
) -> AsyncIterator[tuple[Worker, Services]]:
    """Give a worker and the services that it works at, without the web app. Raises SettingsError."""
    async with AsyncExitStack() as stack:
        services = await stack.enter_async_context(open_services(settings, now, connections))
        heartbeat = Heartbeat(RunningProcess(version(DISTRIBUTION), serves=False, works=True))
        worker = Worker(await stack.enter_async_context(open_saleor(settings, connections)), heartbeat)
        yield worker, replace(services, wake=worker.wake)


@asynccontextmanager
async def open_saleor(settings: Settings, connections: Connections = new_connections) -> AsyncIterator[SaleorClient]:
    """Give what asks Saleors, with connections of its own."""
    async with connections(guard_of_saleors(settings)) as http:
        yield SaleorClient(http, Documents(MANIFEST / "operations"))


@asynccontextmanager
async def open_deployment(
    settings: Settings,
    now: Callable[[], datetime] = utc_now,
    connections: Connections = new_connections,
) -> AsyncIterator[Deployment]:
    """Give what checks of the app must know of how it is set up, with connections of their own."""
    async with connections(no_guard) as own, connections(guard_of_saleors(settings)) as saleors:
        yield Deployment(
            base_url=settings.base_url,
            iframe_base_url=settings.iframe_base_url,
            database_url=settings.database,
            key_file=settings.key_file,
            app_id=settings.id,
            own=own,
            saleors=saleors,
            saleor=SaleorClient(saleors, Documents(MANIFEST / "operations")),
            now=now,
        )


@cache
def _tls() -> ssl.SSLContext:
    """Return the process's one context: making it reads all trusted certificates."""
    return ssl.create_default_context()
