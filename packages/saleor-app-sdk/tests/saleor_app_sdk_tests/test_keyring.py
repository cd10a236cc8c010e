"""A Saleor changes its key; a stranger sends garbage."""

import asyncio
import json

import pytest
from starlette.responses import JSONResponse, RedirectResponse, Response

from integration_base_tests.clock import Clock
from saleor_app_sdk_tests.fake_saleor import API_URL, InMemoryStore, Row, refund_body, signing_key
from saleor_app_sdk_tests.served_app import AppClient


@pytest.mark.threat("changed-saleor-key")
async def test_a_new_key_is_fetched_once_and_kept(
    app_client: AppClient, installed: Row, store: InMemoryStore, clock: Clock
) -> None:
    app_client.saleor.key = signing_key("second")

    first = await app_client.deliver(refund_body())
    second = await app_client.deliver(refund_body())

    assert (first.status_code, second.status_code) == (200, 200)
    assert app_client.saleor.asked == ["https://shop.example.com/.well-known/jwks.json"]
    row = store.rows[API_URL]
    assert row.jwks is not None
    assert [key["kid"] for key in row.jwks["keys"]] == ["second"]
    assert row.jwks_fetched_at == clock()
    assert (row.token, row.note) == (installed.token, "kept")


async def test_whatever_comes_meanwhile_waits_for_the_same_fetch(app_client: AppClient, installed: Row) -> None:
    app_client.saleor.key = signing_key("second")
    answers = await asyncio.gather(*(app_client.deliver(refund_body()) for _ in range(8)))
    assert {answer.status_code for answer in answers} == {200}
    assert app_client.saleor.key_fetches == 1


@pytest.mark.threat("flood")
async def test_garbage_makes_us_knock_at_saleors_door_at_most_once_a_minute(
    app_client: AppClient, installed: Row, clock: Clock
) -> None:
    stranger = signing_key("second")
    for _ in range(20):
        body = json.dumps(refund_body()).encode()
        answer = await app_client.deliver(body, Saleor_Signature=stranger.sign(body, kid="no such key"))
        assert answer.status_code == 401
    assert app_client.saleor.key_fetches == 1

    clock.forward(seconds=59)
    await app_client.deliver(body, Saleor_Signature=stranger.sign(body, kid="nor this"))
    assert app_client.saleor.key_fetches == 1
    clock.forward(seconds=1)
    await app_client.deliver(body, Saleor_Signature=stranger.sign(body, kid="nor this"))
    assert app_client.saleor.key_fetches == 2


async def test_the_minute_counts_from_a_fetch_that_failed_as_well(
    app_client: AppClient, installed: Row, clock: Clock
) -> None:
    app_client.saleor.key, app_client.saleor.jwks = signing_key("second"), Response(status_code=503)
    for _ in range(5):
        assert (await app_client.deliver(refund_body())).status_code == 401
    assert app_client.saleor.key_fetches == 1
    app_client.saleor.jwks = None
    clock.forward(minutes=1)
    assert (await app_client.deliver(refund_body())).status_code == 200


@pytest.mark.threat("changed-saleor-key", "flood")
async def test_a_wrong_signature_in_the_name_of_the_known_key_fetches_nothing(
    app_client: AppClient, installed: Row
) -> None:
    body = json.dumps(refund_body()).encode()
    answer = await app_client.deliver(body, Saleor_Signature=signing_key("second").sign(body, kid="first"))
    assert answer.status_code == 401
    assert app_client.saleor.asked == []


async def test_a_stranger_we_do_not_know_fetches_nothing(app_client: AppClient) -> None:
    await app_client.deliver(refund_body())
    assert app_client.saleor.asked == []


async def test_another_process_has_just_fetched(
    app_client: AppClient, installed: Row, store: InMemoryStore, clock: Clock
) -> None:
    """The store says when keys were fetched, so the minute holds for all processes together."""
    await store.save_jwks(API_URL, {"keys": [signing_key("second").public]}, clock())
    clock.forward(seconds=30)
    answer = await app_client.deliver(refund_body())
    assert (answer.status_code, app_client.saleor.key_fetches) == (401, 0)


@pytest.mark.threat("changed-saleor-key", "flood")
async def test_one_tenants_garbage_does_not_keep_another_from_changing_its_key(
    app_client: AppClient, installed: Row, store: InMemoryStore
) -> None:
    other = "https://other.example.com/graphql/"
    store.put(Row(other, app_id="QXBwOjE=", token="x", jwks=None))
    await app_client.deliver(refund_body(), Saleor_Signature=signing_key("first").sign(b"", kid="garbage"))
    assert app_client.saleor.key_fetches == 1
    answer = await app_client.deliver(refund_body(), Saleor_Api_Url=other)
    assert (answer.status_code, app_client.saleor.key_fetches) == (200, 2)


@pytest.mark.fault("saleor-down")
@pytest.mark.threat("changed-saleor-key")
@pytest.mark.parametrize(
    "answer",
    [
        JSONResponse({"keys": [signing_key("second").public]}, 500),
        JSONResponse({"keys": [signing_key("second").public]}, 203),
        Response("not JSON"),
        RedirectResponse("https://evil.example.com/.well-known/jwks.json"),
        JSONResponse({"keys": []}),
        JSONResponse([]),
        Response(b"[" * (70 * 1024)),
    ],
)
async def test_keys_that_cannot_be_had_refuse_and_leave_what_is_there(
    app_client: AppClient, installed: Row, store: InMemoryStore, answer: Response
) -> None:
    app_client.saleor.key, app_client.saleor.jwks = signing_key("second"), answer
    assert (await app_client.deliver(refund_body())).status_code == 401
    assert store.rows[API_URL] == installed
    assert all(address.startswith("https://shop.example.com/") for address in app_client.saleor.asked)


@pytest.mark.fault("clock-back")
async def test_a_clock_that_is_put_back_keeps_no_new_key_out(
    app_client: AppClient, installed: Row, clock: Clock
) -> None:
    """The minute in which nothing is fetched must not last until the wrong hour comes again."""
    clock.forward(minutes=30)
    app_client.saleor.key = signing_key("second")
    assert (await app_client.deliver(refund_body())).status_code == 200
    clock.forward(minutes=-30)
    app_client.saleor.key = signing_key("third")
    assert (await app_client.deliver(refund_body())).status_code == 200
    assert app_client.saleor.key_fetches == 2
