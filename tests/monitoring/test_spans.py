"""A collector of OpenTelemetry's hears of each step: what of it, within which, under the ids that logs have."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace import TracerProvider

from app.errors import SettingsError
from app.ops.monitoring import spans
from app.ops.monitoring.spans import export_spans
from integration_base import telemetry
from integration_base.telemetry import Kind, Trace, step, tracing
from integration_base_tests.loopback import Behaviour, ReceivedRequest, Reply, serve_replies

ASKED, BY = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


class Collector:
    """Takes what is sent to it, over HTTP."""

    def __init__(self) -> None:
        self.service: dict[str, str] = {}
        self.spans: dict[str, Span] = {}

    async def __call__(self, request: ReceivedRequest) -> Behaviour:
        assert (request.method, request.path) == ("POST", "/v1/traces")
        for resource in ExportTraceServiceRequest.FromString(request.body).resource_spans:
            self.service = {attribute.key: attribute.value.string_value for attribute in resource.resource.attributes}
            self.spans |= {span.name: span for scope in resource.scope_spans for span in scope.spans}
        return Reply(200, b"", {"Content-Type": "application/x-protobuf"})


@asynccontextmanager
async def collecting(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Collector, dict[str, str]]]:
    """A collector, and the environment that names it."""
    collector = Collector()
    async with serve_replies(collector) as address:
        environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": address}
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        yield collector, environment


async def test_a_webhook_and_what_it_leads_to_are_spans_of_one_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    async with collecting(monkeypatch) as (collector, environment):
        sending = export_spans("1.2.3", environment)
        sending.__enter__()
        with tracing():
            telemetry.continue_trace(Trace(ASKED, BY, sampled=True))
            with step(Kind.WEBHOOK, "transaction_refund_requested", saleor="https://shop.example/graphql/") as webhook:
                with step(Kind.GATEWAY, "POST /refund", payment="c0ffee", note="jane@example.com") as call:
                    sent = telemetry.current_traceparent()
                    call.outcome = "no_answer"
                    call.facts["status"] = 502
                webhook.outcome = "answered"
        await asyncio.to_thread(sending.__exit__, None, None, None)  # at the end of the process

    asked, refund = (collector.spans[name] for name in ("webhook transaction_refund_requested", "gateway POST /refund"))
    assert {span.trace_id.hex() for span in (asked, refund)} == {ASKED}
    assert (asked.parent_span_id.hex(), refund.parent_span_id) == (BY, asked.span_id)
    assert sent == f"00-{ASKED}-{refund.span_id.hex()}-01", "who is asked goes on within it"
    assert (asked.kind, refund.kind) == (Span.SPAN_KIND_SERVER, Span.SPAN_KIND_CLIENT)
    assert (asked.status.code, refund.status.code) == (0, 2)  # unset, error
    assert asked.start_time_unix_nano <= refund.start_time_unix_nano <= refund.end_time_unix_nano
    said = {attribute.key: attribute.value.string_value or attribute.value.int_value for attribute in refund.attributes}
    assert said == {"payment": "c0ffee", "note": "(redacted)", "outcome": "no_answer", "status": 502}
    assert {"service.name": "saleor-gateway", "service.version": "1.2.3"}.items() <= collector.service.items()


async def test_spans_keep_their_order_and_follow_a_clock_that_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks_apart = [1_000_000, 1_000_134_000, 7_200_000_000_000, 7_200_000_100_000]  # two hours: it was set
    monkeypatch.setattr(spans, "_zero_of_monotonic", lambda: clocks_apart.pop(0))
    listener = spans.SpanListener(TracerProvider())
    assert [listener._time_of(moment) for moment in (1.0, 2.0, 3.0)] == [
        1_001_000_000,
        7_202_000_000_000,
        7_203_000_000_000,
    ]


async def test_what_goes_on_later_is_of_the_same_trace_and_within_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async with collecting(monkeypatch) as (collector, environment):
        sending = export_spans("1.2.3", environment)
        sending.__enter__()
        with tracing(ASKED), step(Kind.JOB, "events"):
            telemetry.continue_trace(Trace("b" * 32))  # as when it is known what a notification tells of
            with step(Kind.SALEOR, "transactionEventReport"):
                pass
        with step(Kind.SALEOR, "of no trace"):
            pass
        await asyncio.to_thread(sending.__exit__, None, None, None)
    job, report = collector.spans["job events"], collector.spans["saleor transactionEventReport"]
    assert (job.trace_id.hex(), job.parent_span_id) == (ASKED, b"")
    assert (report.trace_id.hex(), report.parent_span_id) == ("b" * 32, b"")
    assert len(collector.spans) == 2


async def test_what_a_saleor_does_not_record_is_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    async with collecting(monkeypatch) as (collector, environment):
        sending = export_spans("1.2.3", environment)
        sending.__enter__()
        with tracing():
            telemetry.continue_trace(Trace(ASKED, BY, sampled=False))
            with step(Kind.WEBHOOK, "transaction_refund_requested"):
                pass
        await asyncio.to_thread(sending.__exit__, None, None, None)
    assert collector.spans == {}


def test_nothing_is_made_where_no_collector_is_named() -> None:
    with export_spans("1.2.3", {"OTEL_SERVICE_NAME": "shop"}), tracing(), step(Kind.JOB, "events"):
        pass


def test_an_address_with_a_line_feed_is_refused_instead_of_dropping_every_span() -> None:
    with (
        pytest.raises(SettingsError, match=r"^OTEL_EXPORTER_OTLP_ENDPOINT must not contain white space$"),
        export_spans("1.2.3", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318\n"}),
    ):
        pass


def test_without_the_extra_the_operator_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with (
        pytest.raises(SettingsError, match=r"pip install 'saleor-gateway\[opentelemetry\]'"),
        export_spans("1.2.3", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}),
    ):
        pass
