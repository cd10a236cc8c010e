"""Saleor tells that a customer is deleted: in the background, and again where it was not taken."""

from typing import Any

import pytest

from integration_base_tests.clock import Clock
from saleor_app_sdk.events import AccountDeleted, CustomerDeleted
from saleor_app_sdk.responses import GatewayConfigResponse, WebhookResponse
from saleor_app_sdk_tests.fake_saleor import InMemoryStore, Row
from saleor_app_sdk_tests.served_app import AppClient
from saleor_app_sdk_tests.test_stored_methods import asked

EVENTS = {"customer_deleted": CustomerDeleted, "account_deleted": AccountDeleted}


def body_of(event: str, **more: Any) -> dict[str, Any]:
    said = asked(EVENTS[event].__name__, **more)
    del said["channel"]
    return said


@pytest.fixture(params=EVENTS)
def event(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


async def test_the_app_hears_who_it_was(app_client: AppClient, installed: Row, event: str) -> None:
    answer = await app_client.deliver(body_of(event), event)
    assert (answer.status_code, answer.json()) == (200, {})
    (heard,) = app_client.handlers.events
    assert type(heard) is EVENTS[event]
    assert heard.user.id == "VXNlcjox"


async def test_one_that_saleor_sends_late_is_heard(
    app_client: AppClient, installed: Row, store: InMemoryStore, clock: Clock, event: str
) -> None:
    """Its queue was long, or staff send it again once the app is back. Nobody else says so a second time."""
    said = body_of(event)
    clock.forward(days=14)
    answer = await app_client.deliver(said, event)
    assert (answer.status_code, len(app_client.handlers.events)) == (200, 1)
    assert store.heard == [], "what it says of its Saleor may be over"


async def test_one_from_the_future_is_refused(app_client: AppClient, installed: Row, clock: Clock, event: str) -> None:
    said = body_of(event)
    clock.forward(minutes=-6)
    answer = await app_client.deliver(said, event)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "FROM_THE_FUTURE")


def boom() -> WebhookResponse:
    raise RuntimeError("it broke")


@pytest.mark.parametrize("says", [boom, lambda: GatewayConfigResponse(data={})])
async def test_what_has_failed_saleor_sends_again(app_client: AppClient, installed: Row, event: str, says: Any) -> None:
    """There is no answer that says so, and after a 4xx Saleor gives up."""
    app_client.handlers.says = says
    answer = await app_client.deliver(body_of(event), event)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "APP_ERROR")
    assert "it broke" not in answer.text


@pytest.mark.parametrize("lacking", [{"user": None}, {"user": {}}, {"user": {"id": None}}, {"recipient": None}])
async def test_without_a_customer_nothing_is_done(
    app_client: AppClient, installed: Row, event: str, lacking: dict[str, Any]
) -> None:
    assert (await app_client.deliver(body_of(event) | lacking, event)).status_code == 400
    assert app_client.handlers.events == []


async def test_it_must_be_signed_for_us_and_of_that_kind(app_client: AppClient, installed: Row, event: str) -> None:
    said = body_of(event)
    [other] = EVENTS.keys() - {event}
    assert (await app_client.deliver(said, event, Saleor_Signature="a..b")).status_code == 401
    assert (await app_client.deliver(said, event, Saleor_Signature=None)).status_code == 401
    assert (await app_client.deliver(said, other)).status_code == 400
    assert (await app_client.deliver(b"", event)).status_code == 400
    somebody = said | {"recipient": {"id": "QXBwOjk5", "identifier": "another.app"}}
    assert (await app_client.deliver(somebody, event)).status_code == 403
    assert app_client.handlers.events == []
