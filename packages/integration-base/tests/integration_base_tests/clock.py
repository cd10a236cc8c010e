"""A clock for tests."""

from datetime import UTC, datetime, timedelta


class Clock:
    """A clock that stands still until a test moves it."""

    def __init__(self, now: datetime = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **span: float) -> datetime:
        """Move the clock, for example ``forward(minutes=5)``."""
        self.now += timedelta(**span)
        return self.now
