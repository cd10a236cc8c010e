"""Writes the reference pages of the site from the code: ``python -m tests.docs.reference build/reference``.

They are generated anew for each build of the site (``make docs``) and never committed. What a name means is told in the
pages that people write; here stands what there is: names, types, limits, defaults.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import typer

from app.cli import cli
from app.flows.initialize import STORE_MOVED
from app.reports.alerts.texts import ALERT_TEXTS
from app.rules.issues import Issue, IssueCode
from app.rules.refusal import (
    BUSY,
    DECLINED,
    DETAILS_NOT_ACCEPTED,
    TRY_AGAIN,
    RefusalCode,
    english_shopper_message,
)
from app.rules.responses import AMOUNT_CHANGED, BEING_CONFIRMED, CREATION_UNKNOWN, UNDER_REVIEW
from app.settings import PREFIX, Settings
from gateway_client.statuses import TABLE
from saleor_app_sdk import WEBHOOK_EVENTS
from tests.public_names import client_groups
from tests.sources import log_calls, source_files

APP_ERROR, TOO_LONG = "APP_ERROR", "TOO_LONG"
STOREFRONT_CODES = (
    *RefusalCode,
    AMOUNT_CHANGED,
    APP_ERROR,
    BEING_CONFIRMED,
    BUSY,
    CREATION_UNKNOWN,
    DECLINED,
    DETAILS_NOT_ACCEPTED,
    STORE_MOVED,
    TOO_LONG,
    TRY_AGAIN,
    UNDER_REVIEW,
)
"""Every code that a storefront can read in ``data.errors``."""

PUBLIC_MODULES = ("saleor_app_sdk", "saleor_app_sdk.testing", "gateway_client", "gateway_client.sandbox")
"""The modules whose names others import."""

_METRIC_KINDS = {
    "InfoMetricFamily": "info",
    "Counter": "counter",
    "Gauge": "gauge",
    "GaugeMetricFamily": "gauge",
    "Histogram": "histogram",
}
_LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "minLength": "characters: {} or more",
    "maxLength": "characters: {} at most",
    "pattern": "like `{}`",
}
_TYPES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "`true` or `false`"}


def pages() -> dict[str, str]:
    """Return each page's text by its name."""
    written = {
        "settings": settings_page(),
        "commands": commands_page(),
        "metrics": metrics_page(),
        "log-lines": log_lines_page(),
        "error-codes": error_codes_page(),
        "webhook-events": webhook_events_page(),
    }
    return written | {name: module_page(import_module(name)) for name in PUBLIC_MODULES}


def settings_page() -> str:
    """Describe every setting: its variable, what it accepts, its default."""
    properties = Settings.model_json_schema()["properties"]
    rows = [
        (f"`{PREFIX}{name.upper()}`", _accepted(properties[name]), show_default(field.default))
        for name, field in Settings.model_fields.items()
    ]
    return _page(
        "Settings",
        "What each setting means: [Settings](../docs/operators/settings.md). Here is what its value may be.",
        _table(("setting", "value", "default"), rows),
    )


def show_default(default: Any) -> str:
    """Return a default as the documentation shows it."""
    match default:
        case None | ():
            return "none"
        case bool():
            return f"`{str(default).lower()}`"
        case Enum():
            return f"`{default.value}`"
        case float():
            return f"`{default:g}`"
        case _:
            return f"`{default}`"


def _accepted(schema: Mapping[str, Any]) -> str:
    """Return in words what a JSON schema accepts, apart from nothing."""
    schemas = [part for part in schema.get("anyOf", [schema]) if part.get("type") != "null"]
    (schema,) = schemas
    if "enum" in schema:
        return "one of " + ", ".join(f"`{value}`" for value in schema["enum"])
    if schema["type"] == "array":
        return "list, separated by commas"
    kind = "path" if schema.get("format") == "path" else _TYPES[schema["type"]]
    return ", ".join([kind, *(text.format(schema[name]) for name, text in _LIMITS.items() if name in schema)])


def commands_page() -> str:
    """Describe every command with its arguments and options."""
    sections = [part for path, command in commands() for part in _command_sections(path, command)]
    introduction = "What each command is for: [All commands](../docs/operators/commands.md). Here is what it accepts."
    return _page("Commands", introduction, *sections)


def commands() -> Iterator[tuple[str, Any]]:
    """Yield each command's words and the command itself, with its options."""
    yield from _commands(typer.main.get_command(cli), "saleor-gateway")


def _commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path, command.load() if hasattr(command, "load") else command
        return
    for name, one in inner.items():
        yield from _commands(one, f"{path} {name}")


def _command_sections(path: str, command: Any) -> Iterator[str]:
    yield f"## `{path}`"
    yield _plain(command.help or "")
    rows = [_parameter(parameter) for parameter in command.params if not getattr(parameter, "hidden", False)]
    if rows:
        yield _table(("argument", "is", "default"), rows)


def _parameter(parameter: Any) -> tuple[str, str, str]:
    is_argument = parameter.param_type_name == "argument"
    names = (
        [parameter.metavar or parameter.name.upper()] if is_argument else [*parameter.opts, *parameter.secondary_opts]
    )
    shown = ", ".join(f"`{name}`" for name in names)
    if parameter.metavar and not is_argument:
        shown += f" {parameter.metavar}"
    meaning = f"{_plain(parameter.help or '')} {_choices_of(parameter.type_descriptor.annotation)}".strip()
    if parameter.required:
        return shown, meaning, "required"
    has_default = isinstance(parameter.default, str | int | float) and parameter.default is not False
    return shown, meaning, show_default(parameter.default) if has_default else ""


