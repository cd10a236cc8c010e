"""An app that was installed inactive: its token is proven when its first signed webhook arrives, and not before."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from starlette.responses import Response

from saleor_app_sdk_tests.fake_saleor import (
    API_URL,
    IDENTIFIER,
    InMemoryStore,
    InstalledApp,
    MinimalSaleor,
    Row,
    refund_body,
)
from saleor_app_sdk_tests.served_app import AppClient

NEW_APP = {"id": "QXBwOjI=", "identifier": IDENTIFIER}


@pytest.fixture
def pending(store: InMemoryStore, installed: Row, saleor: MinimalSaleor) -> Row:
    """Staff removed the app and installed it again, inactive; then activated it."""
    saleor.apps = {"new-token": InstalledApp("QXBwOjI=")}
    row = replace(installed, pending_tokens=("new-token",))
    store.put(row)
    return row


async def test_its_first_webhook_proves_the_token(app_client: AppClient, pending: Row, store: InMemoryStore) -> None:
    answer = await app_client.deliver(refund_body(recipient=NEW_APP))

    assert answer.json()["result"] == "REFUND_SUCCESS"
    row = store.rows[API_URL]
    assert (row.app_id, row.token, row.pending_token) == ("QXBwOjI=", "new-token", None)
    assert (row.schema_version, row.saleor_domain, row.note) == ("3.23.28", "shop.example.com", "kept")
    assert app_client.handlers.contexts[0].installation.token == "new-token"
    assert app_client.saleor.asked == [API_URL]

    await app_client.deliver(refund_body(recipient=NEW_APP))
    assert app_client.saleor.asked == [API_URL], "proven once is proven"


async def test_an_app_that_was_never_active_before(app_client: AppClient, pending: Row, store: InMemoryStore) -> None:
    store.put(replace(pending, token="", app_id=None))
    assert (await app_client.deliver(refund_body(recipient=NEW_APP))).status_code == 200
    assert store.rows[API_URL].verified


async def refused(app_client: AppClient, code: str, **changed: Any) -> None:
    answer = await app_client.deliver(refund_body(**changed))
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, code)
    assert app_client.handlers.events == []


@pytest.mark.threat("stranger-installs")
async def test_a_forged_token_is_never_proven(app_client: AppClient, pending: Row, store: InMemoryStore) -> None:
    store.put(replace(pending, pending_tokens=("forged",)))
    await refused(app_client, "NOT_PROVEN", recipient=NEW_APP)
    assert store.rows[API_URL].token == pending.token


async def test_the_token_of_a_third_app_is_not_taken_for_this_one(
    app_client: AppClient, pending: Row, store: InMemoryStore, saleor: MinimalSaleor
) -> None:
    for stranger in (InstalledApp("QXBwOjM="), InstalledApp("QXBwOjI=", identifier="somebody.else")):
        saleor.apps = {"new-token": stranger}
        await refused(app_client, "NOT_PROVEN", recipient=NEW_APP)
        assert store.rows[API_URL] == pending


async def test_a_webhook_for_somebody_else_proves_nothing(
    app_client: AppClient, pending: Row, saleor: MinimalSaleor
) -> None:
    await refused(app_client, "WRONG_RECIPIENT", recipient={"id": "QXBwOjI=", "identifier": "somebody.else"})
    await refused(app_client, "WRONG_RECIPIENT", recipient={"id": "QXBwOjI=", "identifier": None})
    assert saleor.asked == []


async def test_saleor_cannot_be_asked_just_now(
    app_client: AppClient, pending: Row, saleor: MinimalSaleor, store: InMemoryStore
) -> None:
    saleor.graphql = Response(status_code=503)
    await refused(app_client, "NOT_PROVEN", recipient=NEW_APP)
    assert store.rows[API_URL] == pending
    saleor.graphql = None
    assert (await app_client.deliver(refund_body(recipient=NEW_APP))).status_code == 200


async def test_an_installation_of_which_nothing_is_known_but_its_address(
    app_client: AppClient, installed: Row, store: InMemoryStore
) -> None:
    store.put(replace(installed, token="", app_id=None))
    await refused(app_client, "WRONG_RECIPIENT")
    store.put(replace(installed, token=""))
    await refused(app_client, "WRONG_RECIPIENT")


async def test_garbage_around_the_genuine_token_is_forgotten_once_it_is_proven(
    app_client: AppClient, pending: Row, store: InMemoryStore, saleor: MinimalSaleor
) -> None:
    store.put(replace(pending, pending_tokens=("garbage-1", "new-token", "garbage-2")))
    assert (await app_client.deliver(refund_body(recipient=NEW_APP))).status_code == 200
    assert (store.rows[API_URL].token, store.rows[API_URL].pending_tokens) == ("new-token", ())
    assert saleor.asked == [API_URL] * 3


async def test_what_saleor_refuses_although_the_app_is_active_is_forgotten(
    app_client: AppClient, pending: Row, store: InMemoryStore, saleor: MinimalSaleor
) -> None:
    """An app that gets webhooks is active, and its token good: that Saleor is asked of the same garbage once only."""
    store.put(replace(pending, pending_tokens=("garbage-1", "garbage-2")))
    await refused(app_client, "NOT_PROVEN", recipient=NEW_APP)
    assert store.rows[API_URL].pending_tokens == ()
    assert len(saleor.asked) == 2
    await refused(app_client, "WRONG_RECIPIENT", recipient=NEW_APP)
    assert len(saleor.asked) == 2


@pytest.mark.threat("stranger-installs")
async def test_the_genuine_token_is_found_amid_garbage_though_saleor_is_slow(
    app_client: AppClient, pending: Row, store: InMemoryStore, saleor: MinimalSaleor
) -> None:
    """All are asked about within the time of one webhook: one after the other would take ten times as long."""
    saleor.delay = 0.1
    garbage = [f"garbage-{number}" for number in range(49)]
    store.put(replace(pending, pending_tokens=(*garbage, "new-token")))
    assert (await app_client.deliver(refund_body(recipient=NEW_APP))).status_code == 200
    assert (store.rows[API_URL].token, store.rows[API_URL].pending_tokens) == ("new-token", ())


async def test_what_saleor_has_refused_in_time_is_forgotten_though_it_is_silent_about_another(
    app_client: AppClient, pending: Row, store: InMemoryStore, saleor: MinimalSaleor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("saleor_app_sdk.recipient.PROOF_TIMEOUT", timedelta(seconds=2))
    saleor.silent_about.add("new-token")
    store.put(replace(pending, pending_tokens=("garbage-1", "new-token", "garbage-2")))
    await refused(app_client, "NOT_PROVEN", recipient=NEW_APP)
    assert store.rows[API_URL].pending_tokens == ("new-token",)
    saleor.silent_about.clear()
    assert (await app_client.deliver(refund_body(recipient=NEW_APP))).status_code == 200


async def test_webhooks_at_the_same_moment_prove_the_token_once(
    app_client: AppClient, pending: Row, store: InMemoryStore, saleor: MinimalSaleor
) -> None:
    answers = await asyncio.gather(*(app_client.deliver(refund_body(recipient=NEW_APP)) for _ in range(5)))
    assert {answer.status_code for answer in answers} == {200}
    assert saleor.asked == [API_URL]


async def test_a_verified_webhook_tells_the_store_that_its_saleor_is_there(
    app_client: AppClient, installed: Row, store: InMemoryStore
) -> None:
    await app_client.deliver(refund_body())
    assert store.heard == [API_URL]
    app_client.handlers.events.clear()
    await refused(app_client, "WRONG_RECIPIENT", recipient={"id": "QXBwOjk=", "identifier": IDENTIFIER})
    assert store.heard == [API_URL]
