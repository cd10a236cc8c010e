"""Granted refunds over HTTP: lost answers, reports before answers, two at once, an app that asks (contract, A.10)."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import httpx2
import pytest

from integration_base_tests.loopback import Behaviour, ReceivedRequest, json_reply
from saleor_app_sdk.testing import Action, FakeSaleor, RequestedAction, Serving
from saleor_app_sdk.testing.views import OrderView, TransactionView
from saleor_app_sdk.testing.vocabulary import HANDLE_PAYMENTS, MANAGE_ORDERS, WebhookEvent
from saleor_app_sdk_tests.testing.orders import an_order
from saleor_app_sdk_tests.testing.reporting_app import ReportingApp
from saleor_app_sdk_tests.testing.stub import Stub

CHARGE = WebhookEvent.TRANSACTION_CHARGE_REQUESTED
REFUND = WebhookEvent.TRANSACTION_REFUND_REQUESTED
TEN = Decimal(10)
HISTORY = "query($id: ID) { transaction(id: $id) { events { type pspReference idempotencyKey } } }"
GRANTS = "query($id: ID) { order(id: $id) { grantedRefunds { id status transactionEvents { type pspReference } } } }"
REQUEST = """
mutation($grant: ID!, $transaction: ID) {
  transactionRequestRefundForGrantedRefund(grantedRefundId: $grant, id: $transaction) {
    transaction { id } errors { field code message }
  }
}
"""


@dataclass
class Shop:
    """A paid order of an installed app, and the app's token."""

    saleor: FakeSaleor
    app: Stub
    teller: ReportingApp
    order: OrderView
    transaction: TransactionView

    async def grant(self, amount: Decimal = TEN) -> str:
        granted = (await self.saleor.grant_refund(self.order.id, amount)).granted_refund
        assert granted is not None
        return granted.id

    async def ask(self, grant: str) -> list[str]:
        """Return the codes of the errors, if any; the background is over then."""
        answered = await self.saleor.request_refund_for_granted_refund(grant)
        await self.saleor.wait_for_background()
        return [error.code for error in answered.errors]

    async def status(self) -> str:
        return (await self.saleor.order(self.order.id)).granted_refunds[-1].status

    async def requests(self) -> list[tuple[str, str | None]]:
        """Return the references of the REFUND_REQUESTs as the app reads them, and their keys; oldest first."""
        answer = await self.teller.post(HISTORY, {"id": self.transaction.id})
        events = answer.json()["data"]["transaction"]["events"]
        asked = [event for event in reversed(events) if event["type"] == "REFUND_REQUEST"]
        return [(event["pspReference"], event["idempotencyKey"]) for event in asked]

    async def app_asks(self, grant: str) -> Any:
        answer = await self.teller.post(REQUEST, {"grant": grant, "transaction": self.transaction.id})
        await self.saleor.wait_for_background()
        return answer.json()["data"]["transactionRequestRefundForGrantedRefund"]


@pytest.fixture
async def shop(saleor: FakeSaleor, installed: Stub) -> AsyncIterator[Shop]:
    order, transaction = await an_order(saleor, installed, "CHARGE_SUCCESS")
    [app] = await saleor.apps()
    async with httpx2.AsyncClient() as http:
        teller = ReportingApp(http, saleor.api_url, app.token, transaction.id)
        yield Shop(saleor, installed, teller, order, transaction)


def success(reference: str) -> Behaviour:
    return json_reply({"result": "REFUND_SUCCESS", "pspReference": reference})


def only_if_it_can_be_read(asked: ReceivedRequest) -> Behaviour:
    """Answer a retry as an app has to: its body is empty, though validly signed."""
    if asked.body:
        return success("R1")
    return json_reply({"result": "REFUND_FAILURE", "pspReference": "F1", "message": "empty request"}, status=400)


async def test_answer_that_a_proxy_swallows_is_asked_for_again_with_an_empty_body(shop: Shop) -> None:
    shop.app.answer(REFUND, only_if_it_can_be_read)
    await shop.saleor.set_faults(webhook_answer_lost="bad_gateway", webhook_times=1)

    await shop.ask(await shop.grant())

    first, retry = await shop.saleor.deliveries(REFUND.value)
    assert [asked.body != b"" for asked in shop.app.asked_for(REFUND.value)] == [True, False]
    assert (first.status, retry.status, retry.attempt, retry.body) == (502, 400, 2, "")
    assert [reference for reference, _ in await shop.requests()] == ["F1"]
    assert await shop.status() == "FAILURE"

    await shop.teller.told(type="REFUND_SUCCESS", pspReference="F1", amount=10)

    assert await shop.status() == "SUCCESS"
    assert (await shop.saleor.transaction(shop.transaction.id)).amounts.refunded == TEN


