"""Traces and steps: one id for all work that follows from a request, and each step of it reported to listeners.

Packages that do not know each other report here what they do; log lines and metrics are made of it by
whoever uses them. This module depends on nothing but Python, so that standalone packages can use it.

A **trace** is the one of W3C trace context: 32 hexadecimal digits. Each request, notification and job has one, and a
row that is written in it stores it (``trace_id``), so that the work that continues from that row has the same trace. A
**step** is something that takes time and has an outcome. The names and outcomes of steps are few, whatever a request
contains: they become labels of metrics. Their ``facts`` may be anything that a log line may contain.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from secrets import token_hex
from time import monotonic
from typing import Protocol

# W3C trace context, 3.2: version 00, or a later version with anything appended. Neither id is all zeros.
_TRACEPARENT = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?P<trace>(?!0{32})[0-9a-f]{32})-(?P<span>(?!0{16})[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})(?P<more>-.*)?"
)
_SAMPLED_FLAG = 0x01


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace id and, if the trace began in another system that has spans, the ``span`` from which we were called.

    ``sampled``: the caller may have recorded the trace, and so may the systems that we call.
    """

    id: str
    span: str | None = None
    sampled: bool = False


class Kind(StrEnum):
    """The kinds of step."""

    WEBHOOK = "webhook"  # a request from Saleor
    NOTIFICATION = "notification"  # a request from the gateway
    JOB = "job"  # a due job of the worker
    GATEWAY = "gateway"  # a request to the gateway
    SALEOR = "saleor"  # a request to Saleor


@dataclass(slots=True)
class Step:
    """One step. ``name`` and ``outcome`` come from a small set, ``facts`` do not.

    ``begun`` is a moment of ``time.monotonic``; ``seconds`` is set at the end. It is a span of the ``trace`` in which
    it began: ``id`` is its own, 16 hexadecimal digits, ``parent`` is that of the enclosing step, or of the caller.
    """

    kind: Kind
    name: str
    facts: dict[str, str | int | None] = field(default_factory=dict)
    outcome: str = "done"
    begun: float = 0.0
    seconds: float = 0.0
    trace: Trace | None = None
    parent: str | None = None
    id: str = field(default_factory=lambda: token_hex(8))


class TelemetryEvent(StrEnum):
    """The events that are counted or measured besides steps. The labels of each are listed where its metric is."""

    SIGNATURE_REFUSED = "signature.refused"
    OPERATION_ENDED = "operation.ended"
    EVENT_REPORTED = "event.reported"
    SHOPPER_TURNED_AWAY = "shopper.turned_away"
    NOTIFICATION_PROCESSED = "notification.processed"


class Listener(Protocol):
    """Receives steps and events; its methods neither block nor raise.

    ``on_step_start`` and ``on_step_end`` are called in the context in which the step runs.
    """

    def on_step_start(self, step: Step) -> None:
        """Handle the start of a step."""

    def on_step_end(self, step: Step) -> None:
        """Handle the end of a step, whose outcome is now set."""

    def on_event(self, event: TelemetryEvent, seconds: float | None, labels: dict[str, str]) -> None:
        """Handle an event; ``seconds`` is its duration, where that is measured."""


_trace: ContextVar[Trace | None] = ContextVar("trace", default=None)
_step: ContextVar[Step | None] = ContextVar("step", default=None)
_listeners: tuple[Listener, ...] = ()


def add_listener(listener: Listener) -> None:
    """Report all steps and events of this process to a listener from now on."""
    global _listeners  # noqa: PLW0603 - of the whole process, as its logs and metrics are
    _listeners = (*(other for other in _listeners if other is not listener), listener)


def remove_listener(listener: Listener) -> None:
    """Stop reporting to a listener."""
    global _listeners  # noqa: PLW0603 - as above
    _listeners = tuple(other for other in _listeners if other is not listener)


def read_traceparent(header: str | None) -> Trace | None:
    """Return the trace of a ``traceparent`` header; None if it is missing or invalid (W3C trace context, 3.2)."""
    found = _TRACEPARENT.fullmatch(header.strip()) if header else None
    if found is None or ((header or "").strip().startswith("00-") and found["more"]):
        return None
    return Trace(found["trace"], found["span"], bool(int(found["flags"], 16) & _SAMPLED_FLAG))


def current_trace() -> Trace | None:
    """Return the current trace; None outside of any."""
    return _trace.get()


def current_trace_id() -> str | None:
    """Return the id of the current trace, which new rows store; None outside of any."""
    trace = _trace.get()
    return None if trace is None else trace.id


def current_traceparent() -> str | None:
    """Return the header for a request that the current step sends; None outside of any trace."""
    trace = _trace.get()
    return None if trace is None else f"00-{trace.id}-{_current_step_id(trace) or token_hex(8)}-{trace.sampled:02x}"


def _current_step_id(trace: Trace) -> str | None:
    """Return the id of the current step if it began in ``trace``, else None."""
    step = _step.get()
    return step.id if step is not None and step.trace is not None and step.trace.id == trace.id else None


def continue_trace(trace: Trace) -> None:
    """Switch to another trace until the end of the task, or of the enclosing ``tracing``."""
    _trace.set(trace)


@contextmanager
def tracing(trace_id: str | None = None) -> Iterator[Trace]:
    """Run a block in the trace with that id, or in a new trace without one."""
    trace = Trace(trace_id or token_hex(16))
    before = _trace.set(trace)
    try:
        yield trace
    finally:
        _trace.reset(before)


@contextmanager
def step(kind: Kind, name: str, *, since: float | None = None, **facts: str | int | None) -> Iterator[Step]:
    """Run a block as a step. Its outcome is ``done`` unless the block sets another, ``failed`` if an exception escapes.

    ``since``: its start by ``time.monotonic``, if that was earlier.
    """
    trace = _trace.get()
    parent = None if trace is None else _current_step_id(trace) or trace.span
    this = Step(kind, name, facts, trace=trace, parent=parent)
    listeners = _listeners
    for listener in listeners:
        listener.on_step_start(this)
    around = _step.set(this)
    this.begun = monotonic() if since is None else since
    try:
        yield this
    except BaseException:
        if this.outcome == "done":
            this.outcome = "failed"
        raise
    finally:
        _step.reset(around)
        this.seconds = monotonic() - this.begun
        for heard in reversed(listeners):
            heard.on_step_end(this)


def emit(event: TelemetryEvent, seconds: float | None = None, **labels: str) -> None:
    """Report an event to the listeners."""
    for listener in _listeners:
        listener.on_event(event, seconds, labels)
