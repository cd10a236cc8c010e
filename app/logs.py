"""Logs: one line an event, JSON for machines or colours for people; nothing secret in either."""

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any, Literal

import structlog

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


def configure_logs(style: Literal["console", "json"], level: str) -> None:
    """Send everything, our own and the libraries', through one chain to standard error."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if style == "json":
        # Tracebacks become text before redaction, so that nothing in them escapes it.
        shared += [structlog.processors.format_exc_info]
        renderer: Any = structlog.processors.JSONRenderer(ensure_ascii=False)
    else:
        renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
        shared += [structlog.processors.format_exc_info]
    structlog.configure(
        processors=[*shared, redact, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
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
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    # What these tell below a warning holds whole requests and rows: shoppers' names, and much of it.
    for name in ("httpx2", "httpcore2", "gql", "alembic", "uvicorn.access", "aiosqlite", "psycopg", "sqlalchemy"):
        logging.getLogger(name).setLevel(logging.WARNING)
    for name in ("uvicorn", "uvicorn.error"):
        logging.getLogger(name).handlers = []
        logging.getLogger(name).propagate = True