async def test_answer_on_a_broken_connection_is_not_asked_for_again(shop: Shop) -> None:
    shop.app.answer(REFUND, success("R1"))
    await shop.saleor.set_faults(webhook_answer_lost="dropped", webhook_times=1)

    await shop.ask(await shop.grant())

    [delivery] = await shop.saleor.deliveries(REFUND.value)
    failure = (await shop.saleor.transaction(shop.transaction.id)).event("REFUND_FAILURE")
    [(reference, key)] = await shop.requests()
    assert (delivery.status, delivery.error) == (None, "RemoteProtocolError: the answer broke off")
    assert (failure.message, failure.psp_reference) == ("Failed to delivery request.", None)
    assert (reference, key is not None, await shop.status()) == ("", True, "FAILURE")
    assert await shop.ask(await shop.grant()) == []
    assert await shop.status() == "SUCCESS", "the trouble is over after one webhook"


async def test_report_before_the_answer_leaves_the_refund_pending_until_the_app_asks_again(
    shop: Shop, serving_saleor: Serving
) -> None:
    """The whole cure: reverse, ask as the app, answer from the record. The gateway moved money once."""
    shop.app.answer(REFUND, success("R1"), success("R2"))
    grant, on_its_way, arrives = await shop.grant(), asyncio.Event(), asyncio.Event()

    async def travels(_seconds: float) -> None:
        on_its_way.set()
        await arrives.wait()

    serving_saleor.engine.state.sleep = travels
    await shop.saleor.set_faults(webhook_answer_delay=1, webhook_times=1)

    await shop.saleor.request_refund_for_granted_refund(grant)
    await on_its_way.wait()
    overtaken = await shop.teller.told(type="REFUND_SUCCESS", pspReference="R1", amount=10)
    arrives.set()
    await shop.saleor.wait_for_background()
    hangs = (await shop.status(), [error["code"] for error in (await shop.app_asks(grant))["errors"]])
    await shop.teller.told(type="REFUND_REVERSE", pspReference="R1", amount=10)
    opened = await shop.status()
    again = await shop.app_asks(grant)

    assert overtaken["alreadyProcessed"] is False
    assert hangs == ("PENDING", ["REFUND_IS_PENDING"])
    assert (opened, again["errors"], again["transaction"]["id"]) == ("NONE", [], shop.transaction.id)
    assert await shop.status() == "SUCCESS"
    amounts = (await shop.saleor.transaction(shop.transaction.id)).amounts
    assert (amounts.refunded, amounts.charged) == (TEN, Decimal("559.50"))
    assert [error["code"] for error in (await shop.app_asks(grant))["errors"]] == ["REFUND_ALREADY_PROCESSED"]


async def test_app_without_the_permission_cannot_ask_and_nobody_for_what_is_not_there(
    saleor: FakeSaleor, shop: Shop
) -> None:
    unknown = await shop.app_asks("T3JkZXJHcmFudGVkUmVmdW5kOjk5")
    await saleor.uninstall()
    await saleor.install(shop.app.manifest_url, permissions=[])
    [app] = await saleor.apps()
    shop.teller.token = app.token

    denied = await shop.teller.post(REQUEST, {"grant": "T3JkZXJHcmFudGVkUmVmdW5kOjE="})

    assert [error["code"] for error in unknown["errors"]] == ["NOT_FOUND"]
    assert denied.json()["errors"][0]["extensions"]["exception"]["code"] == "PermissionDenied"


async def test_status_of_a_granted_refund_is_for_apps_that_manage_orders(saleor: FakeSaleor, shop: Shop) -> None:
    shop.app.answer(REFUND, success("R1"))
    grant = await shop.grant()
    await shop.ask(grant)
    denied = (await shop.teller.post(GRANTS, {"id": shop.order.id})).json()
    await saleor.uninstall()
    await saleor.install(shop.app.manifest_url, permissions=[HANDLE_PAYMENTS, MANAGE_ORDERS])
    [app] = await saleor.apps()
    shop.teller.token = app.token

    shown = (await shop.teller.post(GRANTS, {"id": shop.order.id})).json()

    assert (denied["data"]["order"], denied["errors"][0]["path"]) == (None, ["order", "grantedRefunds"])
    tied = [{"type": kind, "pspReference": "R1"} for kind in ("REFUND_SUCCESS", "REFUND_REQUEST")]
    assert shown["data"]["order"]["grantedRefunds"] == [{"id": grant, "status": "SUCCESS", "transactionEvents": tied}]


