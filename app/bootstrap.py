"""Opens the resources of the app, the worker and the commands: the database, the HTTP connections, the services.

This module imports no web framework, so commands start without one.
"""

import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TypeAlias

import httpx2

from app import DISTRIBUTION
from app.ops.doctor.deployment import Deployment
from app.rules.addresses import Addresses
from app.services import Gateways, Services
from app.settings import Settings
from app.store.accounts import AccountRepository
from app.store.card_keys import CardKeyRepository
from app.store.database import Database, create_engine
from app.store.inbox import Inbox
from app.store.installations import InstallationRepository
from app.store.personal import BlindIndex, PersonalData
from app.store.processes import RunningProcess
from app.store.saved_cards import SavedCards
from app.store.sealed_values import SealedValues
from app.worker.heartbeat import Heartbeat
from app.worker.loop import Worker
from gateway_client.hosts import is_on_private_network
from integration_base.outbound import CheckedTransport, Guard, is_private, no_guard
from saleor_app_sdk.addresses import AllowList
from saleor_app_sdk.documents import Documents
from saleor_app_sdk.graphql import SaleorClient

MANIFEST = Path(__file__).parent.parent / "manifest"

# Saleor and the gateway have separate pools, so that a slow one does not starve the other; nor can a single host
# occupy a whole pool.
_LIMITS = httpx2.Limits(max_connections=150, max_keepalive_connections=50, keepalive_expiry=30)

HttpClientFactory: TypeAlias = Callable[[Guard], httpx2.AsyncClient]


def utc_now() -> datetime:
    """Return the current time, timezone-aware, in UTC."""
    return datetime.now(UTC)


def create_http_client(guard: Guard) -> httpx2.AsyncClient:
    """Create an HTTP client with its own connection pool, for the gateway or for Saleor. The caller closes it.

    Hosts for which ``guard`` returns True are reachable on the public internet only. Requests name the app: firewalls
    for web applications turn away the names of libraries.
    """
    transport = CheckedTransport(_tls_context(), _LIMITS, guard)
    named = {"User-Agent": DISTRIBUTION}
    return httpx2.AsyncClient(transport=transport, follow_redirects=False, trust_env=False, headers=named)


def build_gateway_guard(settings: Settings) -> Guard:
    """Return the guard for gateway hosts, whose addresses the pages accept from anyone who manages a store's apps.

    Nothing is guarded where the app itself is on a private network. A host with a private name was entered in a
    terminal, so it is not guarded either.
    """
    return no_guard if is_on_private_network(settings.base_url) else lambda host: not is_private(host)


def build_saleor_guard(settings: Settings) -> Guard:
    """Return the guard for Saleor hosts: where the allow-list has a ``*``, strangers choose the host."""
    allowed = AllowList(settings.allowed_saleor_urls)
    return lambda host: allowed.is_wildcard_host(host) and not is_private(host)


@asynccontextmanager
async def open_services(
    settings: Settings,
    now: Callable[[], datetime] = utc_now,
    connections: HttpClientFactory = create_http_client,
) -> AsyncIterator[Services]:
    """Yield the services, with the database and the connections to the gateway open.

    Raises SettingsError when the secret key cannot be used.
    """
    vault = settings.open_vault()
    async with AsyncExitStack() as stack:
        database = Database(create_engine(settings.database))
        stack.push_async_callback(database.close)
        accounts = AccountRepository(database, vault, now)
        http = await stack.enter_async_context(connections(build_gateway_guard(settings)))
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
    connections: HttpClientFactory = create_http_client,
) -> AsyncIterator[tuple[Worker, Services]]:
    """Yield a worker and its services, without the web app. Raises SettingsError."""
    async with AsyncExitStack() as stack:
        services = await stack.enter_async_context(open_services(settings, now, connections))
        heartbeat = Heartbeat(RunningProcess(version(DISTRIBUTION), serves=False, works=True))
        worker = Worker(await stack.enter_async_context(open_saleor(settings, connections)), heartbeat)
        yield worker, services


@asynccontextmanager
async def open_saleor(
    settings: Settings, connections: HttpClientFactory = create_http_client
) -> AsyncIterator[SaleorClient]:
    """Yield the client for Saleor's API, with its own connections."""
    async with connections(build_saleor_guard(settings)) as http:
        yield SaleorClient(http, Documents(MANIFEST / "operations"))


@asynccontextmanager
async def open_deployment(
    settings: Settings,
    now: Callable[[], datetime] = utc_now,
    connections: HttpClientFactory = create_http_client,
) -> AsyncIterator[Deployment]:
    """Yield the description of this deployment that the doctor's checks need, with its own connections."""
    async with connections(no_guard) as own, connections(build_saleor_guard(settings)) as saleors:
        yield Deployment(
            base_url=settings.base_url,
            iframe_base_url=settings.iframe_base_url,
            database_url=settings.database,
            key_file=settings.key_file,
            app_id=settings.id,
            own_http=own,
            saleor_http=saleors,
            saleor=SaleorClient(saleors, Documents(MANIFEST / "operations")),
            now=now,
        )


@cache
def _tls_context() -> ssl.SSLContext:
    """Return the process-wide TLS context, cached because creating it reads all trusted certificates."""
    return ssl.create_default_context()
