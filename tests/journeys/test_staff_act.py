"""Staff act on payments from Saleor: capture, void and refund; with everything that can go wrong on the way."""

import asyncio
from decimal import Decimal

import pytest

from app.bootstrap import open_services
from app.core.vocabulary import Kind, State
from app.flows.staff.actions import StaffRequest, request_action
from gateway_client.sandbox.scripting import FaultRule
from integration_base_tests.waiting import eventually
from saleor_app_sdk.testing.views import TransactionView
from saleor_app_sdk.testing.vocabulary import Flow
from tests.journeys.stack import Stack
from tests.journeys.stories import (
    TOTAL,
    ZERO,
    assert_books_agree,
    begin,
    charge_part,
    order_id_of,
    order_of,
    wait_for_event,
    wait_until_quiet,
)


async def paid(shop: Stack) -> TransactionView:
    checkout_id, session = await begin(shop)
    await shop.gateway.pay(order_id_of(session))
    transaction = await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
    await shop.saleor.complete(checkout_id)
    return transaction


async def reserved(shop: Stack) -> TransactionView:
    checkout_id, session = await begin(shop, Flow.AUTHORIZATION)
    await shop.gateway.pay(order_id_of(session))
    transaction = await wait_for_event(shop, session.required_transaction.id, "AUTHORIZATION_SUCCESS")
    await shop.saleor.complete(checkout_id)
    return transaction


async def test_a_partial_capture_releases_the_rest(shop: Stack) -> None:
    """At once, or when staff release it, where the gateway keeps the rest."""
    transaction = await reserved(shop)
    transaction = await charge_part(shop, transaction.id, Decimal("300.00"))
    assert transaction.amounts.charged == Decimal("300.00")
    assert transaction.amounts.authorized == ZERO
    assert transaction.amounts.canceled == Decimal("269.50")
    assert transaction.actions == ["REFUND"]
    await assert_books_agree(shop, transaction.id)


async def test_a_reservation_is_voided(shop: Stack) -> None:
    transaction = await reserved(shop)
    await shop.saleor.cancel(transaction.id)
    transaction = await wait_for_event(shop, transaction.id, "CANCEL_SUCCESS")
    assert transaction.amounts.authorized == ZERO
    assert transaction.amounts.canceled == TOTAL
    assert transaction.actions == []
    await assert_books_agree(shop, transaction.id)


async def test_two_partial_refunds_and_one_too_many(shop: Stack) -> None:
    transaction = await paid(shop)
    for amount in ("100.00", "100.00"):
        await shop.saleor.refund(transaction.id, Decimal(amount))
        await shop.saleor.wait_for_background()
    transaction = await wait_until_quiet(shop, transaction.id)
    assert transaction.amounts.refunded == Decimal("200.00")
    references = {event.psp_reference for event in transaction.events if event.type == "REFUND_SUCCESS"}
    assert len(references) == 2
    await shop.saleor.refund(transaction.id, Decimal("369.50"))
    await shop.saleor.wait_for_background()
    transaction = await wait_until_quiet(shop, transaction.id)
    assert transaction.amounts.charged == ZERO
    assert transaction.actions == []
    await assert_books_agree(shop, transaction.id)


@pytest.mark.long
@pytest.mark.fault("gateway-unknown")
async def test_a_capture_whose_answer_is_lost_is_found_and_told_once(shop: Stack) -> None:
    transaction = await reserved(shop)
    await shop.gateway.fault(FaultRule(http_method="POST", path="/api/v1/capture", moment="after", effect="drop"))
    await shop.saleor.charge(transaction.id, TOTAL)
    await wait_for_event(shop, transaction.id, "CHARGE_SUCCESS")
    transaction = await wait_until_quiet(shop, transaction.id)
    chain = [event for event in transaction.events if event.type in {"CHARGE_REQUEST", "CHARGE_SUCCESS"}]
    assert len({event.psp_reference for event in chain}) == 1
    assert transaction.amounts.charged == TOTAL
    await assert_books_agree(shop, transaction.id)


@pytest.mark.long
@pytest.mark.fault("gateway-unknown")
async def test_a_refund_that_never_reached_the_bank_fails_after_a_while(shop: Stack) -> None:
    transaction = await paid(shop)
    await shop.gateway.fault(FaultRule(http_method="POST", path="/api/v1/refund", moment="before", effect="drop"))
    await shop.saleor.refund(transaction.id, Decimal("50.00"))
    await wait_for_event(shop, transaction.id, "REFUND_FAILURE")
    transaction = await wait_until_quiet(shop, transaction.id)
    assert transaction.amounts.charged == TOTAL
    assert transaction.actions == ["REFUND"]
    await assert_books_agree(shop, transaction.id)


