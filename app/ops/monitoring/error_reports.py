"""Sends errors of the program to an operator's Sentry; requires the extra ``sentry``.

Enabled if ``SENTRY_DSN`` is set. A report contains the type of error and its lines of code, the release, and the trace
id by which to find the log lines. Exception messages and variables may contain personal data or secrets: neither leaves
this machine.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from app.errors import SettingsError
from app.ops import logs

_DSN = "SENTRY_DSN"
_TAGS = ("trace_id", "logger", "webhook", "queue", "endpoint", "status", "code")
_FLUSH_TIMEOUT = 2  # seconds, when the process ends


@contextmanager
def report_errors(version: str, environment: Mapping[str, str] = os.environ) -> Iterator[None]:
    """Send errors that are logged to the Sentry that the environment names, if any.

    Raises SettingsError when the extra is not installed, or the address is invalid.
    """
    if not (dsn := environment.get(_DSN, "").strip()):
        yield
        return
    try:
        import sentry_sdk  # noqa: PLC0415 - an extra
        from sentry_sdk.utils import BadDsn  # noqa: PLC0415
    except ImportError:
        message = f"{_DSN} is set, but Sentry's SDK is not installed: pip install 'saleor-gateway[sentry]'"
        raise SettingsError(message) from None
    try:
        client = sentry_sdk.Client(
            dsn=dsn,
            release=f"saleor-gateway@{version}",
            environment=environment.get("SENTRY_ENVIRONMENT"),
            default_integrations=False,
            include_local_variables=False,
            include_source_context=False,
            max_breadcrumbs=0,
        )
    except BadDsn:
        raise SettingsError(f"{_DSN} is no address of a project at Sentry") from None

    def send(entry: Mapping[str, Any]) -> None:
        client.capture_event(_report(entry, client.options))

    logs.set_error_listener(send)
    try:
        yield
    finally:
        logs.set_error_listener(None)
        client.close(timeout=_FLUSH_TIMEOUT)


def _report(entry: Mapping[str, Any], options: dict[str, Any]) -> Any:
    from sentry_sdk.utils import event_from_exception  # noqa: PLC0415 - an extra

    report: dict[str, Any] = {}
    error = entry.get("exc_info")
    if error is True:
        error = sys.exc_info()
    if isinstance(error, tuple | BaseException) and error != (None, None, None):
        report = dict(event_from_exception(error, client_options=options)[0])
        for value in report["exception"]["values"]:
            value["value"] = ""
    tags = {name: str(entry[name]) for name in _TAGS if entry.get(name) is not None}
    message = {"formatted": str(entry.get("event"))}
    return logs.redact(None, "", {**report, "level": "error", "logentry": message, "tags": tags})
