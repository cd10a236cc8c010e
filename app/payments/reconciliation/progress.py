"""How far a comparison has come, for whoever watches it; nobody else does."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(slots=True)
class Progress:
    """What a comparison tells while it goes on. A command shows it; the worker's is looked at by nobody.

    ``lines`` of ``announced`` (None: nobody has said how many) are read; ``compared`` of ``orders`` are compared.
    ``window`` is the part of the period that is being compared.
    """

    window: tuple[datetime, datetime] | None = None
    lines: int = 0
    announced: int | None = None
    compared: int = 0
    orders: int = 0

    def begins(self, start: datetime, end: datetime) -> None:
        """A window begins."""
        self.window = (start, end)
        self.lines = self.compared = self.orders = 0
        self.announced = None

    def expects(self, lines: int | None) -> None:
        """So many lines are going to be read."""
        self.lines, self.announced = 0, lines

    def has_read(self) -> None:
        """One line more."""
        self.lines += 1

    def compares(self, orders: int) -> None:
        """So many orders are going to be compared."""
        self.orders = orders

    def has_compared(self, orders: int) -> None:
        """So many orders more."""
        self.compared += orders
