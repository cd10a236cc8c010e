"""Split payments: who gets what, and who gives how much back (gateway interface, 2, 3, 6)."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import httpx2

from tests.sandbox.scene import FINGERPRINT, POS, SUCCESS, Scene, lines, read

ANN, BOB = "a0000000-0000-4000-8000-00000000000a", "b0000000-0000-4000-8000-00000000000b"


def parts(**amounts: str) -> list[dict[str, Any]]:
    who = {"ann": ANN, "bob": BOB}
    return [{"sub_merchant_id": who[name], "amount": Decimal(amount)} for name, amount in amounts.items()]


async def split_purchase(
    scene: Scene, order_id: str, split: list[dict[str, Any]] | None, **fields: Any
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
        "server_url": scene.merchant.server_url,
        "split": split,
    }
    return await scene.merchant.post("/api/v1/split/purchase", body | fields)


async def refund(scene: Scene, amount: str, split: list[dict[str, Any]]) -> httpx2.Response:
    return await scene.merchant.operate("split/refund", "mugs", refund_amount=Decimal(amount), split=split)


async def test_nobody_gives_back_more_than_they_got(scene: Scene) -> None:
    created = await split_purchase(scene, "mugs", parts(ann="70.00", bob="30.00"))
    assert created.status_code == 303
    await scene.control.pay("mugs")

    too_much = read(await refund(scene, "31.00", parts(bob="31.00")), 400)
    assert too_much["args"][0]["field_name"] == "split"
    record = read(await refund(scene, "30.00", parts(ann="10.00", bob="20.00")))
    assert (record["status_code"], record["amount"]) == ("1004", Decimal("30.00"))
    assert record["split_fee"] == {"amount": Decimal("0.00"), "currency": "UAH"}
    assert "processing_time" in record
    assert (await refund(scene, "11.00", parts(bob="11.00"))).status_code == 400
    read(await refund(scene, "70.00", parts(ann="60.00", bob="10.00")))
    assert (await refund(scene, "0.01", parts(ann="0.01"))).status_code == 400


async def test_parts_make_up_the_whole(scene: Scene) -> None:
    assert (await split_purchase(scene, "less", parts(ann="70.00", bob="29.99"))).status_code == 400
    await split_purchase(scene, "mugs", parts(ann="70.00", bob="30.00"))
    await scene.control.pay("mugs")
    assert (await refund(scene, "30.00", parts(ann="10.00"))).status_code == 400


async def test_a_split_payment_is_refunded_by_split_only(scene: Scene) -> None:
    await split_purchase(scene, "mugs", parts(ann="70.00", bob="30.00"))
    await scene.control.pay("mugs")
    assert read(await scene.merchant.operate("refund", "mugs"), 400)["args"]["status_code"] == "4150"
    await scene.merchant.pay_hosted("plain")
    await scene.control.pay("plain")
    refused = await scene.merchant.operate(
        "split/refund", "plain", refund_amount=Decimal("1.00"), split=parts(ann="1.00")
    )
    assert read(refused, 400)["args"]["status_code"] == "4150"


async def test_a_split_purchase_needs_its_split_and_its_method(scene: Scene) -> None:
    missing = read(await split_purchase(scene, "a", None), 400)
    assert missing["args"] == [{"field_name": "split", "violation": "Field required"}]
    wrong = read(await split_purchase(scene, "b", parts(ann="100.00"), method="auth"), 400)
    assert wrong["args"][0]["field_name"] == "method"


async def test_a_hold_is_distributed_when_it_is_captured(scene: Scene) -> None:
    await scene.merchant.pay_hosted("mugs", method="auth")
    await scene.control.pay("mugs")
    uneven = await scene.merchant.operate(
        "split/capture", "mugs", charge_amount=Decimal("50.00"), split=parts(ann="49.99")
    )
    assert uneven.status_code == 400
    record = read(
        await scene.merchant.operate(
            "split/capture", "mugs", charge_amount=Decimal("50.00"), split=parts(ann="20.00", bob="30.00")
        )
    )
    assert (record["method"], record["amount"]) == ("capture", Decimal("50.00"))
    assert (await refund(scene, "21.00", parts(ann="21.00"))).status_code == 400
    read(await refund(scene, "20.00", parts(ann="20.00")))


async def test_a_split_hold_keeps_its_parts_when_captured_whole(scene: Scene) -> None:
    await scene.merchant.pay_hosted("mugs", method="auth", split=parts(ann="70.00", bob="30.00"))
    await scene.control.pay("mugs")
    partly = await scene.merchant.operate("capture", "mugs", charge_amount=Decimal("50.00"))
    assert read(partly, 400)["args"][0]["field_name"] == "split"
    read(await scene.merchant.operate("split/capture", "mugs"))
    read(await refund(scene, "70.00", parts(ann="70.00")))


async def test_a_direct_split_purchase_is_answered_by_its_record(scene: Scene) -> None:
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
    record = read(await split_purchase(scene, "direct", parts(ann="100.00"), **card))
    assert (record["method"], record["status_code"]) == ("purchase", "1000")


async def balances(scene: Scene) -> dict[str, Decimal]:
    return {str(who): each.balance for who, each in (await scene.control.sub_merchants()).items()}


async def test_everybody_has_an_account(scene: Scene) -> None:
    await split_purchase(scene, "mugs", parts(ann="70.00", bob="30.00"))
    assert await balances(scene) == {}, "nobody has paid yet"
    await scene.control.pay("mugs")
    assert await balances(scene) == {ANN: Decimal("70.00"), BOB: Decimal("30.00")}
    read(await refund(scene, "25.00", parts(ann="5.00", bob="20.00")))
    assert await balances(scene) == {ANN: Decimal("65.00"), BOB: Decimal("10.00")}
    accounts = read(await scene.merchant.http.get(f"/api/v1/balances/pos/{POS.pos_id}/accounts"))["accounts"]
    fee = Decimal("1.50")
    assert accounts[0]["balances"]["available"] == Decimal("10000.00") - fee, "the merchant only pays the commission"


async def test_a_payer_who_pays_less_pays_everybody_less(scene: Scene) -> None:
    await split_purchase(scene, "mugs", parts(ann="66.67", bob="33.33"))
    await scene.control.pay("mugs", processed_amount=Decimal("50.00"))
    assert await balances(scene) == {ANN: Decimal("33.34"), BOB: Decimal("16.66")}
    assert (await refund(scene, "16.67", parts(bob="16.67"))).status_code == 400


async def test_a_gateway_that_takes_less_than_the_whole_leaves_the_rest_to_the_merchant(scene: Scene) -> None:
    await scene.control.options(split_must_sum=False)
    assert (await split_purchase(scene, "more", parts(ann="70.00", bob="30.01"))).status_code == 400
    await split_purchase(scene, "mugs", parts(ann="70.00"))
    await scene.control.pay("mugs")
    assert await balances(scene) == {ANN: Decimal("70.00")}
    accounts = read(await scene.merchant.http.get(f"/api/v1/balances/pos/{POS.pos_id}/accounts"))["accounts"]
    assert accounts[0]["balances"]["available"] == Decimal("10028.50")


async def test_a_register_has_a_row_for_each_receiver(scene: Scene) -> None:
    await split_purchase(scene, "mugs", parts(ann="70.00", bob="30.00"))
    await scene.control.pay("mugs")
    fields = ["orderId", "amount", "receiverName", "receiverAmount", "receiverFee"]
    now = await scene.control.now()
    body = {
        "project_id": str(POS.pos_id),
        "start_date": (now - timedelta(days=1)).isoformat(),
        "end_date": (now + timedelta(days=1)).isoformat(),
        "transaction_details": fields,
    }
    started = read(await scene.merchant.post("/streaming-report/start", body))
    assert started["count"] == 2
    path = f"/streaming-report/fetch/{started['report_id']}"
    await scene.merchant.http.get(path)  # not ready yet
    rows = lines(await scene.merchant.http.get(path))
    assert [[row[name] for name in fields] for row in rows] == [
        ["mugs", "100.00", ANN, "70.00", "0.00"],
        ["mugs", "100.00", BOB, "30.00", "0.00"],
    ]
