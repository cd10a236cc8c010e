"""A shopper pays with a card typed into the storefront; it is left nowhere, whatever happens on the way."""

import asyncio
from decimal import Decimal

import httpx2
import pytest

from gateway_client.sandbox.scripting import FaultRule
from integration_base_tests.waiting import eventually
from saleor_app_sdk.testing.vocabulary import Flow
from tests.journeys.card_shop import (
    ASKS_THE_SHOPPER,
    CVV,
    GOOD,
    NO_MONEY,
    allow_cards,
    assert_no_card_data_left,
    pay,
    typed,
)
from tests.journeys.stack import Stack
from tests.journeys.stories import (
    TOTAL,
    assert_books_agree,
    charge_part,
    order_id_of,
    order_of,
    paid_order,
    wait_for_event,
    wait_until_quiet,
)


@pytest.fixture
async def shop(shop: Stack) -> Stack:
    await allow_cards(shop)
    return shop


async def test_a_card_pays_at_once(shop: Stack) -> None:
    checkout_id, session = await pay(shop, typed())
    assert session.event is not None
    assert session.event.type == "CHARGE_SUCCESS"
    payment = await shop.gateway.payment(order_id_of(session))
    assert payment.mode == "direct"
    assert session.event.psp_reference == str(payment.payment_id)
    transaction = await wait_until_quiet(shop, session.required_transaction.id)
    assert transaction.amounts.charged == TOTAL
    assert "5454" in str(transaction.payment_method_details)
    await paid_order(shop, checkout_id)
    await assert_books_agree(shop, transaction.id)
    await assert_no_card_data_left(shop)


@pytest.mark.long
async def test_a_declined_card_fails_and_another_pays(shop: Stack) -> None:
    checkout_id, session = await pay(shop, typed(NO_MONEY))
    assert session.event is not None
    assert session.event.type == "CHARGE_FAILURE"
    assert session.data["errors"][0]["code"] == "4009"
    _, again = await pay(shop, typed(), checkout_id=checkout_id)
    assert again.event is not None
    assert again.event.type == "CHARGE_SUCCESS"
    await paid_order(shop, checkout_id)
    await assert_books_agree(shop, session.required_transaction.id)
    await assert_books_agree(shop, again.required_transaction.id)
    await assert_no_card_data_left(shop, NO_MONEY)


async def test_a_shopper_confirms_at_the_bank_and_comes_back(shop: Stack) -> None:
    checkout_id, session = await pay(shop, typed(ASKS_THE_SHOPPER))
    assert session.event is not None
    assert session.event.type == "CHARGE_ACTION_REQUIRED"
    order_id = order_id_of(session)
    payment = await shop.gateway.payment(order_id)
    assert session.data == {"redirectUrl": payment.challenge_url}
    still = await shop.saleor.process(session.required_transaction.id)
    assert still.data == session.data
    await shop.gateway.challenge(order_id)
    page = str(payment.result_url)

    async def thanked() -> bool:
        async with httpx2.AsyncClient(trust_env=False) as browser:
            said = (await browser.get(page)).text
        return "Payment received" in said and "https://shop.test/back?transactionId=" in said

    await eventually(thanked)
    back = await shop.saleor.process(session.required_transaction.id)
    assert back.event is not None
    assert (back.event.type, back.event.psp_reference) == ("CHARGE_SUCCESS", session.event.psp_reference)
    await paid_order(shop, checkout_id)
    await assert_books_agree(shop, session.required_transaction.id)
    await assert_no_card_data_left(shop, ASKS_THE_SHOPPER)


@pytest.mark.long
async def test_a_shopper_does_not_pass_at_the_bank(shop: Stack) -> None:
    _, session = await pay(shop, typed(ASKS_THE_SHOPPER))
    await shop.gateway.challenge(order_id_of(session), passed=False)
    transaction = await wait_for_event(shop, session.required_transaction.id, "CHARGE_FAILURE")
    assert transaction.amounts.charged == 0
    await assert_books_agree(shop, transaction.id)


