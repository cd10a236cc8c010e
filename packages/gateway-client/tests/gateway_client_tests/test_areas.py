"""Balances, subscriptions and wallets (gateway interface, 8, 11 and 12)."""

from dataclasses import replace
from decimal import Decimal

import httpx2
import pytest
from pydantic import SecretStr

from gateway_client.client import GatewayClient
from gateway_client.credentials import Credentials
from gateway_client.errors import (
    BadCredentialsError,
    GatewayError,
    InvalidRequestError,
    NotFoundError,
    OutcomeUnknownError,
    RefusedError,
)
from gateway_client.models import Method, RecurringPlan, Status
from gateway_client.models.subscriptions import SubscriptionRefund
from gateway_client.wallets import Wallet, check_validation_url, encode_wallet_token
from gateway_client_tests.conftest import POS_ID
from gateway_client_tests.counterpart import PAYMENT, REFUND, ScriptedServer
from gateway_client_tests.examples import SHOP, hosted
from integration_base_tests.loopback import Reply, json_reply, text_reply

ACCOUNT = {"id": "a-1", "name": "Main", "currency": "UAH"}


@pytest.fixture
def client(http: httpx2.AsyncClient, credentials: Credentials, gateway: ScriptedServer) -> GatewayClient:
    return GatewayClient(http, replace(credentials, balances_url=gateway.url + "/balances-host"))


async def test_balances_with_either_spelling_of_the_reserve(client: GatewayClient, gateway: ScriptedServer) -> None:
    one = {**ACCOUNT, "balances": {"available": Decimal("0.10"), "rollingReserve": 5}}
    other = {**ACCOUNT, "id": "a-2", "balances": {"available": "7", "rolling_reserve": Decimal("0.20"), "more": 1}}
    gateway.will_answer(json_reply({"accounts": [one, other]}))
    first, second = await client.balances.accounts(timeout=30)
    assert gateway.last.path == f"/balances-host/api/v1/balances/pos/{POS_ID}/accounts"
    assert not gateway.last.has("x-api-key")
    assert (first.balances.available, first.balances.rolling_reserve) == (Decimal("0.10"), Decimal(5))
    assert (second.balances.available, second.balances.rolling_reserve) == (Decimal(7), Decimal("0.20"))
    assert first.to_wire() == one
    assert second.balances.to_wire()["rollingReserve"] == Decimal("0.20")


async def test_one_balance(client: GatewayClient, gateway: ScriptedServer) -> None:
    gateway.will_answer(json_reply({**ACCOUNT, "balances": {"available": 1}}))
    account = await client.balances.account("a/1", timeout=30)
    assert account.balances.rolling_reserve is None
    assert gateway.last.path.endswith("/accounts/a%2F1")


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (json_reply({"message": "bad"}, 400), RefusedError),
        (text_reply("", 401), BadCredentialsError),
        (text_reply("", 500), OutcomeUnknownError),
        (json_reply({}), OutcomeUnknownError),
        (json_reply([]), OutcomeUnknownError),
        (json_reply({"accounts": [{"id": 1}]}), OutcomeUnknownError),
        (
            json_reply({"accounts": [{**ACCOUNT, "balances": {"available": 1, "rollingReserve": "some"}}]}),
            OutcomeUnknownError,
        ),
    ],
)
async def test_balances_that_cannot_be_had(
    client: GatewayClient, gateway: ScriptedServer, answer: Reply, kind: type[Exception]
) -> None:
    gateway.will_answer(answer)
    with pytest.raises(kind) as caught:
        await client.balances.accounts(timeout=30)
    assert type(caught.value) is kind


