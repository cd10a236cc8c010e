"""The port for monitoring: metrics and health of one process, apart from where the world comes in."""

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

from app import telemetry
from app.db.database import Database
from app.monitoring.gauges import Gauges
from app.monitoring.health import Readiness, health_routes
from app.monitoring.metrics import METRICS, MetricsListener

_ENDS_WITHIN_SECONDS = 1
_METRICS_LISTENER = MetricsListener()


class _Gathered:
    """The metrics of a process, and what was just read of the database: what encoders want of a registry."""

    def __init__(self, registry: CollectorRegistry, more: list[Metric]) -> None:
        self._registry = registry
        self._more = more

    def collect(self) -> Iterator[Metric]:
        yield from self._registry.collect()
        yield from self._more


class _InnerServer(uvicorn.Server):
    """A server beside another one: signals are the other's."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take none."""
        yield


@asynccontextmanager
async def monitored(
    address: tuple[str, int | None], version: str, readiness: Readiness, database: Database, now: Callable[[], datetime]
) -> AsyncIterator[str | None]:
    """Serve ``/metrics``, ``/healthz`` and ``/readyz`` at ``address`` (host, port), and count from now on.

    Gives the address that it listens at; with the port None there is no such server, and nothing is counted. Raises
    OSError when nobody can listen there.
    """
    host, port = address
    if port is None:
        yield None
        return
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family) as listening:
        telemetry.listen(_METRICS_LISTENER)
        app = Starlette(routes=[_metrics_route(version, database, now), *health_routes(version, readiness, database)])
        config = uvicorn.Config(
            app, lifespan="off", ws="none", log_config=None, access_log=False, server_header=False,
            timeout_graceful_shutdown=_ENDS_WITHIN_SECONDS,
        )  # fmt: skip
        server = _InnerServer(config)
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            yield f"http://{host}:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving


def _metrics_route(version: str, database: Database, now: Callable[[], datetime]) -> Route:
    gauges = Gauges(database, now)
    info = InfoMetricFamily("saleor_gateway", "The version that runs", value={"version": version})

    async def metrics(request: Request) -> Response:
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        gathered = _Gathered(METRICS, [info, *await gauges.read()])
        return Response(encode(gathered), media_type=None, headers={"Content-Type": content_type})

    return Route("/metrics", metrics, methods=["GET"])
