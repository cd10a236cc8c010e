"""A shopper pays with Apple Pay or Google Pay in the storefront; what the wallet gave is left nowhere."""

import asyncio
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from app.web.shopper.apple_pay import ADDRESS
from gateway_client.sandbox.scripting import FaultRule
from integration_base_tests.waiting import eventually
from saleor_app_sdk.testing.vocabulary import Flow
from tests.journeys.stack import STOREFRONT, Stack
from tests.journeys.stories import (
    TOTAL,
    assert_books_agree,
    order_id_of,
    order_of,
    paid_order,
    wait_for_event,
    wait_until_quiet,
)
from tests.journeys.wallet_shop import apple_pays, assert_no_wallet_data_left, google_pays, offer_wallets, pay

APPLES = "https://apple-pay-gateway.apple.com/paymentservices/startSession"
EXCHANGE = "/api/v1/tokenization/tokenize"


@pytest.fixture
async def shop(shop: Stack) -> Stack:
    await offer_wallets(shop)
    return shop


async def test_apples_sheet_opens_and_strangers_get_no_session(shop: Stack) -> None:
    checkout = await shop.saleor.create_checkout()
    offer = await shop.saleor.gateway_initialize(checkout.id, data={"applePay": {"validationUrl": APPLES}})
    assert offer.data["applePay"]["merchantSession"]["merchantSessionIdentifier"]
    evil = {"applePay": {"validationUrl": "https://evil.example/paymentservices/startSession"}}
    refused = await shop.saleor.gateway_initialize(checkout.id, data=evil)
    assert [error["code"] for error in refused.data["errors"]] == ["INVALID_DATA"]
    assert "applePay" not in refused.data


@pytest.mark.long
async def test_apple_finds_the_file_of_the_storefronts_domain_at_the_app(shop: Stack) -> None:
    await offer_wallets(shop, apple_pay_association="7B227073704964223A22")
    async with httpx2.AsyncClient(base_url=shop.app.url, trust_env=False) as apple:
        found = await apple.get(ADDRESS, headers={"Host": urlsplit(STOREFRONT).netloc})
        assert (found.status_code, found.text) == (200, "7B227073704964223A22")
        assert found.headers["content-type"].startswith("text/plain")
        assert (await apple.get(ADDRESS)).status_code == 404


@pytest.mark.parametrize("given", [apple_pays, google_pays])
async def test_a_wallet_pays_at_once(shop: Stack, given: Callable[[], dict[str, Any]]) -> None:
    checkout_id, session = await pay(shop, given())
    assert session.event is not None
    assert session.event.type == "CHARGE_SUCCESS"
    payment = await shop.gateway.payment(order_id_of(session))
    assert (payment.mode, session.event.psp_reference) == ("direct", str(payment.payment_id))
    assert (await wait_until_quiet(shop, session.required_transaction.id)).amounts.charged == TOTAL
    await paid_order(shop, checkout_id)
    await assert_books_agree(shop, session.required_transaction.id)
    await assert_no_wallet_data_left(shop)


@pytest.mark.long
async def test_a_reservation_is_captured_in_part_and_given_back(shop: Stack) -> None:
    checkout_id, session = await pay(shop, apple_pays(), Flow.AUTHORIZATION)
    assert session.event is not None
    assert session.event.type == "AUTHORIZATION_SUCCESS"
    await shop.saleor.complete(checkout_id)
    await shop.saleor.charge(session.required_transaction.id, Decimal("300.00"))
    await wait_for_event(shop, session.required_transaction.id, "CANCEL_SUCCESS")
    await shop.saleor.refund(session.required_transaction.id, Decimal("100.00"))
    transaction = await wait_for_event(shop, session.required_transaction.id, "REFUND_SUCCESS")
    amounts = transaction.amounts
    assert (amounts.charged, amounts.refunded, amounts.canceled) == (Decimal(200), Decimal(100), Decimal("269.50"))
    await assert_books_agree(shop, transaction.id)
    await assert_no_wallet_data_left(shop)


@pytest.mark.long
async def test_a_declined_wallet_fails_and_another_pays(shop: Stack) -> None:
    checkout_id, session = await pay(shop, google_pays("4009"))
    assert session.event is not None
    assert session.event.type == "CHARGE_FAILURE"
    assert session.data["errors"][0]["code"] == "4009"
    _, again = await pay(shop, apple_pays(), checkout_id=checkout_id)
    assert again.event is not None
    assert again.event.type == "CHARGE_SUCCESS"
    await paid_order(shop, checkout_id)
    await assert_books_agree(shop, session.required_transaction.id)
    await assert_books_agree(shop, again.required_transaction.id)
    await assert_no_wallet_data_left(shop)


