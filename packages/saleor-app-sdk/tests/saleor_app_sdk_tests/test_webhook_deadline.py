"""Saleor reads an answer for 18 seconds, counted from its request: whatever takes the time, it is answered within."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any, Never

import httpx2
import pytest
from starlette.responses import Response

from integration_base_tests.clock import Clock
from saleor_app_sdk import webhooks
from saleor_app_sdk.errors import TooLateError
from saleor_app_sdk.responses import ActionResponse, AvailableAction
from saleor_app_sdk.webhooks import BUDGET, GRACE_PERIOD
from saleor_app_sdk_tests.fake_saleor import (
    API_URL,
    IDENTIFIER,
    InMemoryStore,
    MinimalSaleor,
    Row,
    initialize_body,
    refund_body,
    signing_key,
)
from saleor_app_sdk_tests.served_app import AppClient, ScriptedHandlers, make_app, open_client

pytestmark = pytest.mark.law(11)

SHORT = timedelta(seconds=0.3)
_INITIALIZE = "transaction_initialize_session"


class Silent(Response):
    """An answer that never comes."""

    async def __call__(self, *_: Any) -> None:
        await asyncio.Event().wait()


@pytest.fixture
async def hasty(
    app_client: AppClient,
    store: InMemoryStore,
    clock: Clock,
    handlers: ScriptedHandlers,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[AppClient]:
    """A app_client at which an answer must be there in less than half a second."""
    monkeypatch.setattr(webhooks, "GRACE_PERIOD", timedelta(seconds=0.1))
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app_client.saleor.asgi)) as http:
        app = make_app(store, http, clock, handlers=handlers, budget=SHORT)
        async with open_client(app) as client, asyncio.timeout(10):
            yield AppClient(client, app_client.saleor, handlers)


@pytest.mark.fault("saleor-slow")
def test_all_of_it_fits_into_saleors_patience() -> None:
    """The budget, then the time to record what came of calls, then the time to read what is recorded."""
    assert timedelta(seconds=18) > BUDGET + GRACE_PERIOD + GRACE_PERIOD


@pytest.mark.fault("gateway-slow")
async def test_a_handler_that_takes_too_long_is_answered_for_and_goes_on(hasty: AppClient, installed: Row) -> None:
    """Its calls may have moved money: what came of them must be recorded, and what is pending is not failed."""
    hasty.handlers.free.clear()
    answer = await hasty.deliver(refund_body())
    assert answer.status_code == 200
    assert list(answer.json()) == ["pspReference"]
    assert hasty.handlers.events == []
    hasty.handlers.free.set()
    await hasty.handlers.taken.wait()


async def test_a_session_whose_handler_takes_too_long_is_not_over(hasty: AppClient, installed: Row) -> None:
    hasty.handlers.free.clear()
    answer = await hasty.deliver(initialize_body(), _INITIALIZE)
    assert answer.json()["result"] == "CHARGE_ACTION_REQUIRED"
    hasty.handlers.free.set()


async def test_the_definition_says_what_is_answered_then(hasty: AppClient, installed: Row) -> None:
    errors: list[Exception] = []

    def otherwise(error: Exception) -> ActionResponse:
        errors.append(error)
        return ActionResponse.pending(AvailableAction.REFUND, psp_reference="as-recorded")

    hasty.handlers.failure_answer = otherwise
    hasty.handlers.free.clear()
    assert (await hasty.deliver(refund_body())).json() == {"pspReference": "as-recorded"}
    assert [type(error) for error in errors] == [TooLateError]
    hasty.handlers.free.set()


async def test_an_error_after_the_answer_is_logged_and_hurts_nobody(hasty: AppClient, installed: Row) -> None:
    def breaks() -> Never:
        raise RuntimeError("it broke")

    hasty.handlers.says = breaks
    hasty.handlers.free.clear()
    await hasty.deliver(refund_body())
    hasty.handlers.free.set()
    await hasty.handlers.taken.wait()
    hasty.handlers.says = None
    assert (await hasty.deliver(refund_body())).json()["result"] == "REFUND_SUCCESS"


@pytest.mark.fault("saleor-slow")
@pytest.mark.parametrize("late", ["the keys", "the store"])
async def test_who_cannot_be_verified_in_time_is_not_verified(
    hasty: AppClient, installed: Row, store: InMemoryStore, monkeypatch: pytest.MonkeyPatch, late: str
) -> None:
    async def never(_: str) -> Never:
        await asyncio.Event().wait()
        raise AssertionError

    if late == "the keys":
        hasty.saleor.jwks = Silent()
    else:
        monkeypatch.setattr(store, "find", never)
    hasty.saleor.key = signing_key("second")
    answer = await hasty.deliver(refund_body())
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "TOO_LATE")
    assert hasty.handlers.events == []


async def test_a_token_that_cannot_be_proven_in_time(
    hasty: AppClient, installed: Row, store: InMemoryStore, saleor: MinimalSaleor
) -> None:
    store.put(replace(installed, pending_tokens=("new-token",)))
    saleor.graphql = Silent()
    answer = await hasty.deliver(refund_body(recipient={"id": "QXBwOjI=", "identifier": IDENTIFIER}))
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "TOO_LATE")
    assert answer.json()["result"] == "REFUND_FAILURE", "nothing was done"
    assert hasty.handlers.events == []


async def test_the_handler_has_what_the_checks_have_left_of_the_time(
    app_client: AppClient, installed: Row, store: InMemoryStore
) -> None:
    """The budget begins at the arrival, not in the handler."""
    left: list[float] = []
    find = store.find

    async def slow(saleor_api_url: str) -> Row | None:
        await asyncio.sleep(0.05)
        return await find(saleor_api_url)

    store.find = slow  # type: ignore[method-assign] # as slow as a database can be

    def says() -> ActionResponse:
        left.append(app_client.handlers.contexts[-1].deadline.left)
        return ActionResponse.success(AvailableAction.REFUND, psp_reference="r", amount=Decimal(1), actions=[])

    app_client.handlers.says = says
    await app_client.deliver(refund_body())
    assert 0 < left[0] <= BUDGET.total_seconds() - 0.05


@pytest.mark.threat("flood")
async def test_a_body_that_does_not_come(
    store: InMemoryStore, http: httpx2.AsyncClient, clock: Clock, installed: Row
) -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    async with open_client(make_app(store, http, clock, budget=SHORT)) as client, asyncio.timeout(10):
        answer = await client.post(
            "/api/webhooks/transaction-refund-requested", content=body(), headers={"Saleor-Api-Url": API_URL}
        )
    assert answer.status_code == 408
