"""A refund is followed through logs and timeline by one id: from Saleor's request to the report of its outcome."""

import json
from decimal import Decimal
from typing import Any

import pytest

from app.bootstrap import open_services
from app.core.vocabulary import Kind
from app.reports.timeline import timeline
from app.store.aggregates import ByTransaction
from integration_base_tests.waiting import eventually
from tests.journeys.stack import Stack
from tests.journeys.stories import begin, order_id_of, wait_for_event


def lines(shop: Stack) -> list[dict[str, Any]]:
    """What the app has logged, as machines read it."""
    return [json.loads(line) for line in shop.app.log.read_text().splitlines() if line.startswith("{")]


@pytest.mark.long
async def test_a_refund_has_one_id_from_saleors_request_to_the_report_of_its_outcome(shop: Stack) -> None:
    await shop.app.stop()
    shop.app.environment = {**shop.app.environment, "APP_LOG_FORMAT": "json"}
    await shop.app.start()
    checkout_id, session = await begin(shop)
    await shop.gateway.pay(order_id_of(session))
    transaction = await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
    await shop.saleor.complete(checkout_id)
    await shop.saleor.refund(transaction.id, Decimal("100.00"))
    await wait_for_event(shop, transaction.id, "REFUND_SUCCESS")

    async with open_services(shop.settings) as services:
        installation = await services.installations.find(shop.saleor.api_url)
        assert installation is not None
        payment = await services.payments.find(ByTransaction(installation.id, transaction.id))
    assert payment is not None
    (refund,) = [operation for operation in payment.operations if operation.kind is Kind.REFUND]
    assert refund.trace_id
    assert {event.trace_id for event in payment.events if event.type == "REFUND_SUCCESS"} == {refund.trace_id}
    steps = {entry.what for entry in timeline(payment, []) if entry.trace_id == refund.trace_id}
    assert steps >= {"requested", "asked", "reported"}, "staff read it out to whoever has the logs"

    async def story() -> list[dict[str, Any]] | None:
        of_it = [line for line in lines(shop) if line.get("trace_id") == refund.trace_id]
        done = {line["event"] for line in of_it} >= {"notification.processed", "event.reported"}
        return of_it if done else None

    story_of_it = await eventually(story)
    said = [line["event"] for line in story_of_it]
    assert {"gateway.called", "webhook.answered", "notification.processed", "event.reported", "saleor.called"} <= set(
        said
    )
    (webhook,) = [line for line in story_of_it if line["event"] == "webhook.answered"]
    assert (webhook["webhook"], webhook["outcome"]) == ("transaction_refund_requested", "answered")
    assert webhook["saleor"] == shop.saleor.api_url
    asked = [line for line in story_of_it if line["event"] == "gateway.called"]
    assert ("POST /refund", "2xx") in {(line["endpoint"], line["outcome"]) for line in asked}
    assert refund.trace_id != payment.create.trace_id, "another request, another trace"
    paid = [line["event"] for line in lines(shop) if line.get("trace_id") == payment.create.trace_id]
    assert {"webhook.answered", "gateway.called", "notification.processed", "event.reported"} <= set(paid)
