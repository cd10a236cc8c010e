"""A shopper pays: install, hosted page, notification, order paid; with everything that can happen on the way."""

import asyncio
from decimal import Decimal

import httpx2
import pytest

from gateway_client.sandbox.scripting import FaultRule, WebhookRule
from integration_base_tests.waiting import eventually
from saleor_app_sdk.testing.ids import channel_id
from saleor_app_sdk.testing.views import NewCheckout, SessionView
from saleor_app_sdk.testing.vocabulary import Flow
from tests.journeys.stack import STOREFRONT, Stack
from tests.journeys.stories import (
    BACK,
    TOTAL,
    assert_books_agree,
    begin,
    order_id_of,
    paid_order,
    wait_for_event,
    wait_until_quiet,
)


async def test_a_one_step_payment_makes_a_paid_order(shop: Stack) -> None:
    checkout_id, session = await begin(shop)
    assert session.event is not None
    assert session.event.type == "CHARGE_ACTION_REQUIRED"
    assert session.data["checkoutUrl"].startswith(shop.gateway_url)
    assert session.data["qrUrl"].startswith(shop.gateway_url)
    assert session.data["expiresAt"].endswith("Z")

    await shop.gateway.pay(order_id_of(session))
    transaction = await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
    assert transaction.amounts.charged == TOTAL
    assert transaction.actions == ["REFUND"]
    details = transaction.payment_method_details
    assert details is not None
    assert "4242" in str(details)
    await paid_order(shop, checkout_id)
    await assert_books_agree(shop, transaction.id)


async def test_a_payment_is_few_lines_in_the_log(shop: Stack) -> None:
    """docs/operators/monitoring.md tells how many; look-ups, which are frequent in stories, add some."""
    before = shop.app.log.stat().st_size
    checkout_id, session = await begin(shop)
    await shop.gateway.pay(order_id_of(session))
    await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
    await paid_order(shop, checkout_id)
    lines = shop.app.log.read_bytes()[before:].splitlines()
    assert 5 < len(lines) <= 15, lines
    assert sum(map(len, lines)) < 5_000


async def test_a_gift_card_pays_a_part_and_the_shopper_the_rest(shop: Stack) -> None:
    """Saleor's default amount ignores the gift card: that is refused, and says what to request instead."""
    checkout = await shop.saleor.create_checkout(NewCheckout(gift_cards=Decimal(200)))
    _, refused = await begin(shop, checkout_id=checkout.id)
    assert refused.event is not None
    assert refused.event.type == "CHARGE_FAILURE"
    [error] = refused.data["errors"]
    assert (error["code"], error["amountToPay"]) == ("AMOUNT_TOO_HIGH", 369.5)
    assert await shop.gateway.payments() == []

    session = await shop.saleor.initialize(checkout.id, amount=Decimal(str(error["amountToPay"])), data=BACK)
    await shop.gateway.pay(order_id_of(session))
    transaction = await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
    assert transaction.amounts.charged == Decimal("369.50")
    await paid_order(shop, checkout.id)
    await assert_books_agree(shop, transaction.id)


async def test_shoppers_go_on_paying_after_the_slug_of_their_channel_was_changed(shop: Stack) -> None:
    """The webhooks name the channel by Saleor's id too."""
    await begin(shop)
    renamed = await shop.saleor.create_checkout(NewCheckout(channel_slug="ukraine", channel_id=channel_id("uah")))
    _, session = await begin(shop, checkout_id=renamed.id)
    await shop.gateway.pay(order_id_of(session))
    await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
    await paid_order(shop, renamed.id)


@pytest.mark.long
async def test_staff_can_cancel_while_the_shopper_has_not_paid(shop: Stack) -> None:
    _, session = await begin(shop)
    transaction = await wait_for_event(shop, session.required_transaction.id, "INFO")
    assert transaction.actions == ["CANCEL"]
    assert "Waiting for the shopper" in transaction.event("INFO").message

    await shop.saleor.cancel(transaction.id)
    transaction = await wait_for_event(shop, transaction.id, "CANCEL_SUCCESS")
    assert (await shop.gateway.payment(order_id_of(session))).status_code == "6007"
    back = await shop.saleor.process(transaction.id)
    assert back.event is not None
    assert back.event.type == "CHARGE_FAILURE"
    await assert_books_agree(shop, transaction.id)


