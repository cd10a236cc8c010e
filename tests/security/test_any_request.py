"""Whatever is asked at any address of the app, it is answered: never by an error of ours, nor with what is inside.

The app publishes no OpenAPI: what its pages and webhooks take is nobody's interface but Saleor's, the gateway's and its
own. Here one is made of its routes, by which Schemathesis makes up requests, as clients send and as none does.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.core.result import Ok

from app.main import create_app
from app.settings import Settings
from integration_base_tests.clock import Clock
from integration_base_tests.loopback import serve_app
from integration_base_tests.waiting import LONGEST_WAIT
from tests.conftest import MigratedDatabases

pytestmark = pytest.mark.threat("hostile-text", "words-in-errors")

TEXT = {"type": "string", "maxLength": 300}
FORM = {"application/x-www-form-urlencoded": {"schema": {"type": "object", "additionalProperties": TEXT}}}
JSON: dict[str, Any] = {"application/json": {"schema": {}}}
QUERY = ("search", "channel", "account", "status", "after", "from", "to", "theme", "n", "w", "days", "by")
HEADERS = ("Authorization", "Saleor-Api-Url", "Saleor-Event", "Saleor-Signature", "Accept-Language", "traceparent")
INSIDE = ("Traceback", "sqlalchemy", "site-packages", "sqlite3")


@dataclass
class Running:
    """The whole app, on a port of this machine."""

    app: FastAPI
    url: str


@pytest.fixture
async def running(tmp_path: Path, migrated: MigratedDatabases, clock: Clock) -> AsyncIterator[Running]:
    settings = Settings(
        database_url=await migrated.sqlite(),
        data_dir=tmp_path / "data",
        base_url="https://pay.example.com",
        worker=False,
    )
    app = create_app(settings, clock)
    async with serve_app(app, lifespan="on") as url:
        yield Running(app, url)


@pytest.mark.parametrize(
    "examples", [1, pytest.param(10, marks=[pytest.mark.long, pytest.mark.timeout(900)])], ids=["few", "many"]
)
async def test_it_is_answered(running: Running, examples: int) -> None:
    await asyncio.to_thread(ask, running, examples)


def ask(running: Running, examples: int) -> None:
    """Make so many requests up for each route, the same ones each time."""
    schema = schemathesis.openapi.from_dict(openapi(running.app))
    asked: set[str] = set()
    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()
        for mode in GenerationMode:
            asked.add(operation.label)

            @settings(
                max_examples=examples,
                derandomize=True,
                database=None,
                deadline=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(operation.as_strategy(generation_mode=mode))
            def is_answered(case: schemathesis.Case[Any]) -> None:
                answer = case.call(base_url=running.url, allow_redirects=False, timeout=LONGEST_WAIT)
                assert answer.status_code < 500, f"{answer.status_code} to {case.as_curl_command()}"
                assert not [word for word in INSIDE if word in answer.text]
                assert answer.headers["x-content-type-options"] == ["nosniff"]

            is_answered()
    assert len(asked) >= 60


def openapi(app: FastAPI) -> dict[str, Any]:
    """Return what the routes say of themselves, and what they read of a request beside it."""
    paths: dict[str, dict[str, Any]] = {}
    for route in iter_route_contexts(app.routes):
        path, methods = route.path_format, (route.methods or set()) - {"HEAD"}
        if path is None or not methods:
            continue
        in_path = [
            {"name": name, "in": "path", "required": True, "schema": TEXT} for name in re.findall(r"{(\w+)}", path)
        ]
        beside = [{"name": name, "in": "query", "schema": TEXT} for name in QUERY]
        headers = [{"name": name, "in": "header", "schema": TEXT} for name in HEADERS]
        for method in methods:
            said: dict[str, Any] = {"parameters": in_path + beside + headers, "responses": {"200": {"description": ""}}}
            if method == "POST":
                said["requestBody"] = {"content": FORM | JSON}
            paths.setdefault(path, {})[method.lower()] = said
    return {"openapi": "3.1.0", "info": {"title": app.title, "version": app.version}, "paths": paths}
