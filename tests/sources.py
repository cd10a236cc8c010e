"""The source code of the product: of the app and of the packages that it stands on."""

import ast
from collections.abc import Iterator
from pathlib import Path

from integration_base_tests.places import GATEWAY_CLIENT, INTEGRATION_BASE, REPOSITORY, SALEOR_APP_SDK

HOUSES = (REPOSITORY / "app", INTEGRATION_BASE, SALEOR_APP_SDK, GATEWAY_CLIENT)
"""The folders of the packages that are imported."""

_LOGGERS, _LEVELS = {"log", "_log", "logger"}, {"debug", "info", "warning", "error", "exception"}
_PLAYED = {"sandbox", "testing", "demo"}


def name_of(path: Path) -> str:
    """Return a file's path from the folder of its house: ``app/settings.py``."""
    return next(path.relative_to(house.parent).as_posix() for house in HOUSES if path.is_relative_to(house))


def source_files(pattern: str = "*.py", *, played: bool = False) -> Iterator[Path]:
    """Yield the files of all houses; those of the sandbox, the played Saleor and the demo only where ``played``."""
    for house in HOUSES:
        for path in sorted(house.rglob(pattern)):
            if played or _PLAYED.isdisjoint(path.relative_to(house).parts):
                yield path


def log_calls() -> list[ast.Call]:
    """Return every call that writes a line to the log."""
    nodes = [node for path in source_files() for node in ast.walk(ast.parse(path.read_text()))]
    return [node for node in nodes if isinstance(node, ast.Call) and _is_log_call(node)]


def _is_log_call(call: ast.Call) -> bool:
    match call.func:
        case ast.Attribute(value=ast.Name(id=logger), attr=level):
            return logger in _LOGGERS and level in _LEVELS
    return False
