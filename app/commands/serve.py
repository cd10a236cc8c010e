"""``run`` and ``worker``: the service itself."""

import asyncio
import errno
import os
import signal
import socket
from collections.abc import Callable
from types import FrameType

import structlog
import uvicorn
from starlette.types import ASGIApp

from app.bootstrap import open_worker
from app.commands.connections import bounded_protocol
from app.commands.database import bring_up_to_date, require_newest
from app.db.database import is_sqlite
from app.errors import SettingsError
from app.logs import configure_logs
from app.main import create_app
from app.settings import PREFIX, Settings, read_settings

log = structlog.get_logger(__name__)

_STOP = (signal.SIGTERM, signal.SIGINT)
_ANSWERING_TAKES_AT_MOST = 5  # seconds beyond the budget that a webhook has for the gateway


def run() -> None:
    """Serve the app, with the worker inside unless APP_WORKER=false."""
    settings = read_settings()
    serve(settings, create_app(settings))


def serve(settings: Settings, app: ASGIApp) -> None:
    """Serve ``app`` until the process is asked to end, as the settings say. Raises SettingsError."""
    configure_logs(settings.log_format, settings.log_level)
    _require_free_port(settings)
    settings.open_vault()
    asyncio.run(_prepare_database(settings))
    _Server(server_config(settings, app)).run()


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


def _require_free_port(settings: Settings) -> None:
    """Raise SettingsError if nobody can listen there. Found out first: what holds the port may be the app itself."""
    port = settings.port
    try:
        for family, kind, protocol, _, address in socket.getaddrinfo(
            settings.host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            with socket.socket(family, kind, protocol) as tried:
                tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    tried.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                tried.bind(address)
    except OSError as exc:
        if exc.errno == errno.EADDRINUSE:
            wrong = f"PORT: port {port} of {settings.host} is in use: the app may be running already, or name another"
        elif exc.errno == errno.EACCES:
            wrong = f"PORT: this user may not listen on port {port}: name one above 1023"
        else:  # an address of another machine, or a name that leads nowhere
            wrong = f"HOST: this machine cannot listen at {settings.host}"
        raise SettingsError(f"{PREFIX}{wrong}") from exc


def run_worker() -> None:
    """Do the durable jobs without serving: tell Saleor, process notifications, look up what is not known."""
    settings = read_settings()
    configure_logs(settings.log_format, settings.log_level)
    settings.open_vault()
    asyncio.run(_work(settings))


async def _prepare_database(settings: Settings) -> None:
    """SQLite is migrated at the start. Another database is an operator's: they say when, for all processes at once."""
    if is_sqlite(settings.database):
        done = await bring_up_to_date(settings)
        if done.steps:
            log.info("migrated", before=done.before, after=done.after, migrations=done.steps)
        return
    await require_newest(settings)


async def _work(settings: Settings) -> None:
    """Work until a signal comes, then finish what was begun."""
    await _prepare_database(settings)
    async with open_worker(settings) as (worker, services):
        for number in _STOP:
            asyncio.get_running_loop().add_signal_handler(number, _stop_then_quit, worker.stop)
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
    """A server that a second signal ends at once, whatever it waits for."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take a signal."""
        if self.should_exit:
            signal.signal(sig, signal.SIG_DFL)
            os.kill(os.getpid(), sig)
        super().handle_exit(sig, frame)
