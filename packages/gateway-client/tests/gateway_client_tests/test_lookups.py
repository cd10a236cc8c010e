"""Looking up, resending, checking the keys (gateway interface, 8 and 9)."""

from decimal import Decimal

import pytest

from gateway_client.client import GatewayClient
from gateway_client.errors import (
    BadCredentialsError,
    NotSentError,
    NotTheGatewayError,
    OutcomeUnknownError,
    RateLimitedError,
    RefusedError,
)
from gateway_client.models import Method, OperationRecord, PaymentRecord
from gateway_client_tests.conftest import POS_ID
from gateway_client_tests.counterpart import PAYMENT, REFUND, ScriptedServer
from integration_base_tests.loopback import HangUp, Reply, json_reply, text_reply


async def test_all_operations_of_an_order(client: GatewayClient, gateway: ScriptedServer) -> None:
    gateway.will_answer(json_reply([{**PAYMENT, "recurring": {"id": "r-1", "status": "active"}}, REFUND]))
    payment, refund = await client.get_order("order1", timeout=30)
    assert (gateway.last.method, gateway.last.path) == ("GET", f"/api/v1/pos/{POS_ID}/orders/order1")
    assert gateway.last.header("x-api-key") == "key-of-endpoints"
    assert not gateway.last.has("content-type")
    assert isinstance(payment, PaymentRecord)
    assert payment.recurring is not None
    assert (payment.recurring.id, payment.recurring.status) == ("r-1", "active")
    assert isinstance(refund, OperationRecord)
    assert refund.amount == Decimal(10)


async def test_one_record_or_an_array_of_them_is_the_same(client: GatewayClient, gateway: ScriptedServer) -> None:
    gateway.will_answer(json_reply(PAYMENT), json_reply([PAYMENT]))
    assert await client.get_order("order1", timeout=30) == await client.get_order("order1", timeout=5)


async def test_one_operation_of_an_order(client: GatewayClient, gateway: ScriptedServer) -> None:
    gateway.will_answer(json_reply(REFUND), json_reply([REFUND, REFUND]))
    assert len(await client.get_operation("order1", Method.REFUND, timeout=30)) == 1
    assert gateway.last.path == f"/api/v1/pos/{POS_ID}/orders/order1/refund"
    assert len(await client.get_operation("order1", Method.REFUND, timeout=30)) == 2


@pytest.mark.parametrize(
    "answer",
    [json_reply([]), json_reply({"message": "Payment not found", "args": {"code": "P-404"}}, 404)],
)
async def test_an_order_that_the_gateway_does_not_know(
    client: GatewayClient, gateway: ScriptedServer, answer: Reply
) -> None:
    gateway.will_answer(answer)
    assert await client.get_order("order1", timeout=30) == ()


@pytest.mark.threat("false-gateway")
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        # A proxy's 404, a wrong address: nothing that proves that there is no such order.
        (text_reply("<html>Not found</html>", 404), NotTheGatewayError),
        (json_reply([1, 2], 404), NotTheGatewayError),
        (json_reply({"message": "no"}, 404), NotTheGatewayError),
        (json_reply({"message": "No static resource", "status": 404}, 404), NotTheGatewayError),
        (
            json_reply({"message": "Invalid pos_id field or credentials", "args": {"code": "S-404"}}, 404),
            BadCredentialsError,
        ),
        (json_reply({"message": "down"}, 503), OutcomeUnknownError),
        (json_reply({}), OutcomeUnknownError),
        (json_reply([{}, {}]), OutcomeUnknownError),
        (HangUp(), OutcomeUnknownError),
    ],
)
async def test_only_the_gateways_own_word_means_that_there_is_no_such_order(
    client: GatewayClient, gateway: ScriptedServer, answer: Reply, kind: type[Exception]
) -> None:
    gateway.will_answer(answer)
    with pytest.raises(kind) as caught:
        await client.get_order("order1", timeout=30)
    assert type(caught.value) is kind


