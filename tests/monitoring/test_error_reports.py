"""A Sentry hears that something is broken and where: of no shopper, and of no secret."""

import asyncio
import json
import logging
import sys
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from app.errors import SettingsError
from app.ops import logs
from app.ops.monitoring.error_reports import report_errors
from integration_base.telemetry import tracing
from integration_base_tests.loopback import Behaviour, ReceivedRequest, json_reply, serve_replies

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SHOPPER, SECRET = "jane@shopper.example", "sk-51f0"


class Sentry:
    """Takes the errors that are sent to a project."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def __call__(self, request: ReceivedRequest) -> Behaviour:
        assert (request.method, request.path) == ("POST", "/api/7/envelope/")
        body = request.body
        if request.has("Content-Encoding"):
            body = zlib.decompress(body, 16 + zlib.MAX_WBITS)
        self.told.append(body.decode())
        return json_reply({"id": "0"})

    @property
    def errors(self) -> list[dict[str, Any]]:
        """What was told, without the envelopes."""
        lines = [json.loads(line) for envelope in self.told for line in envelope.splitlines() if line]
        return [line for line in lines if "logentry" in line]


@pytest.fixture
def configured() -> Iterator[None]:
    """Logs as a process has them."""
    root = logging.getLogger()
    before = root.handlers, root.level
    logs.configure_logs("json", "info")
    yield
    root.handlers, root.level = before[0], before[1]
    structlog.reset_defaults()


def break_down(shopper: str, secret: str) -> None:
    raise LookupError(f"nothing of {shopper} with {secret}")


@pytest.mark.usefixtures("configured")
async def test_an_error_is_told_with_its_lines_and_trace_and_nothing_that_it_says() -> None:
    sentry = Sentry()
    async with serve_replies(sentry) as address:
        dsn = address.replace("http://", "http://public@") + "/7"
        reporting = report_errors("1.2.3", {"SENTRY_DSN": f"{dsn}\n", "SENTRY_ENVIRONMENT": "live"})
        reporting.__enter__()
        log = structlog.get_logger("app.worker.consumer")
        log.warning("not worth it")
        with tracing(TRACE):
            try:
                break_down(SHOPPER, SECRET)
            except LookupError:
                log.exception("job.failed", queue="events", row=7, note=SHOPPER, api_key=SECRET)
        logging.getLogger("uvicorn.error").error("it broke for %s", SHOPPER)
        await asyncio.to_thread(reporting.__exit__, None, None, None)
        log.error("nobody hears that any more")

    broken, other = sentry.errors
    assert broken["logentry"]["formatted"] == "job.failed"
    assert broken["tags"] == {"trace_id": TRACE, "logger": "app.worker.consumer", "queue": "events"}
    (exception,) = broken["exception"]["values"]
    assert (exception["type"], exception["value"]) == ("LookupError", "")
    assert [frame["function"] for frame in exception["stacktrace"]["frames"]][-1] == "break_down"
    assert all("vars" not in frame for frame in exception["stacktrace"]["frames"])
    assert (broken["release"], broken["environment"]) == ("saleor-gateway@1.2.3", "live")
    assert other["logentry"]["formatted"] == "it broke for (redacted)"
    assert SHOPPER not in "".join(sentry.told)
    assert SECRET not in "".join(sentry.told)


def test_an_address_that_is_none_is_said_without_quoting_it() -> None:
    with (
        pytest.raises(SettingsError, match="SENTRY_DSN is no address of a project") as told,
        report_errors("1.2.3", {"SENTRY_DSN": "https://hidden@"}),
    ):
        pass
    assert "hidden" not in str(told.value)


def test_without_the_extra_the_operator_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentry_sdk", None)
    with (
        pytest.raises(SettingsError, match=r"pip install 'saleor-gateway\[sentry\]'"),
        report_errors("1.2.3", {"SENTRY_DSN": "http://public@127.0.0.1/7"}),
    ):
        pass
