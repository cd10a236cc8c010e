"""Log lines that strangers, or a database that is away, could cause in great number."""

import io
import json
import logging
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import structlog

from app.ops import logs
from app.store.errors import DatabaseUnavailableError
from integration_base import telemetry
from saleor_app_sdk.errors import StillUnderwayError


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Logs as a process has them; returns the lines so far."""
    stream, root = io.StringIO(), logging.getLogger()
    handlers, level = root.handlers, root.level
    monkeypatch.setattr(sys, "stderr", stream)
    logs.configure_logs("json", "info")
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.handlers, root.level = handlers, level
    structlog.reset_defaults()


def fail(error: Exception) -> None:
    raise error


def log_failure(error: Exception) -> None:
    """Log a failure as the worker, a library and a handler of webhooks do."""
    try:
        fail(error)
    except Exception as caught:
        structlog.get_logger("app.worker").exception("job.failed")
        logging.getLogger("asyncio").exception("Task exception was never retrieved")
        structlog.get_logger("app.flows").error("outcome.not_recorded", exc_info=caught)


@pytest.mark.fault("database-away")
def test_a_failure_for_a_database_that_is_known_to_be_away_is_not_logged_again(
    written: Callable[[], list[dict[str, Any]]],
) -> None:
    told = DatabaseUnavailableError("no answer")
    told.is_logged = True
    log_failure(told)
    caused = StillUnderwayError("not recorded")
    caused.__cause__ = told
    log_failure(caused)
    assert written() == []
    log_failure(DatabaseUnavailableError("a lock took too long"))
    assert [line["event"] for line in written()] == [
        "job.failed",
        "Task exception was never retrieved",
        "outcome.not_recorded",
    ]


@pytest.mark.fault("database-away")
def test_connections_that_the_database_has_closed_are_a_line_each(
    written: Callable[[], list[dict[str, Any]]],
) -> None:
    try:
        fail(OSError("gone"))
    except OSError:
        logging.getLogger("sqlalchemy.pool.impl.AsyncAdaptedQueuePool").exception("Exception during reset or similar")
    [line] = written()
    assert "exception" not in line


def test_who_does_not_speak_http_is_a_line_of_information(written: Callable[[], list[dict[str, Any]]]) -> None:
    logger = logging.getLogger("uvicorn.error")
    logger.warning("Invalid HTTP request received.")
    logger.warning("something else")
    assert [(line["event"], line["level"]) for line in written()] == [
        ("Invalid HTTP request received.", "info"),
        ("something else", "warning"),
    ]
    logging.getLogger().setLevel(logging.WARNING)
    logger.warning("Invalid HTTP request received.")
    assert len(written()) == 2


def test_who_asks_for_a_web_socket_is_no_warning(written: Callable[[], list[dict[str, Any]]]) -> None:
    """Anybody can, and the advice to install a library would change nothing."""
    logger = logging.getLogger("uvicorn.error")
    logger.warning("Unsupported upgrade request.")
    logger.warning("No supported WebSocket library detected. Please use \"pip install 'uvicorn[standard]'\"")
    assert [line["level"] for line in written()] == ["info", "info"]


@pytest.mark.fault("database-away")
@pytest.mark.parametrize("is_known", [True, False])
def test_a_step_that_fails_is_no_line_if_the_database_is_known_to_be_away(
    written: Callable[[], list[dict[str, Any]]], *, is_known: bool
) -> None:
    error = DatabaseUnavailableError("no answer")
    error.is_logged = is_known
    with pytest.raises(DatabaseUnavailableError), telemetry.step(telemetry.Kind.NOTIFICATION, "gateway"):
        fail(error)
    assert [line["event"] for line in written()] == ([] if is_known else ["notification.answered"])
