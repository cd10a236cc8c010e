"""The monitoring port: metrics and health of one process, separate from the public port."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime

import uvicorn
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import InfoMetricFamily
from prometheus_client.exposition import choose_encoder
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.ops.connections import bounded_protocol
from app.ops.monitoring.gauges import Gauges
from app.ops.monitoring.health import Readiness, health_routes
from app.ops.monitoring.metrics import METRICS, MetricsListener
from app.store.database import Database
from integration_base import telemetry

_SHUTDOWN_SECONDS = 1
MOST_CONNECTIONS = 30
"""Connections to this port: each is an open file, of which the process needs more for its shop."""

_METRICS_LISTENER = MetricsListener()


class _CombinedRegistry:
    """The metrics of a process plus ``more`` just read from the database, as a registry for encoders."""

    def __init__(self, registry: CollectorRegistry, more: list[Metric]) -> None:
        self._registry = registry
        self._more = more

    def collect(self) -> Iterator[Metric]:
        yield from self._registry.collect()
        yield from self._more


class _EmbeddedServer(uvicorn.Server):
    """A server next to another one, which handles the signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture no signals."""
        yield


@asynccontextmanager
async def run_monitoring_server(
    address: tuple[str, int | None],
    version: str,
    readiness: Readiness,
    database: Database,
    now: Callable[[], datetime],
    *,
    is_hung: Callable[[], bool] = lambda: False,
) -> AsyncIterator[str | None]:
    """Serve ``/metrics``, ``/healthz`` and ``/readyz`` at ``address`` (host, port), and count metrics from now on.

    Yields the URL that it listens on; with port None there is no server, and nothing is counted. Raises OSError when it
    cannot listen there.
    """
    host, port = address
    if port is None:
        yield None
        return
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family) as listening:
        telemetry.add_listener(_METRICS_LISTENER)
        health = health_routes(version, readiness, database, is_hung=is_hung)
        app = Starlette(routes=[_metrics_route(version, database, now), *health])
        config = uvicorn.Config(
            app, lifespan="off", http=bounded_protocol(MOST_CONNECTIONS), ws="none", log_config=None, access_log=False,
            server_header=False, timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        )  # fmt: skip
        server = _EmbeddedServer(config)
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            yield f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving


def _metrics_route(version: str, database: Database, now: Callable[[], datetime]) -> Route:
    gauges = Gauges(database, now)
    info = InfoMetricFamily("saleor_gateway", "The version that runs", value={"version": version})

    async def metrics(request: Request) -> Response:
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        gathered = _CombinedRegistry(METRICS, [info, *await gauges.read()])
        return Response(encode(gathered), media_type=None, headers={"Content-Type": content_type})

    return Route("/metrics", metrics, methods=["GET"])
