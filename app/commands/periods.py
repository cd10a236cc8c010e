"""Periods as operators type them: days of UTC, or moments with their zone."""

from datetime import UTC, datetime, timedelta

from app.commands.failure import CommandFailed


def read_moment(text: str | None, flag: str, *, last: bool = False) -> datetime | None:
    """Return the moment at which a day begins, or at which the ``last`` one ends. Raises CommandFailed."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise CommandFailed(f"{flag}: {text!r} is no date: write it like 2026-11-21", status=2) from None
    if "T" not in text and " " not in text:
        return moment.replace(tzinfo=UTC) + (timedelta(days=1) if last else timedelta())
    if moment.tzinfo is None:
        raise CommandFailed(f"{flag}: {text!r} has no time zone: write it like 2026-11-21T12:00+02:00", status=2)
    return moment.astimezone(UTC)