@pytest.mark.fault("notification-out-of-order")
async def test_the_notification_comes_before_the_answer(shop: Stack) -> None:
    await shop.gateway.fault(
        FaultRule(http_method="POST", path="/api/v1/payment", moment="after", effect="latency", seconds=1.0)
    )
    checkout = await shop.saleor.create_checkout()
    beginning = asyncio.create_task(shop.saleor.initialize(checkout.id, data=BACK))

    async def order_at_the_gateway() -> str | None:
        payments = await shop.gateway.payments()
        return payments[0].order_id if payments else None

    order_id = await eventually(order_at_the_gateway)
    await shop.gateway.pay(order_id)
    await shop.gateway.wait_for_webhooks()
    session = await beginning
    assert session.event is not None
    assert session.event.type in {"CHARGE_SUCCESS", "CHARGE_ACTION_REQUIRED"}
    transaction = await wait_until_quiet(shop, session.required_transaction.id)
    assert transaction.event_types().count("CHARGE_SUCCESS") == 1
    assert transaction.amounts.charged == TOTAL
    await paid_order(shop, checkout.id)
    await assert_books_agree(shop, transaction.id)


@pytest.mark.long
@pytest.mark.fault("notification-repeated")
@pytest.mark.threat("replayed-notification")
async def test_every_notification_comes_three_times(shop: Stack) -> None:
    await shop.gateway.webhook_rule(WebhookRule(effect="duplicate", copies=2))
    checkout_id, session = await begin(shop)
    await shop.gateway.pay(order_id_of(session))
    await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
    transaction = await wait_until_quiet(shop, session.required_transaction.id)
    assert transaction.event_types().count("CHARGE_SUCCESS") == 1
    await paid_order(shop, checkout_id)
    await assert_books_agree(shop, transaction.id)


@pytest.mark.long
@pytest.mark.fault("notification-out-of-order")
async def test_the_notification_comes_after_the_shopper_is_back(shop: Stack) -> None:
    await shop.gateway.hold_webhooks()
    checkout_id, session = await begin(shop)
    await shop.gateway.pay(order_id_of(session))
    back = await shop.saleor.process(session.required_transaction.id)
    assert back.event is not None
    assert back.event.type == "CHARGE_SUCCESS"
    await paid_order(shop, checkout_id)
    await shop.gateway.release_webhooks(newest_first=True)
    transaction = await wait_until_quiet(shop, session.required_transaction.id)
    assert transaction.event_types().count("CHARGE_SUCCESS") == 1
    await assert_books_agree(shop, transaction.id)


@pytest.mark.fault("notification-lost")
async def test_no_notification_ever_comes_and_the_shopper_never_returns(shop: Stack) -> None:
    await shop.gateway.webhook_rule(WebhookRule(effect="drop"))
    checkout_id, session = await begin(shop)
    await shop.gateway.pay(order_id_of(session))
    await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
    await paid_order(shop, checkout_id)
    await assert_books_agree(shop, session.required_transaction.id)


@pytest.mark.long
@pytest.mark.fault("saleor-down")
async def test_saleor_is_down_when_the_money_comes(shop: Stack) -> None:
    checkout_id, session = await begin(shop)
    await wait_for_event(shop, session.required_transaction.id, "INFO")
    await shop.saleor.set_faults(graphql_status=503)
    await shop.gateway.pay(order_id_of(session))

    async def tried() -> bool:
        return await shop.attempts("CHARGE_SUCCESS") >= 2

    await eventually(tried)
    await shop.saleor.clear_faults()
    await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
    transaction = await wait_until_quiet(shop, session.required_transaction.id)
    assert transaction.event_types().count("CHARGE_SUCCESS") == 1
    await paid_order(shop, checkout_id)
    await assert_books_agree(shop, transaction.id)


@pytest.mark.long
@pytest.mark.fault("network-cut")
async def test_saleor_hears_the_event_but_its_answer_is_lost(shop: Stack) -> None:
    checkout_id, session = await begin(shop)
    await wait_for_event(shop, session.required_transaction.id, "INFO")
    await shop.saleor.set_faults(graphql_answer_lost=True, graphql_times=2)
    await shop.gateway.pay(order_id_of(session))
    await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
    transaction = await wait_until_quiet(shop, session.required_transaction.id)
    assert transaction.event_types().count("CHARGE_SUCCESS") == 1
    await paid_order(shop, checkout_id)


