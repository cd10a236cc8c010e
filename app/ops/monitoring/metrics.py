"""Metrics for Prometheus: steps and events of this process, counted and timed as they happen.

Labels have few values, regardless of input: never a store, an order, a person or free text. Each metric is documented
in ``docs/observability.md``. Gauges of the database are read on request (``app.ops.monitoring.gauges``).
"""

from prometheus_client import (
    CollectorRegistry,
    Counter,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)

from app.core.vocabulary import EventState, State
from app.rules.refusal import GATEWAY_REFUSALS, RefusalCode
from gateway_client.statuses import TABLE
from integration_base.telemetry import Kind, Step, TelemetryEvent, current_trace_id

disable_created_metrics()  # type: ignore[no-untyped-call] # the library does not say

METRICS = CollectorRegistry(auto_describe=True)
"""The metrics of this process."""
ProcessCollector(registry=METRICS)
PlatformCollector(registry=METRICS)
GCCollector(registry=METRICS)

_CALLS = (0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0)  # seconds; a webhook has 12, and Saleor waits 18
_DELAYS = (0.1, 0.5, 1.0, 5.0, 15.0, 30.0, 60.0, 300.0, 1800.0, 7200.0, 86400.0)

_STEPS = {
    Kind.WEBHOOK: Histogram(
        "saleor_gateway_webhook_seconds",
        "Answers to Saleor's webhooks, from the arrival of the request on",
        ["event", "outcome"],
        buckets=_CALLS,
        registry=METRICS,
    ),
    Kind.NOTIFICATION: Histogram(
        "saleor_gateway_notification_answer_seconds",
        "Answers to the gateway's notifications, which are stored before",
        ["sender", "outcome"],
        buckets=_CALLS,
        registry=METRICS,
    ),
    Kind.GATEWAY: Histogram(
        "saleor_gateway_gateway_call_seconds",
        "Calls of the gateway, by what is asked and the family of the answer's status",
        ["endpoint", "outcome"],
        buckets=_CALLS,
        registry=METRICS,
    ),
    Kind.SALEOR: Histogram(
        "saleor_gateway_saleor_call_seconds",
        "Requests to Saleor's API, by the operation that is asked for",
        ["endpoint", "outcome"],
        buckets=_CALLS,
        registry=METRICS,
    ),
    Kind.JOB: Histogram(
        "saleor_gateway_job_seconds",
        "Jobs of the worker",
        ["queue", "outcome"],
        buckets=_DELAYS,
        registry=METRICS,
    ),
}
_SIGNATURES = Counter(
    "saleor_gateway_signatures_refused",
    "Webhooks of Saleor and notifications of the gateway whose signature does not hold",
    ["sender"],
    registry=METRICS,
)
_OPERATIONS = Counter(
    "saleor_gateway_operations_ended", "Operations that have ended", ["kind", "state"], registry=METRICS
)
_DECLINES = Counter(
    "saleor_gateway_declines",
    "Operations that have failed, by the status code of the gateway's published table",
    ["kind", "code"],
    registry=METRICS,
)
_TURNED_AWAY = Counter(
    "saleor_gateway_turned_away",
    "Requests to pay that were refused, by the code that the storefront gets",
    ["code"],
    registry=METRICS,
)
_EVENTS = Counter(
    "saleor_gateway_events_told", "Events for Saleor that wait no more, by what became of them", ["outcome"],
    registry=METRICS,
)  # fmt: skip
_EVENT_DELAY = Histogram(
    "saleor_gateway_event_delay_seconds",
    "From the commit of an event to its delivery to Saleor",
    buckets=_DELAYS,
    registry=METRICS,
)
_NOTIFICATION_DELAY = Histogram(
    "saleor_gateway_notification_delay_seconds",
    "From the arrival of a notification of the gateway to its posting to a payment",
    buckets=_DELAYS,
    registry=METRICS,
)
for _sender in ("saleor", "gateway"):  # a counter first exported at its first event would miss it in rates
    _SIGNATURES.labels(_sender)
for _outcome in EventState:
    if _outcome is not EventState.WAITING:
        _EVENTS.labels(_outcome)
for _code in (*RefusalCode, *sorted(GATEWAY_REFUSALS)):
    _TURNED_AWAY.labels(str(_code))


class MetricsListener:
    """Counts steps and events. A histogram's exemplar is the trace of the last observation in a bucket."""

    def on_step_start(self, step: Step) -> None:
        """Do nothing: a step is counted when it ends."""

    def on_step_end(self, step: Step) -> None:
        """Count and time a step."""
        trace = current_trace_id()
        exemplar = None if trace is None else {"trace_id": trace}
        _STEPS[step.kind].labels(step.name, step.outcome).observe(step.seconds, exemplar)

    def on_event(self, event: TelemetryEvent, seconds: float | None, labels: dict[str, str]) -> None:
        """Count an event."""
        match event:
            case TelemetryEvent.SIGNATURE_REFUSED:
                _SIGNATURES.labels(labels["sender"]).inc()
            case TelemetryEvent.OPERATION_ENDED:
                _OPERATIONS.labels(labels["kind"], labels["state"]).inc()
                if labels["state"] == State.FAILURE:
                    _DECLINES.labels(labels["kind"], status_code_label(labels["code"])).inc()
            case TelemetryEvent.SHOPPER_TURNED_AWAY:
                _TURNED_AWAY.labels(labels["code"]).inc()
            case TelemetryEvent.EVENT_REPORTED:
                _EVENTS.labels(labels["outcome"]).inc()
                if seconds is not None:
                    _EVENT_DELAY.observe(seconds)
            case TelemetryEvent.NOTIFICATION_PROCESSED if seconds is not None:
                _NOTIFICATION_DELAY.observe(seconds)
            case TelemetryEvent.NOTIFICATION_PROCESSED:
                pass


def status_code_label(code: str) -> str:
    """Return a status code as a label: a code of the gateway's table, ``none`` if empty, or ``other``."""
    return code if code in TABLE else "other" if code else "none"