async def test_a_subscription_starts_with_a_payment(client: GatewayClient, gateway: ScriptedServer) -> None:
    plan = RecurringPlan(interval_unit="month", interval_count=1, start_date="2026-12-01", time="09:30:00")
    gateway.will_answer(text_reply("", 303, location="https://pay.example/form"))
    await client.create_hosted(hosted(init_recurring=plan), timeout=30)
    assert gateway.last.json["init_recurring"] == {
        "interval_unit": "month",
        "interval_count": 1,
        "start_date": "2026-12-01",
        "time": "09:30:00",
    }


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"interval_count": 31}, "interval_count"),
        ({"interval_unit": "hour"}, "interval_unit"),
        ({"retry_attempts": 8}, "retry_attempts"),
        ({"interval_unit": "day", "retry_interval_hours": 24}, "retry_interval_hours"),
        ({"retry_interval_hours": 73}, "retry_interval_hours"),
        ({"start_date": "2026-12-01", "expiry_date": "2026-11-30"}, "expiry_date"),
    ],
)
def test_plans_have_limits(changes: dict[str, object], field: str) -> None:
    members: dict[str, object] = {"interval_unit": "month", "interval_count": 1}
    with pytest.raises(InvalidRequestError) as caught:
        RecurringPlan.model_validate(members | changes)
    assert caught.value.field == field


async def test_the_transactions_of_a_subscription(client: GatewayClient, gateway: ScriptedServer) -> None:
    gateway.will_answer(
        json_reply([PAYMENT]), json_reply(PAYMENT), json_reply({"message": "none", "args": {}}, 404), json_reply({})
    )
    for _ in range(2):
        (record,) = await client.subscriptions.transactions(
            "r-1", method=Method.PURCHASE, status=Status.SUCCESS, timeout=30
        )
        assert record.order_id == "order1"
    assert gateway.last.path == f"/api/v1/pos/{POS_ID}/recurring/r-1"
    assert gateway.last.query == {"method": ["purchase"], "status": ["success"]}
    for kind in (NotFoundError, OutcomeUnknownError):
        with pytest.raises(kind):
            await client.subscriptions.transactions("r-1", method=Method.REFUND, status=Status.SUCCESS, timeout=30)


@pytest.mark.parametrize("word", ["canceled", "CANCELED "])
async def test_a_subscription_ends(client: GatewayClient, gateway: ScriptedServer, word: str) -> None:
    gateway.will_answer(json_reply({"recurring_status": word, "recurring_payment": {"order_id": "order1"}}))
    ended = await client.subscriptions.cancel("r-1", timeout=30)
    assert ended.recurring_status == "canceled"
    assert (gateway.last.method, gateway.last.path) == ("PUT", "/balances-host/api/v1/recurring/r-1/cancel")


async def test_a_charge_of_a_subscription_is_refunded(client: GatewayClient, gateway: ScriptedServer) -> None:
    gateway.will_answer(json_reply(REFUND))
    refund = SubscriptionRefund(order_currency="UAH", refund_amount=Decimal("0.30"))
    record = await client.subscriptions.refund("r-1", "p-1", refund, timeout=30)
    assert record.method is Method.REFUND
    assert gateway.last.path == f"/api/v1/pos/{POS_ID}/recurring/r-1/payments/p-1/refund"
    assert gateway.last.json == {"pos_id": POS_ID, "order_currency": "UAH", "refund_amount": Decimal("0.30")}
    with pytest.raises(InvalidRequestError):
        await client.subscriptions.refund(
            "r-1", "p-1", SubscriptionRefund(order_currency="UAH", pos_id=SHOP), timeout=30
        )


async def test_a_wallets_token_is_exchanged(client: GatewayClient, gateway: ScriptedServer) -> None:
    gateway.will_answer(json_reply({"cc_token": "rcr:1"}), json_reply({}))
    token = await client.wallets.tokenize(Wallet.GOOGLE_PAY, SecretStr("from-the-phone"), timeout=30)
    assert token.get_secret_value() == "rcr:1"
    assert gateway.last.path == "/balances-host/api/v1/tokenization/tokenize"
    assert gateway.last.json == {"pos_id": POS_ID, "token": "gpay:from-the-phone"}
    assert not gateway.last.has("x-api-key")
    with pytest.raises(OutcomeUnknownError):
        await client.wallets.tokenize(Wallet.GOOGLE_PAY, SecretStr("from-the-phone"), timeout=30)