@pytest.mark.fault("process-killed")
async def test_the_app_is_killed_between_the_gateways_answer_and_its_own_commit(shop: Stack) -> None:
    await shop.gateway.fault(
        FaultRule(http_method="POST", path="/api/v1/payment", moment="after", effect="latency", seconds=600)
    )
    checkout = await shop.saleor.create_checkout()
    beginning = asyncio.create_task(shop.saleor.initialize(checkout.id, data=BACK))

    async def at_the_gateway() -> str | None:
        payments = await shop.gateway.payments()
        return payments[0].order_id if payments else None

    order_id = await eventually(at_the_gateway)
    shop.app.kill()
    session = await beginning
    assert session.event is not None
    assert session.event.type == "CHARGE_FAILURE"  # Saleor's own word for a dropped connection; not final
    await shop.app.start()

    # Nobody has the link to that page: it is closed, and the shopper is told to begin anew.
    transaction = await wait_for_event(shop, session.required_transaction.id, "CHARGE_FAILURE")

    async def closed() -> bool:
        return (await shop.gateway.payment(order_id)).status_code == "6007"

    await eventually(closed)
    back = await shop.saleor.process(transaction.id)
    assert back.event is not None
    assert back.event.type == "CHARGE_FAILURE"

    _, again = await begin(shop, checkout_id=checkout.id)
    assert order_id_of(again) != order_id
    await shop.gateway.pay(order_id_of(again))
    await wait_for_event(shop, again.required_transaction.id, "CHARGE_SUCCESS")
    await paid_order(shop, checkout.id)
    await assert_books_agree(shop, transaction.id)
    await assert_books_agree(shop, again.required_transaction.id)


@pytest.mark.long
@pytest.mark.fault("process-killed")
async def test_the_app_is_killed_after_it_took_the_notification(shop: Stack) -> None:
    checkout_id, session = await begin(shop)
    await wait_for_event(shop, session.required_transaction.id, "INFO")
    await shop.saleor.set_faults(graphql_status=503)
    await shop.gateway.pay(order_id_of(session))
    await shop.gateway.wait_for_webhooks()
    shop.app.kill()
    await shop.saleor.clear_faults()
    await shop.app.start()
    await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
    await paid_order(shop, checkout_id)
    await assert_books_agree(shop, session.required_transaction.id)


@pytest.mark.fault("webhook-repeated")
async def test_saleor_sends_every_webhook_twice(shop: Stack) -> None:
    await shop.saleor.set_faults(webhooks_twice=True)
    checkout_id, session = await begin(shop)
    assert len(await shop.gateway.payments()) == 1
    await shop.gateway.pay(order_id_of(session))
    transaction = await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
    assert transaction.amounts.charged == TOTAL
    await paid_order(shop, checkout_id)
    await assert_books_agree(shop, transaction.id)


async def test_a_declined_card_fails_and_a_new_attempt_pays(shop: Stack) -> None:
    checkout_id, session = await begin(shop)
    await shop.gateway.hold_webhooks()  # once Saleor has been told of a failure, it does not ask the app any more
    await shop.gateway.decline(order_id_of(session), "4009")
    back = await shop.saleor.process(session.required_transaction.id)
    await shop.gateway.release_webhooks()
    assert back.event is not None
    assert back.event.type == "CHARGE_FAILURE"
    assert back.data["errors"][0]["code"] == "4009"

    _, again = await begin(shop, checkout_id=checkout_id)
    await shop.gateway.pay(order_id_of(again))
    await wait_for_event(shop, again.required_transaction.id, "CHARGE_SUCCESS")
    await paid_order(shop, checkout_id)


@pytest.mark.fault("gateway-unknown")
async def test_the_address_of_the_page_gets_lost_and_the_shopper_tries_again_at_once(shop: Stack) -> None:
    await shop.gateway.fault(FaultRule(http_method="POST", path="/api/v1/payment", moment="after", effect="drop"))
    checkout_id, session = await begin(shop)
    assert session.event is not None
    assert session.event.type == "CHARGE_FAILURE"
    assert session.data["errors"][0]["code"] == "TRY_AGAIN"
    lost = order_id_of(session)

    _, again = await begin(shop, checkout_id=checkout_id)
    assert again.data["checkoutUrl"].startswith(shop.gateway_url)
    opened = order_id_of(again)

    async def closed() -> bool:
        return (await shop.gateway.payment(lost)).status_code == "6007"

    await eventually(closed)
    await shop.gateway.pay(opened)
    transaction = await wait_for_event(shop, again.required_transaction.id, "CHARGE_SUCCESS")
    assert transaction.amounts.charged == TOTAL
    await paid_order(shop, checkout_id)
    await shop.saleor.refund(transaction.id)
    await wait_for_event(shop, transaction.id, "REFUND_SUCCESS")
    assert [operation.method for operation in (await shop.gateway.payment(opened)).operations] == ["refund"]
    await assert_books_agree(shop, session.required_transaction.id)
    await assert_books_agree(shop, again.required_transaction.id)