async def test_a_second_refund_waits_for_an_unknown_first(shop: Stack) -> None:
    transaction = await paid(shop)
    await shop.gateway.fault(FaultRule(http_method="POST", path="/api/v1/refund", moment="after", effect="drop"))
    await shop.saleor.refund(transaction.id, Decimal("300.00"))
    await shop.saleor.wait_for_background()
    await shop.saleor.refund(transaction.id, Decimal("269.50"))

    async def both_done() -> bool:
        events = (await shop.saleor.transaction(transaction.id)).event_types()
        return events.count("REFUND_SUCCESS") == 2

    await eventually(both_done)
    await assert_books_agree(shop, transaction.id)


@pytest.mark.fault("process-killed")
async def test_the_app_is_killed_in_the_middle_of_a_refund(shop: Stack) -> None:
    transaction = await paid(shop)
    await shop.gateway.fault(
        FaultRule(http_method="POST", path="/api/v1/refund", moment="after", effect="latency", seconds=600)
    )
    await shop.saleor.refund(transaction.id, Decimal("100.00"))

    async def at_the_gateway() -> bool:
        payment = await shop.gateway.payment(order_of(transaction))
        return any(operation.method == "refund" for operation in payment.operations)

    await eventually(at_the_gateway)
    shop.app.kill()
    await shop.saleor.wait_for_background()
    await shop.app.start()
    await wait_for_event(shop, transaction.id, "REFUND_SUCCESS")
    transaction = await wait_until_quiet(shop, transaction.id)
    assert transaction.amounts.refunded == Decimal("100.00")
    await assert_books_agree(shop, transaction.id)


async def test_somebody_refunds_in_the_merchant_portal(shop: Stack) -> None:
    transaction = await paid(shop)
    await shop.gateway.portal(order_of(transaction), "refund", Decimal("69.50"))
    transaction = await wait_for_event(shop, transaction.id, "REFUND_SUCCESS")
    assert transaction.amounts.refunded == Decimal("69.50")
    await assert_books_agree(shop, transaction.id)


@pytest.mark.long
async def test_staff_refund_in_the_app_while_saleor_asks_for_the_same(shop: Stack) -> None:
    """Both are done, one after the other, and Saleor counts each once: what it asked for, and what it is told of."""
    transaction = await paid(shop)
    order_id, person = order_of(transaction), "VXNlcjox"
    await shop.gateway.fault(
        FaultRule(http_method="POST", path="/api/v1/refund", moment="after", effect="latency", seconds=1.0)
    )
    await shop.gateway.hold_webhooks()

    async def begun() -> bool:
        return any(operation.method == "refund" for operation in (await shop.gateway.payment(order_id)).operations)

    async with open_services(shop.settings) as services:
        await shop.saleor.refund(transaction.id, Decimal("100.00"))
        await eventually(begun)
        staff_request = StaffRequest(Kind.REFUND, by=person, key="form", amount=Decimal("100.00"))
        _, ours = await request_action(services, order_id, staff_request)
        _, again = await request_action(services, order_id, staff_request)
    assert (ours.state, again.id) == (State.WAITING, ours.id)
    await shop.gateway.release_webhooks()

    async def both_done() -> bool:
        return (await shop.saleor.transaction(transaction.id)).event_types().count("REFUND_SUCCESS") == 2

    await eventually(both_done)
    transaction = await wait_until_quiet(shop, transaction.id)
    assert transaction.amounts.refunded == Decimal("200.00")
    assert transaction.amounts.refund_pending == ZERO
    assert transaction.actions == ["REFUND"]
    told_of = [
        event.message for event in transaction.events if event.message.startswith("Requested by staff in the app")
    ]
    assert len(told_of) == 1
    await assert_books_agree(shop, transaction.id)


@pytest.mark.long
async def test_cancelling_a_taken_payment_says_refund_instead(shop: Stack) -> None:
    transaction = await paid(shop)
    await shop.saleor.cancel(transaction.id)
    transaction = await wait_for_event(shop, transaction.id, "CANCEL_FAILURE")
    assert "refund" in transaction.event("CANCEL_FAILURE").message
    await assert_books_agree(shop, transaction.id)


@pytest.mark.long
async def test_staff_and_shopper_at_the_same_moment(shop: Stack) -> None:
    _, session = await begin(shop)
    transaction = await wait_for_event(shop, session.required_transaction.id, "INFO")
    await asyncio.gather(
        shop.gateway.pay(order_id_of(session)), shop.saleor.cancel(transaction.id), return_exceptions=True
    )
    transaction = await wait_until_quiet(shop, transaction.id)
    await assert_books_agree(shop, transaction.id)
    if transaction.amounts.charged:
        assert transaction.actions == ["REFUND"]
    else:
        assert "CANCEL_SUCCESS" in transaction.event_types()


@pytest.mark.long
async def test_a_reinstalled_app_still_refunds(shop: Stack) -> None:
    transaction = await paid(shop)
    await shop.saleor.uninstall()
    installed = await shop.saleor.install(f"{shop.app.url}/api/manifest")
    assert installed.status == "INSTALLED", installed.message
    await shop.saleor.refund(transaction.id, TOTAL)
    transaction = await wait_for_event(shop, transaction.id, "REFUND_SUCCESS")
    await assert_books_agree(shop, transaction.id)
