"""Payments with a card typed in on the merchant's side, and payouts (gateway interface, 1a, 1c and 2)."""

from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from gateway_client.client import GatewayClient
from gateway_client.errors import GatewayError, InvalidRequestError, RefusedError
from gateway_client.models import DirectPayment, Recipient, SplitItem, Status
from gateway_client_tests.counterpart import PAYMENT, ScriptedServer
from gateway_client_tests.examples import CARD, SHOP, direct, payout
from integration_base_tests.loopback import json_reply


async def test_a_card_payment_that_needs_3ds(client: GatewayClient, gateway: ScriptedServer) -> None:
    gateway.will_answer(
        json_reply(
            {
                **PAYMENT,
                "mode": "direct",
                "status": "pending",
                "status_code": "2122",
                "user_action_required": True,
                "user_action_url": "https://bank.example/3ds",
            }
        )
    )
    record = await client.create_direct(direct(**CARD), timeout=30)
    assert record.status is Status.PENDING
    assert record.user_action_required
    assert record.user_action_url == "https://bank.example/3ds"
    sent = gateway.last.json
    assert gateway.last.path == "/api/v1/payment"
    assert {name: sent[name] for name in CARD} == CARD
    assert sent["mode"] == "direct"
    assert sent["browser_fingerprint"]["browserTimeZoneOffset"] == "-120"
    assert len(sent["browser_fingerprint"]) == 10


async def test_a_payment_with_a_wallets_token(client: GatewayClient, gateway: ScriptedServer) -> None:
    gateway.will_answer(json_reply({**PAYMENT, "cc_token": "rcr:next", "cc_mask": "424242******4242"}))
    record = await client.create_direct(direct(cc_token="rcr:abc"), timeout=30)
    assert gateway.last.json["cc_token"] == "rcr:abc"
    assert record.cc_token is not None
    assert record.cc_token.get_secret_value() == "rcr:next"
    assert "rcr:next" not in f"{record!r} {record} {record.model_dump()}"


async def test_a_split_card_payment(client: GatewayClient, gateway: ScriptedServer) -> None:
    gateway.will_answer(json_reply(PAYMENT))
    split = (SplitItem(sub_merchant_id=SHOP, amount=Decimal(100)),)
    await client.create_direct(direct(split=split, **CARD), timeout=30)
    assert gateway.last.path == "/api/v1/split/purchase"


