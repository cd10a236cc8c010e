"""Creating a payment on the gateway's page (gateway interface, 1b and 2)."""

from decimal import Decimal
from typing import Any

import httpx2
import pytest

from gateway_client.client import GatewayClient
from gateway_client.credentials import Credentials
from gateway_client.dialect import PUBLIC
from gateway_client.errors import (
    DuplicateOrderError,
    InvalidRequestError,
    NotTheGatewayError,
    OutcomeUnknownError,
    RefusedError,
)
from gateway_client.hosts import check_payment_page
from gateway_client.models import Checkout, Method, PaymentRecord, Sector, SplitItem, Status
from gateway_client_tests.conftest import POS_ID
from gateway_client_tests.counterpart import PAYMENT, ScriptedServer
from gateway_client_tests.examples import OTHER_SHOP, SHOP, hosted
from integration_base_tests.loopback import Reply, json_reply, text_reply

FORM = "https://pay.example/api/v1/checkout/abc/form"
QR = "https://pay.example/api/v1/checkout/abc/qr"


async def test_the_interfaces_answer_is_a_303_and_the_qr_page_is_beside_the_form(
    client: GatewayClient, gateway: ScriptedServer
) -> None:
    gateway.will_answer(text_reply("", 303, location=FORM))
    checkout = await client.create_hosted(hosted(), timeout=30)
    assert checkout == Checkout(checkout_url=FORM, qr_url=QR)
    heard = gateway.last
    assert (heard.method, heard.path, heard.query) == ("POST", "/api/v1/payment", {})
    assert heard.header("x-api-auth") == "CPAY key-of-the-api:secret-of-the-api"
    assert heard.header("x-api-key") == "key-of-endpoints"
    assert heard.header("content-type") == heard.header("accept") == "application/json"
    assert heard.json == {
        "pos_id": POS_ID,
        "mode": "hosted",
        "method": "purchase",
        "amount": Decimal("100.00"),
        "currency": "UAH",
        "description": "Order 1",
        "order_id": "order1",
        "order_3ds_bypass": "always",
        "customer_email": "olena@example.com",
        "customer_phone": "+380501234567",
    }
    assert b'"amount":100.00' in heard.body


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (text_reply("", 302, location=FORM), Checkout(FORM, QR)),
        (
            text_reply("", 303, location="https://pay.shop.example/p/abc"),
            Checkout("https://pay.shop.example/p/abc", None),
        ),
        (text_reply("", 303, location=FORM + "?lang=uk"), Checkout(FORM + "?lang=uk", QR + "?lang=uk")),
        (json_reply({"redirect_url": FORM}), Checkout(FORM, QR)),
        (
            json_reply({"redirect_url": FORM, "payment_id": "p-1"}, 201),
            Checkout(checkout_url=FORM, qr_url=QR, payment_id="p-1"),
        ),
        (json_reply({"qr_link": QR}), Checkout(FORM, QR)),
        (json_reply({"qr_link": "https://pay.example/scan/1"}), Checkout(None, "https://pay.example/scan/1")),
    ],
)
async def test_every_known_form_of_the_answer_is_understood(
    client: GatewayClient, gateway: ScriptedServer, answer: Reply, expected: Checkout
) -> None:
    gateway.will_answer(answer)
    assert await client.create_hosted(hosted(), timeout=30) == expected
    assert len(gateway.requests) == 1


async def test_the_qr_page_can_be_asked_for(client: GatewayClient, gateway: ScriptedServer) -> None:
    gateway.will_answer(json_reply({"qr_link": QR}))
    checkout = await client.create_hosted(hosted(method=Method.AUTH), qr=True, timeout=30)
    assert isinstance(checkout, Checkout)
    assert checkout.qr_url == QR
    assert gateway.last.query == {"qr": ["true"]}
    assert gateway.last.json["method"] == "auth"


@pytest.mark.parametrize(
    ("location", "page"),
    [
        ("/api/v1/checkout/abc/form", "{}/api/v1/checkout/abc/form"),
        ("checkout/abc/form?lang=uk", "{}/api/v1/checkout/abc/form?lang=uk"),
        ("../../pay/abc", "{}/pay/abc"),
        ("/.//other.example/abc", "{}//other.example/abc"),
    ],
)
async def test_a_relative_location_is_a_page_of_the_gateway_itself(
    client: GatewayClient, gateway: ScriptedServer, location: str, page: str
) -> None:
    """RFC 9110, 10.2.2: it is resolved against the address of the request."""
    gateway.will_answer(text_reply("", 303, location=location))
    checkout = await client.create_hosted(hosted(), timeout=30)
    assert isinstance(checkout, Checkout)
    assert checkout.checkout_url == page.format(gateway.url)


