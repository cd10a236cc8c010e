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
    assert [key["kid"] for key in row.jwks["keys"]] == ["second", "first"]
    assert row.jwks_fetched_at == clock()
    assert (row.token, row.note) == (installed.token, "kept")


async def status_of_request_signed_by(app_client: AppClient, kid: str) -> int:
    """One of Saleor's processes, with that key, sends a webhook."""
    body = json.dumps(refund_body()).encode()
    return (await app_client.deliver(body, Saleor_Signature=signing_key(kid).sign(body))).status_code


def publishes(app_client: AppClient, *kids: str) -> None:
    app_client.saleor.jwks = JSONResponse({"keys": [signing_key(kid).public for kid in kids]})


@pytest.mark.threat("changed-saleor-key")
async def test_two_saleors_sign_with_the_old_and_the_new_key_while_it_is_replaced(
    app_client: AppClient, installed: Row, clock: Clock
) -> None:
    """One process of Saleor after the other is restarted with the new key. None of their webhooks is refused."""
    publishes(app_client, "second")
    for _ in range(9):
        assert await status_of_request_signed_by(app_client, "second") == 200
        assert await status_of_request_signed_by(app_client, "first") == 200
        clock.forward(minutes=1)
    assert app_client.saleor.key_fetches == 1


@pytest.mark.threat("changed-saleor-key")
async def test_replaced_key_ends_ten_minutes_after_the_first_key_set_without_it(
    app_client: AppClient, installed: Row, clock: Clock
) -> None:
    """Whoever has stolen it cannot prolong it by having the keys fetched again and again."""
    publishes(app_client, "second")
    assert await status_of_request_signed_by(app_client, "second") == 200
    for _ in range(59):
        clock.forward(seconds=10)
        assert await status_of_request_signed_by(app_client, "garbage") == 401
        assert await status_of_request_signed_by(app_client, "first") == 200
    assert app_client.saleor.key_fetches == 60
    for _ in range(20):
        clock.forward(seconds=10)
        assert await status_of_request_signed_by(app_client, "first") == 401
    assert await status_of_request_signed_by(app_client, "second") == 200


@pytest.mark.threat("changed-saleor-key")
async def test_key_set_of_a_saleor_that_is_not_restarted_yet_takes_no_key_away(
    app_client: AppClient, installed: Row, clock: Clock
) -> None:
    """A proxy sends us to one or the other: the set that comes last is not the only one that counts."""
    publishes(app_client, "second")
    assert await status_of_request_signed_by(app_client, "second") == 200
    for kid in ("first", "second") * 10:
        clock.forward(minutes=1)
        publishes(app_client, kid)
        await status_of_request_signed_by(app_client, "garbage")
        assert await status_of_request_signed_by(app_client, "first") == 200
        assert await status_of_request_signed_by(app_client, "second") == 200


@pytest.mark.threat("changed-saleor-key", "flood")
async def test_stranger_delays_a_new_key_by_ten_seconds_at_most(
    app_client: AppClient, installed: Row, clock: Clock
) -> None:
    """Garbage in the name of ever new keys uses each fetch up, but the fetch brings the new key for all."""
    for second in range(8):
        await status_of_request_signed_by(app_client, f"garbage-{second % 2}")
        clock.forward(seconds=1)
    publishes(app_client, "second")
    seen = []
    for second in range(10):
        await status_of_request_signed_by(app_client, f"garbage-{second % 2}")
        seen.append(await status_of_request_signed_by(app_client, "second"))
        clock.forward(seconds=1)
    assert seen == [401, 401] + [200] * 8


@pytest.mark.threat("changed-saleor-key")
async def test_saleor_that_changes_its_key_all_the_time_fills_no_row(
    app_client: AppClient, installed: Row, store: InMemoryStore, clock: Clock
) -> None:
    for number in range(8):
        publishes(app_client, f"key-{number}")
        assert await status_of_request_signed_by(app_client, f"key-{number}") == 200
        clock.forward(seconds=10)
    keys = (store.rows[API_URL].jwks or {})["keys"]
    assert [key["kid"] for key in keys] == ["key-7", "key-6", "key-5", "key-4", "key-3"]


@pytest.mark.fault("clock-back")
@pytest.mark.threat("changed-saleor-key")
@pytest.mark.parametrize("jump", [-1, 1])
async def test_clock_that_jumps_by_a_day_prolongs_no_replaced_key(
    app_client: AppClient, installed: Row, clock: Clock, jump: int
) -> None:
    publishes(app_client, "second")
    assert await status_of_request_signed_by(app_client, "second") == 200
    clock.forward(days=jump)
    assert await status_of_request_signed_by(app_client, "first") == 401
    clock.forward(seconds=10)
    assert await status_of_request_signed_by(app_client, "first") == 401
    clock.forward(days=-jump)
    assert await status_of_request_signed_by(app_client, "second") == 200


async def test_whatever_comes_meanwhile_waits_for_the_same_fetch(app_client: AppClient, installed: Row) -> None:
    app_client.saleor.key = signing_key("second")
    answers = await asyncio.gather(*(app_client.deliver(refund_body()) for _ in range(8)))
    assert {answer.status_code for answer in answers} == {200}
    assert app_client.saleor.key_fetches == 1


@pytest.mark.threat("flood")
async def test_garbage_makes_us_knock_at_saleors_door_at_most_once_in_ten_seconds(
    app_client: AppClient, installed: Row, clock: Clock
) -> None:
    stranger = signing_key("second")
    for _ in range(20):
        body = json.dumps(refund_body()).encode()
        answer = await app_client.deliver(body, Saleor_Signature=stranger.sign(body, kid="no such key"))
        assert answer.status_code == 401
    assert app_client.saleor.key_fetches == 1

    clock.forward(seconds=9)
    await app_client.deliver(body, Saleor_Signature=stranger.sign(body, kid="nor this"))
    assert app_client.saleor.key_fetches == 1
    clock.forward(seconds=1)
    await app_client.deliver(body, Saleor_Signature=stranger.sign(body, kid="nor this"))
    assert app_client.saleor.key_fetches == 2


async def test_the_ten_seconds_count_from_a_fetch_that_failed_as_well(
    app_client: AppClient, installed: Row, clock: Clock
) -> None:
    app_client.saleor.key, app_client.saleor.jwks = signing_key("second"), Response(status_code=503)
    for _ in range(5):
        assert (await app_client.deliver(refund_body())).status_code == 401
    assert app_client.saleor.key_fetches == 1
    app_client.saleor.jwks = None
    clock.forward(seconds=10)
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
    """The store says when keys were fetched, so the ten seconds hold for all processes together."""
    await store.save_jwks(API_URL, {"keys": [signing_key("second").public]}, clock())
    clock.forward(seconds=5)
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
    """The ten seconds in which nothing is fetched must not last until the wrong hour comes again."""
    clock.forward(minutes=30)
    app_client.saleor.key = signing_key("second")
    assert (await app_client.deliver(refund_body())).status_code == 200
    clock.forward(minutes=-30)
    app_client.saleor.key = signing_key("third")
    assert (await app_client.deliver(refund_body())).status_code == 200
    assert app_client.saleor.key_fetches == 2
