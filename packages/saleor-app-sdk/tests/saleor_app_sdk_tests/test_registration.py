"""The install handshake, with those who may, those who may not, and those who pretend."""

import json
from typing import Any

import httpx2
import pytest
from starlette.responses import JSONResponse, RedirectResponse, Response
from structlog.testing import capture_logs

from integration_base_tests.clock import Clock
from saleor_app_sdk_tests.fake_saleor import (
    API_URL,
    InMemoryStore,
    InstalledApp,
    MinimalSaleor,
    Row,
    signing_key,
)
from saleor_app_sdk_tests.handshake import Handshake, refused
from saleor_app_sdk_tests.served_app import make_app, open_client


async def test_a_saleor_installs_us(
    handshake: Handshake, store: InMemoryStore, saleor: MinimalSaleor, clock: Clock
) -> None:
    answer = await handshake.bring()

    assert (answer.status_code, answer.json()) == (200, {"success": True})
    row = store.rows[API_URL]
    assert (row.app_id, row.token, row.pending_token) == ("QXBwOjE=", "good-token", None)
    assert (row.saleor_domain, row.schema_version, row.jwks_fetched_at) == ("shop.example.com", "3.23", clock())
    assert row.jwks is not None
    assert row.jwks["keys"][0]["kid"] == saleor.key.kid
    assert saleor.asked == [API_URL, "https://shop.example.com/.well-known/jwks.json"]


async def test_a_second_installation_overwrites_the_first_and_keeps_all_the_rest(
    handshake: Handshake, store: InMemoryStore, saleor: MinimalSaleor, installed: Row
) -> None:
    saleor.apps = {"new-token": InstalledApp("QXBwOjI=")}
    saleor.key = signing_key("second")
    assert (await handshake.bring("new-token")).status_code == 200
    row = store.rows[API_URL]
    assert (row.app_id, row.token, row.note) == ("QXBwOjI=", "new-token", "kept")
    assert row.jwks is not None
    assert row.jwks["keys"][0]["kid"] == "second"


@pytest.mark.parametrize(
    ("told", "kept"), [("3.22", "3.22"), ("3.22.67", "3.22"), (None, None), ("x" * 500, "3.21"), ("", "3.21")]
)
async def test_the_version_is_kept_in_one_form(
    handshake: Handshake, store: InMemoryStore, told: str | None, kept: str | None
) -> None:
    await handshake.bring(Saleor_Schema_Version=told)
    assert store.rows[API_URL].schema_version == kept


async def test_the_domain_is_the_one_that_was_checked(handshake: Handshake, store: InMemoryStore) -> None:
    await handshake.bring(Saleor_Domain="evil.example.com")
    assert store.rows[API_URL].saleor_domain == "shop.example.com"


async def test_saleor_tries_again_with_the_same_token(handshake: Handshake, store: InMemoryStore) -> None:
    first, second = await handshake.bring(), await handshake.bring()
    assert (first.status_code, second.status_code) == (200, 200)
    assert store.rows[API_URL].token == "good-token"


@pytest.mark.threat("ssrf-saleor", "stranger-installs")
@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (None, (400, "MISSING_SALEOR_API_URL")),
        ("", (400, "MISSING_SALEOR_API_URL")),
        ("https://shop.example.com/graphql", (400, "INVALID_SALEOR_API_URL")),
        ("https://user:word@shop.example.com/graphql/", (400, "INVALID_SALEOR_API_URL")),
        ("file:///etc/passwd", (400, "INVALID_SALEOR_API_URL")),
        ("gopher://shop.example.com/graphql/", (400, "INVALID_SALEOR_API_URL")),
        ("https://evil.example.com/graphql/", (403, "SALEOR_NOT_ALLOWED")),
        ("https://shop.example.com.evil.com/graphql/", (403, "SALEOR_NOT_ALLOWED")),
        ("http://shop.example.com/graphql/", (403, "SALEOR_NOT_ALLOWED")),
        ("https://shop.example.com:8443/graphql/", (403, "SALEOR_NOT_ALLOWED")),
        ("http://169.254.169.254/graphql/", (403, "SALEOR_NOT_ALLOWED")),
        ("http://127.0.0.1:5432/graphql/", (403, "SALEOR_NOT_ALLOWED")),
        ("http://[::1]/graphql/", (403, "SALEOR_NOT_ALLOWED")),
    ],
)
async def test_an_address_that_nobody_allowed_is_never_called(
    handshake: Handshake, store: InMemoryStore, saleor: MinimalSaleor, address: str | None, expected: tuple[int, str]
) -> None:
    refused(await handshake.bring(Saleor_Api_Url=address), *expected)
    assert saleor.asked == []
    assert store.rows == {}


