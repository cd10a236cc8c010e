"""Progress of a comparison, for display only."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(slots=True)
class Progress:
    """Progress of a running comparison. A command displays it; the worker's is not displayed.

    ``lines`` of ``announced`` (None: unknown) have been read; ``compared`` of ``orders`` have been compared.
    ``window`` is the part of the period that is being compared.
    """

    window: tuple[datetime, datetime] | None = None
    lines: int = 0
    announced: int | None = None
    compared: int = 0
    orders: int = 0

    def start_window(self, start: datetime, end: datetime) -> None:
        """Start a window: reset all counts."""
        self.window = (start, end)
        self.lines = self.compared = self.orders = 0
        self.announced = None

    def start_reading(self, lines: int | None) -> None:
        """Start reading; ``lines`` is the expected number of lines, if known."""
        self.lines, self.announced = 0, lines

    def count_line(self) -> None:
        """Count one more line read."""
        self.lines += 1

    def start_comparing(self, orders: int) -> None:
        """Start comparing ``orders`` orders."""
        self.orders = orders

    def add_compared(self, orders: int) -> None:
        """Count ``orders`` more orders compared."""
        self.compared += orders
