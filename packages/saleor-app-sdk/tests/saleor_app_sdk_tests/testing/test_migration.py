"""The app brings what an earlier release had installed up to this one: the SDK's own calls, at a Saleor over HTTP."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from saleor_app_sdk.drift import Aspect, Part, Remedy, State
from saleor_app_sdk.errors import SaleorNotAuthorisedError
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.installed_app import fetch_app_in_saleor
from saleor_app_sdk.migration import find_differences, migrate
from saleor_app_sdk.testing import FakeSaleor, SaleorSettings, serving
from saleor_app_sdk.versions import Version
from saleor_app_sdk_tests.fake_saleor import Row
from saleor_app_sdk_tests.testing.stub import open_stub
from saleor_app_sdk_tests.testing.test_orders import client

__all__ = ["client"]

EVENTS = ("TRANSACTION_CHARGE_REQUESTED", "TRANSACTION_REFUND_REQUESTED")


def webhook(url: str, event: str, more: str = "") -> dict[str, Any]:
    typename = event.title().replace("_", "")
    return {
        "name": event,
        "targetUrl": f"{url}/api/webhooks/{event.lower().replace('_', '-')}",
        "query": f"subscription {{ event {{ ... on {typename} {{ __typename version {more} }} }} }}",
        "syncEvents": [event],
        "isActive": True,
    }


@pytest.fixture
async def saleor(request: pytest.FixtureRequest) -> AsyncIterator[FakeSaleor]:
    """A Saleor of the newest line, unless the test names another."""
    async with serving(SaleorSettings(version=getattr(request, "param", "3.23.28"))) as running:
        yield running.saleor


@pytest.fixture
async def store(saleor: FakeSaleor) -> AsyncIterator[Row]:
    """The installation of an earlier release, with two webhooks."""
    async with open_stub() as stub:
        stub.manifest |= {"webhooks": [webhook(stub.url, event) for event in EVENTS], "extensions": []}
        done = await saleor.install(stub.manifest_url)
        assert done.status == "INSTALLED", done.message
        yield Row(saleor.api_url, schema_version="3.21", app_id=done.app_id, token=done.token or "", note=stub.url)


def manifest(store: Row, *webhooks: Mapping[str, Any]) -> Any:
    """Return this release's manifest, which is the same for all Saleors."""
    url = store.note
    return lambda _: {"appUrl": f"{url}/", "permissions": ["HANDLE_PAYMENTS"], "extensions": [], "webhooks": webhooks}


@pytest.mark.parametrize("saleor", ["3.21.69", "3.22.67", "3.23.28"], indirect=True)
async def test_webhooks_are_made_changed_and_deleted_and_a_second_time_nothing_happens(
    client: SaleorClient, store: Row, saleor: FakeSaleor
) -> None:
    charge, cancel = (
        webhook(store.note, EVENTS[0], "issuedAt"),
        webhook(store.note, "TRANSACTION_CANCELATION_REQUESTED"),
    )
    wanted = manifest(store, charge, cancel)
    migration = await migrate(client, store, wanted)
    assert [(difference.state, difference.name, difference.aspects) for difference in migration.done] == [
        (State.CHANGED, EVENTS[0], (Aspect.QUERY,)),
        (State.MISSING, "TRANSACTION_CANCELATION_REQUESTED", ()),
        (State.LEFT_OVER, EVENTS[1], ()),
    ]
    assert (migration.not_done, migration.left) == ([], [])
    found = await fetch_app_in_saleor(client, store)
    assert found.version == migration.version
    hooks = {webhook.target_url: webhook for webhook in found.app.webhooks or ()}
    assert hooks.keys() == {charge["targetUrl"], cancel["targetUrl"]}
    assert hooks[charge["targetUrl"]].subscription_query == charge["query"]
    again = await migrate(client, store, wanted)
    assert (again.done, again.left) == ([], [])


