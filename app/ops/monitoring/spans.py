"""Exports steps as OpenTelemetry spans to an operator's collector; requires the extra ``opentelemetry``.

Enabled if ``OTEL_EXPORTER_OTLP_ENDPOINT``, or ``OTEL_EXPORTER_OTLP_TRACES_ENDPOINT``, names a collector;
OpenTelemetry's other variables are read by its own library. A span has the ids of its step, the same as in logs and
headers.
"""

import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from app.errors import SettingsError
from app.ops.logs import redact
from integration_base import telemetry
from integration_base.telemetry import Kind, Step, TelemetryEvent

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_NAMES = ("OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES")
_FAILED = {"failed", "late", "error", "no_answer", "not_sent"}
_NANOSECONDS = 1_000_000_000


@contextmanager
def export_spans(version: str, environment: Mapping[str, str] = os.environ) -> Iterator[None]:
    """Send spans to the collector that the environment names, if any; the rest is flushed at the end.

    Raises SettingsError when the extra is not installed, or an address contains white space.
    """
    addresses = {name: environment[name] for name in _ENDPOINTS if environment.get(name)}
    if not addresses:
        yield
        return
    for name, address in addresses.items():
        if re.search(r"\s", address):  # the library takes it as it is, and drops every span
            raise SettingsError(f"{name} must not contain white space")
    listener = _listener(version, environment)
    telemetry.add_listener(listener)
    try:
        yield
    finally:
        telemetry.remove_listener(listener)
        listener.close()


def _listener(version: str, environment: Mapping[str, str]) -> "SpanListener":
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - an extra
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError:
        raise SettingsError(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, but OpenTelemetry is not installed: "
            "pip install 'saleor-gateway[opentelemetry]'"
        ) from None
    named = any(environment.get(name) for name in _NAMES)
    attributes = {"service.version": version} | ({} if named else {"service.name": "saleor-gateway"})
    provider = TracerProvider(resource=Resource.create(attributes), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return SpanListener(provider)


class SpanListener:
    """Creates a span for each step that ends."""

    def __init__(self, provider: "TracerProvider") -> None:
        self._provider = provider
        self._ids = _StepIds()
        provider.id_generator = self._ids  # type: ignore[assignment] # it implements the interface of IdGenerator
        self._tracer = provider.get_tracer("saleor-gateway")
        self._zero = _zero_of_monotonic()

    def on_step_start(self, step: Step) -> None:
        """Do nothing: a span is created when the step ends."""

    def on_step_end(self, step: Step) -> None:
        """Pass the span to the processor, which sends spans in batches."""
        from opentelemetry.trace import SpanKind, StatusCode  # noqa: PLC0415 - an extra

        if step.trace is None:
            return
        kinds = {
            Kind.WEBHOOK: SpanKind.SERVER,
            Kind.NOTIFICATION: SpanKind.SERVER,
            Kind.JOB: SpanKind.CONSUMER,
            Kind.GATEWAY: SpanKind.CLIENT,
            Kind.SALEOR: SpanKind.CLIENT,
        }
        start = self._time_of(step.begun)
        self._ids.step = step
        span = self._tracer.start_span(
            f"{step.kind} {step.name}",
            context=_parent_context(step),
            kind=kinds[step.kind],
            attributes={name: fact for name, fact in _span_attributes(step).items() if fact is not None},
            start_time=start,
        )
        if step.outcome in _FAILED:
            span.set_status(StatusCode.ERROR)
        span.end(start + int(step.seconds * _NANOSECONDS))

    def on_event(self, event: TelemetryEvent, seconds: float | None, labels: dict[str, str]) -> None:
        """Do nothing: an event is no span."""

    def _time_of(self, moment: float) -> int:
        """Return the time of a ``moment`` by ``time.monotonic``, in nanoseconds since 1970.

        Steps keep their order: the difference between the two clocks is taken anew only after the clock was set.
        """
        zero = _zero_of_monotonic()
        if abs(zero - self._zero) > _NANOSECONDS:
            self._zero = zero
        return self._zero + int(moment * _NANOSECONDS)

    def close(self) -> None:
        """Send the remaining spans."""
        self._provider.shutdown()


def _zero_of_monotonic() -> int:
    return time.time_ns() - time.monotonic_ns()


class _StepIds:
    """Returns the ids of the step whose span is being created."""

    step: Step

    def generate_span_id(self) -> int:
        return int(self.step.id, 16)

    def generate_trace_id(self) -> int:
        assert self.step.trace is not None  # noqa: S101 - for mypy: steps without a trace have no span
        return int(self.step.trace.id, 16)

    def is_trace_id_random(self) -> bool:
        return True


def _parent_context(step: Step) -> Any:
    """Return the parent context of a span: the enclosing step or the remote caller; empty if first of its trace."""
    from opentelemetry.context import Context  # noqa: PLC0415 - an extra
    from opentelemetry.trace import (  # noqa: PLC0415
        NonRecordingSpan,
        SpanContext,
        TraceFlags,
        set_span_in_context,
    )

    if step.trace is None or step.parent is None:
        return Context()
    # A Saleor that does not sample a trace may request the same of us; traces that began here are sampled.
    not_sampled = step.trace.span is not None and not step.trace.sampled
    flags = TraceFlags(TraceFlags.DEFAULT if not_sampled else TraceFlags.SAMPLED)
    parent = SpanContext(int(step.trace.id, 16), int(step.parent, 16), is_remote=True, trace_flags=flags)
    return set_span_in_context(NonRecordingSpan(parent), Context())


def _span_attributes(step: Step) -> Mapping[str, Any]:
    return redact(None, "", {**step.facts, "outcome": step.outcome})
