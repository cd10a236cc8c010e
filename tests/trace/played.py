"""The three stories that are counted, each played once before, so that what is only done at first is not counted."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
from fastapi import FastAPI

from app.flows.notifications import Receipt
from app.store.database import Database, create_engine
from app.store.migrate import migrate
from app.store.vault import KEY_BYTES, Vault
from app.worker.loop import Worker
from integration_base.exact_json import dumps
from integration_base_tests.clock import Clock
from integration_base_tests.loopback import json_reply
from saleor_app_sdk.responses import WebhookResponse
from saleor_app_sdk.webhook_definition import WebhookContext
from tests.dashboard.dashboard_app import StaffClient, open_staff_client
from tests.dashboard.payments.test_payment_actions import forms
from tests.payments.fake_gateway import FakeGateway, open_fake_gateway, operation, payment
from tests.payments.shop import SALEOR, Shop, open_shop, session_event, source_object
from tests.payments.test_webhooks import app_of
from tests.trace.count import Counter, Counts

_INITIALIZE = "TRANSACTION_INITIALIZE_SESSION"

_INITIALIZE_STORY = "initialize webhook, verified, to its answer"
_NOTIFICATION_STORY = "gateway's notification, to Saleor's booked event"
_REFUND_STORY = "refund on the app's page, to the page that follows"

# How many statements of the database a story may take: each costs the time of a round trip, while somebody waits and
# the payment may be locked. A story that takes fewer gets a smaller budget.
BUDGETS = {
    _INITIALIZE_STORY: 8,
    _NOTIFICATION_STORY: 12,
    _REFUND_STORY: 15,
}
TRANSACTIONS = {
    _INITIALIZE_STORY: 2,  # what will be asked of the gateway, and what it answered
    _NOTIFICATION_STORY: 3,  # what it notified of, what follows from that, and that Saleor has it
}
"""How many transactions a payment alone takes, from the shopper's first step to its event in Saleor."""


@dataclass(frozen=True)
class Story:
    """Something that was done once while it was counted."""

    name: str
    counts: Counts

    @property
    def budget(self) -> int:
        """How many statements it may take."""
        return BUDGETS[self.name]


async def play() -> list[Story]:
    """Return the three stories, counted."""
    async with _open_staff_client() as staff_client:
        counted = []
        for checkout in ("Q2hlY2tvdXQ6MQ==", "Q2hlY2tvdXQ6Mg=="):
            counted = [
                Story(_INITIALIZE_STORY, await _initialize(staff_client, checkout)),
                Story(_NOTIFICATION_STORY, await _notification(staff_client.shop)),
                Story(_REFUND_STORY, await _refund(staff_client)),
            ]
            staff_client.shop.transaction = staff_client.shop.saleor.new_transaction()
        return counted


@asynccontextmanager
async def _open_staff_client() -> AsyncIterator[StaffClient]:
    clock, vault = Clock(), Vault([b"\x07" * KEY_BYTES])
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'payments.sqlite'}"
        await migrate(url)
        database = Database(create_engine(url))
        try:
            async with (
                open_fake_gateway(FakeGateway()) as gateway,
                open_shop(database, vault, clock, gateway) as shop,
                open_staff_client(shop) as staff_client,
            ):
                yield staff_client
        finally:
            await database.close()


async def _initialize(staff_client: StaffClient, checkout: str) -> Counts:
    """Post what Saleor posts; count from when it is verified, which is when its handler is called."""
    shop = staff_client.shop
    counter = Counter(shop.services.database.engine)
    saleor = app_of(shop)
    webhook = saleor._webhooks[_INITIALIZE]

    async def counted(event: Any, context: WebhookContext) -> WebhookResponse:
        counter.start()
        return await webhook.handler(event, context)

    saleor._webhooks[_INITIALIZE] = replace(webhook, handler=counted)
    app = FastAPI()
    app.include_router(saleor.router())
    event = session_event(shop.transaction.id, sourceObject=source_object(id=checkout))
    body = dumps(event | {"__typename": webhook.typename}).encode()
    headers = {
        "Content-Type": "application/json",
        "Saleor-Event": webhook.header,
        "Saleor-Signature": staff_client.key.sign(body),
        "Saleor-Api-Url": SALEOR,
    }
    shop.gateway.will_answer(shop.gateway.page())
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://app.test") as http:
        try:
            answer = await http.post(webhook.path, content=body, headers=headers)
        finally:
            counter.stop()
    assert answer.json()["result"] == "CHARGE_ACTION_REQUIRED", answer.text
    return counter.counts


async def _notification(shop: Shop) -> Counts:
    """The gateway says that the shopper has paid; the worker of the same process, which is idle, tells Saleor."""
    worker = Worker(shop.saleor)
    with worker.attached_to(shop.services), Counter(shop.services.database.engine).counting() as counts:
        assert await shop.notify(payment(shop.order_id)) is Receipt.KEPT
        await worker.finish_claimed_jobs()
    assert shop.amounts.charged, "Saleor has booked no charge"
    return counts


async def _refund(staff_client: StaffClient) -> Counts:
    """Staff press the button on the payment's page."""
    shop = staff_client.shop
    shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, "100.00")))
    key = (await forms(staff_client))["refund"]
    with Counter(shop.services.database.engine).counting() as counts:
        page = await staff_client.do(f"/payments/{shop.order_id}/refund", key=key, amount="100.00")
    assert "The amount was refunded." in page.text
    await shop.work()
    return counts
