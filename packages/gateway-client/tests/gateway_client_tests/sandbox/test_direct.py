"""Direct payments, tokens, payouts, card checks (gateway interface, 1a and 1c)."""

from decimal import Decimal
from typing import Any

import pytest

from gateway_client.sandbox.core.cards import coded_card
from gateway_client.wallets import encode_wallet_token
from gateway_client_tests.examples import GOOGLE_TOKEN
from gateway_client_tests.sandbox.harness import (
    CHALLENGE,
    FINGERPRINT,
    MASTERCARD,
    NO_CARD,
    NO_MONEY,
    SUCCESS,
    Harness,
    read_json,
)


@pytest.mark.parametrize(
    ("card", "status", "code"),
    [
        (SUCCESS, "success", "1000"),
        (MASTERCARD, "success", "1000"),
        (NO_MONEY, "failure", "4009"),
        (coded_card("5999"), "failure", "5999"),
        ("4000056655665556", "failure", "4144"),
    ],
)
async def test_the_card_chooses_the_end(harness: Harness, card: str, status: str, code: str) -> None:
    record = read_json(await harness.merchant.pay_direct("card", card=card))
    assert (record["status"], record["status_code"]) == (status, code)
    assert record["cc_mask"] == f"{card[:6]}******{card[-4:]}"
    assert "processing_time" in record


async def test_3ds_sends_the_payer_to_the_bank(harness: Harness) -> None:
    record = read_json(await harness.merchant.pay_direct("bank", card=CHALLENGE, method="auth"))
    assert (record["status"], record["status_code"]) == ("pending", "2122")
    assert record["user_action_required"] is True
    assert record["user_action_url"].startswith(harness.url)
    await harness.control.challenge("bank")
    (record,) = read_json(await harness.merchant.look("bank"))
    assert (record["status"], record["status_code"]) == ("success", "1002")
    assert record["user_action_url"] is None


async def test_a_card_that_is_over_has_expired(harness: Harness) -> None:
    assert read_json(await harness.merchant.pay_direct("old", exp_month=10, exp_year=2026))["status_code"] == "4001"
    assert read_json(await harness.merchant.pay_direct("new", exp_month=11, exp_year=26))["status_code"] == "1000"


async def test_a_token_pays_like_its_card(harness: Harness) -> None:
    token = read_json(await harness.merchant.pay_direct("first", card=MASTERCARD))["cc_token"]
    record = read_json(await harness.merchant.pay_direct("second", cc_token=token, **NO_CARD))
    assert (record["status_code"], record["cc_mask"]) == ("1000", "545454******5454")
    assert read_json(await harness.merchant.pay_direct("third", cc_token="stolen", **NO_CARD))["status_code"] == "4144"
    both = read_json(await harness.merchant.pay_direct("fourth", cc_token=token), 400)
    assert both["args"][0]["field_name"] == "cc_token"


async def test_a_wallet_is_exchanged_for_a_token(harness: Harness) -> None:
    refused = await harness.merchant.post("/api/v1/tokenization/tokenize", {"token": "visa:1"})
    assert refused.status_code == 400
    token = read_json(
        await harness.merchant.post(
            "/api/v1/tokenization/tokenize", {"token": f"gpay:{encode_wallet_token(GOOGLE_TOKEN).get_secret_value()}"}
        )
    )["cc_token"]
    assert token.startswith("rcr:")
    assert read_json(await harness.merchant.pay_direct("wallet", cc_token=token, **NO_CARD))["status"] == "success"
    session = {"validation_url": "https://apple-pay-gateway.apple.com/paymentservices/startSession"}
    assert "merchantSessionIdentifier" in read_json(await harness.merchant.post("/api/v1/applepay/session", session))


async def test_no_card_number_is_kept_or_echoed(harness: Harness) -> None:
    await harness.merchant.pay_direct("card", card=NO_MONEY)
    refused = await harness.merchant.pay_direct("bad", card=f"{SUCCESS}12345")
    assert refused.status_code == 400
    assert SUCCESS not in refused.text
    assert NO_MONEY not in harness.sandbox.state.model_dump_json()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"amount": Decimal(-1)}, "amount"),
        ({"amount": Decimal("1.001")}, "amount"),
        ({"amount": True}, "amount"),
        ({"amount": Decimal("1000000.01")}, "amount"),
        ({"currency": "uah"}, "currency"),
        ({"description": None}, "description"),
        ({"order_3ds_bypass": None}, "order_3ds_bypass"),
        ({"customer_ip": None}, "customer_ip"),
        ({"card_cvv": None}, "cc_number"),
        (
            {"browser_fingerprint": {k: v for k, v in FINGERPRINT.items() if k != "browserUserAgent"}},
            "browser_fingerprint.browserUserAgent",
        ),
        ({"server_url": "javascript:alert(1)"}, "server_url"),
        ({"payload": "x" * 4001}, "payload"),
        ({"attributes": [{"key": "k", "value": "v"}] * 21}, "attributes"),
        ({"attributes": [{"key": "k" * 46, "value": "v"}]}, "attributes.0.key"),
        ({"attributes": [{"key": "k", "value": "v" * 251}]}, "attributes.0.value"),
        ({"customer_birthday": "1.1.2000"}, "customer_birthday"),
        ({"f_receipt_delivery": "pigeon"}, "f_receipt_delivery"),
        ({"method": "dispute"}, "method"),
    ],
)
async def test_what_breaks_a_rule_is_named(harness: Harness, changes: dict[str, Any], field: str) -> None:
    body = harness.merchant.direct_body("bad") | changes
    sent = {name: value for name, value in body.items() if value is not None}
    refused = read_json(await harness.merchant.post("/api/v1/payment", sent), 400)
    assert [problem["field_name"] for problem in refused["args"]] == [field]
    assert refused["message"] == f"Invalid {field} provided"
    assert read_json(await harness.merchant.look("bad"), 404)["args"]["code"] == "P-404"


