"""Each request of a real Saleor through the real route: signature, parsing, recipient, handler, answer."""

import json
from collections.abc import AsyncIterator
from datetime import datetime
from decimal import Decimal
from typing import Any

import httpx2
import pytest

from integration_base_tests.clock import Clock
from saleor_app_sdk.events import (
    PaymentGatewayInitializeSession,
    RequestedAction,
    SessionEvent,
    TransactionRefundRequested,
)
from saleor_app_sdk.source import Address, Checkout, Order
from saleor_app_sdk_tests.fake_saleor import InMemoryStore, Row
from saleor_app_sdk_tests.recordings import API_URL, APP_ID, IDENTIFIER, JWKS, Recorded, webhooks
from saleor_app_sdk_tests.served_app import ScriptedHandlers, make_app, open_client

RECORDED = webhooks()
WITH_BODY = [recording for recording in RECORDED if recording.body]


@pytest.fixture
async def app_of_the_recordings(
    store: InMemoryStore, http: httpx2.AsyncClient, clock: Clock, handlers: ScriptedHandlers
) -> AsyncIterator[httpx2.AsyncClient]:
    store.put(Row(API_URL, app_id=APP_ID, token="a token", jwks=JWKS))
    async with open_client(make_app(store, http, clock, handlers=handlers, identifier=IDENTIFIER)) as client:
        yield client


@pytest.mark.parametrize("recorded", RECORDED, ids=str)
async def test_it_is_answered(
    app_of_the_recordings: httpx2.AsyncClient, clock: Clock, handlers: ScriptedHandlers, recorded: Recorded
) -> None:
    said: dict[str, Any] = json.loads(recorded.body, parse_float=Decimal) if recorded.body else {}
    if said:
        clock.now = datetime.fromisoformat(said["issuedAt"])

    answer = await app_of_the_recordings.post(recorded.path, content=recorded.body, headers=recorded.headers)

    if said and said.get("transaction", {}) is not None:
        assert answer.status_code == 200, answer.text
        check(handlers, said)
    else:
        # An empty retry; or the transaction that an `actions` in an asynchronous answer had made unreadable.
        assert answer.status_code == 400
        assert answer.json()["result"].endswith("_FAILURE")
        assert handlers.events == []


def check(handlers: ScriptedHandlers, said: dict[str, Any]) -> None:
    """Compare what the handler saw with the raw request, field by field."""
    (event,) = handlers.events
    assert type(event).__name__ == said["__typename"]
    assert event.version == said["version"]
    if isinstance(event, PaymentGatewayInitializeSession):
        assert event.amount == said["amount"]
        assert event.data == said["data"]
    else:
        assert isinstance(event, SessionEvent | RequestedAction)
        assert event.transaction.id == said["transaction"]["id"]
        assert [entry.id for entry in event.transaction.events] == [
            entry["id"] for entry in said["transaction"]["events"]
        ]
        assert event.action.amount == said["action"]["amount"]
        assert event.action.action_type == said["action"]["actionType"]
    if isinstance(event, RequestedAction):
        newest = max(said["transaction"]["events"], key=lambda entry: entry["createdAt"])
        assert newest["type"] == f"{event.kind}_REQUEST"
        assert newest["pspReference"] == ""
        assert event.request_key == newest["idempotencyKey"]
        assert event.source is not None
        assert event.source.channel.slug == "uah"
    else:
        assert isinstance(event, PaymentGatewayInitializeSession | SessionEvent)
        check_source(event.source, said["sourceObject"])


def check_source(source: Checkout | Order, said: dict[str, Any]) -> None:
    assert type(source).__name__ == said["__typename"]
    assert source.email == said.get("email", said.get("userEmail")) == "taras@example.com"
    assert source.language_code == "EN"
    assert source.number == said.get("number")
    assert (source.first_name, source.last_name, source.phone) == ("Тарас", "Шевченко", "+380501234567")
    assert source.user_id is None
    assert source.total is not None
    assert source.total.gross.amount == said["total"]["gross"]["amount"]
    assert [line.id for line in source.lines] == [line["id"] for line in said["lines"]]
    assert isinstance(source.billing_address, Address)
    assert source.billing_address.street_address_1 == "вул. Хрещатик 1"
    assert source.billing_address.street_address_2 == "кв. 2"


def test_a_granted_refund_is_among_them() -> None:
    """The one event whose shape depends on how staff asked."""
    refunds = [
        TransactionRefundRequested.model_validate_json(recording.body)
        for recording in WITH_BODY
        if recording.event == "transaction_refund_requested" and b'"transaction": null' not in recording.body
    ]
    granted = [refund.granted_refund for refund in refunds if refund.granted_refund]
    assert granted
    assert len(granted) < len(refunds)
    with_lines = next(granted_refund for granted_refund in granted if granted_refund.lines)
    assert with_lines.lines
    assert with_lines.lines[0].order_line.id.startswith("T3JkZXJMaW5l")
    assert with_lines.amount is not None
    assert with_lines.amount.amount == Decimal("200.25")
    assert with_lines.reason == "пошкоджено"
