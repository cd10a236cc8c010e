"""What Saleor makes of an app's problems (Saleor contract, B.2.8)."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

MOST = 100
MESSAGE_LENGTH = 2048
_CUT = "..."


class ProblemRefusedError(Exception):
    """Saleor answers with an error for ``field``."""

    def __init__(self, field: str, code: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.code = code


@dataclass
class Problem:
    """A problem of an app; one that is dismissed counts for the limit, and is shown no longer."""

    id: str
    key: str
    message: str
    created_at: datetime
    updated_at: datetime
    count: int = 1
    critical: bool = False
    dismissed: bool = False

    def shown(self) -> dict[str, Any]:
        """Return it as the API shows it."""
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
    """Add a problem, or count it with the newest open one of its key; a hundred and first pushes the oldest out."""
    message, key = message.strip(), key.strip()
    for field, text, longest in (("message", message, None), ("key", key, 128)):
        if len(text) < 3 or (longest is not None and len(text) > longest):
            raise ProblemRefusedError(field, "INVALID", f"{field} has {len(text)} characters")
    if len(message) > MESSAGE_LENGTH:
        message = message[: MESSAGE_LENGTH - len(_CUT)] + _CUT
    period = timedelta(minutes=aggregation_minutes)
    open_ones = [each for each in problems if each.key == key and not each.dismissed]
    newest = max(open_ones, key=lambda each: each.updated_at, default=None)
    if newest is None or not aggregation_minutes or newest.updated_at < now - period:
        if len(problems) >= MOST:
            problems.remove(min(problems, key=lambda each: each.created_at))
        newest = Problem(new_id, key, message, now, now)
        problems.append(newest)
    else:
        newest.count += 1
        newest.message, newest.updated_at = message, now
    newest.critical = threshold is not None and newest.count >= threshold
    return newest


def dismiss_problems(problems: list[Problem], *, ids: Collection[str] | None, keys: Collection[str] | None) -> None:
    """Dismiss what an app names, by ids or by keys."""
    if ids and keys:
        raise ProblemRefusedError("byApp", "INVALID", "Cannot specify both 'ids' and 'keys'.")
    if not ids and not keys:
        raise ProblemRefusedError("byApp", "REQUIRED", "Must provide either 'ids' or 'keys'.")
    for field, named in (("ids", ids or ()), ("keys", keys or ())):
        if len(named) > MOST:
            raise ProblemRefusedError(field, "INVALID", f"Cannot specify more than {MOST} items.")
    for each in problems:
        if each.id in (ids or ()) or each.key in (keys or ()):
            each.dismissed = True