async def test_a_hosted_payment_takes_no_card(harness: Harness) -> None:
    refused = read_json(await harness.merchant.pay_hosted("bad", cc_number=SUCCESS, card_cvv="123"), 400)
    assert {problem["field_name"] for problem in refused["args"]} == {"cc_number", "card_cvv"}


async def test_sectors_ask_for_more(harness: Harness) -> None:
    await harness.control.options(sector="microfinance")
    assert (await harness.merchant.pay_direct("a")).status_code == 400
    assert (await harness.merchant.pay_direct("b", customer_birthday="2000-01-31")).status_code == 200
    rich = await harness.merchant.pay_direct("c", "30000.01", customer_birthday="2000-01-31")
    assert read_json(rich, 400)["args"][0]["field_name"] == "customer_tax_id"
    assert (await harness.merchant.pay_direct("d", "30000.01", customer_tax_id="1234567890")).status_code == 200
    await harness.control.options(sector="gambling")
    refused = read_json(await harness.merchant.pay_hosted("e"), 400)
    assert [p["field_name"] for p in refused["args"]] == ["customer_fname", "customer_lname"]
    assert (await harness.merchant.pay_hosted("f", customer_fname="A", customer_lname="B")).status_code == 303


async def test_a_currency_that_is_not_taken(harness: Harness) -> None:
    await harness.control.options(currencies=["EUR"])
    assert read_json(await harness.merchant.pay_direct("direct"))["status_code"] == "4124"
    assert read_json(await harness.merchant.pay_hosted("hosted"), 400)["args"][0]["field_name"] == "currency"


async def test_a_payout_takes_from_the_balance(harness: Harness) -> None:
    body = {
        "mode": "direct",
        "method": "credit",
        "amount": Decimal("9000.00"),
        "currency": "UAH",
        "description": "Prize",
        "order_3ds_bypass": "never",
        "cc_number": SUCCESS,
        "customer_ip": "192.0.2.1",
        "properties": {"recipient_last_name": "Lee"},
    }
    record = read_json(await harness.merchant.post("/api/v1/payment", body | {"order_id": "prize"}))
    assert (record["method"], record["status_code"]) == ("credit", "1000")
    assert record["properties"] == {"recipient_last_name": "Lee"}
    assert record["customer_city"] is None
    # Only 1000.00 are left.
    assert (
        read_json(await harness.merchant.post("/api/v1/payment", body | {"order_id": "more"}))["status_code"] == "4009"
    )
    nobody = {name: value for name, value in body.items() if name != "cc_number"} | {"order_id": "nobody"}
    assert (await harness.merchant.post("/api/v1/payment", nobody)).status_code == 400


async def test_a_card_check_gives_a_token(harness: Harness) -> None:
    record = read_json(await harness.merchant.pay_direct("check", "1.00", method="lookup"))
    assert (record["method"], record["status"]) == ("lookup", "success")
    assert record["cc_token"]


async def test_card_to_card_needs_the_other_card(harness: Harness) -> None:
    assert (await harness.merchant.pay_direct("a", method="p2p")).status_code == 400
    record = read_json(await harness.merchant.pay_direct("b", method="p2p", recipient_cc_number=MASTERCARD))
    assert (record["method"], record["status"]) == ("p2p", "success")


async def test_a_cryptogram_stands_for_a_wallets_card(harness: Harness) -> None:
    record = read_json(await harness.merchant.pay_direct("wallet", cryptogram={"data": "x"}, **NO_CARD))
    assert record["status"] == "success"
    assert record["cc_token"].startswith("rcr:")


async def test_an_amount_that_is_written_short_is_answered_to_the_cent(harness: Harness) -> None:
    body = harness.merchant.direct_body("short") | {"amount": Decimal("100.5")}
    record = read_json(await harness.merchant.post("/api/v1/payment", body))
    assert str(record["amount"]) == "100.50"
