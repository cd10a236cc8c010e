"""Saleor tells the app that it was deleted, switched off or on: such an event shows nothing but itself."""

from typing import Any

import pytest

from saleor_app_sdk.events import AppDeleted, AppEvent, AppStatusChanged
from saleor_app_sdk_tests.fake_saleor import Row
from saleor_app_sdk_tests.served_app import AppClient
from saleor_app_sdk_tests.test_deleted_customers import body_of as of_a_customer

EVENTS: dict[str, type[AppEvent]] = {"app_deleted": AppDeleted, "app_status_changed": AppStatusChanged}


def body_of(event: str, **more: Any) -> dict[str, Any]:
    said = of_a_customer("account_deleted") | {"__typename": EVENTS[event].__name__}
    del said["user"]
    return said | {"app": {"id": said["recipient"]["id"]}} | more


@pytest.mark.parametrize("event", EVENTS)
async def test_the_app_hears_of_itself_and_of_others(app_client: AppClient, installed: Row, event: str) -> None:
    answer = await app_client.deliver(body_of(event), event)
    assert (answer.status_code, answer.json()) == (200, {})
    await app_client.deliver(body_of(event, app=None), event)
    await app_client.deliver(body_of(event, app={"id": "QXBwOjk5"}), event)
    heard = [event for event in app_client.handlers.events if isinstance(event, AppEvent)]
    assert [type(app_event) for app_event in heard] == [EVENTS[event]] * 3
    assert [app_event.is_about_recipient for app_event in heard] == [True, True, False]


@pytest.mark.parametrize("event", EVENTS)
async def test_it_must_be_signed_for_us_and_of_that_kind(app_client: AppClient, installed: Row, event: str) -> None:
    said = body_of(event)
    [other] = EVENTS.keys() - {event}
    assert (await app_client.deliver(said, event, Saleor_Signature="a..b")).status_code == 401
    assert (await app_client.deliver(said, other)).status_code == 400
    earlier = said | {"recipient": {"id": "QXBwOjk5", "identifier": installed.app_id}}
    assert (await app_client.deliver(earlier, event)).status_code == 403, "of an installation that is over anyway"
    assert app_client.handlers.events == []
