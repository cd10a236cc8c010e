"""Errors of the program sent to an operator's Sentry; in the extra ``sentry``.

It is on where ``SENTRY_DSN`` says where to. What is sent is what went wrong and in which lines, the release, and the
trace by which the log lines are found. What an exception says, and what its variables hold, may be a shopper's or a
secret: neither leaves this machine.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from app import logs
from app.errors import SettingsError

_DSN = "SENTRY_DSN"
_TAGS = ("trace_id", "logger", "webhook", "queue", "endpoint", "status", "code")
_SENDING_TAKES_AT_MOST = 2  # seconds, when the process ends


@contextmanager
def reported_errors(version: str, environment: Mapping[str, str] = os.environ) -> Iterator[None]:
    """Send what is logged as an error to the Sentry that the environment names, if it names one.

    Raises SettingsError when the extra is not installed, or the address is none.
    """
    if not (dsn := environment.get(_DSN)):
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

    logs.tell_of_errors(send)
    try:
        yield
    finally:
        logs.tell_of_errors(None)
        client.close(timeout=_SENDING_TAKES_AT_MOST)


def _report(entry: Mapping[str, Any], options: dict[str, Any]) -> Any:
    from sentry_sdk.utils import event_from_exception  # noqa: PLC0415 - an extra

    report: dict[str, Any] = {}
    found = entry.get("exc_info")
    if found is True:
        found = sys.exc_info()
    if isinstance(found, tuple | BaseException) and found != (None, None, None):
        report = dict(event_from_exception(found, client_options=options)[0])
        for each in report["exception"]["values"]:
            each["value"] = ""
    tags = {name: str(entry[name]) for name in _TAGS if entry.get(name) is not None}
    words = {"formatted": str(entry.get("event"))}
    return logs.redact(None, "", {**report, "level": "error", "logentry": words, "tags": tags})
