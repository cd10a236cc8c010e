"""``run`` and ``worker``: the service itself."""

import asyncio
import errno
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import metadata
from time import monotonic
from types import FrameType

import structlog
import uvicorn
from starlette.types import ASGIApp

from app import DISTRIBUTION
from app.bootstrap import open_worker
from app.commands.connections import bounded_protocol
from app.commands.database import bring_up_to_date, require_migrated
from app.db.database import is_sqlite
from app.errors import SettingsError
from app.logs import configure_logs
from app.main import create_app, monitoring_of
from app.monitoring.error_reports import reported_errors
from app.monitoring.health import Readiness
from app.monitoring.spans import exported_spans
from app.settings import PREFIX, Settings, read_settings

log = structlog.get_logger(__name__)

_STOP = (signal.SIGTERM, signal.SIGINT)
_ANSWERING_TAKES_AT_MOST = 5  # seconds beyond the budget that a webhook has for the gateway


def run() -> None:
    """Serve the app, with the worker inside unless APP_WORKER=false."""
    settings, readiness = read_settings(), Readiness()
    serve(settings, create_app(settings, readiness=readiness), readiness.stop)


def serve(settings: Settings, app: ASGIApp, on_stop: Callable[[], None] = lambda: None) -> None:
    """Serve ``app`` until the process is asked to end, as the settings say. Raises SettingsError.

    ``on_stop`` is called when it is asked to; what was begun is still answered then.
    """
    configure_logs(settings.log_format, settings.log_level)
    _require_free_port(settings.host, settings.port)
    _require_free_monitoring_port(settings)
    settings.open_vault()
    with _watched():
        asyncio.run(_prepare_database(settings))
        _Server(server_config(settings, app), on_stop, settings.drain).run()


@contextmanager
def _watched() -> Iterator[None]:
    """Send spans and errors to where the operator wants them."""
    version = metadata.version(DISTRIBUTION)
    with exported_spans(version), reported_errors(version):
        yield


def server_config(settings: Settings, app: ASGIApp) -> uvicorn.Config:
    """Return how ``app`` is served."""
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=bounded_protocol(settings.max_connections),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=int(settings.gateway_budget) + _ANSWERING_TAKES_AT_MOST,
    )


def _require_free_monitoring_port(settings: Settings) -> None:
    if settings.metrics_port is not None:
        _require_free_port(settings.metrics_host, settings.metrics_port, "METRICS_")


def _require_free_port(host: str, port: int, setting: str = "") -> None:
    """Raise SettingsError if nobody can listen there. Found out first: what holds the port may be the app itself."""
    try:
        for family, kind, protocol, _, address in socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            with socket.socket(family, kind, protocol) as tried:
                tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    tried.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                tried.bind(address)
    except OSError as exc:
        if exc.errno == errno.EADDRINUSE:
            wrong = f"PORT: port {port} of {host} is in use: the app may be running already, or name another"
        elif exc.errno == errno.EACCES:
            wrong = f"PORT: this user may not listen on port {port}: name one above 1023"
        else:  # an address of another machine, or a name that leads nowhere
            wrong = f"HOST: this machine cannot listen at {host}"
        raise SettingsError(f"{PREFIX}{setting}{wrong}") from exc


def run_worker() -> None:
    """Do the durable jobs without serving: tell Saleor, process notifications, look up what is not known."""
    settings = read_settings()
    configure_logs(settings.log_format, settings.log_level)
    _require_free_monitoring_port(settings)
    settings.open_vault()
    the_servers = uvicorn.Config("", log_config=None).get_loop_factory()
    with _watched(), asyncio.Runner(loop_factory=the_servers) as runner:
        runner.run(_work(settings))


async def _prepare_database(settings: Settings) -> None:
    """SQLite is migrated at the start. Another database is an operator's: they say when, for all processes at once."""
    if is_sqlite(settings.database):
        done = await bring_up_to_date(settings)
        if done.steps:
            log.info("migrated", before=done.before, after=done.after, migrations=done.steps)
        return
    await require_migrated(settings)


async def _work(settings: Settings) -> None:
    """Work until a signal comes, then finish what was begun."""
    await _prepare_database(settings)
    readiness = Readiness()
    async with open_worker(settings) as (worker, services), monitoring_of(settings, readiness, services):

        def stop() -> None:
            readiness.stop()
            worker.stop()

        for number in _STOP:
            asyncio.get_running_loop().add_signal_handler(number, _stop_then_quit, stop)
        log.info("working")
        await worker.run(services)
        log.info("stopped")


def _stop_then_quit(stop: Callable[[], None]) -> None:
    log.info("stopping", jobs="those in progress are finished; a second signal ends them")
    for number in _STOP:
        asyncio.get_running_loop().remove_signal_handler(number)
        signal.signal(number, signal.SIG_DFL)
    stop()


class _Server(uvicorn.Server):
    """A server that a second signal ends at once, whatever it waits for.

    After the first it takes requests for ``drain`` seconds more: whatever stands before it needs a moment to see that
    it is not ready, and what is sent to a port that is being closed is lost.
    """

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None], drain: float) -> None:
        super().__init__(config)
        self._on_stop = on_stop
        self._drain = drain
        self._asked: tuple[float, int] | None = None  # when it was asked to end, and by which signal

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take a signal."""
        if self._asked is not None:
            signal.signal(sig, signal.SIG_DFL)
            os.kill(os.getpid(), sig)
        self._asked = monotonic(), sig
        self._on_stop()
        if not self._drain:
            super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        """End once nobody sends anything more."""
        if self._asked is not None and not self.should_exit:
            at, sig = self._asked
            if monotonic() >= at + self._drain:
                super().handle_exit(sig, None)
        return await super().on_tick(counter)
