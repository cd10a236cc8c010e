"""The app's own client speaks to the sandbox: two readings of one interface, written apart, understand each other."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import httpx2
import pytest
from pydantic import SecretStr

from app.gateway.client import GatewayClient
from app.gateway.credentials import Credentials
from app.gateway.errors import BadCredentials, DuplicateOrder, OutcomeUnknown, RateLimited, Refused
from app.gateway.models import (
    Capture,
    Checkout,
    Method,
    OperationRecord,
    PaymentRecord,
    RecurringPlan,
    Refund,
    RegisterRequest,
    SplitItem,
    SplitRefund,
    Status,
    SubscriptionRefund,
    Void,
)
from app.gateway.notification import read_notification
from app.sandbox.scripting import FaultRule
from tests.gateway.examples import CARD, OTHER_SHOP, SHOP, direct, hosted, payout
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


async def test_the_credential_check(scene: Scene, gateway: GatewayClient) -> None:
    await gateway.check_credentials(timeout=T)
    async with httpx2.AsyncClient(trust_env=False) as http:
        with pytest.raises(BadCredentials):
            await GatewayClient(http, credentials(scene, "wrong")).check_credentials(timeout=T)


async def test_a_hosted_payment_from_link_to_refund(scene: Scene, gateway: GatewayClient) -> None:
    checkout = await gateway.create_hosted(hosted(server_url=scene.merchant.server_url), timeout=T)
    assert isinstance(checkout, Checkout)
    view = await scene.control.payment("order1")
    assert (checkout.checkout_url, checkout.qr_url) == (view.checkout_url, view.qr_url)
    by_qr = await gateway.create_hosted(hosted(order_id="order2"), qr=True, timeout=T)
    assert isinstance(by_qr, Checkout)
    assert by_qr.checkout_url == (await scene.control.payment("order2")).checkout_url
    with pytest.raises(DuplicateOrder):
        await gateway.create_hosted(hosted(), timeout=T)

    await scene.control.pay("order1")
    await scene.quiet()
    told = read_notification(scene.shop.raw[-1], [SECRET])
    (paid,) = await gateway.order("order1", timeout=T)
    assert isinstance(paid, PaymentRecord)
    assert isinstance(told.record, PaymentRecord)
    assert (told.record.payment_id, told.record.amount) == (paid.payment_id, Decimal("100.00"))
    assert paid.status is Status.SUCCESS

    refund = Refund(order_id="order1", order_currency="UAH", refund_amount=Decimal("30.00"))
    assert (await gateway.refund(refund, timeout=T)).status_code == "1004"
    with pytest.raises(Refused):
        await gateway.refund(Refund(order_id="order1", order_currency="UAH"), timeout=T)
    assert [r.method for r in await gateway.order("order1", timeout=T)] == [Method.PURCHASE, Method.REFUND]
    (one,) = await gateway.operation("order1", Method.REFUND, timeout=T)
    assert isinstance(one, OperationRecord)
    assert await gateway.order("unknown", timeout=T) == ()
    assert (await gateway.cancel("order2", timeout=T)).status_code == "6007"
    before = len(scene.shop.raw)
    await gateway.resend("order1", Method.PURCHASE, timeout=T)
    await scene.quiet()
    assert len(scene.shop.raw) == before + 1


@pytest.mark.parametrize("answer", ["redirect", "json"])
async def test_both_answers_to_a_hosted_creation(scene: Scene, gateway: GatewayClient, answer: str) -> None:
    await scene.control.options(hosted_answer=answer)
    checkout = await gateway.create_hosted(hosted(), timeout=T)
    assert isinstance(checkout, Checkout)
    assert checkout.checkout_url == (await scene.control.payment("order1")).checkout_url


async def test_two_steps(scene: Scene, gateway: GatewayClient) -> None:
    held = await gateway.create_direct(direct(method=Method.AUTH, **CARD), timeout=T)
    assert (held.status, held.status_code) == (Status.SUCCESS, "1002")
    capture = Capture(order_id="order1", order_currency="UAH", charge_amount=Decimal("60.00"))
    captured = await gateway.capture(capture, timeout=T)
    assert (captured.amount, captured.status_code) == (Decimal("60.00"), "1000")
    with pytest.raises(Refused):
        await gateway.void(Void(order_id="order1", order_currency="UAH"), timeout=T)
    await gateway.create_direct(direct(order_id="order2", method=Method.AUTH, **CARD), timeout=T)
    assert (await gateway.void(Void(order_id="order2", order_currency="UAH"), timeout=T)).status_code == "1009"


async def test_a_refusal_as_a_record(scene: Scene, gateway: GatewayClient) -> None:
    await scene.control.options(refusal="record")
    await gateway.create_direct(direct(**CARD), timeout=T)
    record = await gateway.void(Void(order_id="order1", order_currency="UAH"), timeout=T)
    assert (record.status, record.status_code) == (Status.FAILURE, "4150")


async def test_split(scene: Scene, gateway: GatewayClient) -> None:
    both = (
        SplitItem(sub_merchant_id=SHOP, amount=Decimal("70.00")),
        SplitItem(sub_merchant_id=OTHER_SHOP, amount=Decimal("30.00")),
    )
    await gateway.create_hosted(hosted(split=both), timeout=T)
    await scene.control.pay("order1")
    part = (SplitItem(sub_merchant_id=OTHER_SHOP, amount=Decimal("30.00")),)
    refund = SplitRefund(order_id="order1", currency="UAH", refund_amount=Decimal("30.00"), split=part)
    assert (await gateway.split_refund(refund, timeout=T)).status_code == "1004"
    with pytest.raises(Refused):
        await gateway.split_refund(refund, timeout=T)


async def test_a_payout(scene: Scene, gateway: GatewayClient) -> None:
    record = await gateway.pay_out(payout(cc_number=CARD["cc_number"]), timeout=T)
    assert (record.method, record.status) == (Method.CREDIT, Status.SUCCESS)
    (account,) = await gateway.balances.accounts(timeout=T)
    assert account.balances is not None
    assert account.balances.available == Decimal("9900.00")
    assert (await gateway.balances.account(account.id, timeout=T)).currency == "UAH"


async def test_what_goes_wrong_on_the_way(scene: Scene, gateway: GatewayClient) -> None:
    for effect in ("drop", "truncate", "garbage", "status"):
        await scene.control.fault(FaultRule.model_validate({"effect": effect, "moment": "after"}))
        with pytest.raises(OutcomeUnknown):
            await gateway.create_direct(direct(order_id=effect, **CARD), timeout=T)
        (record,) = await gateway.order(effect, timeout=T)
        assert record.status is Status.SUCCESS
    await scene.control.fault(FaultRule(effect="status", status=429))
    with pytest.raises(RateLimited):
        await gateway.create_direct(direct(**CARD), timeout=T)


async def test_lists(scene: Scene, gateway: GatewayClient) -> None:
    await gateway.create_direct(direct(**CARD), timeout=T)
    await gateway.create_hosted(hosted(order_id="order2"), timeout=T)
    start = datetime(2026, 11, 21, tzinfo=UTC)
    async with aclosing(gateway.reports.period(start, start + timedelta(days=1), timeout=T)) as rows:
        assert [row.order_id async for row in rows] == ["order1", "order2"]
    request = RegisterRequest(start_date=start, end_date=start + timedelta(days=1))
    ticket = await gateway.reports.start(request, timeout=T)
    async with aclosing(gateway.reports.fetch(ticket, patience=60, timeout=T)) as lines:
        assert [line.amount async for line in lines] == [Decimal("100.00"), Decimal("100.00")]


async def test_a_subscription(scene: Scene, gateway: GatewayClient) -> None:
    plan = RecurringPlan(interval_unit="month", interval_count=1)
    await gateway.create_hosted(hosted(init_recurring=plan), timeout=T)
    await scene.control.pay("order1")
    await scene.control.advance(timedelta(days=31))
    _first, second = await gateway.order("order1", timeout=T)
    assert isinstance(second, PaymentRecord)
    assert second.recurring is not None
    recurring_id = second.recurring.id
    refund = SubscriptionRefund(order_currency="UAH")
    record = await gateway.subscriptions.refund(recurring_id, second.payment_id, refund, timeout=T)
    assert (record.payment_id, record.status_code) == (second.payment_id, "1004")
    subscriptions = gateway.subscriptions
    charges = await subscriptions.transactions(recurring_id, method=Method.PURCHASE, status=Status.SUCCESS, timeout=T)
    assert len(charges) == 2
    canceled = await gateway.subscriptions.cancel(recurring_id, timeout=T)
    assert canceled.recurring_status == "canceled"


async def test_wallets(scene: Scene, gateway: GatewayClient) -> None:
    token = await gateway.wallets.tokenize("gpay", SecretStr("{}"), timeout=T)
    record = await gateway.create_direct(direct(cc_token=token), timeout=T)
    assert record.status is Status.SUCCESS
