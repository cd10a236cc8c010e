"""The only place where everything meets: settings become a running app."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from importlib.metadata import version

import httpx2
import structlog
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from app import DISTRIBUTION, telemetry
from app.bootstrap import (
    MANIFEST,
    Connections,
    guard_of_saleors,
    new_connections,
    open_deployment,
    open_services,
    utc_now,
)
from app.dashboard.about_pages import create_about_router
from app.dashboard.deep_link import way_in
from app.dashboard.order.widget import OrderWidget
from app.dashboard.router import create_dashboard_router
from app.dashboard.routes import create_parts
from app.db.database import begin_in_background
from app.db.errors import DatabaseError
from app.db.processes import RunningProcess
from app.doctor.deployment import Deployment
from app.framing import ANY_DASHBOARD
from app.monitoring.health import Readiness, health_routes
from app.monitoring.server import monitored
from app.payments.services import Services
from app.payments.sync.notifications import Receipt, receive
from app.saleor.bodies import read_at_most
from app.saleor.documents import Documents
from app.saleor.graphql import SaleorClient
from app.saleor_app import create_saleor_app
from app.security_headers import SecureApp
from app.settings import Settings
from app.shopper import standing
from app.shopper.apple_pay import association_of, create_association_router
from app.shopper.limits import PageLimits
from app.shopper.look_ups import LookUps
from app.shopper.router import create_shopper_router
from app.static import static_files
from app.worker.heartbeat import Heartbeat
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
    readiness: Readiness | None = None,
) -> FastAPI:
    """Return the app. Nothing is opened before it starts serving: then ``connections`` are made for each side.

    ``readiness`` is told by whoever serves the app that it is to end.
    """
    readiness = readiness or Readiness()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            services = await stack.enter_async_context(open_services(settings, now, connections))
            await stack.enter_async_context(monitoring_of(settings, readiness, services))
            http = await stack.enter_async_context(connections(guard_of_saleors(settings)))
            client = SaleorClient(http, Documents(MANIFEST / "operations"))
            deployment = await stack.enter_async_context(open_deployment(settings, now, connections))
            heartbeat = Heartbeat(RunningProcess(version(DISTRIBUTION), serves=True, works=settings.worker))
            if settings.worker:
                worker = Worker(client, heartbeat)
                services = replace(services, wake=worker.wake)
                await stack.enter_async_context(_running(worker, services))
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
    app.add_middleware(_Traced)
    # Here and not in the lifespan: the server starts that through the app, whose handlers are fixed from then on.
    app.add_exception_handler(DatabaseError, _database_is_away)
    return app


def _add(app: FastAPI, router: APIRouter) -> None:
    """Let the app have a router's routes as they are.

    To include it would have FastAPI read all functions' signatures a second time, which a process that has just begun
    would spend on its first request.
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
    _add(app, saleor.router())
    limits = PageLimits(services.now, settings.client_address_header)
    _add(
        app,
        create_shopper_router(
            find=lambda order_id: standing.find(services, order_id),
            on_return=LookUps(services).follow_up,
            limits=limits,
        ),
    )
    _add(app, create_association_router(partial(association_of, services), limits))
    _add(
        app,
        create_about_router(
            app_name=info.name,
            app_version=info.version,
            base=settings.base_path,
            support_url=info.support_url,
            privacy_url=info.privacy_url,
            kept_days=settings.keep_personal_data,
        ),
    )
    _add(
        app,
        create_dashboard_router(
            app_name=info.name,
            app_version=info.version,
            base=settings.base_path,
            way_in=partial(way_in, services.installations),
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
        _add(app, parts)
    widget = OrderWidget(
        services,
        client,
        saleor.dashboard_tokens,
        app_name=info.name,
        base=settings.base_path,
    )
    _add(app, widget.router())
    app.mount("/static", static_files())

    @app.post("/api/webhooks/gateway/{account_id}", include_in_schema=False)
    async def gateway_notifies(account_id: str, request: Request) -> Response:
        form = await read_at_most(_MOST_NOTIFICATION_BYTES, request)
        if form is None:
            return Response(status_code=413)
        with telemetry.step(telemetry.Kind.NOTIFICATION, "gateway") as step:
            receipt = await receive(services, account_id, form)
            step.outcome = receipt.name.lower()
            step.facts["account"] = None if receipt is Receipt.UNKNOWN_ACCOUNT else account_id
        return Response(status_code=_RECEIPTS[receipt])

    app.router.routes.extend(health_routes(info.version, readiness, services.database, process.id))


async def _database_is_away(_request: Request, error: Exception) -> PlainTextResponse:
    log.error("the database does not answer", error=str(error))
    return PlainTextResponse(_TRY_AGAIN, 503, headers={"Retry-After": "10"})


class _Traced:
    """Gives each request a trace of its own; Saleor's webhooks go on in Saleor's, once they are verified."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with telemetry.tracing():
            await self._app(scope, receive, send)


def monitoring_of(
    settings: Settings, readiness: Readiness, services: Services
) -> AbstractAsyncContextManager[str | None]:
    """Return the port for monitoring of this process, if it is to have one (``APP_METRICS_PORT``)."""
    address = settings.metrics_host, settings.metrics_port
    return monitored(address, version(DISTRIBUTION), readiness, services.database, services.now)


@asynccontextmanager
async def _running(worker: Worker, services: Services) -> AsyncIterator[None]:
    """Let the worker work beside the web app, and finish what it has begun before the app ends."""
    task = begin_in_background(worker.run(services))
    try:
        yield
    finally:
        worker.stop()
        await task
