"""Small beginnings of stories: a checkout of 569.50 UAH, a transaction on it, a clock."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from itertools import count
from typing import Any
from uuid import UUID

from saleor_app_sdk.testing.defaults import basket
from saleor_app_sdk.testing.records import Checkout, EventClock, Order, Transaction
from saleor_app_sdk.testing.rules.recording import create_request_event, record_session_response
from saleor_app_sdk.testing.vocabulary import EventType

TOTAL = Decimal("569.50")
_tokens = count(1)


def frozen_event_clock() -> EventClock:
    """Return a event_clock whose clock stands still at the time of the recordings."""
    return EventClock(lambda: datetime(2026, 11, 21, 2, 30, tzinfo=UTC))


def new_checkout() -> Checkout:
    """Return a checkout over 569.50 UAH, as in the recordings."""
    return Checkout(token=str(UUID(int=next(_tokens))), basket=basket())


def an_order() -> Order:
    """Return an order over 569.50 UAH."""
    return Order(token=str(UUID(int=next(_tokens))), number="24", basket=basket())


def new_transaction(source: Checkout | Order, event_clock: EventClock) -> Transaction:
    """Return a transaction on it in which nothing has happened."""
    now = event_clock.now()
    transaction = Transaction(
        token=str(UUID(int=next(_tokens))),
        currency="UAH",
        app_identifier="local.capture.payment",
        created_at=now,
        modified_at=now,
        idempotency_key="key",
    )
    if isinstance(source, Order):
        transaction.order = source
    else:
        transaction.checkout = source
    source.transactions.append(transaction)
    return transaction


def paid_transaction(source: Checkout | Order, event_clock: EventClock, result: str, reference: str) -> Transaction:
    """Return a transaction on it whose initialize was answered with this result."""
    transaction = new_transaction(source, event_clock)
    request = create_request_event(transaction, EventType.CHARGE_REQUEST, TOTAL, event_clock, idempotency_key="key")
    actions = ["CHARGE", "REFUND", "CANCEL"]
    record_session_response(
        transaction, request, {"result": result, "pspReference": reference, "actions": actions}, event_clock
    )
    return transaction


def json_of(answer: dict[str, Any], *, session: bool) -> Any:
    """Return what Saleor has in hand of an answer: the JSON value, or None if the answer did not count."""
    if answer.get("drop") or (session and not 200 <= answer["status"] < 300):
        return None
    body = answer["body"]
    if not isinstance(body, str):
        return body
    try:
        return json.loads(body)
    except ValueError:
        return None