@pytest.mark.threat("ssrf-redirect")
@pytest.mark.parametrize(
    "location",
    [
        "//other.example/form",
        "/\\other.example/form",
        "https:/form",
        "https:form",
        "http:form",
        "//127.0.0.2/form",
        "//[form",
        "?page=abc",
        "#abc",
        "payment",
        "/a b",
    ],
)
async def test_a_relative_location_that_may_lead_elsewhere_or_to_no_page_is_refused(
    client: GatewayClient, gateway: ScriptedServer, location: str
) -> None:
    gateway.will_answer(text_reply("", 303, location=location))
    with pytest.raises(NotTheGatewayError, match="no payment page"):
        await client.create_hosted(hosted(), timeout=30)


@pytest.mark.parametrize("link", ["", "javascript:alert(1)", "//pay.example/form", "https://", "https://a b/form"])
async def test_a_link_that_leads_nowhere_leaves_the_outcome_unknown(
    client: GatewayClient, gateway: ScriptedServer, link: str
) -> None:
    gateway.will_answer(text_reply("", 303, location=link), json_reply({"redirect_url": link or " "}))
    for _ in range(2):
        with pytest.raises(OutcomeUnknownError):
            await client.create_hosted(hosted(), timeout=30)


async def test_a_relative_link_in_a_body_leaves_the_outcome_unknown(
    client: GatewayClient, gateway: ScriptedServer
) -> None:
    """Nothing says what it is relative to: it is no reference of HTTP."""
    link = "/api/v1/checkout/abc/form"
    gateway.will_answer(json_reply({"redirect_url": link}), json_reply({"qr_link": link}))
    for _ in range(2):
        with pytest.raises(OutcomeUnknownError):
            await client.create_hosted(hosted(), timeout=30)


@pytest.mark.threat("ssrf-redirect")
@pytest.mark.parametrize("status", [300, 301, 304, 305, 307, 308])
async def test_a_gateway_that_has_moved_is_no_payment_page(
    client: GatewayClient, gateway: ScriptedServer, status: int
) -> None:
    gateway.will_answer(
        text_reply("", status, location="https://new.example/api/v1/payment"), text_reply("", status, location=FORM)
    )
    for _ in range(2):
        with pytest.raises(NotTheGatewayError, match="not the address") as caught:
            await client.create_hosted(hosted(), timeout=30)
        assert caught.value.wrong_address
    assert [heard.path for heard in gateway.requests] == ["/api/v1/payment"] * 2


@pytest.mark.parametrize(
    "link",
    [
        "https://new.example/api/v1/payment",
        "https://new.example/gateway/API/v1/split/purchase/",
        "https://new.example/api/v1/checkout/../payment",
        "https://new.example/api/v1/checkout%2f..%2f../v1/payment",
        "https://new.example/api/v1/pos/1/orders/1",
        "https://new.example/streaming-report/start",
        "https://user@pay.example/form",
        "http://pay.example/api/v1/checkout/abc/form",
        "http://93.184.216.34/api/v1/checkout/abc/form",
    ],
)
async def test_a_link_to_what_is_no_page_is_not_for_shoppers(
    client: GatewayClient, gateway: ScriptedServer, link: str
) -> None:
    answers = (
        text_reply("", 303, location=link),
        text_reply("", 302, location=link),
        json_reply({"redirect_url": link}),
    )
    gateway.will_answer(*answers, json_reply({"qr_link": link}))
    for _ in range(4):
        with pytest.raises(NotTheGatewayError, match="no payment page"):
            await client.create_hosted(hosted(), timeout=30)


def test_plain_http_is_for_a_gateway_that_is_itself_asked_so() -> None:
    page = "http://127.0.0.1:8100/api/v1/checkout/abc/form"
    assert check_payment_page(page, "http://127.0.0.1:8100") == page
    with pytest.raises(ValueError, match="https"):
        check_payment_page(page, "https://pay.example")


async def test_a_payment_declined_at_once_comes_back_as_its_record(
    client: GatewayClient, gateway: ScriptedServer
) -> None:
    gateway.will_answer(
        json_reply({**PAYMENT, "status": "failure", "status_code": "4124"}),
        json_reply({**PAYMENT, "status": "failure", "status_code": "4124"}, 400),
    )
    for _ in range(2):
        record = await client.create_hosted(hosted(), timeout=30)
        assert isinstance(record, PaymentRecord)
        assert (record.status, record.status_code) == (Status.FAILURE, "4124")


