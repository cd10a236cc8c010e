"""The only place where everything meets: settings become a running app."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import TypeAlias

import httpx2
import structlog
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from app import DISTRIBUTION
from app.dashboard.deep_link import way_in
from app.dashboard.order.widget import ORDER_WIDGET, OrderWidget
from app.dashboard.router import create_dashboard_router
from app.dashboard.routes import create_parts
from app.db.accounts import AccountBook
from app.db.blind_index import BlindIndex
from app.db.card_keys import CardKeyBook
from app.db.database import Database, create_engine
from app.db.errors import DatabaseError
from app.db.inbox import Inbox
from app.db.installations import InstallationBook
from app.db.personal import PersonalData
from app.framing import ANY_DASHBOARD
from app.gateway.hosts import on_private_network
from app.outbound import CheckedTransport, Guard, is_private, no_guard
from app.payments.services import Addresses, Gateways, Services
from app.payments.sync.notifications import Receipt, receive
from app.payments.webhooks import define_webhooks
from app.saleor.addresses import AllowList
from app.saleor.app import AppInfo, SaleorApp
from app.saleor.bodies import read_at_most
from app.saleor.documents import Documents
from app.saleor.graphql import SaleorClient
from app.security_headers import SecureApp
from app.settings import Settings
from app.shopper import standing
from app.shopper.limits import PageLimits
from app.shopper.look_ups import LookUps
from app.shopper.router import create_shopper_router
from app.static import static_files
from app.worker.loop import Worker

MANIFEST = Path(__file__).parent.parent / "manifest"

log = structlog.get_logger(__name__)

# Saleor and the gateway each get a pool of their own, so that a slow one does not starve the other.
_LIMITS = httpx2.Limits(max_connections=100, max_keepalive_connections=50, keepalive_expiry=30)
_MOST_NOTIFICATION_BYTES = 256 * 1024

_TRY_AGAIN = (
    "Something here takes too long at the moment. Try again in a minute.\n"
    "Щось тут триває надто довго. Спробуйте ще раз за хвилину.\n"
)

# The gateway does not say what it expects (gateway facts, 7). 2xx means "kept"; anything else may bring a repeat.
_RECEIPTS = {
    Receipt.KEPT: 200,
    Receipt.REPEATED: 200,
    Receipt.UNKNOWN_ACCOUNT: 404,
    Receipt.FORGED: 401,
    Receipt.UNREADABLE: 400,
    Receipt.UNVERIFIED: 503,
}


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
        accounts = AccountBook(database, vault, now)
        http = await stack.enter_async_context(connections(guard_of_gateways(settings)))
        yield Services(
            database=database,
            installations=InstallationBook(database, vault, now),
            accounts=accounts,
            inbox=Inbox(database, vault),
            card_keys=CardKeyBook(database, vault),
            emails=BlindIndex(vault),
            personal=PersonalData(vault),
            gateways=Gateways(http, accounts),
            addresses=Addresses(settings.base_url, settings.iframe_base_url),
            now=now,
            schedule=settings.schedule,
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
        worker = Worker(await stack.enter_async_context(open_saleor(settings, connections)))
        yield worker, replace(services, wake=worker.wake)


@asynccontextmanager
async def open_saleor(settings: Settings, connections: Connections = new_connections) -> AsyncIterator[SaleorClient]:
    """Give what asks Saleors, with connections of its own."""
    async with connections(guard_of_saleors(settings)) as http:
        yield SaleorClient(http, Documents(MANIFEST / "operations"))


def create_app(
    settings: Settings,
    now: Callable[[], datetime] = utc_now,
    connections: Connections = new_connections,
) -> FastAPI:
    """Return the app. Nothing is opened before it starts serving: then ``connections`` are made for each side."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            services = await stack.enter_async_context(open_services(settings, now, connections))
            http = await stack.enter_async_context(connections(guard_of_saleors(settings)))
            client = SaleorClient(http, Documents(MANIFEST / "operations"))
            if settings.worker:
                worker = Worker(client)
                services = replace(services, wake=worker.wake)
                await stack.enter_async_context(_running(worker, services))
            _mount(app, settings, services, http, client)
            log.info("serving", base_url=settings.base_url, worker=settings.worker)
            yield

    app = SecureApp(
        frame_ancestors=settings.dashboard_origins or ANY_DASHBOARD,
        title=DISTRIBUTION,
        version=version(DISTRIBUTION),
        lifespan=lifespan,
        redirect_slashes=False,  # Saleor takes a redirect for success and follows none
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    # Here and not in the lifespan: the server starts that through the app, whose handlers are fixed from then on.
    app.add_exception_handler(DatabaseError, _database_is_away)
    return app


def _mount(
    app: FastAPI, settings: Settings, services: Services, http: httpx2.AsyncClient, client: SaleorClient
) -> None:
    info = AppInfo.read(MANIFEST, version=version(DISTRIBUTION))
    info = replace(
        info,
        id=settings.id,
        name=settings.name or info.name,
        support_url=settings.support_url or info.support_url,
        privacy_url=settings.privacy_url or info.privacy_url,
    )
    saleor = SaleorApp(
        info=info,
        manifest_folder=MANIFEST,
        api_base_url=settings.base_url,
        iframe_base_url=settings.iframe_base_url,
        allowed=settings.allowed_saleor_urls,
        store=services.installations,
        http=http,
        client=client,
        now=services.now,
        oldest=settings.webhook_oldest,
        budget=services.schedule.budget,
    )
    define_webhooks(saleor, services)
    saleor.show(ORDER_WIDGET)
    app.include_router(saleor.router())
    app.include_router(
        create_shopper_router(
            find=lambda order_id: standing.find(services, order_id),
            on_return=LookUps(services).follow_up,
            limits=PageLimits(services.now, settings.client_address_header),
        )
    )
    app.include_router(
        create_dashboard_router(
            app_name=info.name,
            app_version=info.version,
            base=settings.base_path,
            way_in=partial(way_in, services.installations),
        )
    )
    for parts in create_parts(services, saleor.dashboard_tokens, client, app_name=info.name, base=settings.base_path):
        app.include_router(parts)
    widget = OrderWidget(
        services,
        client,
        saleor.dashboard_tokens,
        app_name=info.name,
        base=settings.base_path,
    )
    app.include_router(widget.router())
    app.mount("/static", static_files())

    @app.post("/api/webhooks/gateway/{account_id}", include_in_schema=False)
    async def gateway_notifies(account_id: str, request: Request) -> Response:
        form = await read_at_most(_MOST_NOTIFICATION_BYTES, request)
        if form is None:
            return Response(status_code=413)
        return Response(status_code=_RECEIPTS[await receive(services, account_id, form)])

    @app.get("/health", include_in_schema=False)
    async def health() -> Response:
        try:
            async with services.database.transaction() as session:
                await session.connection()
        except Exception:  # whatever it is, the orchestrator must hear "not healthy"
            log.exception("health check failed")
            return PlainTextResponse("the database does not answer", 503)
        return JSONResponse({"status": "ok", "version": info.version})


async def _database_is_away(_request: Request, error: Exception) -> PlainTextResponse:
    log.error("the database does not answer", error=str(error))
    return PlainTextResponse(_TRY_AGAIN, 503, headers={"Retry-After": "10"})


@asynccontextmanager
async def _running(worker: Worker, services: Services) -> AsyncIterator[None]:
    """Let the worker work beside the web app, and finish what it has begun before the app ends."""
    task = asyncio.create_task(worker.run(services))
    try:
        yield
    finally:
        worker.stop()
        await task


@cache
def _tls() -> ssl.SSLContext:
    """Return the process's one context: making it reads all trusted certificates."""
    return ssl.create_default_context()
