"""Saleor's webhooks: each has its answer, also when something breaks in here."""

from typing import Any

import pytest

from app.bootstrap import MANIFEST
from app.flows.webhooks import define_webhooks
from integration_base.outbound import Deadline
from integration_base_tests.loopback import json_reply
from saleor_app_sdk.app import AppInfo, SaleorApp
from saleor_app_sdk.events import TransactionInitializeSession, TransactionProcessSession
from saleor_app_sdk.webhook_definition import WebhookContext, WebhookDefinition
from tests.payments.fake_gateway import operation
from tests.payments.shop import Shop, action_event, session_event


def app_of(shop: Shop) -> SaleorApp:
    """Return the app with its webhooks."""
    saleor = SaleorApp(
        info=AppInfo.read(MANIFEST, version="1.0"),
        manifest_folder=MANIFEST,
        api_base_url="https://pay.example.com",
        iframe_base_url=None,
        allowed_saleor_urls=("https://shop.example.com/graphql/",),
        store=shop.services.installations,
        http=shop.services.gateways._http,
        client=shop.saleor,
        now=shop.clock,
    )
    define_webhooks(saleor, shop.services, customers=True)
    return saleor


def defined(shop: Shop) -> dict[str, WebhookDefinition]:
    """Return the webhooks by the names of their events."""
    return dict(app_of(shop)._webhooks)


def context(shop: Shop) -> WebhookContext:
    return WebhookContext(shop.installation, shop.clock.now, "3.23.28", Deadline(12))


async def answer(webhook: WebhookDefinition, event: Any, shop: Shop) -> Any:
    """Answer as the SDK does: by the handler, or otherwise."""
    try:
        return await webhook.handler(event, context(shop))
    except Exception as error:  # noqa: BLE001 - whatever it is: that is what `on_error` is for
        assert webhook.on_error is not None
        return await webhook.on_error(event, context(shop), error)


def broken(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on something breaks in here after each gateway call, when all is recorded."""

    def fail(*_about: object) -> bool:
        raise RuntimeError("it broke")

    monkeypatch.setattr(shop.services.gateways, "is_comparison_due", fail)


async def test_each_event_has_its_answer(shop: Shop) -> None:
    webhooks = defined(shop)
    assert sorted(webhooks) == [
        "ACCOUNT_DELETED",
        "APP_DELETED",
        "APP_STATUS_CHANGED",
        "CUSTOMER_DELETED",
        "LIST_STORED_PAYMENT_METHODS",
        "PAYMENT_GATEWAY_INITIALIZE_SESSION",
        "STORED_PAYMENT_METHOD_DELETE_REQUESTED",
        "TRANSACTION_CANCELATION_REQUESTED",
        "TRANSACTION_CHARGE_REQUESTED",
        "TRANSACTION_INITIALIZE_SESSION",
        "TRANSACTION_PROCESS_SESSION",
        "TRANSACTION_REFUND_REQUESTED",
    ]
    begun = TransactionInitializeSession.model_validate(session_event(shop.transaction.id))
    shop.gateway.will_answer(shop.gateway.page())
    assert (await answer(webhooks[begun.event_type], begun, shop)).result == "CHARGE_ACTION_REQUIRED"
    back = TransactionProcessSession.model_validate(session_event(shop.transaction.id))
    assert (await answer(webhooks[back.event_type], back, shop)).result == "CHARGE_ACTION_REQUIRED"
    for action in ("CHARGE", "REFUND"):
        event = action_event(shop.transaction.id, action, "1.00", f"key of {action}")
        assert (await answer(webhooks[event.event_type], event, shop)).result == f"{action}_FAILURE"
    shop.gateway.will_answer(json_reply([]))
    cancel = action_event(shop.transaction.id, "CANCEL", "0", "key of the cancelation")
    assert (await answer(webhooks[cancel.event_type], cancel, shop)).result is None


async def test_a_payment_that_was_recorded_has_not_failed_because_we_did(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(shop, monkeypatch)
    shop.gateway.will_answer(shop.gateway.page())
    event = TransactionInitializeSession.model_validate(session_event(shop.transaction.id))
    said = await answer(defined(shop)[event.event_type], event, shop)
    assert said.result == "CHARGE_ACTION_REQUIRED"
    assert said.data["checkoutUrl"]


async def test_an_operation_that_was_recorded_has_not_failed_because_we_did(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    await shop.complete_payment()
    broken(shop, monkeypatch)
    shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, "1.00", operation_id="refund-1")))
    event = action_event(shop.transaction.id, "REFUND", "1.00", "key-1")
    answered = await answer(defined(shop)[event.event_type], event, shop)
    assert (answered.result, answered.psp_reference) == ("REFUND_SUCCESS", "refund-1")


@pytest.mark.law(9)
async def test_an_operation_that_broke_off_before_its_outcome_is_pending_under_a_reference_for_ever(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    await shop.complete_payment()

    def fail(*_: object) -> None:
        raise RuntimeError("it broke")

    shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, "1.00", operation_id="refund-1")))
    event = action_event(shop.transaction.id, "REFUND", "1.00", "key-1")
    with monkeypatch.context() as patched:
        patched.setattr("app.rules.decisions.gateway_call.apply", fail)
        answered = await answer(defined(shop)[event.event_type], event, shop)
    assert answered.result is None
    shop.record_refund("1.00", "refund-1")
    await shop.pass_time(minutes=1)
    assert [(report.type.value, report.psp_reference) for report in shop.saleor.reports] == [
        ("REFUND_SUCCESS", answered.psp_reference)
    ]


@pytest.mark.parametrize("kind", ["session", "action"])
async def test_without_a_record_the_error_is_the_sdks_to_answer(shop: Shop, kind: str) -> None:
    """It knows how to say "failed" in a form that does not end the transaction for good."""
    webhooks, error = defined(shop), RuntimeError("it broke")
    event: Any = TransactionProcessSession.model_validate(session_event(shop.transaction.id))
    if kind == "action":
        event = action_event(shop.transaction.id, "REFUND", "1.00", "key-1")
    otherwise = webhooks[event.event_type].on_error
    assert otherwise is not None
    with pytest.raises(RuntimeError, match="it broke"):
        await otherwise(event, context(shop), error)


async def test_an_installation_that_is_not_the_ledgers_is_a_mistake_of_ours(shop: Shop) -> None:
    event = TransactionProcessSession.model_validate(session_event(shop.transaction.id))
    stranger: Any = object()
    with pytest.raises(TypeError, match="from the database"):
        await defined(shop)[event.event_type].handler(
            event, WebhookContext(stranger, shop.clock.now, None, Deadline(12))
        )