async def test_the_manifest_is_chosen_by_what_saleor_is_and_not_by_what_it_was(
    client: SaleorClient, store: Row
) -> None:
    """The installation is remembered as one in 3.21."""
    asked: list[Version] = []

    def wanted(version: Version) -> dict[str, Any]:
        asked.append(version)
        return {}

    found, _ = await find_differences(client, store, wanted)
    assert asked == [found.schema_version]


async def test_what_saleor_refuses_is_told_and_the_rest_is_done(client: SaleorClient, store: Row) -> None:
    broken = webhook(store.note, EVENTS[0], "{")
    cancel = webhook(store.note, "TRANSACTION_CANCELATION_REQUESTED")
    too_long = webhook(store.note + "/x" * 130, EVENTS[1])
    migration = await migrate(client, store, manifest(store, broken, cancel, too_long))
    assert [difference.name for difference in migration.done] == ["TRANSACTION_CANCELATION_REQUESTED"]
    assert [refused_change.difference.name for refused_change in migration.not_done] == list(EVENTS)
    assert [
        ("SYNTAX" in refused_change.why, "INVALID" in refused_change.why) for refused_change in migration.not_done
    ] == [
        (True, False),
        (False, True),
    ]
    assert {difference.name for difference in migration.left} == set(EVENTS)


async def test_a_webhook_that_is_being_delivered_is_switched_off_and_deleted_the_next_time(
    client: SaleorClient, store: Row, saleor: FakeSaleor
) -> None:
    wanted = manifest(store, webhook(store.note, EVENTS[0]))
    await saleor.set_faults(webhook_in_use=True)
    migration = await migrate(client, store, wanted)
    assert ["DELETE_FAILED" in refused_change.why for refused_change in migration.not_done] == [True]
    found = await fetch_app_in_saleor(client, store)
    assert [webhook.is_active for webhook in found.app.webhooks or ()] == [True, False]
    await saleor.clear_faults()
    assert (await migrate(client, store, wanted)).left == []


async def test_what_the_app_may_not_do_is_left_for_those_who_may(client: SaleorClient, store: Row) -> None:
    hooks = [webhook(store.note, event) for event in EVENTS]
    extension = {"label": "Payments", "mount": "ORDER_DETAILS_WIDGETS", "target": "WIDGET", "url": f"{store.note}/w"}
    wanted = {
        "appUrl": f"{store.note}/",
        "webhooks": hooks,
        "extensions": [extension],
        "permissions": ["HANDLE_PAYMENTS", "MANAGE_USERS"],
    }
    migration = await migrate(client, store, lambda _: wanted)
    assert migration.done == []
    assert [(difference.part, difference.remedy) for difference in migration.left] == [
        (Part.EXTENSION, Remedy.REINSTALL),
        (Part.PERMISSION, Remedy.STAFF),
    ]


async def test_an_app_that_is_switched_off_changes_nothing(
    client: SaleorClient, store: Row, saleor: FakeSaleor
) -> None:
    await saleor.deactivate()
    with pytest.raises(SaleorNotAuthorisedError):
        await migrate(client, store, manifest(store))


async def test_an_app_does_nothing_to_the_webhooks_of_another(
    client: SaleorClient, store: Row, saleor: FakeSaleor
) -> None:
    async with open_stub() as other:
        other.manifest |= {"id": "another", "webhooks": [webhook(other.url, EVENTS[0])], "extensions": []}
        done = await saleor.install(other.manifest_url)
        theirs = Row(saleor.api_url, schema_version="3.21", app_id=done.app_id, token=done.token or "")
        [hook] = (await fetch_app_in_saleor(client, theirs)).app.webhooks or ()
        for operation in ("webhook_update", "webhook_delete"):
            asked = {"id": hook.id} | ({"input": {"isActive": False}} if operation == "webhook_update" else {})
            answer = await client.execute(store, operation, asked)
            [refused] = next(iter(answer.values()))["errors"]
            assert "Couldn't resolve to a node" in refused["message"]
        [hook] = (await fetch_app_in_saleor(client, theirs)).app.webhooks or ()
        assert hook.is_active
