"""Customers who are deleted: what apps hear of it, and which, by the rules of the real Saleor."""

import pytest

from integration_base_tests.loopback import json_reply
from saleor_app_sdk.testing.client import FakeSaleor
from saleor_app_sdk.testing.views import NewCheckout
from saleor_app_sdk.testing.vocabulary import HANDLE_PAYMENTS, MANAGE_USERS, WebhookEvent
from saleor_app_sdk_tests.testing.stub import Stub

OLENA, TARAS = "VXNlcjox", "VXNlcjoy"
BY_STAFF, THEMSELVES = WebhookEvent.CUSTOMER_DELETED, WebhookEvent.ACCOUNT_DELETED


async def install(saleor: FakeSaleor, stub: Stub, *permissions: str) -> None:
    stub.manifest["permissions"] = [HANDLE_PAYMENTS, MANAGE_USERS]
    stub.manifest["webhooks"] += [
        {
            "name": event.value,
            "targetUrl": f"{stub.url}/{event.value}",
            "query": f"subscription {{ event {{ ... on {event.typename} {{ issuedAt user {{ id }} }} }} }}",
            "asyncEvents": [event.enum_name],
        }
        for event in (BY_STAFF, THEMSELVES)
    ]
    done = await saleor.install(stub.manifest_url, permissions)
    assert done.status == "INSTALLED", done.message


@pytest.mark.parametrize("themselves", [False, True])
async def test_apps_hear_of_it_in_the_background_once(saleor: FakeSaleor, stub: Stub, *, themselves: bool) -> None:
    await install(saleor, stub, HANDLE_PAYMENTS, MANAGE_USERS)
    event, other = (THEMSELVES, BY_STAFF) if themselves else (BY_STAFF, THEMSELVES)
    stub.answer(event, json_reply({}))
    await saleor.delete_customer(OLENA, themselves=themselves)
    await saleor.wait_for_background()
    [heard] = stub.asked_for(event.value)
    assert heard.json["user"] == {"id": OLENA}
    assert heard.header("Saleor-Event") == event.value
    assert ".." in heard.header("Saleor-Signature")
    assert stub.asked_for(other.value) == []
    assert all(delivery.unplayed == [] for delivery in await saleor.deliveries())


async def test_an_app_without_the_permission_hears_nothing(saleor: FakeSaleor, stub: Stub) -> None:
    await install(saleor, stub, HANDLE_PAYMENTS)
    await saleor.delete_customer(OLENA)
    await saleor.wait_for_background()
    assert stub.asked_for(BY_STAFF.value) == []


async def test_nobody_is_told_of_while_the_app_is_inactive(saleor: FakeSaleor, stub: Stub) -> None:
    await install(saleor, stub, HANDLE_PAYMENTS, MANAGE_USERS)
    await saleor.deactivate()
    await saleor.delete_customer(OLENA)
    await saleor.wait_for_background()
    assert stub.asked_for(BY_STAFF.value) == []


async def test_after_a_5xx_it_is_sent_again_and_empty_as_ever(saleor: FakeSaleor, stub: Stub) -> None:
    await install(saleor, stub, HANDLE_PAYMENTS, MANAGE_USERS)
    stub.answer(BY_STAFF, json_reply({}, 503), json_reply({}, 503), json_reply({}))
    await saleor.delete_customer(OLENA)
    await saleor.wait_for_background()
    assert [bool(request.body) for request in stub.asked_for(BY_STAFF.value)] == [True, False, False]


async def test_after_a_4xx_it_is_not(saleor: FakeSaleor, stub: Stub) -> None:
    await install(saleor, stub, HANDLE_PAYMENTS, MANAGE_USERS)
    stub.answer(BY_STAFF, json_reply({}, 400))
    await saleor.delete_customer(OLENA)
    await saleor.wait_for_background()
    assert len(stub.asked_for(BY_STAFF.value)) == 1


async def test_checkouts_go_with_their_customer_and_no_others(saleor: FakeSaleor, stub: Stub) -> None:
    hers = await saleor.create_checkout(NewCheckout(user={"id": OLENA}))
    his = await saleor.create_checkout(NewCheckout(user={"id": TARAS}))
    await saleor.delete_customer(OLENA)
    with pytest.raises(LookupError):
        await saleor.checkout(hers.id)
    assert (await saleor.checkout(his.id)).id == his.id


async def test_what_is_asynchronous_is_no_synchronous_event(saleor: FakeSaleor, stub: Stub) -> None:
    for wrong in ({"syncEvents": ["CUSTOMER_DELETED"]}, {"asyncEvents": ["TRANSACTION_INITIALIZE_SESSION"]}):
        query = "subscription { event { ... on CustomerDeleted { user { id } } } }"
        stub.manifest["webhooks"] = [{"name": "x", "targetUrl": f"{stub.url}/x", "query": query} | wrong]
        assert (await saleor.install(stub.manifest_url)).status == "FAILED"