@pytest.mark.parametrize(
    "answer",
    [
        json_reply({"message": "Duplicate", "args": {"code": "P-409"}}, 400),
        json_reply({"message": "Duplicate", "args": {"code": "P-409"}}),
        json_reply({"message": "Conflict"}, 409),
        json_reply({**PAYMENT, "status": "failure", "status_code": "4119"}),
        json_reply({**PAYMENT, "status": "failure", "status_code": 4119}, 422),
        json_reply({"status": "failure", "status_code": "4119", "status_description": "order_id exists"}),
    ],
)
async def test_an_order_id_that_was_used_before_is_told_apart(
    client: GatewayClient, gateway: ScriptedServer, answer: Reply
) -> None:
    gateway.will_answer(answer)
    with pytest.raises(DuplicateOrderError) as caught:
        await client.create_hosted(hosted(), timeout=30)
    assert caught.value.order_id == "order1"


async def test_a_failure_without_a_record_is_a_refusal(client: GatewayClient, gateway: ScriptedServer) -> None:
    failed = {"order_id": "order1", "status": "failure", "status_code": "4139", "status_description": "Bad amount"}
    gateway.will_answer(json_reply(failed))
    with pytest.raises(RefusedError, match="Bad amount") as caught:
        await client.create_hosted(hosted(), timeout=30)
    assert caught.value.code == "4139"


async def test_a_split_purchase_has_its_own_endpoint_and_a_split_reservation_has_not(
    client: GatewayClient, gateway: ScriptedServer, credentials: Credentials, http: httpx2.AsyncClient
) -> None:
    split = (
        SplitItem(sub_merchant_id=SHOP, amount=Decimal("70.10")),
        SplitItem(sub_merchant_id=OTHER_SHOP, amount=Decimal("29.90")),
    )
    gateway.will_answer(*[text_reply("", 303, location=FORM)] * 4)
    await client.create_hosted(hosted(split=split), timeout=30)
    assert gateway.last.path == "/api/v1/split/purchase"
    assert gateway.last.json["split"] == [
        {"amount": Decimal("70.10"), "sub_merchant_id": SHOP},
        {"amount": Decimal("29.90"), "sub_merchant_id": OTHER_SHOP},
    ]
    await client.create_hosted(hosted(split=split), qr=True, timeout=30)
    assert (gateway.last.path, gateway.last.query) == ("/api/v1/split/purchase", {"qr": ["true"]})
    await client.create_hosted(hosted(split=split, method=Method.AUTH), timeout=30)
    assert gateway.last.path == "/api/v1/payment"
    assert "split" not in gateway.last.json  # it is divided when it is captured
    public = GatewayClient(http, credentials, dialect=PUBLIC)
    await public.create_hosted(hosted(split=split, method=Method.AUTH), timeout=30)
    assert gateway.last.path == "/api/v1/payment"
    assert "split" in gateway.last.json


async def test_a_request_of_another_account_is_not_sent(client: GatewayClient, gateway: ScriptedServer) -> None:
    with pytest.raises(InvalidRequestError, match="pos_id"):
        await client.create_hosted(hosted(pos_id=SHOP), timeout=30)
    assert gateway.requests == []


async def test_what_the_merchants_sector_asks_for_is_checked_before_sending(
    gateway: ScriptedServer, http: httpx2.AsyncClient, credentials: Credentials
) -> None:
    names = {"customer_fname": "Olena", "customer_lname": "Kovalenko"}
    cases: list[tuple[Sector, dict[str, Any], str | None]] = [
        (Sector.GENERAL, {}, None),
        (Sector.GAMBLING, {}, "customer_fname"),
        (Sector.GAMBLING, {"customer_fname": "Olena"}, "customer_lname"),
        (Sector.GAMBLING, names, None),
        (Sector.MICROFINANCE, names, "customer_birthday"),
        (Sector.MICROFINANCE, names | {"customer_birthday": "1990-05-17"}, None),
        (Sector.MICROFINANCE, names | {"customer_tax_id": "1234567890"}, None),
        (
            Sector.MICROFINANCE,
            names | {"customer_birthday": "1990-05-17", "amount": Decimal("30000.01")},
            "customer_tax_id",
        ),
        (Sector.MICROFINANCE, names | {"customer_birthday": "1990-05-17", "amount": Decimal(30000)}, None),
        (
            Sector.MICROFINANCE,
            names | {"customer_birthday": "1990-05-17", "amount": Decimal(40000), "currency": "EUR"},
            None,
        ),
        (Sector.MICROFINANCE, names | {"customer_tax_id": "1234567890", "amount": Decimal(40000)}, None),
    ]
    for sector, members, missing in cases:
        client = GatewayClient(http, credentials, sector=sector)
        gateway.requests.clear()
        if missing is None:
            gateway.will_answer(text_reply("", 303, location=FORM))
            await client.create_hosted(hosted(**members), timeout=30)
            assert len(gateway.requests) == 1
        else:
            with pytest.raises(InvalidRequestError) as caught:
                await client.create_hosted(hosted(**members), timeout=30)
            assert caught.value.field == missing
            assert gateway.requests == []
