"""One id for all that follows from a request, and each step on the way, told to whoever watches.

Rooms that do not know each other say here what they do; log lines, and metrics are made of it elsewhere
(``app.logs``, ``app.monitoring``). This module needs nothing but Python, so that what stands alone can use it too.

A **trace** is what W3C trace context calls so: 32 hexadecimal digits. Each request, notification and job has one, and a
row that is written then keeps it (``trace_id``), so that the work which goes on from that row has the same. A **step**
is something that takes time and has an outcome. Names and outcomes of steps are few, whatever anybody sends: they
become labels of metrics. What is said beside them (``facts``) may be anything that a log line may hold.
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

# W3C trace context, 3.2: version 00, and whatever a later version may add behind it. Neither id is all zeros.
_TRACEPARENT = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?P<trace>(?!0{32})[0-9a-f]{32})-(?P<span>(?!0{16})[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})(?P<more>-.*)?"
)
_SAMPLED = 0x01


@dataclass(frozen=True, slots=True)
class Trace:
    """An id, and the ``span`` of it in which we were asked, if somebody else has begun it and keeps spans.

    ``sampled``: whoever asked may have recorded the trace, and so may whoever we ask.
    """

    id: str
    span: str | None = None
    sampled: bool = False


class Kind(StrEnum):
    """What a step is."""

    WEBHOOK = "webhook"  # we answer Saleor
    NOTIFICATION = "notification"  # we answer the gateway
    JOB = "job"  # the worker does what is due
    GATEWAY = "gateway"  # we ask the gateway
    SALEOR = "saleor"  # we ask Saleor


@dataclass(slots=True)
class Step:
    """One step: its ``name`` and ``outcome`` are of a small set, its ``facts`` of any. ``seconds`` once it is over.

    It is a span of the ``trace`` in which it began: ``id`` is its own, 16 hexadecimal digits, ``parent`` that of the
    step around it, or of whoever asked.
    """

    kind: Kind
    name: str
    facts: dict[str, str | int | None] = field(default_factory=dict)
    outcome: str = "done"
    seconds: float = 0.0
    trace: Trace | None = None
    parent: str | None = None
    id: str = field(default_factory=lambda: token_hex(8))


class Happening(StrEnum):
    """What is counted, or measured, besides steps. The labels of each are named where its metric is."""

    SIGNATURE_REFUSED = "signature refused"
    OPERATION_ENDED = "operation ended"
    EVENT_TOLD = "event told"
    NOTIFICATION_PROCESSED = "notification processed"


class Listener(Protocol):
    """Watches what happens; neither waits nor raises. ``begun`` and ``ended`` are called where the step is made."""

    def begun(self, step: Step) -> None:
        """A step begins."""

    def ended(self, step: Step) -> None:
        """It is over, and its outcome is known."""

    def happened(self, what: Happening, seconds: float | None, labels: dict[str, str]) -> None:
        """Something happened; ``seconds`` is how long it took, where that is what is measured."""


_trace: ContextVar[Trace | None] = ContextVar("trace", default=None)
_step: ContextVar[Step | None] = ContextVar("step", default=None)
_listeners: tuple[Listener, ...] = ()


def listen(listener: Listener) -> None:
    """Let a listener hear of everything in this process from now on."""
    global _listeners  # noqa: PLW0603 - of the whole process, as its logs and metrics are
    _listeners = (*(each for each in _listeners if each is not listener), listener)


def unlisten(listener: Listener) -> None:
    """Let a listener hear no more."""
    global _listeners  # noqa: PLW0603 - as above
    _listeners = tuple(each for each in _listeners if each is not listener)


def read_traceparent(header: str | None) -> Trace | None:
    """Return the trace of a ``traceparent`` header, or None for what is none (W3C trace context, 3.2)."""
    found = _TRACEPARENT.fullmatch(header.strip()) if header else None
    if found is None or ((header or "").strip().startswith("00-") and found["more"]):
        return None
    return Trace(found["trace"], found["span"], bool(int(found["flags"], 16) & _SAMPLED))


def current_trace() -> Trace | None:
    """Return the trace in which this is called; None outside of any."""
    return _trace.get()


def trace_id() -> str | None:
    """Return the id of the trace in which this is called: what a row keeps that is made now."""
    trace = _trace.get()
    return None if trace is None else trace.id


def traceparent() -> str | None:
    """Return the header for a request that is sent now, as from the step that sends it; None outside of any trace."""
    trace = _trace.get()
    return None if trace is None else f"00-{trace.id}-{_step_in(trace) or token_hex(8)}-{trace.sampled:02x}"


def _step_in(trace: Trace) -> str | None:
    """Return the id of the step in which this is called, if it began in that trace."""
    step = _step.get()
    return step.id if step is not None and step.trace is not None and step.trace.id == trace.id else None


def follow(trace: Trace) -> None:
    """Go on in another trace from here to the end of the task, or of the ``tracing`` around it."""
    _trace.set(trace)


@contextmanager
def tracing(trace_id: str | None = None) -> Iterator[Trace]:
    """Do a block in the trace with that id; without one, in a new trace."""
    trace = Trace(trace_id or token_hex(16))
    before = _trace.set(trace)
    try:
        yield trace
    finally:
        _trace.reset(before)


@contextmanager
def step(kind: Kind, name: str, *, since: float | None = None, **facts: str | int | None) -> Iterator[Step]:
    """Do a step. It is ``done`` unless something else is said of it; ``failed`` when an exception leaves it.

    ``since``: when it has begun, by ``time.monotonic``, if that was before.
    """
    trace = _trace.get()
    parent = None if trace is None else _step_in(trace) or trace.span
    this = Step(kind, name, facts, trace=trace, parent=parent)
    listeners = _listeners
    for each in listeners:
        each.begun(this)
    around = _step.set(this)
    begun = monotonic() if since is None else since
    try:
        yield this
    except BaseException:
        if this.outcome == "done":
            this.outcome = "failed"
        raise
    finally:
        _step.reset(around)
        this.seconds = monotonic() - begun
        for each in reversed(listeners):
            each.ended(this)


def happened(what: Happening, seconds: float | None = None, **labels: str) -> None:
    """Say that something happened."""
    for each in _listeners:
        each.happened(what, seconds, labels)
