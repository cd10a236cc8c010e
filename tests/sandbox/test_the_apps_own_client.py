"""The app's own client speaks to the sandbox: two readings of one interface, written apart, understand each other."""

from collections.abc import AsyncIterator
from decimal import Decimal

import httpx2
import pytest
from pydantic import SecretStr

from app.gateway.client import GatewayClient
from app.gateway.credentials import Credentials
from app.gateway.errors import OutcomeUnknownError, RateLimitedError
from app.gateway.models import (
    Checkout,
    Status,
    Void,
)
from app.gateway.notification import read_notification
from app.sandbox.scripting import FaultRule
from tests.gateway.examples import CARD, direct, hosted
from tests.sandbox.scene import POS, Scene

SECRET = POS.api_secret.get_secret_value()
T = 5.0


def credentials(scene: Scene, secret: str = SECRET) -> Credentials:
    endpoints_key = POS.endpoints_key.get_secret_value()
    return Credentials(str(POS.pos_id), POS.api_key, secret, endpoints_key, scene.url)


@pytest.fixture
async def gateway(scene: Scene) -> AsyncIterator[GatewayClient]:
    async def no_sleep(seconds: float) -> None:
        scene.clock.forward(seconds=seconds)

    async with httpx2.AsyncClient(trust_env=False) as http:
        yield GatewayClient(http, credentials(scene), sleep=no_sleep)


@pytest.mark.parametrize("answer", ["redirect", "json"])
async def test_both_answers_to_a_hosted_creation(scene: Scene, gateway: GatewayClient, answer: str) -> None:
    await scene.control.options(hosted_answer=answer)
    checkout = await gateway.create_hosted(hosted(), timeout=T)
    assert isinstance(checkout, Checkout)
    assert checkout.checkout_url == (await scene.control.payment("order1")).checkout_url


async def test_a_refusal_as_a_record(scene: Scene, gateway: GatewayClient) -> None:
    await scene.control.options(refusal="record")
    await gateway.create_direct(direct(**CARD), timeout=T)
    record = await gateway.void(Void(order_id="order1", order_currency="UAH"), timeout=T)
    assert (record.status, record.status_code) == (Status.FAILURE, "4150")


async def test_what_goes_wrong_on_the_way(scene: Scene, gateway: GatewayClient) -> None:
    for effect in ("drop", "truncate", "garbage", "status"):
        await scene.control.fault(FaultRule.model_validate({"effect": effect, "moment": "after"}))
        with pytest.raises(OutcomeUnknownError):
            await gateway.create_direct(direct(order_id=effect, **CARD), timeout=T)
        (record,) = await gateway.order(effect, timeout=T)
        assert record.status is Status.SUCCESS
    await scene.control.fault(FaultRule(effect="status", status=429))
    with pytest.raises(RateLimitedError):
        await gateway.create_direct(direct(**CARD), timeout=T)


async def test_wallets(scene: Scene, gateway: GatewayClient) -> None:
    token = await gateway.wallets.tokenize("gpay", SecretStr("{}"), timeout=T)
    record = await gateway.create_direct(direct(cc_token=token), timeout=T)
    assert record.status is Status.SUCCESS


async def test_a_webhook_without_padding_is_understood(scene: Scene, gateway: GatewayClient) -> None:
    await scene.control.options(pad_webhook_data=False)
    for number in range(3):  # of three lengths in a row at least one would have been padded
        order_id = f"order{'x' * number}"
        await gateway.create_hosted(hosted(order_id=order_id, server_url=scene.merchant.server_url), timeout=T)
        await scene.control.pay(order_id)
    await scene.quiet()
    told = [read_notification(form, [SECRET]).record for form in scene.shop.raw]
    assert {record.amount for record in told} == {Decimal("100.00")}
    assert len(told) == 6
