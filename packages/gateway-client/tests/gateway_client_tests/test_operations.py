"""Capture, void, refund, cancel (gateway interface, 3 to 7)."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import httpx2
import pytest

from gateway_client.client import GatewayClient
from gateway_client.credentials import Credentials
from gateway_client.dialect import INTERFACE, PUBLIC
from gateway_client.errors import (
    BadCredentialsError,
    InvalidRequestError,
    NotFoundError,
    NotTheGatewayError,
    OutcomeUnknownError,
    RateLimitedError,
    RefusedError,
    Violation,
)
from gateway_client.models import (
    Capture,
    Method,
    Product,
    ReceiptDelivery,
    Refund,
    SplitItem,
    SplitRefund,
    Status,
    Void,
)
from gateway_client_tests.conftest import POS_ID
from gateway_client_tests.counterpart import PAYMENT, REFUND, ScriptedServer
from gateway_client_tests.examples import OTHER_SHOP, SHOP
from integration_base_tests.loopback import Reply, json_reply, text_reply

ASKED = {"order_id": "order1", "order_currency": "UAH"}
SHARES = (
    SplitItem(sub_merchant_id=SHOP, amount=Decimal("6.60")),
    SplitItem(sub_merchant_id=OTHER_SHOP, amount=Decimal("3.40")),
)
SHARES_SENT = [
    {"amount": Decimal("6.60"), "sub_merchant_id": SHOP},
    {"amount": Decimal("3.40"), "sub_merchant_id": OTHER_SHOP},
]


def answer(method: str, **changes: Any) -> Reply:
    members = {name: value for name, value in REFUND.items() if name != "processed_at"}
    return json_reply({**members, "method": method, "processing_time": "2026-11-21T11:00:00.500", **changes})


async def test_capture_all_or_a_part(client: GatewayClient, gateway: ScriptedServer) -> None:
    gateway.will_answer(answer("capture", status_code="1000"), answer("capture"))
    record = await client.capture(Capture(**ASKED), timeout=30)
    assert record.method is Method.CAPTURE
    assert record.processed_at is not None
    assert gateway.last.path == "/api/v1/split/capture"
    assert gateway.last.json == {"pos_id": POS_ID, **ASKED}
    await client.capture(
        Capture(**ASKED, charge_amount=Decimal("10.5"), comment="часткове", server_url="https://shop.example/hook"),
        timeout=30,
    )
    assert b'"charge_amount":10.50' in gateway.last.body
    assert gateway.last.json["comment"] == "часткове"


async def test_what_only_the_public_dialect_sends_with_captures_and_refunds(
    credentials: Credentials, http: httpx2.AsyncClient, gateway: ScriptedServer
) -> None:
    """Products, and a capture without split to an address of its own; the interface has neither."""
    product = Product(id="mug", name="Mug", amount=Decimal(10), qty=1)
    for dialect, path in ((PUBLIC, "/api/v1/capture"), (INTERFACE, "/api/v1/split/capture")):
        client = GatewayClient(http, credentials, dialect=dialect)
        gateway.will_answer(answer("capture"), json_reply(REFUND))
        await client.capture(Capture(**ASKED, products=(product,)), timeout=30)
        assert gateway.last.path == path
        assert ("products" in gateway.last.json) is (dialect is PUBLIC)
        await client.refund(Refund(**ASKED, products=(product,), f_receipt_delivery="email"), timeout=30)
        assert gateway.last.json["f_receipt_delivery"] == "email"
        assert ("products" in gateway.last.json) is (dialect is PUBLIC)


async def test_a_capture_distributed_among_sub_merchants(client: GatewayClient, gateway: ScriptedServer) -> None:
    gateway.will_answer(answer("capture"))
    await client.capture(Capture(**ASKED, charge_amount=Decimal(10), split=SHARES), timeout=30)
    assert gateway.last.path == "/api/v1/split/capture"
    assert gateway.last.json["split"] == SHARES_SENT


async def test_void(client: GatewayClient, gateway: ScriptedServer) -> None:
    gateway.will_answer(answer("void", status_code="1009"))
    record = await client.void(Void(**ASKED, comment="sold out"), timeout=30)
    assert record.status is Status.SUCCESS
    assert gateway.last.path == "/api/v1/void"
    assert gateway.last.json == {"pos_id": POS_ID, **ASKED, "comment": "sold out"}


async def test_refund_all_or_a_part(client: GatewayClient, gateway: ScriptedServer) -> None:
    gateway.will_answer(json_reply(REFUND), json_reply({**REFUND, "amount": "0.30"}))
    await client.refund(Refund(**ASKED), timeout=30)
    assert gateway.last.path == "/api/v1/refund"
    assert "refund_amount" not in gateway.last.json
    record = await client.refund(
        Refund(
            **ASKED,
            refund_amount=Decimal("0.1") + Decimal("0.2"),
            f_receipt_delivery=ReceiptDelivery.VIBER,
            products=[Product(id="1", name="Кава", amount=Decimal("0.30"), qty=1)],
        ),
        timeout=30,
    )
    assert b'"refund_amount":0.30,' in gateway.last.body
    assert gateway.last.json["f_receipt_delivery"] == "viber"
    assert record.amount == Decimal("0.30")


async def test_refund_of_sub_merchants_says_currency_not_order_currency(
    client: GatewayClient, gateway: ScriptedServer
) -> None:
    gateway.will_answer(answer("refund", split_fee={"amount": Decimal("0.05"), "currency": "UAH"}))
    record = await client.split_refund(
        SplitRefund(order_id="order1", currency="UAH", refund_amount=Decimal(10), split=SHARES), timeout=30
    )
    assert gateway.last.path == "/api/v1/split/refund"
    assert gateway.last.json == {
        "pos_id": POS_ID,
        "order_id": "order1",
        "currency": "UAH",
        "refund_amount": 10,
        "split": SHARES_SENT,
    }
    assert record.split_fee is not None


def test_shares_must_sum_and_refunds_name_each_sub_merchant_once() -> None:
    with pytest.raises(InvalidRequestError, match="split"):
        Capture(**ASKED, charge_amount=Decimal("10.01"), split=SHARES)
    with pytest.raises(InvalidRequestError, match="charge_amount"):
        Capture(**ASKED, split=SHARES)
    with pytest.raises(InvalidRequestError, match="one item per sub-merchant"):
        SplitRefund(
            order_id="order1",
            currency="UAH",
            refund_amount=Decimal(2),
            split=[SplitItem(sub_merchant_id=SHOP, amount=1)] * 2,
        )


async def test_cancel_comes_back_in_an_array(client: GatewayClient, gateway: ScriptedServer) -> None:
    gone = {**PAYMENT, "status": "failure", "status_code": "6007", "user_action_required": False}
    gateway.will_answer(json_reply([{**gone, "user_action_url": None}]), json_reply(gone))
    record = await client.cancel("order1", timeout=30)
    assert (gateway.last.method, gateway.last.path) == ("POST", f"/api/v1/pos/{POS_ID}/order/order1/cancel")
    assert gateway.last.body == b""
    assert (record.status, record.status_code, record.user_action_required) == (Status.FAILURE, "6007", False)
    assert (await client.cancel("order1", timeout=30)).status is Status.FAILURE


@pytest.mark.parametrize("document", [[], [REFUND], [{**PAYMENT, "order_id": "other"}], {"message": "ok"}])
async def test_cancel_without_the_orders_record_is_unknown(
    client: GatewayClient, gateway: ScriptedServer, document: object
) -> None:
    gateway.will_answer(json_reply(document))
    with pytest.raises(OutcomeUnknownError):
        await client.cancel("order1", timeout=30)


async def test_an_order_id_is_one_step_of_the_path(client: GatewayClient, gateway: ScriptedServer) -> None:
    gateway.will_answer(json_reply([]))
    await client.get_order("../a b?c", timeout=30)
    assert gateway.last.path == f"/api/v1/pos/{POS_ID}/orders/..%2Fa%20b%3Fc"
    for order_id in ("", ".", ".."):
        with pytest.raises(InvalidRequestError):
            await client.cancel(order_id, timeout=30)
    assert len(gateway.requests) == 1


async def test_a_declined_refund_is_a_record_whatever_the_http_status(
    client: GatewayClient, gateway: ScriptedServer
) -> None:
    declined = {**REFUND, "status": "failure", "status_code": "4150"}
    gateway.will_answer(json_reply(declined), json_reply(declined, 400))
    for _ in range(2):
        record = await client.refund(Refund(**ASKED), timeout=30)
        assert (record.status, record.status_code) == (Status.FAILURE, "4150")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (json_reply({"message": "No", "args": {"code": "P-400"}}, 400), (RefusedError, "P-400", "No", ())),
        (
            json_reply(
                {"message": "Invalid", "args": [{"field_name": "refund_amount", "violation": "1 - 2 UAH"}]}, 400
            ),
            (RefusedError, None, "Invalid", (Violation("refund_amount", "1 - 2 UAH"),)),
        ),
        (
            json_reply({"message": "Invalid", "args": {"obj": [{"msg": ["too much", "too late"]}], "x": "odd"}}, 422),
            (
                RefusedError,
                None,
                "Invalid",
                (Violation("obj", "too much"), Violation("obj", "too late"), Violation("x", "odd")),
            ),
        ),
        (json_reply({"message": "No", "args": None}, 405), (RefusedError, None, "No", ())),
        (json_reply({"message": "No", "args": [7, {"odd": 1}, None]}, 406), (RefusedError, None, "No", ())),
        (json_reply({"message": "No", "args": {"status_code": 4150}}), (RefusedError, "4150", "No", ())),
        (
            json_reply({"message": "No", "args": {"status_code": "4150", "sum": "too much"}}),
            (RefusedError, "4150", "No", (Violation("sum", "too much"),)),
        ),
        (
            json_reply({"message": "No", "args": {"code": "X", "sum": "too much"}}),
            (RefusedError, "X", "No", (Violation("sum", "too much"),)),
        ),
        (
            json_reply({"order_id": "order1", "status": "failure", "status_code": "4150", "status_description": "No"}),
            (RefusedError, "4150", "No", ()),
        ),
        (
            json_reply(
                {"order_id": "order1", "status": "failure", "response_code": 4150, "response_description": "No"}
            ),
            (RefusedError, "4150", "No", ()),
        ),
        # The only error body that the interface shows.
        (json_reply({"message": "No", "code": "X"}, 400), (RefusedError, "X", "No", ())),
        (json_reply({"message": "No", "code": 77}, 405), (RefusedError, "77", "No", ())),
        (json_reply({"message": "No", "code": "not_found"}, 404), (NotFoundError, "not_found", "No", ())),
        (json_reply({"message": "No", "code": "keys"}, 401), (BadCredentialsError, "keys", "No", ())),
        (json_reply({"message": "Slow down", "args": {}}, 429), (RateLimitedError, None, "Slow down", ())),
        (json_reply({"message": "No such payment", "args": {}}, 404), (NotFoundError, None, "No such payment", ())),
        (json_reply({"message": "Keys", "args": {"code": "S-404"}}, 404), (BadCredentialsError, "S-404", "Keys", ())),
        (json_reply({"message": "Keys", "args": {"code": "S-403"}}, 403), (BadCredentialsError, "S-403", "Keys", ())),
        (json_reply({"message": "Keys", "args": {"code": "S-401"}}, 400), (BadCredentialsError, "S-401", "Keys", ())),
    ],
)
async def test_refusals_of_every_shape(
    client: GatewayClient,
    gateway: ScriptedServer,
    reply: Reply,
    expected: tuple[type[RefusedError], str | None, str, tuple[Violation, ...]],
) -> None:
    gateway.will_answer(reply)
    with pytest.raises(RefusedError) as caught:
        await client.refund(Refund(**ASKED), timeout=30)
    error = caught.value
    assert (type(error), error.code, error.message, error.violations) == expected
    assert (error.method, error.path, error.order_id) == ("POST", "/api/v1/refund", "order1")
    assert error.http_status == reply.status


@pytest.mark.parametrize(
    "members",
    [
        {"message": "No", "args": {"status_code": "4150", "code": "X-1"}},
        {"message": "No", "args": {"code": "4150"}},
        {"message": "No", "args": {}, "status_code": 4150, "code": "X-1"},
        {"message": "No", "code": "4150"},
    ],
)
async def test_a_code_of_the_status_table_is_found_beside_the_error_s_own(
    client: GatewayClient, gateway: ScriptedServer, members: dict[str, object]
) -> None:
    gateway.will_answer(json_reply(members, 400))
    with pytest.raises(RefusedError) as caught:
        await client.refund(Refund(**ASKED), timeout=30)
    assert caught.value.status_code == "4150"


@pytest.mark.threat("false-gateway")
@pytest.mark.law(2)
@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 407, 409, 422, 429])
@pytest.mark.parametrize(
    "reply",
    [
        text_reply(""),
        text_reply("<html>blocked</html>"),
        json_reply({"message": "Forbidden"}),
        json_reply({"message": "", "args": {}}),
        json_reply({"message": "", "code": "X"}),
        json_reply({"message": "No", "code": None}),
        json_reply({"message": "No", "code": True}),
        json_reply({"message": "No", "code": "report_not_ready"}),
        json_reply({"message": 7, "args": {}}),
        json_reply({"message": "No", "args": "odd"}),
        json_reply({"details": "why not", "code": 77}),
        json_reply({"error": "Not Found", "status": 404, "message": "No static resource"}),
        json_reply({"status": "failure", "status_code": "4150"}),
        json_reply({"order_id": "another", "status": "failure", "status_code": "4150"}),
        json_reply([1, 2]),
    ],
)
async def test_what_the_gateway_itself_did_not_say_refuses_nothing(
    client: GatewayClient, gateway: ScriptedServer, reply: Reply, status: int
) -> None:
    """It may have been said by a proxy, or by another API, before the gateway heard of it or after it was done."""
    gateway.will_answer(replace(reply, status=status))
    with pytest.raises(NotTheGatewayError) as caught:
        await client.refund(Refund(**ASKED), timeout=30)
    assert isinstance(caught.value, OutcomeUnknownError)
    assert caught.value.http_status == status


@pytest.mark.law(2)
@pytest.mark.parametrize("status", [400, 403, 404, 409, 429])
@pytest.mark.parametrize(
    "members",
    [
        {"message": "No", "args": {"code": "P-400"}, "status": "success"},
        {"message": "No", "args": {"code": "P-400"}, "status": "pending", "amount": "much"},
        {"order_id": "another", "status": "failure"},
        {"method": "capture", "status": "failure"},
    ],
)
async def test_a_record_that_does_not_say_that_this_failed_refuses_nothing(
    client: GatewayClient, gateway: ScriptedServer, members: dict[str, object], status: int
) -> None:
    gateway.will_answer(json_reply({**REFUND, **members}, status))
    with pytest.raises(OutcomeUnknownError):
        await client.refund(Refund(**ASKED), timeout=30)


@pytest.mark.law(2)
@pytest.mark.parametrize("status", ["init", "pending", "success"])
@pytest.mark.parametrize("name", ["payment_id", "operation_id"])
async def test_a_4xx_whose_record_says_anything_but_failure_is_unknown(
    client: GatewayClient, gateway: ScriptedServer, status: str, name: str
) -> None:
    """Either id makes it a record."""
    members = {member: value for member, value in REFUND.items() if member not in {"payment_id", "operation_id"}}
    gateway.will_answer(json_reply(members | {name: "x", "status": status}, 400))
    with pytest.raises(OutcomeUnknownError) as caught:
        await client.refund(Refund(**ASKED), timeout=30)
    assert type(caught.value) is OutcomeUnknownError


@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ({}, None),
        ({"Retry_After": "7"}, 7.0),
        ({"Retry_After": "9" * 30}, 3600.0),
        ({"Retry_After": "soon"}, None),
        ({"Retry_After": "Sat, 21 Nov 2026 10:00:30 GMT"}, None),
        ({"Retry_After": "Sat, 21 Nov 2026 10:00:30 GMT", "Date": "Sat, 21 Nov 2026 10:00:00 GMT"}, 30.0),
        ({"Retry_After": "Sat, 21 Nov 2026 09:00:00 GMT", "Date": "Sat, 21 Nov 2026 10:00:00 GMT"}, 0.0),
        ({"Retry_After": "Sat, 21 Nov 99999999999999999999 10:00:00 GMT"}, None),
        ({"Retry_After": "Sat, 21 Nov 2026 10:00:09 GMT", "Date": "Sat, 21 Nov 2026 10:00:00 -0000"}, 9.0),
    ],
)
async def test_the_pause_that_the_gateway_asks_for(
    client: GatewayClient, gateway: ScriptedServer, headers: dict[str, str], pause: float | None
) -> None:
    gateway.will_answer(
        replace(text_reply("", 429, **headers), body=json_reply({"message": "Slow down", "args": {}}).pieces)
    )
    with pytest.raises(RateLimitedError) as caught:
        await client.refund(Refund(**ASKED), timeout=30)
    assert caught.value.pause == pause


async def test_a_refusal_says_who_what_and_why_on_one_line(client: GatewayClient, gateway: ScriptedServer) -> None:
    gateway.will_answer(json_reply({"message": "Nope,\n  not\x0bthis " + "x" * 600, "args": {"code": "P-400"}}, 400))
    with pytest.raises(RefusedError) as caught:
        await client.refund(Refund(**ASKED), timeout=30)
    words = repr(caught.value)
    assert words.startswith("<RefusedError: POST /api/v1/refund: Nope, not this xxx")
    assert words.endswith("[HTTP 400, code P-400, order order1]>")
    assert len(caught.value.message) == 512