@pytest.mark.parametrize("strange", [{}, "text", {**REFUND, "amount": "a lot"}, {**REFUND, "currency": None}])
async def test_an_unreadable_record_does_not_hide_the_others_and_is_told_of(
    client: GatewayClient, gateway: ScriptedServer, strange: object
) -> None:
    gateway.will_answer(json_reply([PAYMENT, strange, REFUND]), json_reply([PAYMENT, REFUND]))
    found = await client.get_order("order1", timeout=30)
    assert [record.method for record in found] == ["purchase", "refund"]
    [why] = found.unreadable
    assert why.startswith("record 2 of 3 is not a")
    assert "a lot" not in why
    assert (await client.get_order("order1", timeout=30)).unreadable == ()


async def test_a_webhook_can_be_sent_again(client: GatewayClient, gateway: ScriptedServer) -> None:
    gateway.will_answer(json_reply(PAYMENT), json_reply({**PAYMENT, "recurring": {"id": "r-1", "status": "active"}}))
    assert len(await client.resend("order1", Method.PURCHASE, timeout=30)) == 1
    assert gateway.last.path == f"/api/v1/pos/{POS_ID}/orders/order1/purchase"
    assert gateway.last.query == {"callback": ["true"]}
    (record,) = await client.resend("order1", Method.PURCHASE, transaction_id="t/1", timeout=30)
    assert gateway.last.query == {"callback": ["true"], "transactionId": ["t/1"]}
    assert isinstance(record, PaymentRecord)
    assert record.recurring is not None


async def test_the_keys_can_be_checked(client: GatewayClient, gateway: ScriptedServer) -> None:
    gateway.will_answer(
        json_reply([]),
        json_reply([PAYMENT]),
        json_reply({"message": "Payment not found", "args": {"code": "P-404"}}, 404),
        json_reply({"message": "Invalid pos_id field or credentials", "args": {"code": "S-404"}}, 404),
        text_reply("", 401),
    )
    for _ in range(3):
        await client.check_credentials(timeout=30)
        assert gateway.last.path == f"/api/v1/pos/{POS_ID}/orders/0"
    for _ in range(2):
        with pytest.raises(BadCredentialsError):
            await client.check_credentials(timeout=30)
    with pytest.raises(NotSentError):
        await client.check_credentials(timeout=0)


@pytest.mark.threat("false-gateway")
@pytest.mark.parametrize(
    "answer",
    [
        text_reply("<html>a parking page</html>"),
        text_reply("<html></html>", 404),
        json_reply([], 503),
        json_reply({}),
        json_reply({"status": "ok"}),
        json_reply([{}]),
        json_reply("OK"),
        json_reply({"message": "no Route matched with those values"}, 404),
        text_reply("", 301, location="https://elsewhere.example/"),
        Reply(204),
    ],
)
async def test_a_page_of_somebody_else_does_not_prove_the_keys(
    client: GatewayClient, gateway: ScriptedServer, answer: Reply
) -> None:
    gateway.will_answer(answer)
    with pytest.raises((OutcomeUnknownError, RefusedError)):
        await client.check_credentials(timeout=30)


BALANCES, NO_BALANCES = json_reply({"accounts": []}), json_reply({}, 401)


@pytest.mark.parametrize(
    ("answers", "refused"),
    [
        ([json_reply({"message": "Invalid pos_id field or credentials", "args": {"code": "S-404"}}, 404)], True),
        ([text_reply("", 401)], True),
        ([text_reply("who are you?", 401)], True),
        ([json_reply({"message": "Not Found", "args": {"code": "R-404"}}, 404), BALANCES, NO_BALANCES], True),
        ([json_reply({"message": "Not Found", "args": {"code": "R-404"}}, 404), BALANCES, BALANCES], False),
        ([json_reply([]), BALANCES, BALANCES], False),
        ([json_reply([]), NO_BALANCES], False),
    ],
)
async def test_keys_are_proven_only_where_others_are_refused(
    client: GatewayClient, gateway: ScriptedServer, answers: list[Reply], refused: bool
) -> None:
    gateway.will_answer(*answers)
    assert await client.refuses_other_keys(timeout=30) is refused
    asked, *_balances = gateway.requests
    assert "key-of-" not in asked.header("x-api-auth") + asked.header("x-api-key")
    assert "secret-of-the-api" not in asked.header("x-api-auth")
    assert asked.path == f"/api/v1/pos/{POS_ID}/orders/0"
    gateway.will_answer(json_reply({"message": "Slow down", "args": {"code": "P-429"}}, 429))
    with pytest.raises(RateLimitedError):
        await client.refuses_other_keys(timeout=30)