@pytest.mark.parametrize("address", ["https://Shop.Example.com/graphql/", "https://shop.example.com/graphql"])
async def test_whoever_installs_reads_what_is_wrong_with_the_address(handshake: Handshake, address: str) -> None:
    """Saleor writes what its operator has set as its public address."""
    error = (await handshake.bring(Saleor_Api_Url=address)).json()["error"]["message"]
    assert "lower case" in error
    assert "ends in /graphql/" in error
    assert address in error


@pytest.mark.parametrize(
    "address",
    ["http://localhost:8000/graphql/", "http://shop.example.com/graphql/", f"https://{'x' * 200}.com/graphql/"],
)
async def test_whoever_installs_reads_which_address_is_not_allowed(handshake: Handshake, address: str) -> None:
    """A worker of Saleor that was not told its public address names another than Saleor does."""
    message = refused(await handshake.bring(Saleor_Api_Url=address), 403, "SALEOR_NOT_ALLOWED")
    assert address[:40] in message
    assert "PUBLIC_URL of Saleor and its workers" in message
    assert len(message) <= 255, "Saleor keeps no more"


async def test_the_old_header_does_not_stand_in_for_the_new_one(handshake: Handshake, saleor: MinimalSaleor) -> None:
    answer = await handshake.bring(Saleor_Api_Url=None, X_Saleor_Domain="shop.example.com")
    refused(answer, 400, "MISSING_SALEOR_API_URL")
    assert saleor.asked == []


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b'{"auth_token": null}',
        b'{"auth_token": ""}',
        b'{"auth_token": 7}',
        b'{"auth_token": "a\\r\\nX-Evil: 1"}',
        '{"auth_token": "токен"}'.encode(),
        json.dumps({"auth_token": "x" * 1025}).encode(),
        b" " * 20_000 + b'{"auth_token": "good-token"}',
    ],
)
async def test_no_token(handshake: Handshake, store: InMemoryStore, saleor: MinimalSaleor, body: bytes) -> None:
    refused(await handshake.bring(body), 400, "MISSING_AUTH_TOKEN")
    assert saleor.asked == []
    assert store.rows == {}


@pytest.mark.threat("stranger-installs")
async def test_the_token_of_another_app_of_the_same_saleor(
    handshake: Handshake, store: InMemoryStore, saleor: MinimalSaleor, installed: Row
) -> None:
    saleor.apps["other"] = InstalledApp("QXBwOjk=", identifier="somebody.else")
    message = refused(await handshake.bring("other"), 403, "NOT_THIS_APP")
    assert "another app" in message
    assert store.rows[API_URL] == installed


@pytest.mark.threat("stranger-installs")
async def test_a_token_that_is_nobodys_app(handshake: Handshake, store: InMemoryStore, saleor: MinimalSaleor) -> None:
    saleor.graphql = JSONResponse({"data": {"app": None}})
    refused(await handshake.bring("of-a-user"), 403, "NOT_THIS_APP")
    assert store.rows == {}


async def test_an_app_that_is_not_active_yet_is_installed_all_the_same(
    handshake: Handshake, store: InMemoryStore, saleor: MinimalSaleor
) -> None:
    saleor.apps = {"new-token": InstalledApp("QXBwOjI=", active=False)}
    assert (await handshake.bring("new-token")).json() == {"success": True}
    row = store.rows[API_URL]
    assert (row.verified, row.app_id, row.pending_token) == (False, None, "new-token")


@pytest.mark.parametrize(
    "answer", [Response(status_code=429), Response(status_code=503, headers={"Retry-After": "60"})]
)
async def test_a_saleor_that_has_no_time_is_not_taken_for_one_at_a_wrong_address(
    handshake: Handshake, store: InMemoryStore, saleor: MinimalSaleor, answer: Response
) -> None:
    saleor.graphql = answer
    message = refused(await handshake.bring(), 502, "SALEOR_UNREACHABLE")
    assert "has no time for requests at the moment" in message
    assert "Is that address right" not in message
    assert store.rows == {}


