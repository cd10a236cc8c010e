"""The app's own client speaks to the sandbox: two readings of one interface, written apart, understand each other."""

from collections.abc import AsyncIterator
from decimal import Decimal

import httpx2
import pytest

from gateway_client.client import GatewayClient
from gateway_client.credentials import Credentials
from gateway_client.errors import OutcomeUnknownError, RateLimitedError
from gateway_client.models import (
    Checkout,
    Method,
    Status,
    Void,
)
from gateway_client.notification import read_notification
from gateway_client.sandbox.scripting import FaultRule
from gateway_client.wallets import Wallet, encode_wallet_token
from gateway_client_tests.examples import CARD, GOOGLE_TOKEN, direct, hosted
from gateway_client_tests.sandbox.harness import POS, Harness

SECRET = POS.api_secret.get_secret_value()
T = 5.0


def credentials(harness: Harness, secret: str = SECRET) -> Credentials:
    endpoints_key = POS.endpoints_key.get_secret_value()
    return Credentials(str(POS.pos_id), POS.api_key, secret, endpoints_key, harness.url)


@pytest.fixture
async def gateway(harness: Harness) -> AsyncIterator[GatewayClient]:
    async def no_sleep(seconds: float) -> None:
        harness.clock.forward(seconds=seconds)

    async with httpx2.AsyncClient(trust_env=False) as http:
        yield GatewayClient(http, credentials(harness), sleep=no_sleep)


@pytest.mark.parametrize("answer", ["redirect", "json"])
async def test_both_answers_to_a_hosted_creation(harness: Harness, gateway: GatewayClient, answer: str) -> None:
    await harness.control.options(hosted_answer=answer)
    checkout = await gateway.create_hosted(hosted(), timeout=T)
    assert isinstance(checkout, Checkout)
    assert checkout.checkout_url == (await harness.control.payment("order1")).checkout_url


async def test_a_refusal_as_a_record(harness: Harness, gateway: GatewayClient) -> None:
    await harness.control.options(refusal="record")
    await gateway.create_direct(direct(**CARD), timeout=T)
    record = await gateway.void(Void(order_id="order1", order_currency="UAH"), timeout=T)
    assert (record.status, record.status_code) == (Status.FAILURE, "4150")


@pytest.mark.parametrize("order_id", ["2026/1042", "1042/purchase", "/"])
async def test_an_orders_id_may_have_a_slash_in_it(harness: Harness, gateway: GatewayClient, order_id: str) -> None:
    await gateway.create_hosted(hosted(order_id=order_id), timeout=T)
    assert (await harness.control.pay(order_id)).order_id == order_id
    assert (await harness.control.payment(order_id)).status == "success"
    (record,) = await gateway.get_operation(order_id, Method.PURCHASE, timeout=T)
    assert (record.order_id, record.status) == (order_id, Status.SUCCESS)
    await gateway.resend(order_id, Method.PURCHASE, timeout=T)
    await harness.control.fault(FaultRule(effect="status", order_id=order_id))
    with pytest.raises(OutcomeUnknownError):
        await gateway.get_order(order_id, timeout=T)
    assert await gateway.get_order(order_id, timeout=T) == (record,)
    other = f"{order_id}/2"
    await gateway.create_hosted(hosted(order_id=other), timeout=T)
    assert (await gateway.cancel(other, timeout=T)).status_code == "6007"


async def test_what_goes_wrong_on_the_way(harness: Harness, gateway: GatewayClient) -> None:
    for effect in ("drop", "truncate", "garbage", "status"):
        await harness.control.fault(FaultRule.model_validate({"effect": effect, "moment": "after"}))
        with pytest.raises(OutcomeUnknownError):
            await gateway.create_direct(direct(order_id=effect, **CARD), timeout=T)
        (record,) = await gateway.get_order(effect, timeout=T)
        assert record.status is Status.SUCCESS
    await harness.control.fault(FaultRule(effect="status", status=429))
    with pytest.raises(RateLimitedError):
        await gateway.create_direct(direct(**CARD), timeout=T)


async def test_wallets(harness: Harness, gateway: GatewayClient) -> None:
    token = await gateway.wallets.tokenize(Wallet.GOOGLE_PAY, encode_wallet_token(GOOGLE_TOKEN), timeout=T)
    record = await gateway.create_direct(direct(cc_token=token), timeout=T)
    assert record.status is Status.SUCCESS


async def test_a_webhook_without_padding_is_understood(harness: Harness, gateway: GatewayClient) -> None:
    await harness.control.options(pad_webhook_data=False)
    for number in range(3):  # of three lengths in a row at least one would have been padded
        order_id = f"order{'x' * number}"
        await gateway.create_hosted(hosted(order_id=order_id, server_url=harness.merchant.server_url), timeout=T)
        await harness.control.pay(order_id)
    await harness.quiet()
    told = [read_notification(form, [SECRET]).record for form in harness.shop.raw]
    assert {record.amount for record in told} == {Decimal("100.00")}
    assert len(told) == 6
