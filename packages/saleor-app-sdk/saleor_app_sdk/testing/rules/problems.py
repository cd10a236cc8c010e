"""Saleor's handling of app problems (Saleor contract, B.2.8)."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

MAX_PROBLEMS = 100
MESSAGE_LENGTH = 2048
_ELLIPSIS = "..."


class ProblemRefusedError(Exception):
    """Saleor rejects the mutation with an error for ``field``."""

    def __init__(self, field: str, code: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.code = code


@dataclass
class Problem:
    """A problem of an app; a dismissed one still counts towards the limit, but is no longer shown."""

    id: str
    key: str
    message: str
    created_at: datetime
    updated_at: datetime
    count: int = 1
    critical: bool = False
    dismissed: bool = False

    def to_payload(self) -> dict[str, Any]:
        """Return the AppProblem as the API returns it."""
        return {
            "id": self.id,
            "key": self.key,
            "message": self.message,
            "count": self.count,
            "isCritical": self.critical,
        }


def add_problem(
    problems: list[Problem],
    *,
    new_id: str,
    key: str,
    message: str,
    threshold: int | None,
    aggregation_minutes: int,
    now: datetime,
) -> Problem:
    """Add a problem, or count it with the newest open one of its key; the hundred and first replaces the oldest."""
    message, key = message.strip(), key.strip()
    for field, text, max_length in (("message", message, None), ("key", key, 128)):
        if len(text) < 3 or (max_length is not None and len(text) > max_length):
            raise ProblemRefusedError(field, "INVALID", f"{field} has {len(text)} characters")
    if len(message) > MESSAGE_LENGTH:
        message = message[: MESSAGE_LENGTH - len(_ELLIPSIS)] + _ELLIPSIS
    period = timedelta(minutes=aggregation_minutes)
    open_problems = [problem for problem in problems if problem.key == key and not problem.dismissed]
    newest = max(open_problems, key=lambda problem: problem.updated_at, default=None)
    if newest is None or not aggregation_minutes or newest.updated_at < now - period:
        if len(problems) >= MAX_PROBLEMS:
            problems.remove(min(problems, key=lambda problem: problem.created_at))
        newest = Problem(new_id, key, message, now, now)
        problems.append(newest)
    else:
        newest.count += 1
        newest.message, newest.updated_at = message, now
    newest.critical = threshold is not None and newest.count >= threshold
    return newest


def dismiss_problems(problems: list[Problem], *, ids: Collection[str] | None, keys: Collection[str] | None) -> None:
    """Dismiss the problems with these ids or these keys. Raises ProblemRefusedError."""
    if ids and keys:
        raise ProblemRefusedError("byApp", "INVALID", "Cannot specify both 'ids' and 'keys'.")
    if not ids and not keys:
        raise ProblemRefusedError("byApp", "REQUIRED", "Must provide either 'ids' or 'keys'.")
    for field, named in (("ids", ids or ()), ("keys", keys or ())):
        if len(named) > MAX_PROBLEMS:
            raise ProblemRefusedError(field, "INVALID", f"Cannot specify more than {MAX_PROBLEMS} items.")
    for problem in problems:
        if problem.id in (ids or ()) or problem.key in (keys or ()):
            problem.dismissed = True