@pytest.mark.long
async def test_the_page_appears_at_the_gateway_only_after_it_was_looked_for(shop: Stack) -> None:
    """However late it is seen, it is closed."""
    await shop.gateway.fault(FaultRule(http_method="POST", path="/api/v1/payment", moment="after", effect="drop"))
    await shop.gateway.fault(FaultRule(http_method="GET", path="*/orders/*", effect="status", status=503))
    _, session = await begin(shop)
    assert session.data["errors"][0]["code"] == "TRY_AGAIN"

    async def closed() -> bool:
        return (await shop.gateway.payment(order_id_of(session))).status_code == "6007"

    await eventually(closed)
    await wait_for_event(shop, session.required_transaction.id, "CHARGE_FAILURE")
    assert [payment.status_code for payment in await shop.gateway.payments()] == ["6007"]


@pytest.mark.long
async def test_a_new_attempt_closes_the_page_of_the_older_one(shop: Stack) -> None:
    checkout_id, session = await begin(shop)
    _, again = await begin(shop, checkout_id=checkout_id)
    older = await wait_for_event(shop, session.required_transaction.id, "CHARGE_FAILURE")
    assert "newer payment attempt" in older.event("CHARGE_FAILURE").message
    assert [payment.order_id for payment in await shop.gateway.payments() if payment.status == "init"] == [
        order_id_of(again)
    ]
    await shop.gateway.pay(order_id_of(again))
    await wait_for_event(shop, again.required_transaction.id, "CHARGE_SUCCESS")
    await paid_order(shop, checkout_id)
    await assert_books_agree(shop, session.required_transaction.id)
    await assert_books_agree(shop, again.required_transaction.id)


@pytest.mark.long
async def test_the_older_page_is_paid_before_it_could_be_closed(shop: Stack) -> None:
    checkout_id, session = await begin(shop)
    await shop.gateway.fault(
        FaultRule(http_method="POST", path="*/cancel", moment="before", effect="latency", seconds=1.0)
    )
    _, again = await begin(shop, checkout_id=checkout_id)
    await shop.gateway.pay(order_id_of(session))
    older = await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
    assert older.amounts.charged == TOTAL
    newer = await wait_for_event(shop, again.required_transaction.id, "CHARGE_FAILURE")
    assert "is paid or at the bank" in newer.event("CHARGE_FAILURE").message
    assert (await shop.gateway.payment(order_id_of(again))).status_code == "6007"
    await assert_books_agree(shop, session.required_transaction.id)
    await assert_books_agree(shop, again.required_transaction.id)
    await paid_order(shop, checkout_id)


async def test_both_the_older_page_and_the_newer_are_paid_before_either_could_be_closed(shop: Stack) -> None:
    checkout_id, session = await begin(shop)
    await shop.gateway.fault(FaultRule(http_method="POST", path="*/cancel", effect="status", status=503, times=100))
    _, again = await begin(shop, checkout_id=checkout_id)
    both = [session, again]
    for page in both:
        await shop.gateway.pay(order_id_of(page))
    for one, other in zip(both, reversed(both), strict=True):
        assert (await wait_for_event(shop, one.required_transaction.id, "CHARGE_SUCCESS")).amounts.charged == TOTAL

        async def staff_know(one: SessionView = one, other: SessionView = other) -> bool:
            events = (await shop.saleor.transaction(one.required_transaction.id)).events
            return any("Paid twice" in event.message and order_id_of(other) in event.message for event in events)

        await eventually(staff_know)

    await shop.saleor.refund(again.required_transaction.id)
    await wait_for_event(shop, again.required_transaction.id, "REFUND_SUCCESS")
    await assert_books_agree(shop, session.required_transaction.id)
    await assert_books_agree(shop, again.required_transaction.id)
    await paid_order(shop, checkout_id)


