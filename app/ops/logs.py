"""Logs: one line per event, as JSON for machines or coloured for people; neither contains secrets."""

import logging
import re
import sys
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, Literal

import structlog

from integration_base import telemetry

_SECRET_NAMES = re.compile(
    r"token|secret|password|authorization|api_?key|endpoints_?key|cvv|cc_number|card_number", re.IGNORECASE
)
# Our own identifiers are UUIDs, with or without dashes, and can be nearly all digits. No card number has thirty-two.
_UUID_OR_CARD_NUMBER = re.compile(
    r"(?P<name>\b[0-9a-f]{8}(?P<dash>-?)(?:[0-9a-f]{4}(?P=dash)){3}[0-9a-f]{12}\b)|(?<!\d)(?:\d[ -]?){12,18}\d(?!\d)"
)
# An e-mail address, plain or URL-encoded. A match starts only where a word starts, so that long texts are scanned once.
_EMAIL = re.compile(r"(?<![\w.+%-])[\w.+-]+(?:@|%40)[\w-]+(?:\.[\w-]+)+", re.IGNORECASE)
_REDACTED = "(redacted)"
_STRANGERS_FAULTS = (
    "Invalid HTTP request received.",
    "Unsupported upgrade request.",
    "No supported WebSocket library detected.",  # it goes on to advise to install one, which would change nothing
)


_STEP_EVENTS = {
    telemetry.Kind.WEBHOOK: "webhook.answered",
    telemetry.Kind.NOTIFICATION: "notification.answered",
    telemetry.Kind.JOB: "job.finished",
    telemetry.Kind.GATEWAY: "gateway.called",
    telemetry.Kind.SALEOR: "saleor.called",
}
_NAME_KEYS = {telemetry.Kind.GATEWAY: "endpoint", telemetry.Kind.SALEOR: "endpoint"}  # other kinds' names are bound

log = structlog.get_logger(__name__)


class StepLogger:
    """Logs one line for each step (``integration_base.telemetry``): its name, its outcome and its duration."""

    def on_step_start(self, step: telemetry.Step) -> None:
        """Log nothing: the line is written when the step ends."""

    def on_step_end(self, step: telemetry.Step) -> None:
        """Log the step; a job only at debug level, because it logs lines of its own.

        So is a step that failed because the database is away, which has been logged once for all.
        """
        is_known = step.outcome == "failed" and _is_logged(sys.exc_info()[1])
        write = log.debug if is_known or step.kind is telemetry.Kind.JOB else log.info
        named = {_NAME_KEYS[step.kind]: step.name} if step.kind in _NAME_KEYS else {}
        facts = {name: value for name, value in step.facts.items() if value is not None}
        write(_STEP_EVENTS[step.kind], **named, outcome=step.outcome, seconds=round(step.seconds, 3), **facts)

    def on_event(self, event: telemetry.TelemetryEvent, seconds: float | None, labels: dict[str, str]) -> None:
        """Log nothing: the code that emits the event logs its own line."""


_STEP_LOGGER = StepLogger()


def add_trace(_logger: Any, _method: str, entry: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Add the id of the current trace to a log line."""
    if (trace_id := telemetry.current_trace_id()) is not None:
        entry.setdefault("trace_id", trace_id)
    return entry


def redact(_logger: Any, _method: str, entry: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Redact values under names of secrets, and anything like a card number or an e-mail address, at any depth."""
    for name, value in entry.items():
        entry[name] = _REDACTED if _SECRET_NAMES.search(name) and value is not None else _redact_value(value)
    return entry


def _redact_value(value: Any) -> Any:
    if isinstance(value, str):
        return _UUID_OR_CARD_NUMBER.sub(lambda found: found["name"] or _REDACTED, _EMAIL.sub(_REDACTED, value))
    if isinstance(value, dict):
        return {
            name: _REDACTED if _SECRET_NAMES.search(str(name)) else _redact_value(inner)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_redact_value(inner) for inner in value]
    return value


def drop_logged(_logger: Any, _method: str, entry: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Drop a line about an error whose cause has been logged once for all (``is_logged``): a database that is away."""
    error = entry.get("exc_info")
    if error is True:
        error = sys.exc_info()[1]
    if _is_logged(error[1] if isinstance(error, tuple) else error):
        raise structlog.DropEvent
    return entry


def _is_logged(error: object) -> bool:
    """Return whether an error, or one that it was raised from, has been logged already."""
    while isinstance(error, BaseException):
        if getattr(error, "is_logged", False):
            return True
        error = error.__cause__
    return False


def quieten_libraries(record: logging.LogRecord) -> bool:
    """Log in a line at most what strangers or a database that is away make libraries log; return False to log nothing.

    uvicorn warns of each connection that does not speak HTTP, and SQLAlchemy's pool writes a traceback for each
    connection that the server has closed.
    """
    if record.exc_info and _is_logged(record.exc_info[1]):
        return False
    if record.name == "uvicorn.error" and str(record.msg).startswith(_STRANGERS_FAULTS):
        record.levelno, record.levelname = logging.INFO, "INFO"
        return logging.getLogger().isEnabledFor(logging.INFO)
    if record.name.startswith("sqlalchemy.pool"):
        record.exc_info = record.exc_text = None
    return True


_error_listener: Callable[[Mapping[str, Any]], None] | None = None


def set_error_listener(listener: Callable[[Mapping[str, Any]], None] | None) -> None:
    """Call ``listener`` with each error that this process logs, as it is logged, with its exception; None: no calls."""
    global _error_listener  # noqa: PLW0603 - of the whole process, as its logs are
    _error_listener = listener


def _forward_errors(_logger: Any, _method: str, entry: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    if _error_listener is not None and entry.get("level") in {"error", "critical"}:
        _error_listener(entry)
    return entry


def configure_logs(style: Literal["console", "json"], level: str) -> None:
    """Send all logs, our own and those of libraries, through one processor chain to standard error."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        add_trace,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _forward_errors,
    ]
    if style == "json":
        # Tracebacks are formatted before redaction, so that they are redacted too.
        shared += [structlog.processors.format_exc_info]
        renderer: Any = structlog.processors.JSONRenderer(ensure_ascii=False)
    else:
        renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
        shared += [structlog.processors.format_exc_info]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,  # first, so that no work is done for a line that is dropped
            drop_logged,
            *shared,
            redact,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, redact],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    handler.addFilter(quieten_libraries)
    telemetry.add_listener(_STEP_LOGGER)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    # Below the level of warnings these log whole requests and rows, with shoppers' names, and in great number.
    for name in ("httpx2", "httpcore2", "gql", "alembic", "uvicorn.access", "aiosqlite", "psycopg", "sqlalchemy"):
        logging.getLogger(name).setLevel(logging.WARNING)
    for name in ("uvicorn", "uvicorn.error"):
        logging.getLogger(name).handlers = []
        logging.getLogger(name).propagate = True
