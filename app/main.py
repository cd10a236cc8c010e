"""Assembles the web app from the settings: the only module that imports all packages."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import datetime
from functools import partial
from importlib.metadata import version

import httpx2
import structlog
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import PlainTextResponse
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from app import DISTRIBUTION
from app.bootstrap import (
    MANIFEST,
    HttpClientFactory,
    build_saleor_guard,
    create_http_client,
    open_deployment,
    open_services,
    utc_now,
)
from app.flows.notifications import Receipt, receive
from app.flows.open_pages import OpenPageChecks
from app.ops.doctor.deployment import Deployment
from app.ops.monitoring.health import Readiness, health_routes
from app.ops.monitoring.server import run_monitoring_server
from app.saleor_app import create_saleor_app
from app.services import Services
from app.settings import Settings
from app.store.database import begin_in_background
from app.store.errors import DatabaseError
from app.store.processes import RunningProcess
from app.web.dashboard.about_pages import create_about_router
from app.web.dashboard.deep_link import find_deep_link
from app.web.dashboard.order.widget import OrderWidget
from app.web.dashboard.router import create_dashboard_router
from app.web.dashboard.routes import create_parts
from app.web.framing import ANY_DASHBOARD
from app.web.proxied_paths import ProxiedPaths
from app.web.security_headers import SecureApp
from app.web.shopper import view_builder
from app.web.shopper.apple_pay import create_association_router, find_association
from app.web.shopper.limits import PageLimits
from app.web.shopper.look_ups import LookUps
from app.web.shopper.router import create_shopper_router
from app.web.static import static_files
from app.worker.heartbeat import Heartbeat
from app.worker.loop import Worker
from integration_base import telemetry
from saleor_app_sdk.documents import Documents
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.request_limits import read_at_most

log = structlog.get_logger(__name__)

_MAX_NOTIFICATION_BYTES = 256 * 1024

_TRY_AGAIN = (
    "The service is taking too long to respond. Try again in a minute.\n"
    "Щось тут триває надто довго. Спробуйте ще раз за хвилину.\n"
)

# The gateway does not document what it expects (gateway facts, 7). 2xx means "stored"; others may cause a redelivery.
_STATUS_BY_RECEIPT = {
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
    connections: HttpClientFactory = create_http_client,
    readiness: Readiness | None = None,
) -> FastAPI:
    """Create the app. Nothing is opened before it starts serving; then ``connections`` creates each side's HTTP client.

    The server reports to ``readiness`` that the app is about to stop.
    """
    readiness = readiness or Readiness(now)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            services = await stack.enter_async_context(open_services(settings, now, connections))
            await stack.enter_async_context(serve_monitoring(settings, readiness, services))
            http = await stack.enter_async_context(connections(build_saleor_guard(settings)))
            client = SaleorClient(http, Documents(MANIFEST / "operations"))
            deployment = await stack.enter_async_context(open_deployment(settings, now, connections))
            heartbeat = Heartbeat(RunningProcess(version(DISTRIBUTION), serves=True, works=settings.worker))
            if settings.worker:
                worker = Worker(client, heartbeat)
                await stack.enter_async_context(_run_worker(worker, services))
            else:
                await stack.enter_async_context(heartbeat.beating(services))
            _mount(
                app,
                settings,
                services,
                http,
                client,
                deployment=deployment,
                process=heartbeat.process,
                readiness=readiness,
            )
            log.info("server.started", base_url=settings.base_url, worker=settings.worker)
            yield

    app = SecureApp(
        frame_ancestors=settings.dashboard_origins or ANY_DASHBOARD,
        title=DISTRIBUTION,
        version=version(DISTRIBUTION),
        lifespan=lifespan,
        redirect_slashes=False,  # Saleor takes a redirect for a success, and does not follow it
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    app.add_middleware(_TracingMiddleware)
    addresses = (settings.base_url, settings.iframe_base_url)
    app.add_middleware(ProxiedPaths, addresses=addresses, routes=app.router.routes)
    # Not in the lifespan: the server starts that through the app, whose handlers are fixed from then on.
    app.add_exception_handler(DatabaseError, _handle_database_error)
    app.add_exception_handler(ClientDisconnect, handle_disconnect)
    return app


def _add_routes(app: FastAPI, router: APIRouter) -> None:
    """Add a router's routes to the app unchanged.

    Including the router would make FastAPI read all function signatures a second time, which would delay the first
    request of a new process.
    """
    app.router.routes.extend(router.routes)


def _mount(
    app: FastAPI,
    settings: Settings,
    services: Services,
    http: httpx2.AsyncClient,
    client: SaleorClient,
    *,
    deployment: Deployment,
    process: RunningProcess,
    readiness: Readiness,
) -> None:
    saleor = create_saleor_app(settings, services, http, client)
    info = saleor.info
    _add_routes(app, saleor.router())
    limits = PageLimits(services.now, settings.client_address_header)
    _add_routes(
        app,
        create_shopper_router(
            find=lambda order_id: view_builder.find_view(services, order_id),
            on_return=LookUps(services).follow_up,
            close_if_not_owed=OpenPageChecks(services, client).close_if_not_owed,
            limits=limits,
        ),
    )
    _add_routes(app, create_association_router(partial(find_association, services), limits))
    _add_routes(
        app,
        create_about_router(
            app_name=info.name,
            app_version=info.version,
            base=settings.base_path,
            support_url=info.support_url,
            privacy_url=info.privacy_url,
            kept_days=settings.keep_personal_data_days,
        ),
    )
    _add_routes(
        app,
        create_dashboard_router(
            app_name=info.name,
            app_version=info.version,
            base=settings.base_path,
            find_deep_link=partial(find_deep_link, services.installations),
        ),
    )
    for parts in create_parts(
        services,
        saleor.dashboard_tokens,
        client,
        deployment=deployment,
        manifest_for=saleor.manifest,
        app_name=info.name,
        base=settings.base_path,
        address_header=settings.client_address_header,
    ):
        _add_routes(app, parts)
    widget = OrderWidget(
        services,
        client,
        saleor.dashboard_tokens,
        app_name=info.name,
        base=settings.base_path,
    )
    _add_routes(app, widget.router())
    app.mount("/static", static_files())

    @app.post("/api/webhooks/gateway/{account_id}/", include_in_schema=False)  # some append a slash to what they got
    @app.post("/api/webhooks/gateway/{account_id}", include_in_schema=False)
    async def receive_gateway_notification(account_id: str, request: Request) -> Response:
        form = await read_at_most(_MAX_NOTIFICATION_BYTES, request)
        if form is None:
            return Response(status_code=413)
        with telemetry.step(telemetry.Kind.NOTIFICATION, "gateway") as step:
            receipt = await receive(services, account_id, form)
            step.outcome = receipt.name.lower()
            step.facts["account"] = None if receipt is Receipt.UNKNOWN_ACCOUNT else account_id
        return Response(status_code=_STATUS_BY_RECEIPT[receipt])

    app.router.routes.extend(health_routes(info.version, readiness, services.database, process.id))


async def _handle_database_error(_request: Request, error: Exception) -> PlainTextResponse:
    if not getattr(error, "is_logged", False):
        log.error("database.not_reached", error=str(error))
    return PlainTextResponse(_TRY_AGAIN, 503, headers={"Retry-After": "10"})


async def handle_disconnect(request: Request, _error: Exception) -> Response:
    """Log a caller who ended the connection before the whole request was there. Nobody reads the response."""
    log.info("client.disconnected", method=request.method)
    return Response(status_code=400)


class _TracingMiddleware:
    """Starts a new trace for each request; Saleor's webhooks continue in Saleor's trace, once they are verified."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with telemetry.tracing():
            await self._app(scope, receive, send)


def serve_monitoring(
    settings: Settings, readiness: Readiness, services: Services, is_hung: Callable[[], bool] = lambda: False
) -> AbstractAsyncContextManager[str | None]:
    """Serve this process's monitoring while the context is open, if it has a port for it (``APP_METRICS_PORT``).

    ``is_hung``: whether the worker has stopped, of a process that does nothing else.
    """
    address = settings.metrics_host, settings.metrics_port
    return run_monitoring_server(
        address, version(DISTRIBUTION), readiness, services.database, services.now, is_hung=is_hung
    )


@asynccontextmanager
async def _run_worker(worker: Worker, services: Services) -> AsyncIterator[None]:
    """Run the worker beside the web app; at the end, let it finish the work in progress."""
    task = begin_in_background(worker.run(services))
    try:
        yield
    finally:
        worker.stop()
        await task
