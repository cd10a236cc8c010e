"""``run`` and ``migrate``: the service itself."""

import asyncio

import uvicorn
from starlette.types import ASGIApp

from app.commands.opening import bring_up_to_date, require_newest
from app.ledger.database import is_sqlite
from app.logs import configure_logs
from app.main import create_app
from app.settings import Settings, read_settings


def run() -> None:
    """Serve the app, with the worker inside unless APP_WORKER=false."""
    settings = read_settings()
    serve(settings, create_app(settings))


def serve(settings: Settings, app: ASGIApp) -> None:
    """Serve ``app`` until the process is asked to end, as the settings say. Raises SettingsError."""
    configure_logs(settings.log_format, settings.log_level)
    settings.open_vault()
    asyncio.run(_prepare_database(settings))
    uvicorn.run(
        app,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
    )


def migrate_database() -> None:
    """Bring the database to the newest shape."""
    settings = read_settings()
    if is_sqlite(settings.database):
        settings.data_dir.mkdir(parents=True, exist_ok=True)
    asyncio.run(bring_up_to_date(settings))


async def _prepare_database(settings: Settings) -> None:
    """SQLite is migrated at the start. Another database is an operator's: they say when, for all processes at once."""
    if is_sqlite(settings.database):
        await bring_up_to_date(settings)
        return
    await require_newest(settings)
