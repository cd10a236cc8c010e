"""Liveness and readiness endpoints for orchestrators and load balancers."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog
from sqlalchemy import text
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.db.database import Database
from app.db.migrate import fit_of

log = structlog.get_logger(__name__)

_TIMEOUT_SECONDS = 3.0  # below the usual timeout of orchestrators


class Readiness:
    """Whether this process can take requests. It is not ready while stopping, nor without its database."""

    def __init__(self) -> None:
        self._stopping = False

    def stop(self) -> None:
        """Stop being ready: the process has been asked to stop."""
        self._stopping = True

    async def unready_reason(self, database: Database) -> str | None:
        """Return the reason why the process is not ready, without any detail; None if it is ready."""
        if self._stopping:
            return "the process is stopping"
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS), database.transaction() as session:
                query = (await session.connection()).execute(text("SELECT version_num FROM alembic_version"))
                revision = (await query).scalar()
        except Exception as error:  # noqa: BLE001 - on any error the orchestrator must get "not ready"
            if not getattr(error, "is_logged", False):
                log.warning("not ready", error=type(error).__name__)
            return "the database does not answer"
        return None if fit_of(revision).works else "the database stands at another migration"


def health_routes(version: str, readiness: Readiness, database: Database, process: str | None = None) -> list[Route]:
    """Return ``/healthz`` (the process is alive; no dependency is checked) and ``/readyz`` (see ``Readiness``).

    Both accept GET and HEAD. ``process`` is a name generated at the start of the process, so that a caller knows which
    process responded.

    Neither calls Saleor or the gateway: if one of them is unavailable, this process need not be restarted.
    """

    about = {"version": version} | ({} if process is None else {"process": process})

    async def lives(_request: Request) -> Response:
        return JSONResponse({"status": "ok", **about})

    async def is_ready(_request: Request) -> Response:
        reason = await readiness.unready_reason(database)
        if reason is not None:
            return JSONResponse({"status": "not ready", "why": reason}, 503)
        return JSONResponse({"status": "ready", **about})

    endpoints: dict[str, Callable[[Request], Awaitable[Response]]] = {"/healthz": lives, "/readyz": is_ready}
    return [Route(path, endpoint, methods=["GET"]) for path, endpoint in endpoints.items()]  # Starlette adds HEAD
