"""Listens to what the process does, as logs and metrics do."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from app import telemetry


@dataclass(frozen=True)
class Noted:
    """A step that is over, and in which trace it ended."""

    step: telemetry.Step
    trace_id: str | None


class _Notes:
    def __init__(self) -> None:
        self.steps: list[Noted] = []

    def begun(self, step: telemetry.Step) -> None:
        """Nothing is noted yet."""

    def ended(self, step: telemetry.Step) -> None:
        self.steps.append(Noted(step, telemetry.trace_id()))

    def happened(self, what: telemetry.Happening, seconds: float | None, labels: dict[str, str]) -> None:
        """Nothing of it is noted."""


@contextmanager
def steps_noted() -> Iterator[list[Noted]]:
    """Give the list of steps, which grows."""
    notes = _Notes()
    telemetry.listen(notes)
    try:
        yield notes.steps
    finally:
        telemetry.unlisten(notes)