async def test_two_requests_of_the_same_moment_list_each_other(shop: Shop) -> None:
    shop.app.answer(REFUND, lambda asked: success(f"R{asked.json['action']['amount']}"))
    two = [
        RequestedAction(transaction_id=shop.transaction.id, action=Action.REFUND, amount=amount) for amount in (TEN, 20)
    ]

    answers = await shop.saleor.request_actions(*two)
    await shop.saleor.wait_for_background()

    bodies = [asked.json for asked in shop.app.asked_for(REFUND.value)]
    open_ones = [
        [(event["amount"]["amount"], event["pspReference"]) for event in body["transaction"]["events"]
         if event["type"] == "REFUND_REQUEST"]
        for body in bodies
    ]  # fmt: skip
    assert [answer.errors for answer in answers] == [[], []]
    assert sorted(body["action"]["amount"] for body in bodies) == [10.0, 20.0]
    assert open_ones == [[(20.0, ""), (10.0, "")]] * 2
    assert (await shop.saleor.transaction(shop.transaction.id)).amounts.refunded == 30


async def test_one_granted_refund_can_be_asked_for_twice_in_the_same_moment(shop: Shop) -> None:
    shop.app.answer(REFUND, json_reply({"pspReference": "R1"}))
    grant = await shop.grant()

    answers = await shop.saleor.request_actions(
        RequestedAction(granted_refund_id=grant), RequestedAction(granted_refund_id=grant)
    )
    await shop.saleor.wait_for_background()

    assert [answer.errors for answer in answers] == [[], []]
    assert [asked.json["grantedRefund"]["id"] for asked in shop.app.asked_for(REFUND.value)] == [grant, grant]
    assert await shop.status() == "PENDING"


async def test_app_that_is_inactive_is_not_asked_and_not_offered(saleor: FakeSaleor, shop: Shop) -> None:
    offered = await saleor.gateways()
    await saleor.deactivate()

    codes = await shop.ask(await shop.grant())

    failure = (await saleor.transaction(shop.transaction.id)).event("REFUND_FAILURE")
    assert codes == ["MISSING_TRANSACTION_ACTION_REQUEST_WEBHOOK"]
    assert failure.message == "No app or plugin is configured to handle requested action."
    assert (await shop.status(), shop.app.asked_for(REFUND.value)) == ("FAILURE", [])
    assert (len(offered), await saleor.gateways()) == (1, [])
    shop.app.answer(REFUND, success("R1"))
    await saleor.activate()
    assert await shop.ask(await shop.grant()) == []
    assert (await saleor.gateways(), await shop.status()) == (offered, "SUCCESS")


async def test_granted_refund_is_asked_of_an_app_that_is_installed_again(saleor: FakeSaleor, shop: Shop) -> None:
    grant = await shop.grant()
    await saleor.uninstall()
    alone = await shop.ask(grant)
    await saleor.install(shop.app.manifest_url)
    shop.app.answer(REFUND, success("R1"))

    assert (alone, await shop.ask(grant)) == (["MISSING_TRANSACTION_ACTION_REQUEST_WEBHOOK"], [])
    assert await shop.status() == "SUCCESS"


async def test_note_withdraws_what_staff_are_offered(shop: Shop) -> None:
    shop.app.answer(REFUND, json_reply({"pspReference": "R1"}))
    await shop.saleor.refund(shop.transaction.id, TEN)
    await shop.saleor.wait_for_background()
    offered = (await shop.saleor.transaction(shop.transaction.id)).actions

    await shop.teller.told(type="INFO", pspReference="note", amount=0, actions=[])

    assert offered == ["CANCEL", "CHARGE", "REFUND"]
    assert (await shop.saleor.transaction(shop.transaction.id)).actions == []


async def test_proxys_answer_to_a_session_is_a_failure_without_a_retry(saleor: FakeSaleor, installed: Stub) -> None:
    installed.answer(
        WebhookEvent.TRANSACTION_INITIALIZE_SESSION, json_reply({"result": "CHARGE_SUCCESS", "pspReference": "c"})
    )
    await saleor.set_faults(webhook_answer_lost="bad_gateway")
    checkout = await saleor.create_checkout()

    session = await saleor.initialize(checkout.id)

    assert session.event is not None
    assert (session.event.type, session.event.message) == ("CHARGE_FAILURE", "Failed to delivery request.")
    assert len(await saleor.deliveries(WebhookEvent.TRANSACTION_INITIALIZE_SESSION.value)) == 1
