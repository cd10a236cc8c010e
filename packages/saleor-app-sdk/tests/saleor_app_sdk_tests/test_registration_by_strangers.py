"""The install handshake amid strangers who post garbage in the name of a store."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import httpx2
import pytest

from integration_base_tests.clock import Clock
from saleor_app_sdk.registration import MAX_CONCURRENT, MAX_CONCURRENT_PER_SALEOR
from saleor_app_sdk_tests.fake_saleor import (
    API_URL,
    IDENTIFIER,
    InMemoryStore,
    InstalledApp,
    MinimalSaleor,
    Row,
    refund_body,
)
from saleor_app_sdk_tests.handshake import Handshake, refused
from saleor_app_sdk_tests.served_app import AppClient, make_app, open_client


@pytest.mark.threat("stranger-installs")
async def test_a_forged_token_does_not_push_out_the_proven_one(
    handshake: Handshake, store: InMemoryStore, app_client: AppClient, installed: Row
) -> None:
    """It cannot be told from the token of an app that is not active yet; so it is kept aside, and nothing changes."""
    assert (await handshake.bring("forged", Saleor_Schema_Version="3.99")).status_code == 200
    row = store.rows[API_URL]
    assert (row.token, row.app_id, row.pending_token) == ("good-token", "QXBwOjE=", "forged")
    assert row.schema_version == installed.schema_version, "or reports would be written for another Saleor"
    assert (await app_client.deliver(refund_body())).status_code == 200


@pytest.mark.threat("stranger-installs")
async def test_a_strangers_garbage_displaces_no_genuine_token_that_waits(
    handshake: Handshake, store: InMemoryStore, saleor: MinimalSaleor, app_client: AppClient, clock: Clock
) -> None:
    saleor.apps = {"new-token": InstalledApp("QXBwOjI=", active=False)}
    await handshake.bring("new-token")
    for number in range(5):
        await handshake.bring(f"garbage-{number}")
    saleor.apps["new-token"].active = True
    clock.forward(hours=1)
    recipient = {"id": "QXBwOjI=", "identifier": IDENTIFIER}
    assert (await app_client.deliver(refund_body(recipient=recipient))).status_code == 200
    assert (store.rows[API_URL].token, store.rows[API_URL].pending_tokens) == ("new-token", ())


@pytest.mark.threat("stranger-installs")
async def test_nothing_that_is_known_changes_on_a_strangers_word(
    handshake: Handshake, store: InMemoryStore, installed: Row
) -> None:
    await handshake.bring("garbage", Saleor_Schema_Version="3.99", Saleor_Domain="evil.example.com")
    assert replace(store.rows[API_URL], pending_tokens=()) == installed


@pytest.mark.threat("stranger-installs")
async def test_however_many_strangers_have_come_before_a_store_installs_the_app(
    handshake: Handshake, saleor: MinimalSaleor, store: InMemoryStore
) -> None:
    """Whoever knows the address of a store can post garbage in its name: that must not decide about the store."""
    for number in range(200):
        await handshake.bring(f"garbage-{number}")
    assert (await handshake.bring("good-token")).status_code == 200
    assert store.rows[API_URL].verified


@pytest.mark.threat("stranger-installs")
async def test_a_store_installs_the_app_amid_strangers_who_post_garbage_in_its_name(
    handshake: Handshake, saleor: MinimalSaleor, store: InMemoryStore
) -> None:
    saleor.delay = 0.005
    garbage = [asyncio.create_task(handshake.bring(f"garbage-{number}")) for number in range(100)]
    await asyncio.sleep(0)
    assert (await handshake.bring("good-token")).status_code == 200
    assert store.rows[API_URL].verified
    await asyncio.gather(*garbage)


@pytest.mark.threat("flood")
async def test_a_saleor_is_asked_about_a_few_tokens_at_once(handshake: Handshake, saleor: MinimalSaleor) -> None:
    saleor.delay = 0.005
    await asyncio.gather(*(handshake.bring(f"garbage-{number}") for number in range(50)))
    assert saleor.most_at_once == MAX_CONCURRENT_PER_SALEOR


@pytest.mark.threat("flood")
async def test_a_saleor_that_is_slow_holds_up_the_installation_of_no_other(
    store: InMemoryStore, http: httpx2.AsyncClient, clock: Clock, saleor: MinimalSaleor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("saleor_app_sdk.registration.MAX_WAIT", timedelta(seconds=0.1))
    saleor.delay = 0.5
    async with open_client(make_app(store, http, clock, allowed=("https://*.saleor.example.com/graphql/",))) as client:
        slow = "https://slow.saleor.example.com/graphql/"
        bringing = [
            asyncio.create_task(Handshake(client).bring(f"garbage-{number}", Saleor_Api_Url=slow))
            for number in range(MAX_CONCURRENT_PER_SALEOR + 2)
        ]
        while sum(task.done() for task in bringing) < 2:  # noqa: ASYNC110 - those that found no place
            await asyncio.sleep(0.01)
        saleor.delay = 0
        other = await Handshake(client).bring(Saleor_Api_Url="https://other.saleor.example.com/graphql/")
        answers = await asyncio.gather(*bringing)
    assert other.status_code == 200
    waited = [answer for answer in answers if answer.status_code == 429]
    assert len(waited) == 2
    refused(waited[0], 429, "TOO_MANY_REQUESTS")


@pytest.mark.threat("flood")
async def test_all_saleors_together_are_asked_about_so_many_tokens_at_once(
    store: InMemoryStore, http: httpx2.AsyncClient, clock: Clock, saleor: MinimalSaleor
) -> None:
    saleor.delay = 0.05
    async with open_client(make_app(store, http, clock, allowed=("https://*.saleor.example.com/graphql/",))) as client:
        addresses = [f"https://s{number}.saleor.example.com/graphql/" for number in range(MAX_CONCURRENT + 20)]
        bringing = [Handshake(client).bring("garbage", Saleor_Api_Url=address) for address in addresses]
        answers = await asyncio.gather(*bringing)
    assert {answer.status_code for answer in answers} == {200}
    assert saleor.most_at_once == MAX_CONCURRENT
