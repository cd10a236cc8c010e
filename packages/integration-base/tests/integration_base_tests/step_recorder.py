"""Listens to what the process does, as logs and metrics do."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from integration_base import telemetry


@dataclass(frozen=True)
class RecordedStep:
    """A step that is over, and in which trace it ended."""

    step: telemetry.Step
    trace_id: str | None


class _StepRecorder:
    def __init__(self) -> None:
        self.steps: list[RecordedStep] = []

    def on_step_start(self, step: telemetry.Step) -> None:
        """Nothing is noted yet."""

    def on_step_end(self, step: telemetry.Step) -> None:
        self.steps.append(RecordedStep(step, telemetry.current_trace_id()))

    def on_event(self, event: telemetry.TelemetryEvent, seconds: float | None, labels: dict[str, str]) -> None:
        """Nothing of it is noted."""


@contextmanager
def record_steps() -> Iterator[list[RecordedStep]]:
    """Give the list of steps, which grows."""
    notes = _StepRecorder()
    telemetry.add_listener(notes)
    try:
        yield notes.steps
    finally:
        telemetry.remove_listener(notes)
