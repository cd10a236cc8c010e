"""The cassettes themselves: none is missing, none is left over, and nothing is on them that must not be."""

import ast
import re
import ssl
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from vcr.errors import CannotOverwriteExistingCassetteException  # type: ignore[import-untyped]  # vcrpy has no types
from vcr.request import Request  # type: ignore[import-untyped]  # the same

from gateway_client.client import GatewayClient
from gateway_client.dialect import DialectName
from gateway_client.sandbox.core.cards import luhn_digit
from gateway_client_tests.contract.account import ON_CASSETTES
from gateway_client_tests.contract.endpoints import ENDPOINTS, GROUPS, Endpoint, calls_of_the_client
from gateway_client_tests.contract.harness import open_replayed
from gateway_client_tests.contract.scrubbing import GATEWAY, HIDDEN, MASK, WEBHOOKS
from gateway_client_tests.contract.tape import CASSETTES, interactions
from gateway_client_tests.counterpart import open_scripted_server
from integration_base import exact_json
from integration_base_tests.places import REPOSITORY

PATHS = sorted(CASSETTES.rglob("*.yaml"))
TOLD_IN = (Path(__file__).parent, REPOSITORY / "tests" / "gateway_contract")  # the client's, and the app's
_LONG_NUMBER = re.compile(r"(?<![\w-])(?:\d ?){12,18}\d(?![\w-])")  # not a part of an identifier
_MILLISECONDS = re.compile(r'(dateTime":|startDate=|enddate=)\d{13}')
_ADDRESS = re.compile(r"https?://([^/\"'\s\\]+)")


def stories() -> Iterator[tuple[str, ast.AsyncFunctionDef]]:
    """Where each story's cassette lies, and the story."""
    for path in (path for folder in TOLD_IN for path in folder.glob("test_*.py")):
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.AsyncFunctionDef) or not node.name.startswith("test_"):
                continue
            if "harness" in {argument.arg for argument in node.args.args}:
                for preset in DialectName:
                    if preset is DialectName.PUBLIC or "public_only" not in _marks(path, node):
                        story = f"{path.stem.removeprefix('test_')}/{node.name.removeprefix('test_')}.yaml"
                        yield f"{preset}/{story}", node


def _marks(path: Path, node: ast.AsyncFunctionDef) -> str:
    """The marks of a story, and of all stories of its module."""
    of_module = (line for line in path.read_text().splitlines() if line.startswith("pytestmark"))
    return " ".join([*map(ast.unparse, node.decorator_list), *of_module])


@pytest.fixture(scope="session")
def requests() -> list[Request]:
    return [request for path in PATHS for request, _ in interactions(path) if request.uri != WEBHOOKS]


def test_every_story_has_a_cassette_and_every_cassette_a_story() -> None:
    assert {str(path.relative_to(CASSETTES)) for path in PATHS} == {place for place, _ in stories()}


def test_every_call_of_the_client_is_on_the_map_and_no_other() -> None:
    assert {endpoint.call for endpoint in ENDPOINTS} == set(calls_of_the_client())


def test_every_group_of_calls_is_looked_at() -> None:
    client = GatewayClient(httpx2.AsyncClient(trust_env=False), ON_CASSETTES)
    groups = {f"{name}.": type(member) for name, member in vars(client).items() if not name.startswith("_")}
    assert groups | {"": GatewayClient} == GROUPS


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: f"{endpoint.part}:{endpoint.call}")
def test_every_call_is_on_a_cassette(endpoint: Endpoint, requests: list[Request]) -> None:
    assert any(endpoint.made(request) for request in requests), "tell a story with it, then `make record`"


def test_nothing_is_on_a_cassette_that_is_not_on_the_map(requests: list[Request]) -> None:
    strange = [request for request in requests if not any(endpoint.made(request) for endpoint in ENDPOINTS)]
    assert [str(request) for request in strange] == []


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_nothing_personal_and_nothing_secret_is_on_a_cassette(path: Path) -> None:
    text = path.read_text()
    assert not re.search("cookie|sandbox-|@|127.0.0.1|localhost", text, re.IGNORECASE)
    assert set(_ADDRESS.findall(text)) <= {"gateway.example", "shop.example", "apple-pay-gateway.apple.com"}
    numbers = [found.replace(" ", "") for found in _LONG_NUMBER.findall(_MILLISECONDS.sub("", text))]
    assert not [number for number in numbers if luhn_digit(number[:-1]) == number[-1]]
    for request, answer in interactions(path):
        keys = {value for name, value in request.headers.items() if name.upper().startswith("X-API-")}
        assert keys <= {HIDDEN}
        for body in (request.body or b"", answer["body"]["string"]):
            for name, value in _members(body):
                assert not name.startswith(("customer_", "cc_number", "card_cvv", "exp_", "recipient_")) or value in (
                    HIDDEN,
                    None,
                ), name
                assert name not in {"cc_token", "token"} or value in (HIDDEN, None)
                assert name not in {"cc_mask", "cardMask"} or value in (MASK, None, "")


def test_which_calls_carry_the_endpoints_key(requests: list[Request]) -> None:
    without = ("/api/v1/balances/", "/streaming-report/", "/api/v1/tokenization/")
    for request in requests:
        assert request.uri.startswith(GATEWAY)
        assert "X-API-AUTH" in request.headers
        path = request.uri.removeprefix(GATEWAY)
        assert ("X-API-KEY" in request.headers) == (not path.startswith(without)), path


def test_stories_that_are_recorded_unasked_move_no_money() -> None:
    unasked = [place for place, node in stories() if "reads_only" in " ".join(map(ast.unparse, node.decorator_list))]
    assert unasked
    for place in unasked:
        for request, _ in interactions(CASSETTES / place):
            # Two exceptions: a cancellation of an order that never was, and a capture that names no order.
            without_order = request.method == "POST" and set(exact_json.loads(request.body or b"{}")) == {"pos_id"}
            assert request.method == "GET" or request.uri.endswith("-never/cancel") or without_order, place


async def test_what_is_not_on_the_cassette_is_not_asked_anywhere() -> None:
    async with (
        open_scripted_server() as other,
        open_replayed(PATHS[0], ssl.create_default_context(), DialectName.PUBLIC) as (harness, _tape),
    ):
        with pytest.raises(CannotOverwriteExistingCassetteException):
            await harness.http.get(other.url)
        with pytest.raises(CannotOverwriteExistingCassetteException):
            await harness.client.get_order("nobody-told-of-it", timeout=30)
        assert not other.requests


def _members(body: bytes) -> Iterator[tuple[str, object]]:
    """All members of the JSON in a body, however deep."""
    for line in body.splitlines():
        try:
            waiting = [exact_json.loads(line)]
        except exact_json.NotJsonError:
            continue
        while waiting:
            value = waiting.pop()
            if isinstance(value, dict):
                yield from value.items()
                waiting.extend(value.values())
            elif isinstance(value, list):
                waiting.extend(value)