async def test_a_payout(client: GatewayClient, gateway: ScriptedServer) -> None:
    answer = {**PAYMENT, "order_id": "out1", "mode": "direct", "method": "credit", "customer_city": "Львів"}
    gateway.will_answer(json_reply({**answer, "properties": {"recipient_first_name": "Ivan"}}))
    request = payout(
        cc_number="4242424242424242",
        properties=Recipient(
            recipient_first_name="Ivan", recipient_doc_issue_date="2015-03-01", is_operation_taxable="false"
        ),
    )
    record = await client.pay_out(request, timeout=30)
    assert record.properties == {"recipient_first_name": "Ivan"}
    assert record.customer_city == "Львів"
    sent = gateway.last.json
    assert (gateway.last.path, sent["method"], sent["mode"]) == ("/api/v1/payment", "credit", "direct")
    assert sent["properties"] == {
        "recipient_first_name": "Ivan",
        "recipient_doc_issue_date": "2015-03-01",
        "is_operation_taxable": "false",
    }


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({}, "cc_number"),
        ({"cc_number": CARD["cc_number"]}, "exp_month"),
        ({name: value for name, value in CARD.items() if name != "card_cvv"}, "card_cvv"),
        (CARD | {"cc_token": "t"}, "cc_token"),
        (CARD | {"cc_number": "4242-4242-4242-4242"}, "cc_number"),
        (CARD | {"cc_number": "٤٢٤٢٤٢٤٢٤٢٤٢٤٢٤٢"}, "cc_number"),
        (CARD | {"cc_number": 4242424242424242}, "cc_number"),
        (CARD | {"card_cvv": "12"}, "card_cvv"),
        (CARD | {"exp_month": 13}, "exp_month"),
        (CARD | {"customer_ip": None}, "customer_ip"),
        (CARD | {"browser_fingerprint": {"browserLanguage": "uk"}}, "browser_fingerprint.browserColorDepth"),
    ],
)
def test_exactly_one_means_to_pay_and_never_a_word_of_it_in_the_error(changes: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        direct(**changes)
    assert caught.value.field == field
    assert caught.value.given in {"(not shown)", "nothing", "both"}
    words = f"{caught.value!r} {vars(caught.value)} {caught.value.__context__!r}"
    for value in ("4242", "٤٢", "123"):
        assert value not in words


def test_a_cryptogram_stands_for_the_card_and_does_not_show() -> None:
    payment = direct(cryptogram={"data": "ciphertext"})
    assert payment.to_wire()["cryptogram"] == {"data": "ciphertext"}
    assert "ciphertext" not in f"{payment!r} {payment} {payment.model_dump()}"


def test_a_payout_names_one_card() -> None:
    for changes in ({}, {"cc_number": "4242424242424242", "cc_token": "t"}):
        with pytest.raises(InvalidRequestError, match="cc_token"):
            payout(**changes)


@pytest.mark.threat("card-numbers")
def test_card_data_leaves_a_request_only_on_the_wire() -> None:
    payment = direct(**CARD)
    assert payment.to_wire()["cc_number"] == CARD["cc_number"]
    shown = f"{payment!r} {payment} {payment.model_dump()['cc_number']!r} {payment.model_dump()['card_cvv']!r}"
    assert "4242" not in shown
    assert "123" not in shown
    assert "4242" not in payment.model_dump_json()


async def test_a_gateway_that_quotes_the_card_is_not_quoted(client: GatewayClient, gateway: ScriptedServer) -> None:
    number = CARD["cc_number"]
    gateway.will_answer(
        json_reply(
            {"message": f"Invalid card {number}", "args": [{"field_name": "cc_number", "violation": f"got {number}"}]},
            400,
        )
    )
    with pytest.raises(RefusedError) as caught:
        await client.create_direct(direct(**CARD), timeout=30)
    error: GatewayError = caught.value
    assert number not in f"{error!r} {vars(error)}"
    assert "Invalid card" in error.message


async def test_a_long_quotation_that_is_cut_off_is_not_told_either(
    client: GatewayClient, gateway: ScriptedServer
) -> None:
    sealed = "c2VhbGVkLWJ5LXRoZS13YWxsZXQ" * 40
    gateway.will_answer(
        json_reply({"message": f"Invalid cryptogram {sealed}", "args": {"cryptogram": [{"msg": [sealed]}]}}, 400)
    )
    with pytest.raises(RefusedError) as caught:
        await client.create_direct(direct(cryptogram={"data": sealed}), timeout=30)
    assert "c2VhbGVk" not in f"{caught.value!r} {vars(caught.value)}"
    assert "Invalid cryptogram" in caught.value.message


def test_our_error_stands_alone() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        DirectPayment(**CARD)
    assert not isinstance(caught.value, ValidationError)
    assert caught.value.__context__ is None


@pytest.mark.threat("card-numbers")
@pytest.mark.parametrize("means", [CARD, {"cc_token": "rcr:abcdef"}, {"cryptogram": {"header": [{"key": "k3y"}]}}])
@pytest.mark.parametrize("status", [400, 500])
async def test_a_gateway_that_repeats_the_card_is_not_quoted_with_it(
    client: GatewayClient, gateway: ScriptedServer, status: int, means: dict[str, Any]
) -> None:
    secrets = [str(CARD["cc_number"]), str(CARD["card_cvv"]), "rcr:abcdef", "k3y"]
    given = [secret for secret in secrets if secret in str(means)]
    words = f"cannot take {' and '.join(given)} today"
    gateway.will_answer(
        json_reply({"message": words, "args": [{"field_name": "card_cvv", "violation": words}]}, status)
    )
    with pytest.raises(GatewayError) as caught:
        await client.create_direct(direct(**means), timeout=30)
    told = f"{caught.value!r} {getattr(caught.value, 'violations', ())}"
    assert "cannot take" in told
    assert not [secret for secret in given if secret in told]