@pytest.mark.parametrize("status", [400, 500])
async def test_nothing_of_a_wallets_token_comes_back_in_an_error(
    client: GatewayClient, gateway: ScriptedServer, status: int
) -> None:
    token = encode_wallet_token('{"signedMessage": "' + "sealed in the phone " * 200 + '"}')
    told = f"cannot read gpay:{token.get_secret_value()}, which holds: sealed in the phone"
    gateway.will_answer(json_reply({"message": told, "args": [{"field_name": "token", "violation": told}]}, status))
    with pytest.raises(GatewayError) as caught:
        await client.wallets.tokenize(Wallet.GOOGLE_PAY, token, timeout=30)
    words = f"{caught.value!r} {vars(caught.value)}"
    assert "sealed" not in words
    assert token.get_secret_value()[:12] not in words
    assert "what the gateway says is not shown" in words or status == 500


async def test_an_apple_pay_session(client: GatewayClient, gateway: ScriptedServer) -> None:
    gateway.will_answer(json_reply({"merchantSessionIdentifier": "s"}), json_reply([]))
    url = "https://apple-pay-gateway.apple.com/paymentservices/startSession"
    assert await client.wallets.apple_pay_session(url, timeout=30) == {"merchantSessionIdentifier": "s"}
    assert gateway.last.json == {"pos_id": POS_ID, "validation_url": url}
    with pytest.raises(OutcomeUnknownError):
        await client.wallets.apple_pay_session(url, timeout=30)
    with pytest.raises(InvalidRequestError):
        await client.wallets.apple_pay_session("startSession", timeout=30)


@pytest.mark.threat("ssrf-gateway")
@pytest.mark.parametrize(
    "url",
    [
        "https://apple-pay-gateway.apple.com/paymentservices/startSession",
        "https://apple-pay-gateway.apple.com/paymentservices/paymentSession",
        "https://cn-apple-pay-gateway.apple.com/paymentservices/startSession",
        "https://apple-pay-gateway-cert.apple.com/paymentservices/startSession",
        "https://apple-pay-gateway-nc-pod5.apple.com/paymentservices/startSession",
        "https://cn-apple-pay-gateway-pr-pod1.apple.com/paymentservices/startSession",
    ],
)
def test_a_session_is_asked_for_at_apples_own_servers(url: str) -> None:
    assert check_validation_url(url) == url


@pytest.mark.threat("ssrf-gateway")
@pytest.mark.parametrize(
    "url",
    [
        "",
        "http://apple-pay-gateway.apple.com/paymentservices/startSession",
        "https://apple-pay-gateway.apple.com:8443/paymentservices/startSession",
        "https://apple-pay-gateway.apple.com@evil.example/paymentservices/startSession",
        "https://evil.example@apple-pay-gateway.apple.com/paymentservices/startSession",
        "https://apple-pay-gateway.apple.com.evil.example/paymentservices/startSession",
        "https://evil-apple-pay-gateway.apple.com/paymentservices/startSession",
        "https://www.apple.com/paymentservices/startSession",
        "https://apple-pay-gateway.apple.com/",
        "https://apple-pay-gateway.apple.com/paymentservices/../admin",
        "https://apple-pay-gateway.apple.com/paymentservices/startSession?to=evil.example",
        "https://apple-pay-gateway.apple.com/paymentservices/startSession#there",
        "https://169.254.169.254/paymentservices/startSession",
        "https://apple-pay-gateway.apple.com\\evil.example/paymentservices/startSession",
    ],
)
async def test_what_a_stranger_names_is_asked_by_nobody(
    client: GatewayClient, gateway: ScriptedServer, url: str
) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        await client.wallets.apple_pay_session(url, timeout=30)
    assert "evil" not in str(caught.value)
    assert gateway.requests == []