@pytest.mark.long
async def test_a_card_of_google_pay_is_confirmed_at_the_bank(shop: Stack) -> None:
    checkout_id, session = await pay(shop, google_pays("2122"))
    payment = await shop.gateway.payment(order_id_of(session))
    assert session.data == {"redirectUrl": payment.challenge_url}
    await shop.gateway.challenge(payment.order_id)
    await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
    await paid_order(shop, checkout_id)
    await assert_no_wallet_data_left(shop)


async def test_the_answer_to_the_exchange_gets_lost_and_the_wallet_pays_once(shop: Stack) -> None:
    await shop.gateway.fault(FaultRule(http_method="POST", path=EXCHANGE, moment="after", effect="drop"))
    _, session = await pay(shop, apple_pays())
    assert session.event is not None
    assert session.event.type == "CHARGE_SUCCESS"
    assert len(await shop.gateway.payments()) == 1
    await assert_books_agree(shop, session.required_transaction.id)


@pytest.mark.long
async def test_while_nothing_is_exchanged_nothing_is_paid(shop: Stack) -> None:
    broken = FaultRule(http_method="POST", path=EXCHANGE, moment="before", effect="status", status=503, times=50)
    await shop.gateway.fault(broken)
    _, session = await pay(shop, apple_pays())
    assert session.event is not None
    assert session.event.type == "CHARGE_FAILURE"
    assert (await wait_until_quiet(shop, session.required_transaction.id)).amounts.charge_pending == 0
    assert await shop.gateway.payments() == []
    await assert_no_wallet_data_left(shop)


@pytest.mark.long
async def test_the_gateways_answer_gets_lost_and_the_payment_is_found(shop: Stack) -> None:
    await shop.gateway.fault(FaultRule(http_method="POST", path="/api/v1/payment", moment="after", effect="drop"))
    await shop.gateway.hold_webhooks()  # one can be faster than the loss, and then it is answered
    checkout_id, session = await pay(shop, apple_pays())
    assert session.event is not None
    assert session.event.type == "CHARGE_REQUEST"
    await shop.gateway.release_webhooks()
    transaction = await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
    assert session.event.psp_reference == order_of(transaction)
    assert len(await shop.gateway.payments()) == 1
    await paid_order(shop, checkout_id)
    await assert_books_agree(shop, transaction.id)
    await assert_no_wallet_data_left(shop)


@pytest.mark.long
async def test_the_notification_comes_before_the_answer(shop: Stack) -> None:
    late = FaultRule(http_method="POST", path="/api/v1/payment", moment="after", effect="latency", seconds=1.0)
    await shop.gateway.fault(late)
    checkout_id, session = await pay(shop, google_pays())
    assert session.event is not None
    assert session.event.type == "CHARGE_SUCCESS"
    transaction = await wait_until_quiet(shop, session.required_transaction.id)
    assert transaction.amounts.charged == TOTAL
    await paid_order(shop, checkout_id)
    await assert_books_agree(shop, transaction.id)


@pytest.mark.parametrize("path", ["/api/v1/payment", EXCHANGE])
async def test_the_app_is_killed_on_the_way(shop: Stack, path: str) -> None:
    """While the wallet is being charged, and before: then nothing was paid, and nobody sends it again."""
    slow = FaultRule(http_method="POST", path=path, moment="after", effect="latency", seconds=600)
    await shop.gateway.fault(slow)
    checkout = await shop.saleor.create_checkout()
    paying = asyncio.create_task(pay(shop, apple_pays(), checkout_id=checkout.id))

    async def at_the_gateway() -> bool:
        if path == EXCHANGE:
            return any(call.path == path for call in await shop.gateway.calls())
        return bool(await shop.gateway.payments())  # a call is on record before all of it has come

    await eventually(at_the_gateway)
    shop.app.kill()
    _, session = await paying
    await shop.app.start()
    outcome, payments = ("CHARGE_SUCCESS", 1) if path != EXCHANGE else ("CHARGE_FAILURE", 0)
    transaction = await wait_for_event(shop, session.required_transaction.id, outcome)
    assert len(await shop.gateway.payments()) == payments
    if payments:
        await assert_books_agree(shop, transaction.id)
    await assert_no_wallet_data_left(shop)


@pytest.mark.long
async def test_saleor_sends_every_webhook_twice_and_the_wallet_pays_once(shop: Stack) -> None:
    await shop.saleor.set_faults(webhooks_twice=True)
    _, session = await pay(shop, apple_pays())
    assert len(await shop.gateway.payments()) == 1
    assert (await wait_until_quiet(shop, session.required_transaction.id)).amounts.charged == TOTAL


async def test_the_search_finds_what_is_not_encrypted(shop: Stack) -> None:
    """Else it would prove nothing."""
    await shop.saleor.initialize((await shop.saleor.create_checkout()).id, data=apple_pays())
    with pytest.raises(AssertionError, match="in saleor"):
        await assert_no_wallet_data_left(shop)
