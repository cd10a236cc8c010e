"""Split payments: who gets what, and who gives how much back (gateway interface, 2, 3, 6)."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import httpx2

from gateway_client_tests.sandbox.harness import FINGERPRINT, POS, SUCCESS, Harness, lines, read_json

ANN, BOB = "a0000000-0000-4000-8000-00000000000a", "b0000000-0000-4000-8000-00000000000b"


def parts(**amounts: str) -> list[dict[str, Any]]:
    who = {"ann": ANN, "bob": BOB}
    return [{"sub_merchant_id": who[name], "amount": Decimal(amount)} for name, amount in amounts.items()]


async def split_purchase(
    harness: Harness, order_id: str, split: list[dict[str, Any]] | None, **fields: Any
) -> httpx2.Response:
    body = {
        "mode": "hosted",
        "method": "purchase",
        "amount": Decimal("100.00"),
        "currency": "UAH",
        "description": "Mugs of two makers",
        "order_id": order_id,
        "order_3ds_bypass": "always",
        "customer_email": "ann@example.com",
        "customer_phone": "1",
        "server_url": harness.merchant.server_url,
        "split": split,
    }
    return await harness.merchant.post("/api/v1/split/purchase", body | fields)


async def refund(harness: Harness, amount: str, split: list[dict[str, Any]]) -> httpx2.Response:
    return await harness.merchant.operate("split/refund", "mugs", refund_amount=Decimal(amount), split=split)


async def test_nobody_gives_back_more_than_they_got(harness: Harness) -> None:
    created = await split_purchase(harness, "mugs", parts(ann="70.00", bob="30.00"))
    assert created.status_code == 303
    await harness.control.pay("mugs")

    too_much = read_json(await refund(harness, "31.00", parts(bob="31.00")), 400)
    assert too_much["args"][0]["field_name"] == "split"
    record = read_json(await refund(harness, "30.00", parts(ann="10.00", bob="20.00")))
    assert (record["status_code"], record["amount"]) == ("1004", Decimal("30.00"))
    assert record["split_fee"] == {"amount": Decimal("0.00"), "currency": "UAH"}
    assert "processing_time" in record
    assert (await refund(harness, "11.00", parts(bob="11.00"))).status_code == 400
    read_json(await refund(harness, "70.00", parts(ann="60.00", bob="10.00")))
    assert (await refund(harness, "0.01", parts(ann="0.01"))).status_code == 400


async def test_parts_make_up_the_whole(harness: Harness) -> None:
    assert (await split_purchase(harness, "less", parts(ann="70.00", bob="29.99"))).status_code == 400
    await split_purchase(harness, "mugs", parts(ann="70.00", bob="30.00"))
    await harness.control.pay("mugs")
    assert (await refund(harness, "30.00", parts(ann="10.00"))).status_code == 400


async def test_a_split_payment_is_refunded_by_split_only(harness: Harness) -> None:
    await split_purchase(harness, "mugs", parts(ann="70.00", bob="30.00"))
    await harness.control.pay("mugs")
    assert read_json(await harness.merchant.operate("refund", "mugs"), 400)["args"]["status_code"] == "4150"
    await harness.merchant.pay_hosted("plain")
    await harness.control.pay("plain")
    refused = await harness.merchant.operate(
        "split/refund", "plain", refund_amount=Decimal("1.00"), split=parts(ann="1.00")
    )
    assert read_json(refused, 400)["args"]["status_code"] == "4150"


async def test_a_split_purchase_needs_its_split_and_its_method(harness: Harness) -> None:
    missing = read_json(await split_purchase(harness, "a", None), 400)
    assert missing["args"] == [{"field_name": "split", "violation": "Field required"}]
    wrong = read_json(await split_purchase(harness, "b", parts(ann="100.00"), method="auth"), 400)
    assert wrong["args"][0]["field_name"] == "method"


async def test_a_hold_is_distributed_when_it_is_captured(harness: Harness) -> None:
    await harness.merchant.pay_hosted("mugs", method="auth")
    await harness.control.pay("mugs")
    uneven = await harness.merchant.operate(
        "split/capture", "mugs", charge_amount=Decimal("50.00"), split=parts(ann="49.99")
    )
    assert uneven.status_code == 400
    record = read_json(
        await harness.merchant.operate(
            "split/capture", "mugs", charge_amount=Decimal("50.00"), split=parts(ann="20.00", bob="30.00")
        )
    )
    assert (record["method"], record["amount"]) == ("capture", Decimal("50.00"))
    assert (await refund(harness, "21.00", parts(ann="21.00"))).status_code == 400
    read_json(await refund(harness, "20.00", parts(ann="20.00")))


async def test_a_split_hold_keeps_its_parts_when_captured_whole(harness: Harness) -> None:
    await harness.merchant.pay_hosted("mugs", method="auth", split=parts(ann="70.00", bob="30.00"))
    await harness.control.pay("mugs")
    partly = await harness.merchant.operate("capture", "mugs", charge_amount=Decimal("50.00"))
    assert read_json(partly, 400)["args"][0]["field_name"] == "split"
    read_json(await harness.merchant.operate("split/capture", "mugs"))
    read_json(await refund(harness, "70.00", parts(ann="70.00")))


async def test_a_direct_split_purchase_is_answered_by_its_record(harness: Harness) -> None:
    card = {
        "mode": "direct",
        "cc_number": SUCCESS,
        "exp_month": 12,
        "exp_year": 30,
        "card_cvv": "123",
        "customer_fname": "Ann",
        "customer_lname": "Lee",
        "customer_ip": "192.0.2.1",
        "browser_fingerprint": FINGERPRINT,
    }
    record = read_json(await split_purchase(harness, "direct", parts(ann="100.00"), **card))
    assert (record["method"], record["status_code"]) == ("purchase", "1000")


async def balances(harness: Harness) -> dict[str, Decimal]:
    return {str(who): sub_merchant.balance for who, sub_merchant in (await harness.control.sub_merchants()).items()}


async def test_everybody_has_an_account(harness: Harness) -> None:
    await split_purchase(harness, "mugs", parts(ann="70.00", bob="30.00"))
    assert await balances(harness) == {}, "nobody has paid yet"
    await harness.control.pay("mugs")
    assert await balances(harness) == {ANN: Decimal("70.00"), BOB: Decimal("30.00")}
    read_json(await refund(harness, "25.00", parts(ann="5.00", bob="20.00")))
    assert await balances(harness) == {ANN: Decimal("65.00"), BOB: Decimal("10.00")}
    accounts = read_json(await harness.merchant.http.get(f"/api/v1/balances/pos/{POS.pos_id}/accounts"))["accounts"]
    fee = Decimal("1.50")
    assert accounts[0]["balances"]["available"] == Decimal("10000.00") - fee, "the merchant only pays the commission"


async def test_a_payer_who_pays_less_pays_everybody_less(harness: Harness) -> None:
    await split_purchase(harness, "mugs", parts(ann="66.67", bob="33.33"))
    await harness.control.pay("mugs", processed_amount=Decimal("50.00"))
    assert await balances(harness) == {ANN: Decimal("33.34"), BOB: Decimal("16.66")}
    assert (await refund(harness, "16.67", parts(bob="16.67"))).status_code == 400


async def test_a_gateway_that_takes_less_than_the_whole_leaves_the_rest_to_the_merchant(harness: Harness) -> None:
    await harness.control.options(split_must_sum=False)
    assert (await split_purchase(harness, "more", parts(ann="70.00", bob="30.01"))).status_code == 400
    await split_purchase(harness, "mugs", parts(ann="70.00"))
    await harness.control.pay("mugs")
    assert await balances(harness) == {ANN: Decimal("70.00")}
    accounts = read_json(await harness.merchant.http.get(f"/api/v1/balances/pos/{POS.pos_id}/accounts"))["accounts"]
    assert accounts[0]["balances"]["available"] == Decimal("10028.50")


async def test_a_register_has_a_row_for_each_receiver(harness: Harness) -> None:
    await split_purchase(harness, "mugs", parts(ann="70.00", bob="30.00"))
    await harness.control.pay("mugs")
    fields = ["orderId", "amount", "receiverName", "receiverAmount", "receiverFee"]
    now = await harness.control.now()
    body = {
        "project_id": str(POS.pos_id),
        "start_date": (now - timedelta(days=1)).isoformat(),
        "end_date": (now + timedelta(days=1)).isoformat(),
        "transaction_details": fields,
    }
    started = read_json(await harness.merchant.post("/streaming-report/start", body))
    assert started["count"] == 2
    path = f"/streaming-report/fetch/{started['report_id']}"
    await harness.merchant.http.get(path)  # not ready yet
    rows = lines(await harness.merchant.http.get(path))
    assert [[row[name] for name in fields] for row in rows] == [
        ["mugs", "100.00", ANN, "70.00", "0.00"],
        ["mugs", "100.00", BOB, "30.00", "0.00"],
    ]
