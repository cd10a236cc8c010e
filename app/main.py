"""The only place where everything meets: settings become a running app."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from importlib.metadata import version

import httpx2
import structlog
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from app import DISTRIBUTION
from app.bootstrap import MANIFEST, Connections, guard_of_saleors, new_connections, open_services, utc_now
from app.dashboard.deep_link import way_in
from app.dashboard.order.widget import ORDER_WIDGET, OrderWidget
from app.dashboard.router import create_dashboard_router
from app.dashboard.routes import create_parts
from app.db.background import begin_in_background
from app.db.errors import DatabaseError
from app.framing import ANY_DASHBOARD
from app.payments.services import Services
from app.payments.sync.notifications import Receipt, receive
from app.payments.webhooks import CUSTOMER_PERMISSION, define_webhooks
from app.saleor.app import AppInfo, SaleorApp
from app.saleor.bodies import read_at_most
from app.saleor.documents import Documents
from app.saleor.graphql import SaleorClient
from app.security_headers import SecureApp
from app.settings import Settings
from app.shopper import standing
from app.shopper.apple_pay import association_of, create_association_router
from app.shopper.limits import PageLimits
from app.shopper.look_ups import LookUps
from app.shopper.router import create_shopper_router
from app.static import static_files
from app.worker.loop import Worker

log = structlog.get_logger(__name__)

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
        permissions=(*info.permissions, *([CUSTOMER_PERMISSION] if settings.customer_deletions else [])),
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
    define_webhooks(saleor, services, customers=settings.customer_deletions)
    saleor.show(ORDER_WIDGET)
    app.include_router(saleor.router())
    limits = PageLimits(services.now, settings.client_address_header)
    app.include_router(
        create_shopper_router(
            find=lambda order_id: standing.find(services, order_id),
            on_return=LookUps(services).follow_up,
            limits=limits,
        )
    )
    app.include_router(create_association_router(partial(association_of, services), limits))
    app.include_router(
        create_dashboard_router(
            app_name=info.name,
            app_version=info.version,
            base=settings.base_path,
            way_in=partial(way_in, services.installations),
        )
    )
    for parts in create_parts(
        services,
        saleor.dashboard_tokens,
        client,
        app_name=info.name,
        base=settings.base_path,
        address_header=settings.client_address_header,
    ):
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
    task = begin_in_background(worker.run(services))
    try:
        yield
    finally:
        worker.stop()
        await task