@pytest.mark.long
async def test_parts_of_one_payment_are_paid_side_by_side(shop: Stack) -> None:
    checkout = await shop.saleor.create_checkout()
    parts = [Decimal("500.00"), Decimal("69.50")]
    sessions = [await shop.saleor.initialize(checkout.id, amount=part, data=BACK) for part in parts]
    for session in sessions:
        await shop.gateway.pay(order_id_of(session))
        await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
    await paid_order(shop, checkout.id)


@pytest.mark.threat("forged-notification")
async def test_a_forged_notification_changes_nothing(shop: Stack) -> None:
    _, session = await begin(shop)
    order_id = order_id_of(session)
    delivery = await shop.gateway.fire_webhook(order_id, changes={"status": "success"}, secret="somebody else's")
    await shop.gateway.wait_for_webhooks()
    tried = [
        webhook for webhook in await shop.gateway.webhooks(order_id) if webhook.delivery_id == delivery.delivery_id
    ]
    assert tried
    transaction = await wait_until_quiet(shop, session.required_transaction.id)
    assert "CHARGE_SUCCESS" not in transaction.event_types()


@pytest.mark.threat("tampered-amount")
async def test_a_notification_about_another_amount_is_not_believed(shop: Stack) -> None:
    _, session = await begin(shop)
    order_id = order_id_of(session)
    await shop.gateway.fire_webhook(order_id, changes={"status": "success", "status_code": "1000", "amount": 1})
    transaction = await wait_for_event(shop, session.required_transaction.id, "INFO")

    async def problem() -> bool:
        events = (await shop.saleor.transaction(transaction.id)).events
        return any("requested" in event.message for event in events)

    await eventually(problem)
    transaction = await wait_until_quiet(shop, transaction.id)
    assert "CHARGE_SUCCESS" not in transaction.event_types()


@pytest.mark.long
async def test_the_shopper_sees_the_way_back(shop: Stack) -> None:
    _, session = await begin(shop)
    order_id = order_id_of(session)
    payment = await shop.gateway.payment(order_id)
    assert payment.result_url == f"{shop.app.url}/pay/return/{order_id}"
    async with httpx2.AsyncClient(trust_env=False) as browser:
        waiting = await browser.get(payment.result_url)
        await shop.gateway.hold_webhooks()
        await shop.gateway.pay(order_id)

        async def paid() -> httpx2.Response | None:
            page = await browser.get(f"{payment.result_url}?order_id={order_id}&status=success")
            return page if f"{STOREFRONT}/back" in page.text else None

        page = await eventually(paid)
    assert waiting.status_code == page.status_code == 200
    assert "transactionId=" in page.text


async def test_missing_contacts_are_named_and_nothing_is_created(shop: Stack) -> None:
    checkout = await shop.saleor.create_checkout(NewCheckout(email="", address={"lastName": "", "phone": ""}))
    session = await shop.saleor.initialize(checkout.id, data=BACK)
    assert [error["field"] for error in session.data["errors"]] == ["data.customer.email", "data.customer.phone"]
    again = await shop.saleor.initialize(checkout.id, data=BACK | {"customer": {"email": "taras@example.com"}})
    assert [error["field"] for error in again.data["errors"]] == ["data.customer.phone"]
    assert await shop.gateway.payments() == []
    contacts = {"email": "taras@example.com", "phone": "+380501234567"}
    whole = await shop.saleor.initialize(checkout.id, data=BACK | {"customer": contacts})
    assert whole.data["checkoutUrl"]  # which needs no names (gateway interface, 1b)


async def test_a_payment_by_qr_link(shop: Stack) -> None:
    await shop.gateway.options(hosted_answer="json")
    _, session = await begin(shop, data=BACK | {"qr": True})
    assert session.data["qrUrl"].endswith("/qr")
    assert session.data["checkoutUrl"].endswith("/form")


async def test_an_authorization_waits_for_staff(shop: Stack) -> None:
    checkout_id, session = await begin(shop, Flow.AUTHORIZATION)
    await shop.gateway.pay(order_id_of(session))
    transaction = await wait_for_event(shop, session.required_transaction.id, "AUTHORIZATION_SUCCESS")
    assert transaction.amounts.authorized == TOTAL
    assert set(transaction.actions) == {"CHARGE", "CANCEL"}
    completion = await shop.saleor.complete(checkout_id)
    assert completion.order is not None
    assert completion.order.authorize_status == "FULL"
    assert completion.order.charge_status == "NONE"