@pytest.mark.fault("gateway-unknown")
async def test_the_gateways_answer_gets_lost_and_the_payment_is_found(shop: Stack) -> None:
    await shop.gateway.fault(FaultRule(http_method="POST", path="/api/v1/payment", moment="after", effect="drop"))
    await shop.gateway.hold_webhooks()  # one can be faster than the loss, and then it is answered
    checkout_id, session = await pay(shop, typed())
    assert session.event is not None
    assert session.event.type == "CHARGE_REQUEST"
    await shop.gateway.release_webhooks()
    transaction = await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
    assert session.event.psp_reference == order_of(transaction)
    assert transaction.event("CHARGE_SUCCESS").psp_reference == session.event.psp_reference
    assert len(await shop.gateway.payments()) == 1
    await paid_order(shop, checkout_id)
    await assert_books_agree(shop, transaction.id)
    await assert_no_card_data_left(shop)


@pytest.mark.long
async def test_the_call_gets_lost_and_the_payment_has_failed(shop: Stack) -> None:
    await shop.gateway.fault(FaultRule(http_method="POST", path="/api/v1/payment", moment="before", effect="drop"))
    _, session = await pay(shop, typed())
    assert session.event is not None
    assert session.event.type == "CHARGE_REQUEST"
    transaction = await wait_for_event(shop, session.required_transaction.id, "CHARGE_FAILURE")
    assert transaction.amounts.charge_pending == 0
    assert await shop.gateway.payments() == []  # the card is gone from memory: nothing was sent again
    await assert_no_card_data_left(shop)


@pytest.mark.fault("process-killed")
async def test_the_app_is_killed_while_the_card_is_being_charged(shop: Stack) -> None:
    await shop.gateway.fault(
        FaultRule(http_method="POST", path="/api/v1/payment", moment="after", effect="latency", seconds=600)
    )
    checkout = await shop.saleor.create_checkout()
    paying = asyncio.create_task(pay(shop, typed(), checkout_id=checkout.id))

    async def at_the_gateway() -> bool:
        return bool(await shop.gateway.payments())

    await eventually(at_the_gateway)
    shop.app.kill()
    _, session = await paying
    await shop.app.start()
    transaction = await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
    assert len(await shop.gateway.payments()) == 1
    await assert_books_agree(shop, transaction.id)
    await assert_no_card_data_left(shop)


@pytest.mark.long
async def test_a_token_pays_again(shop: Stack) -> None:
    _, first = await pay(shop, typed())
    token = (await shop.gateway.payment(order_id_of(first))).cc_token
    assert token is not None
    checkout_id, session = await pay(shop, {"token": token})
    assert session.event is not None
    assert session.event.type == "CHARGE_SUCCESS"
    await paid_order(shop, checkout_id)
    await assert_books_agree(shop, session.required_transaction.id)
    await assert_no_card_data_left(shop, token=token)


@pytest.mark.long
async def test_a_reservation_with_a_card_is_captured_in_part(shop: Stack) -> None:
    checkout_id, session = await pay(shop, typed(), Flow.AUTHORIZATION)
    assert session.event is not None
    assert session.event.type == "AUTHORIZATION_SUCCESS"
    await shop.saleor.complete(checkout_id)
    transaction = await charge_part(shop, session.required_transaction.id, Decimal("300.00"))
    assert (transaction.amounts.charged, transaction.amounts.canceled) == (Decimal("300.00"), Decimal("269.50"))
    await assert_books_agree(shop, transaction.id)


@pytest.mark.long
async def test_saleor_sends_every_webhook_twice_and_the_card_pays_once(shop: Stack) -> None:
    await shop.saleor.set_faults(webhooks_twice=True)
    _, session = await pay(shop, typed())
    assert len(await shop.gateway.payments()) == 1
    transaction = await wait_until_quiet(shop, session.required_transaction.id)
    assert transaction.amounts.charged == TOTAL


async def test_the_search_finds_what_is_not_encrypted(shop: Stack) -> None:
    """Else it would prove nothing."""
    await shop.saleor.initialize((await shop.saleor.create_checkout()).id, data={"cardNumber": GOOD, "cvv": CVV})
    with pytest.raises(AssertionError, match="in saleor"):
        await assert_no_card_data_left(shop)
