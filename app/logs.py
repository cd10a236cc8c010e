"""Logs: one line an event, JSON for machines or colours for people; nothing secret in either."""

import logging
import re
import sys
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, Literal

import structlog

from app import telemetry

_SECRET_NAMES = re.compile(
    r"token|secret|password|authorization|api_?key|endpoints_?key|cvv|cc_number|card_number", re.IGNORECASE
)
# Our own names of things, a UUID with or without dashes, can be nearly all digits. Thirty-two are no card's.
_NAME_OR_CARD_NUMBER = re.compile(
    r"(?P<name>\b[0-9a-f]{8}(?P<dash>-?)(?:[0-9a-f]{4}(?P=dash)){3}[0-9a-f]{12}\b)|(?<!\d)(?:\d[ -]?){12,18}\d(?!\d)"
)
# As it is, and as addresses of pages have it. Begun only where a word begins, so that long texts are read once.
_EMAIL = re.compile(r"(?<![\w.+%-])[\w.+-]+(?:@|%40)[\w-]+(?:\.[\w-]+)+", re.IGNORECASE)
_REDACTED = "(redacted)"


_LINES = {
    telemetry.Kind.WEBHOOK: "webhook answered",
    telemetry.Kind.NOTIFICATION: "notification answered",
    telemetry.Kind.JOB: "job done",
    telemetry.Kind.GATEWAY: "gateway asked",
    telemetry.Kind.SALEOR: "Saleor asked",
}
_NAMED = {telemetry.Kind.GATEWAY: "endpoint", telemetry.Kind.SALEOR: "endpoint"}  # the others are bound already

log = structlog.get_logger(__name__)


class StepLines:
    """One line for each step (``app.telemetry``): what, how it ended, how long it took."""

    def begun(self, step: telemetry.Step) -> None:
        """Nothing is said yet."""

    def ended(self, step: telemetry.Step) -> None:
        """Say the step. What a job does, its own lines say."""
        say = log.debug if step.kind is telemetry.Kind.JOB else log.info
        named = {_NAMED[step.kind]: step.name} if step.kind in _NAMED else {}
        facts = {name: value for name, value in step.facts.items() if value is not None}
        say(_LINES[step.kind], **named, outcome=step.outcome, seconds=round(step.seconds, 3), **facts)

    def happened(self, what: telemetry.Happening, seconds: float | None, labels: dict[str, str]) -> None:
        """Nothing: whoever says it has a line of its own."""


_STEP_LINES = StepLines()


def add_trace(_logger: Any, _method: str, entry: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Say in which trace a line is."""
    if (trace_id := telemetry.trace_id()) is not None:
        entry.setdefault("trace_id", trace_id)
    return entry


def redact(_logger: Any, _method: str, entry: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Hide values under names of secrets, and whatever looks like a card number or an e-mail address, however deep."""
    for name, value in entry.items():
        entry[name] = _REDACTED if _SECRET_NAMES.search(name) and value is not None else _clean(value)
    return entry


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return _NAME_OR_CARD_NUMBER.sub(lambda found: found["name"] or _REDACTED, _EMAIL.sub(_REDACTED, value))
    if isinstance(value, dict):
        return {name: _REDACTED if _SECRET_NAMES.search(str(name)) else _clean(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(inner) for inner in value]
    return value


_tell: Callable[[Mapping[str, Any]], None] | None = None


def tell_of_errors(tell: Callable[[Mapping[str, Any]], None] | None) -> None:
    """Let ``tell`` hear of each error that this process logs, as it is logged, with its exception; None: nobody."""
    global _tell  # noqa: PLW0603 - of the whole process, as its logs are
    _tell = tell


def _pass_errors_on(_logger: Any, _method: str, entry: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    if _tell is not None and entry.get("level") in {"error", "critical"}:
        _tell(entry)
    return entry


def configure_logs(style: Literal["console", "json"], level: str) -> None:
    """Send everything, our own and the libraries', through one chain to standard error."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        add_trace,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _pass_errors_on,
    ]
    if style == "json":
        # Tracebacks become text before redaction, so that nothing in them escapes it.
        shared += [structlog.processors.format_exc_info]
        renderer: Any = structlog.processors.JSONRenderer(ensure_ascii=False)
    else:
        renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
        shared += [structlog.processors.format_exc_info]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,  # before anything is made of a line that nobody sees
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
    telemetry.listen(_STEP_LINES)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    # What these tell below a warning holds whole requests and rows: shoppers' names, and much of it.
    for name in ("httpx2", "httpcore2", "gql", "alembic", "uvicorn.access", "aiosqlite", "psycopg", "sqlalchemy"):
        logging.getLogger(name).setLevel(logging.WARNING)
    for name in ("uvicorn", "uvicorn.error"):
        logging.getLogger(name).handlers = []
        logging.getLogger(name).propagate = True
