"""Logs that the database is away: when it goes, at growing pauses while it is away, and when it is back.

Every request and job that needs the database fails meanwhile. Their errors are marked as logged (``is_logged``), so
that no line, let alone a traceback, is written for each of them (``app.ops.logs``).
"""

from collections.abc import Callable
from time import monotonic

import structlog

from app.store.errors import READ_ONLY_STATE, DatabaseUnavailableError

_FIRST_PAUSE, _LONGEST_PAUSE = 10.0, 600.0
_CALM = 60.0
_BELIEVED_RETURNS = 3  # without ``_CALM`` between them; from then on it is back when nothing fails for ``_FIRST_PAUSE``
# SQLSTATEs: no connection; shut down or starting; no connection, memory or disk left; a disk that fails; no changes.
_AWAY_STATES = ("08", "57P", "53", "58", READ_ONLY_STATE)
_BUSY = ("SQLITE_BUSY", "SQLITE_LOCKED")

log = structlog.get_logger(__name__)


class Outage:
    """Whether the database is away, as far as its transactions show it."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._was_there = False
        self._since: float | None = None
        self._next_line_at = 0.0
        self._pause = _FIRST_PAUSE
        self._failures = 0
        self._last_failure_at = self._ended_at = -_CALM
        self._returns = 0

    def record_failure(self, error: DatabaseUnavailableError) -> None:
        """Record that a transaction has failed; mark its error as logged if the database is away.

        A database that was never there has not gone away: whoever starts or runs a command is told that at once.
        """
        now = self._clock()
        if self._since is None:
            if not self._was_there or not _is_away(error.__cause__):
                return
            if now - self._ended_at >= _CALM:
                self._returns = 0
            self._since, self._failures, self._pause = now, 1, _FIRST_PAUSE
            self._next_line_at = now + self._pause
            log.error("database.lost", error=str(error))
        else:
            self._failures += 1
            if now >= self._next_line_at:
                self._pause = min(2 * self._pause, _LONGEST_PAUSE)
                self._next_line_at = now + self._pause
                log.error("database.not_recovered", error=str(error), **self._facts(now))
        self._last_failure_at = now
        error.is_logged = True

    def record_success(self) -> None:
        """Record that a transaction has been committed.

        A database on a full disk can be read, and fails again with the next write: it is not back each time.
        """
        self._was_there = True
        if self._since is None:
            return
        now = self._clock()
        if self._returns >= _BELIEVED_RETURNS and now - self._last_failure_at < _FIRST_PAUSE:
            return
        log.warning("database.recovered", **self._facts(now))
        self._since, self._ended_at = None, now
        self._returns += 1

    def _facts(self, now: float) -> dict[str, float]:
        return {"seconds": round(now - (self._since or now), 1), "failures": self._failures}


def _is_away(cause: BaseException | None) -> bool:
    """Return True for an error of the server, not of what was done there: a lock or a statement that took long."""
    original = getattr(cause, "orig", None)
    if original is None:
        return False
    if (name := getattr(original, "sqlite_errorname", None)) is not None:
        return not name.startswith(_BUSY)
    state = getattr(original, "sqlstate", None)
    return state is None or state.startswith(_AWAY_STATES)