@pytest.mark.parametrize(
    "answer",
    [Response(status_code=503), Response("hello"), RedirectResponse("https://evil.com/")]
    + [Response(text) for text in ("null", "5", "[]", '{"data": 5}', '{"errors": 7}', '{"data": {"app": 5}}')],
)
async def test_a_saleor_that_cannot_be_asked(
    handshake: Handshake, store: InMemoryStore, saleor: MinimalSaleor, answer: Response
) -> None:
    saleor.graphql = answer
    message = refused(await handshake.bring(), 502, "SALEOR_UNREACHABLE")
    assert API_URL in message
    assert saleor.asked == [API_URL]
    assert store.rows == {}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Response("<h1>401</h1>", 401, headers={"WWW-Authenticate": "Basic"}), "HTTP 401 came in place of an answer"),
        (Response("<p>Are you human?</p>", 403), "HTTP 403 came in place of an answer"),
        (Response("<p>Our shop</p>"), "HTTP 200 came in place of an answer"),
        (
            RedirectResponse("https://me:secret@new.example.com/graphql/?key=secret", 301),
            "leads to https://new.example.com/gra",
        ),
        (RedirectResponse("/en/graphql/", 308), "leads to https://shop.example.com/en/graphql/ ("),
        (Response(None, 302, headers={"Location": "//[::1"}), "HTTP 302 came in place of an answer"),
    ],
    ids=["a password", "a firewall", "a shop's pages", "a redirect", "a redirect on the host", "a redirect nowhere"],
)
async def test_whoever_installs_reads_what_answers_in_place_of_saleor(
    handshake: Handshake, saleor: MinimalSaleor, answer: Response, reason: str
) -> None:
    saleor.graphql = answer
    message = refused(await handshake.bring(), 502, "SALEOR_UNREACHABLE")
    assert reason in message
    assert "secret" not in message
    assert len(message) <= 255, "Saleor keeps no more"


@pytest.mark.parametrize(
    "keys",
    [Response(status_code=404), JSONResponse({"keys": []}), RedirectResponse("https://evil.com/")]
    + [Response(text) for text in ("null", "5", "[]", '{"keys": 5}', '{"keys": [5]}')],
)
async def test_a_saleor_whose_keys_cannot_be_had(
    handshake: Handshake, store: InMemoryStore, saleor: MinimalSaleor, keys: Response
) -> None:
    saleor.jwks = keys
    refused(await handshake.bring(), 502, "KEYS_UNUSABLE")
    assert store.rows == {}


async def test_a_store_that_is_down(handshake: Handshake, store: InMemoryStore) -> None:
    store.broken = True
    message = refused(await handshake.bring(), 500, "APP_ERROR")
    assert "disk" not in message


@pytest.mark.threat("secrets-in-logs")
async def test_no_token_stands_in_a_log(handshake: Handshake, saleor: MinimalSaleor, store: InMemoryStore) -> None:
    with capture_logs() as logs:
        await handshake.bring()
        await handshake.bring("forged-token")
        await handshake.bring(Saleor_Api_Url="https://evil.example.com/graphql/")
        saleor.graphql = Response(status_code=503)
        await handshake.bring()
    assert len(logs) >= 4
    assert "-token" not in str(logs)


async def test_without_an_allow_list_the_app_warns_and_serves_this_machine_only(
    store: InMemoryStore, http: httpx2.AsyncClient, clock: Clock, saleor: MinimalSaleor
) -> None:
    with capture_logs() as logs:
        client = open_client(make_app(store, http, clock, allowed=(), base_url="http://127.0.0.1:8100"))
    assert [(log["event"], log["log_level"]) for log in logs] == [("allow_list.left_empty", "warning")]
    assert "only a Saleor on this machine" in logs[0]["detail"]
    async with client:
        refused(await Handshake(client).bring(), 403, "SALEOR_NOT_ALLOWED")
        local = await Handshake(client).bring(Saleor_Api_Url="http://127.0.0.1:8000/graphql/")
    assert local.status_code == 200
    assert {url.split("/")[2] for url in saleor.asked} == {"127.0.0.1:8000"}


@pytest.mark.threat("ssrf-saleor")
@pytest.mark.parametrize(
    "addresses",
    [
        {"base_url": "https://payments.example.com"},
        {"base_url": "http://app:8100", "iframe_base_url": "https://payments.example.com"},
    ],
)
async def test_without_an_allow_list_strangers_let_a_public_app_call_nothing_of_its_machine(
    store: InMemoryStore,
    http: httpx2.AsyncClient,
    clock: Clock,
    saleor: MinimalSaleor,
    addresses: dict[str, Any],
) -> None:
    """Any port of this machine was called, and the answer told whether something listens there."""
    with capture_logs() as logs:
        client = open_client(make_app(store, http, clock, allowed=(), **addresses))
    assert "no Saleor can install the app" in logs[0]["detail"]
    async with client:
        address = "http://127.0.0.1:8000/graphql/"
        message = refused(await Handshake(client).bring(Saleor_Api_Url=address), 403, "SALEOR_NOT_ALLOWED")
    assert "list of allowed addresses" in message
    assert saleor.asked == []
