"""Reservations, captures, voids and refunds (gateway interface, 3 to 5)."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from gateway_client_tests.sandbox.harness import Harness, read_json


async def a_hold(harness: Harness, order_id: str = "hold", amount: str = "100.00") -> None:
    await harness.merchant.pay_hosted(order_id, amount, method="auth")
    await harness.control.pay(order_id)


async def test_a_part_is_captured_and_the_rest_is_given_back(harness: Harness) -> None:
    await a_hold(harness)
    assert await harness.merchant.records("hold") == [("auth", "success", "1002")]

    record = read_json(
        await harness.merchant.operate("capture", "hold", charge_amount=Decimal("60.00"), comment="two mugs")
    )
    assert (record["method"], record["status"], record["status_code"]) == ("capture", "success", "1000")
    assert record["amount"] == Decimal("60.00")
    assert record["mode"] == "direct"
    assert record["comment"] == "two mugs"
    assert "processing_time" in record

    again = read_json(await harness.merchant.operate("capture", "hold", charge_amount=Decimal("40.00")), 400)
    assert again["args"]["status_code"] == "4150"
    assert read_json(await harness.merchant.operate("void", "hold"), 400)["args"]["status_code"] == "4150"
    too_much = read_json(await harness.merchant.operate("refund", "hold", refund_amount=Decimal("60.01")), 400)
    assert too_much["args"]["status_code"] == "4139"


async def test_a_void_gives_all_back_and_can_happen_once(harness: Harness) -> None:
    await a_hold(harness)
    record = read_json(await harness.merchant.operate("void", "hold"))
    assert (record["method"], record["status_code"], record["amount"]) == ("void", "1009", Decimal("100.00"))
    assert "receipt_url" not in record
    for operation in ("void", "capture", "refund"):
        refused = read_json(await harness.merchant.operate(operation, "hold"), 400)
        assert refused["args"]["status_code"] == "4150"
    await harness.quiet()
    assert harness.shop.received()[-1] == ("void", "success", "1009")
    assert harness.shop.webhooks[-1]["operation_id"] == record["operation_id"]


@pytest.mark.parametrize(
    ("percent", "amount", "status"), [("0", "100.01", 400), ("25", "125.00", 200), ("25", "125.01", 400)]
)
async def test_a_capture_above_the_hold_needs_an_arrangement(
    harness: Harness, percent: str, amount: str, status: int
) -> None:
    await harness.control.options(capture_excess_percent=percent)
    await a_hold(harness)
    answer = await harness.merchant.operate("capture", "hold", charge_amount=Decimal(amount))
    assert answer.status_code == status


async def test_refunds_never_sum_to_more_than_was_paid(harness: Harness) -> None:
    await harness.merchant.pay_hosted("mugs", "100.00")
    await harness.control.pay("mugs")
    record = read_json(await harness.merchant.operate("refund", "mugs", refund_amount=Decimal("30.00")))
    assert (record["status_code"], record["amount"]) == ("1004", Decimal("30.00"))
    assert "processed_at" in record
    assert record["receipt_url"].startswith(harness.url)

    pending = read_json(await harness.merchant.operate("refund", "mugs", refund_amount=Decimal("20.19")))
    assert (pending["status"], pending["status_code"]) == ("pending", "2119")
    # What is pending counts: 100.00 - 30.00 - 20.19 = 49.81 are left.
    refused = read_json(await harness.merchant.operate("refund", "mugs", refund_amount=Decimal("49.82")), 400)
    assert refused["args"]["status_code"] == "4139"
    # Without an amount everything is asked for, also what was given back before.
    assert (await harness.merchant.operate("refund", "mugs")).status_code == 400
    read_json(await harness.merchant.operate("refund", "mugs", refund_amount=Decimal("49.81")))

    await harness.control.settle("mugs", "4009")
    read_json(await harness.merchant.operate("refund", "mugs", refund_amount=Decimal("20.18")))


async def test_a_pending_refund_is_done_after_a_while(harness: Harness) -> None:
    await harness.merchant.pay_hosted("mugs", "100.00")
    await harness.control.pay("mugs")
    await harness.merchant.operate("refund", "mugs", refund_amount=Decimal("20.19"))
    await harness.control.advance(timedelta(seconds=31))
    await harness.quiet()
    assert harness.shop.received()[-2:] == [("refund", "pending", "2119"), ("refund", "success", "1004")]
    assert (await harness.merchant.records("mugs"))[-1] == ("refund", "success", "1004")


async def test_a_declined_operation_is_a_record(harness: Harness) -> None:
    await a_hold(harness)
    record = read_json(await harness.merchant.operate("capture", "hold", charge_amount=Decimal("50.09")))
    assert (record["status"], record["status_code"]) == ("failure", "4009")
    await harness.control.outcome("4152", method="void")
    assert read_json(await harness.merchant.operate("void", "hold"))["status_code"] == "4152"
    # Neither took anything, so the hold is free still.
    assert read_json(await harness.merchant.operate("void", "hold"))["status_code"] == "1009"


async def test_an_empty_balance_declines_a_refund(harness: Harness) -> None:
    await harness.control.options(opening_balance="0.00", fee_percent="2.00")
    await harness.merchant.pay_hosted("mugs", "100.00")
    await harness.control.pay("mugs")
    assert read_json(await harness.merchant.operate("refund", "mugs"))["status_code"] == "4009"
    assert (
        read_json(await harness.merchant.operate("refund", "mugs", refund_amount=Decimal("98.00")))["status_code"]
        == "1004"
    )


async def test_a_gateway_that_refuses_by_record(harness: Harness) -> None:
    await harness.control.options(refusal="record")
    await a_hold(harness)
    await harness.merchant.operate("void", "hold")
    record = read_json(await harness.merchant.operate("capture", "hold"))
    assert (record["method"], record["status"], record["status_code"]) == ("capture", "failure", "4150")
    assert len(await harness.merchant.records("hold")) == 2


async def test_the_portal_acts_behind_the_shops_back(harness: Harness) -> None:
    await a_hold(harness)
    await harness.control.portal("hold", "capture", Decimal("80.00"))
    await harness.control.portal("hold", "refund", Decimal("10.00"))
    await harness.quiet()
    assert harness.shop.received()[-2:] == [("capture", "success", "1000"), ("refund", "success", "1004")]


@pytest.mark.parametrize(("option", "end"), [("automatic_capture_after", "1000"), ("automatic_void_after", "1009")])
async def test_a_hold_ends_by_itself_when_it_was_arranged(harness: Harness, option: str, end: str) -> None:
    arranged: dict[str, Any] = {option: "PT24H"}
    await harness.control.options(**arranged)
    await a_hold(harness)
    await harness.control.advance(timedelta(hours=23))
    assert len(await harness.merchant.records("hold")) == 1
    await harness.control.advance(timedelta(hours=1))
    assert (await harness.merchant.records("hold"))[-1][1:] == ("success", end)


async def test_the_currency_of_an_operation_must_be_the_payments(harness: Harness) -> None:
    await harness.merchant.pay_hosted("mugs")
    await harness.control.pay("mugs")
    refused = read_json(await harness.merchant.operate("refund", "mugs", order_currency="EUR"), 400)
    assert refused["args"][0]["field_name"] == "order_currency"


async def test_balances_move_with_the_money(harness: Harness) -> None:
    await harness.merchant.pay_hosted("mugs", "100.00")
    await harness.control.pay("mugs")
    await harness.merchant.operate("refund", "mugs", refund_amount=Decimal("40.00"))
    # 10000.00 at first, 100.00 less 1.5 % commission came in, 40.00 went out.
    base = f"/api/v1/balances/pos/{harness.sandbox.settings.points_of_sale[0].pos_id}/accounts"
    headers = {"x-api-key": ""}
    (account,) = read_json(await harness.merchant.http.get(base, headers=headers))["accounts"]
    assert account["currency"] == "UAH"
    assert account["balances"] == {"available": Decimal("10058.50"), "rollingReserve": Decimal("0.00")}
    one = read_json(await harness.merchant.http.get(f"{base}/{account['id']}", headers=headers))
    assert one["balances"] == {"available": Decimal("10058.50"), "rolling_reserve": Decimal("0.00")}
    assert (await harness.merchant.http.get(f"{base}/none", headers=headers)).status_code == 400
    assert (await harness.merchant.http.get(base, headers={"x-api-auth": "CPAY no:no"})).status_code == 401
