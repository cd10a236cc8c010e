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
from app.commands.database import bring_up_to_date, require_known_key, require_migrated
from app.commands.open_files import allow_connections
from app.commands.supervisor import tell_ready
from app.errors import SettingsError
from app.main import create_app, serve_monitoring
from app.ops.connections import bounded_protocol
from app.ops.logs import configure_logs
from app.ops.monitoring.error_reports import report_errors
from app.ops.monitoring.health import Readiness
from app.ops.monitoring.spans import export_spans
from app.settings import PREFIX, Settings, former_variables, read_settings
from app.store.database import is_sqlite

log = structlog.get_logger(__name__)

_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_RESPONSE_MARGIN = 5  # seconds beyond the budget that a webhook has for the gateway

# Longer than any proxy or load balancer keeps a connection for its next request (Google's: 600): what it sends while
# this process closes the connection is lost, and a POST is not sent again. Idle ones make way for others.
_IDLE_SECONDS = 620

_LAST_ANSWER = (b"connection", b"close")  # of its connection


def run() -> None:
    """Serve the app, with the worker in the same process unless APP_WORKER=false."""
    settings, readiness = read_settings(), Readiness()
    serve(settings, create_app(settings, readiness=readiness), readiness.stop)


def serve(settings: Settings, app: ASGIApp, on_stop: Callable[[], None] = lambda: None) -> None:
    """Serve ``app`` with these settings until the process is told to stop. Raises SettingsError.

    ``on_stop`` is called at the stop signal; requests that have begun are still answered after it.
    """
    _begin_log(settings)
    _require_free_port(settings.host, settings.port)
    _require_free_monitoring_port(settings)
    asyncio.run(require_known_key(settings))
    settings.open_vault()
    with _monitored():
        asyncio.run(_prepare_database(settings))
        _Server(server_config(settings, app), on_stop, settings.shutdown_delay_seconds).run()


def _begin_log(settings: Settings) -> None:
    configure_logs(settings.log_format, settings.log_level)
    for former, name in former_variables().items():
        log.warning("setting.renamed", detail=f"{former} is {name} now; the next release does not read the old name")


@contextmanager
def _monitored() -> Iterator[None]:
    """Export spans and report errors to the targets that the operator has configured."""
    version = metadata.version(DISTRIBUTION)
    with export_spans(version), report_errors(version):
        yield


def server_config(settings: Settings, app: ASGIApp) -> uvicorn.Config:
    """Return the server's configuration for ``app``, and let this process open the files that it needs for it."""
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=bounded_protocol(allow_connections(settings.max_connections)),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=int(settings.webhook_timeout_seconds) + _RESPONSE_MARGIN,
    )


def _require_free_monitoring_port(settings: Settings) -> None:
    if settings.metrics_port is not None:
        _require_free_port(settings.metrics_host, settings.metrics_port, "METRICS_")


def _require_free_port(host: str, port: int, setting: str = "") -> None:
    """Raise SettingsError if the port cannot be bound. Checked first, because the app itself may already hold it."""
    try:
        for family, kind, protocol, _, address in socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            with socket.socket(family, kind, protocol) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                probe.bind(address)
    except UnicodeError as exc:  # a name with an empty part, or too long a one
        raise SettingsError(f"{PREFIX}{setting}HOST: this machine cannot listen on {host}") from exc
    except OSError as exc:
        if exc.errno == errno.EADDRINUSE:
            problem = f"PORT: port {port} on {host} is in use: the app may already be running, or choose another"
        elif exc.errno == errno.EACCES:
            problem = f"PORT: this user may not listen on port {port}: choose one above 1023"
        else:  # an address of another machine, or a name that leads nowhere
            problem = f"HOST: this machine cannot listen on {host}"
        raise SettingsError(f"{PREFIX}{setting}{problem}") from exc


def run_worker() -> None:
    """Run the background jobs without serving: send events to Saleor, process notifications, look up outcomes."""
    settings = read_settings()
    _begin_log(settings)
    allow_connections(0)
    _require_free_monitoring_port(settings)
    asyncio.run(require_known_key(settings))
    settings.open_vault()
    loop_factory = uvicorn.Config("", log_config=None).get_loop_factory()
    with _monitored(), asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(_run_worker(settings))


async def _prepare_database(settings: Settings) -> None:
    """Migrate SQLite at the start; any other database is migrated by the operator, once for all processes.

    Raises SettingsError when the database is not migrated, or cannot be used.
    """
    if is_sqlite(settings.database):
        done = await bring_up_to_date(settings)
        if done.steps:
            log.info("database.migrated", before=done.before, after=done.after, migrations=done.steps)
        return
    await require_migrated(settings, to_write=True)


async def _run_worker(settings: Settings) -> None:
    """Run the worker until a signal arrives, then finish the jobs in progress."""
    await _prepare_database(settings)
    readiness = Readiness()
    async with (
        open_worker(settings) as (worker, services),
        serve_monitoring(settings, readiness, services, worker.is_hung),
    ):

        def stop() -> None:
            readiness.stop()
            worker.stop()

        for number in _STOP_SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, _stop_then_quit, stop)
        log.info("worker.started")
        tell_ready()
        await worker.run(services)
        log.info("worker.stopped")


def _stop_then_quit(stop: Callable[[], None]) -> None:
    log.info("process.stop_requested", jobs="those in progress are finished; a second signal ends them")
    for number in _STOP_SIGNALS:
        asyncio.get_running_loop().remove_signal_handler(number)
        signal.signal(number, signal.SIG_DFL)
    stop()


class _Server(uvicorn.Server):
    """A server that a second signal ends at once, regardless of pending work.

    After the first signal it accepts requests for ``drain`` more seconds: a proxy in front of it needs a moment to
    detect that it is not ready, and requests to a port that is being closed are lost. So are those on a connection that
    it keeps: each answer from then on says that its connection ends.
    """

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None], drain: float) -> None:
        super().__init__(config)
        self._on_stop = on_stop
        self._drain = drain
        self._stop_requested: tuple[float, int] | None = None  # the time of the stop signal, and its number

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start up; requests are answered from here on, unless the app has failed."""
        await super().startup(sockets)
        if not self.should_exit:
            tell_ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handle a stop signal."""
        if self._stop_requested is not None:
            signal.signal(sig, signal.SIG_DFL)
            os.kill(os.getpid(), sig)
        self._stop_requested = monotonic(), sig
        # Of the server now, and of the configuration, from which they are set again each second.
        self.server_state.default_headers = [*self.server_state.default_headers, _LAST_ANSWER]
        self.config.encoded_headers = [*self.config.encoded_headers, _LAST_ANSWER]
        self._on_stop()
        if not self._drain:
            super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        """Stop once the drain period is over."""
        if self._stop_requested is not None and not self.should_exit:
            at, sig = self._stop_requested
            if monotonic() >= at + self._drain:
                super().handle_exit(sig, None)
        return await super().on_tick(counter)
