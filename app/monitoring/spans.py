"""Steps as spans of OpenTelemetry, sent to an operator's collector; in the extra ``opentelemetry``.

It is on where ``OTEL_EXPORTER_OTLP_ENDPOINT``, or ``OTEL_EXPORTER_OTLP_TRACES_ENDPOINT``, names a collector;
OpenTelemetry's other variables are read by its own library. A span has the ids that logs and headers have: those of
its step.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from app import telemetry
from app.errors import SettingsError
from app.logs import redact
from app.telemetry import Happening, Kind, Step

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_NAMES = ("OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES")
_FAILED = {"failed", "late", "error", "no_answer", "not_sent"}
_NANOSECONDS = 1_000_000_000


@contextmanager
def exported_spans(version: str, environment: Mapping[str, str] = os.environ) -> Iterator[None]:
    """Send spans to the collector that the environment names, if it names one; what is left is sent at the end.

    Raises SettingsError when the extra is not installed.
    """
    if not any(environment.get(name) for name in _ENDPOINTS):
        yield
        return
    listener = _listener(version, environment)
    telemetry.listen(listener)
    try:
        yield
    finally:
        telemetry.unlisten(listener)
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
    about = {"service.version": version} | ({} if named else {"service.name": "saleor-gateway"})
    provider = TracerProvider(resource=Resource.create(about), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return SpanListener(provider)


class SpanListener:
    """Makes a span of each step that is over."""

    def __init__(self, provider: "TracerProvider") -> None:
        self._provider = provider
        self._ids = _StepIds()
        provider.id_generator = self._ids  # type: ignore[assignment] # what it does is what an IdGenerator does
        self._tracer = provider.get_tracer("saleor-gateway")

    def begun(self, step: Step) -> None:
        """Nothing is known of it yet."""

    def ended(self, step: Step) -> None:
        """Hand the span on, to be sent with others later."""
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
        end = time.time_ns()
        self._ids.step = step
        span = self._tracer.start_span(
            f"{step.kind} {step.name}",
            context=_within(step),
            kind=kinds[step.kind],
            attributes={name: fact for name, fact in _facts(step).items() if fact is not None},
            start_time=end - int(step.seconds * _NANOSECONDS),
        )
        if step.outcome in _FAILED:
            span.set_status(StatusCode.ERROR)
        span.end(end)

    def happened(self, what: Happening, seconds: float | None, labels: dict[str, str]) -> None:
        """It is no span."""

    def close(self) -> None:
        """Send what is left."""
        self._provider.shutdown()


class _StepIds:
    """Gives the ids of the step of which a span is made at this moment."""

    step: Step

    def generate_span_id(self) -> int:
        return int(self.step.id, 16)

    def generate_trace_id(self) -> int:
        assert self.step.trace is not None  # noqa: S101 - for mypy: of others no span is made
        return int(self.step.trace.id, 16)

    def is_trace_id_random(self) -> bool:
        return True


def _within(step: Step) -> Any:
    """Return the context of a span: the step around it, or whoever asked; empty for the first of its trace."""
    from opentelemetry.context import Context  # noqa: PLC0415 - an extra
    from opentelemetry.trace import (  # noqa: PLC0415
        NonRecordingSpan,
        SpanContext,
        TraceFlags,
        set_span_in_context,
    )

    if step.trace is None or step.parent is None:
        return Context()
    # What a Saleor does not record it may ask us not to; what began here is recorded.
    asked_not_to = step.trace.span is not None and not step.trace.sampled
    flags = TraceFlags(TraceFlags.DEFAULT if asked_not_to else TraceFlags.SAMPLED)
    parent = SpanContext(int(step.trace.id, 16), int(step.parent, 16), is_remote=True, trace_flags=flags)
    return set_span_in_context(NonRecordingSpan(parent), Context())


def _facts(step: Step) -> Mapping[str, Any]:
    return redact(None, "", {**step.facts, "outcome": step.outcome})