def _choices_of(kind: object) -> str:
    if not (isinstance(kind, type) and issubclass(kind, Enum)):
        return ""
    return "One of " + ", ".join(f"`{member.value}`" for member in kind) + "."


def metrics_page() -> str:
    """Describe every metric: its kind, its labels, what its own help says."""
    rows = [
        (f"`{name}`", kind, ", ".join(f"`{label}`" for label in labels), f"{text}.")
        for name, kind, labels, text in sorted(metrics())
    ]
    return _page(
        "Metrics",
        "What to make of them: [Observability](../docs/observability.md#metrics).",
        _table(("metric", "kind", "labels", "is"), rows),
    )


def metrics() -> Iterator[tuple[str, str, tuple[str, ...], str]]:
    """Yield the name, kind, labels and help of each metric that the code defines."""
    for call in _calls():
        match call:
            case ast.Call(
                func=ast.Name(id=function), args=[ast.Constant(value=str(name)), ast.Constant(value=str(text)), *more]
            ) if function in _METRIC_KINDS:
                kind = _METRIC_KINDS[function]
                labels = _labels([*more, *(keyword.value for keyword in call.keywords)])
                yield f"{name}_info" if kind == "info" else name, kind, labels, text


def _labels(arguments: Iterable[ast.expr]) -> tuple[str, ...]:
    """Return a metric's labels: the one list among its arguments, or the keys of an info's value."""
    for argument in arguments:
        match argument:
            case ast.List(elts=names) | ast.Dict(keys=names):
                return tuple(str(name.value) for name in names if isinstance(name, ast.Constant))
    return ()


def _calls() -> Iterator[ast.Call]:
    for path in source_files():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                yield node


def log_lines_page() -> str:
    """Describe every line that the app or a package can write to the log: its level and its names."""
    rows = [
        (f"`{event}`", level, ", ".join(f"`{name}`" for name in sorted(names)))
        for (event, level), names in sorted(log_lines().items())
    ]
    return _page(
        "Log lines",
        "What each name is: [Observability](../docs/observability.md#log-lines). A line also has the names of what it "
        "belongs to, such as its trace.",
        _table(("line", "level", "names"), rows),
    )


def log_lines() -> dict[tuple[str, str], set[str]]:
    """Return the names of each line, by its text and its level."""
    found: dict[tuple[str, str], set[str]] = {}
    for call in log_calls():
        match call:
            case ast.Call(func=ast.Attribute(attr=method), args=[ast.Constant(value=str(event)), *_]):
                level = "error" if method == "exception" else method
                names = {keyword.arg for keyword in call.keywords if keyword.arg not in (None, "exc_info")}
                found.setdefault((event, level), set()).update(name for name in names if name)
    return found


def error_codes_page() -> str:
    """List what storefronts, staff and operators read codes of, and the gateway's status codes."""
    generic = english_shopper_message(DECLINED)
    codes = []
    for code in sorted(STOREFRONT_CODES):
        message = english_shopper_message(code)
        codes.append((f"`{code}`", message if message != generic or code == DECLINED else ""))
    alerts = [(f"`{kind.value}`", text.title, text.meaning, text.remedy) for kind, text in ALERT_TEXTS.items()]
    statuses = [(f"`{row.code}`", row.status.value, row.kind.value, f"{row.reason}.") for row in TABLE.values()]
    return _page(
        "Error codes",
        "## For storefronts",
        "What to do about each: [Error codes](../docs/storefront.md#error-codes). Some have one message for shoppers, "
        "in their language; the others say what was wrong with the request.",
        _table(("code", "message to the shopper"), codes),
        "## What needs a person",
        "[How to work through them](../docs/operators/attention.md).",
        _table(("`what`", "is", "means", "what to do"), alerts),
        "## What the matter is with a payment",
        "A problem of a payment has one of these codes, from which its sentence is made.",
        _table(("code", "sentence"), [(f"`{code}`", _sentence(code)) for code in IssueCode]),
        "## Status codes of the gateway",
        _table(("code", "status", "calls for", "reason"), statuses),
    )


def _sentence(code: IssueCode) -> str:
    return re.sub(r"%\(\w+\)s", "…", Issue(code).message.message)


def webhook_events_page() -> str:
    """List the events of Saleor that the SDK knows."""
    rows = []
    for event in sorted(WEBHOOK_EVENTS.values(), key=lambda event: event.name):
        since = _version(event.since)
        versions = f"{since} to {_version(event.until)}" if event.until else f"{since} and newer"
        kind = "asynchronous" if event.is_asynchronous else "synchronous"
        rows.append((f"`{event.name}`", f"`{event.typename}`", kind, versions))
    return _page(
        "Webhook events",
        "What a handler is given, and what it returns: [Webhooks](../packages/saleor-app-sdk/README.md#webhooks).",
        _table(("event", "GraphQL type", "kind", "Saleor"), rows),
    )


def _version(version: Iterable[int]) -> str:
    return ".".join(map(str, version))


def module_page(module: ModuleType) -> str:
    """Return the page of a module that others import: directives of mkdocstrings, which reads the docstrings."""
    sections = [f"::: {module.__name__}\n    options:\n      members: {sorted(module.__all__)}"]
    for attribute, group in client_groups() if module.__name__ == "gateway_client" else ():
        sections += [
            f"## `GatewayClient.{attribute}`",
            f"::: {group.__module__}.{group.__qualname__}\n    options:\n      heading_level: 3",
        ]
    return _page(f"`{module.__name__}`", *sections)


def _page(title: str, *parts: str) -> str:
    return "\n\n".join((f"# {title}", *parts)) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_plain(cell).replace("|", r"\|") for cell in line) + " |" for line in lines)


def _plain(text: str) -> str:
    return " ".join(text.split())


def write_pages(folder: Path) -> None:
    """Write all pages into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
