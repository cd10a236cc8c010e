"""Liveness and readiness endpoints for orchestrators and load balancers."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from time import monotonic

import structlog
from sqlalchemy import text
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.reports.alerts.turned_away import count_closed_channels
from app.store.database import Database
from app.store.errors import is_read_only
from app.store.migrate import fit_of
from app.store.write_probe import probe_write

log = structlog.get_logger(__name__)

_TIMEOUT_SECONDS = 3.0  # below the usual timeout of orchestrators
TURNED_AWAY_CACHE_SECONDS = 30.0
"""How often at most the channels that turn shoppers away are counted: a proxy may ask every second."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Readiness:
    """Whether this process can take requests. It is not ready while stopping, nor without its database.

    A database that only reads is none: what the gateway reports could not be kept.

    ``now`` is the time of the day, ``clock`` counts seconds.
    """

    def __init__(self, now: Callable[[], datetime] = _utc_now, clock: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._clock = clock
        self._stopping = False
        self._is_away = False  # so that a database that does not answer is logged once, not for each request
        self._closed_channels = 0
        self._counted_at: float | None = None

    def stop(self) -> None:
        """Stop being ready: the process has been asked to stop."""
        self._stopping = True

    async def unready_reason(self, database: Database) -> str | None:
        """Return the reason why the process is not ready, without any detail; None if it is ready."""
        if self._stopping:
            return "the process is stopping"
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS), database.transaction() as session:
                await probe_write(session)
                query = (await session.connection()).execute(text("SELECT version_num FROM alembic_version"))
                revision = (await query).scalar()
        except Exception as error:  # noqa: BLE001 - on any error the orchestrator must get "not ready"
            if not self._is_away and not getattr(error, "is_logged", False):
                log.warning("readiness.lost", error=type(error).__name__)
            self._is_away = True
            return "the database accepts no changes" if is_read_only(error) else "the database does not answer"
        self._is_away = False
        return None if fit_of(revision).works else "the database stands at another migration"

    async def degraded_reason(self, database: Database) -> str | None:
        """Return why a process that is ready serves nobody, without naming stores; None if somebody gets through.

        Shoppers are turned away in a channel, and none gets through there (laws of money, 17). Another process would
        turn them away too, so this must not make a load balancer take this one out.
        """
        now = self._clock()
        if self._counted_at is None or now - self._counted_at >= TURNED_AWAY_CACHE_SECONDS:
            self._counted_at = now  # before the count, so that no second request starts one meanwhile
            try:
                async with asyncio.timeout(_TIMEOUT_SECONDS), database.transaction() as session:
                    self._closed_channels = await count_closed_channels(session, self._now())
            except Exception as error:  # noqa: BLE001 - on any error the last count stays: the process is ready
                if not getattr(error, "is_logged", False):
                    log.warning("turned_away.not_counted", error=type(error).__name__)
        if not self._closed_channels:
            return None
        return f"shoppers are turned away and none gets through, channels: {self._closed_channels}"


def health_routes(
    version: str,
    readiness: Readiness,
    database: Database,
    process: str | None = None,
    *,
    is_hung: Callable[[], bool] = lambda: False,
) -> list[Route]:
    """Return ``/healthz`` (the process is alive; no dependency is checked) and ``/readyz`` (see ``Readiness``).

    Both accept GET and HEAD. ``process`` is a name generated at the start of the process, so that a caller knows which
    process responded. ``is_hung`` returns True when the worker of a process that does nothing else has stopped.

    Neither calls Saleor or the gateway: if one of them is unavailable, this process need not be restarted.
    """

    about = {"version": version} | ({} if process is None else {"process": process})

    async def lives(_request: Request) -> Response:
        if is_hung():
            return JSONResponse({"status": "hung", "why": "the worker has begun no round for a while", **about}, 503)
        return JSONResponse({"status": "ok", **about})

    async def is_ready(_request: Request) -> Response:
        reason = await readiness.unready_reason(database)
        if reason is not None:
            return JSONResponse({"status": "not ready", "why": reason}, 503)
        degraded = await readiness.degraded_reason(database)
        if degraded is not None:
            return JSONResponse({"status": "degraded", "why": degraded, **about})
        return JSONResponse({"status": "ready", **about})

    endpoints: dict[str, Callable[[Request], Awaitable[Response]]] = {"/healthz": lives, "/readyz": is_ready}
    return [Route(path, endpoint, methods=["GET"]) for path, endpoint in endpoints.items()]  # Starlette adds HEAD
