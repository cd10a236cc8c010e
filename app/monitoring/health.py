"""Whether the process lives, and whether it is to be sent requests: for orchestrators and load balancers."""

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

_PATIENCE_SECONDS = 3.0  # below what orchestrators usually wait


class Readiness:
    """Whether this process is to be sent requests. It is not while it ends, nor without its database."""

    def __init__(self) -> None:
        self._stopping = False

    def stop(self) -> None:
        """Be ready no more: the process has been asked to end."""
        self._stopping = True

    async def why_not(self, database: Database) -> str | None:
        """Return why no requests are to be sent, in words without any detail; None: they are."""
        if self._stopping:
            return "the process is stopping"
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS), database.transaction() as session:
                stands_at = (await session.connection()).execute(text("SELECT version_num FROM alembic_version"))
                revision = (await stands_at).scalar()
        except Exception as error:  # noqa: BLE001 - whatever it is, the orchestrator must hear "not ready"
            log.warning("not ready", error=type(error).__name__)
            return "the database does not answer"
        return None if fit_of(revision).works else "the database stands at another migration"


def health_routes(version: str, readiness: Readiness, database: Database, process: str | None = None) -> list[Route]:
    """Return ``/healthz`` (the process lives; it asks nobody) and ``/readyz`` (see ``Readiness``), GET and HEAD.

    ``process`` is a name that the process has made up at its start: who asks knows which one answers.

    Neither asks Saleor or the gateway: that one of them is away is no reason to end this process.
    """

    about = {"version": version} | ({} if process is None else {"process": process})

    async def lives(_request: Request) -> Response:
        return JSONResponse({"status": "ok", **about})

    async def is_ready(_request: Request) -> Response:
        why_not = await readiness.why_not(database)
        if why_not is not None:
            return JSONResponse({"status": "not ready", "why": why_not}, 503)
        return JSONResponse({"status": "ready", **about})

    answers: dict[str, Callable[[Request], Awaitable[Response]]] = {"/healthz": lives, "/readyz": is_ready}
    return [Route(path, answer, methods=["GET"]) for path, answer in answers.items()]  # Starlette adds HEAD
