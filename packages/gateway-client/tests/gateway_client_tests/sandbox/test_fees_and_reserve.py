"""What the payer pays on top, and what the gateway keeps back (gateway interface, 10 and 11)."""

from decimal import Decimal
from typing import Any

import pytest

from gateway_client_tests.sandbox.harness import POS, Harness, lines, read_json
from gateway_client_tests.sandbox.test_time import REGISTER

EVERYTHING = ["orderId", "amount", "originalAmount", "customerFee", "merchantFee", "reserveAmount", "method"]


async def register(harness: Harness) -> list[Any]:
    asked = REGISTER | {"transaction_details": EVERYTHING}
    started = read_json(await harness.merchant.post("/streaming-report/start", asked))
    fetch = f"/streaming-report/fetch/{started['report_id']}"
    await harness.merchant.http.get(fetch)
    return lines(await harness.merchant.http.get(fetch))


async def listed(harness: Harness) -> list[Any]:
    query = {"startDate": "0", "enddate": "99999999999999"}
    return lines(await harness.merchant.http.get(f"/api/v1/pos/{POS.pos_id}/transactions", params=query))


async def test_a_register_tells_the_amount_with_what_the_payer_paid_on_top(harness: Harness) -> None:
    await harness.control.options(customer_fee_percent="1.25")
    record = read_json(await harness.merchant.pay_direct("mugs", "569.50"))
    assert record["amount"] == Decimal("569.50")
    await harness.merchant.operate("refund", "mugs", refund_amount=Decimal("10.00"))
    paid, refunded = await register(harness)
    assert (paid["amount"], paid["originalAmount"], paid["customerFee"]) == ("576.62", "569.50", "7.12")
    assert (refunded["amount"], refunded["originalAmount"], refunded["customerFee"]) == ("10.00", "10.00", "0.00")
    assert [(row["amount"], row["customerFee"]) for row in await listed(harness)] == [
        ("569.50", "7.12"),
        ("10.00", "0.00"),
    ]


@pytest.mark.parametrize("places", [[], ["records"], ["lists"], ["registers"], ["records", "lists", "registers"]])
async def test_where_the_amount_is_with_the_fee_is_an_option(harness: Harness, places: list[str]) -> None:
    await harness.control.options(customer_fee_percent="10", customer_fee_in=places)
    record = read_json(await harness.merchant.pay_direct("mugs", "100.00"))
    await harness.quiet()
    told = {
        "records": (
            record["amount"],
            harness.shop.webhooks[-1]["amount"],
            read_json(await harness.merchant.look("mugs"))[0]["amount"],
        ),
        "lists": ((await listed(harness))[0]["amount"],),
        "registers": ((await register(harness))[0]["amount"],),
    }
    for place, amounts in told.items():
        assert {Decimal(amount) for amount in amounts} == {Decimal("110.00" if place in places else "100.00")}


async def test_a_part_of_the_money_is_kept_back(harness: Harness) -> None:
    await harness.control.options(reserve_percent="5", opening_balance="0")
    await harness.merchant.pay_direct("mugs", "100.00")
    await harness.merchant.pay_direct("held", "40.00", method="auth")
    await harness.merchant.operate("capture", "held", charge_amount=Decimal("20.00"))
    (account,) = read_json(await harness.merchant.http.get(f"/api/v1/balances/pos/{POS.pos_id}/accounts"))["accounts"]
    # Of 120.00: 1.80 commission, 6.00 kept back.
    assert account["balances"] == {"available": Decimal("112.20"), "rollingReserve": Decimal("6.00")}
    one = read_json(await harness.merchant.http.get(f"/api/v1/balances/pos/{POS.pos_id}/accounts/{account['id']}"))
    assert one["balances"]["rolling_reserve"] == Decimal("6.00")
    rows = {(row["orderId"], row["method"]): row["reserveAmount"] for row in await register(harness)}
    assert rows == {("mugs", "purchase"): "5.00", ("held", "auth"): "0.00", ("held", "capture"): "1.00"}
    # What is kept back pays no refund.
    declined = read_json(await harness.merchant.operate("refund", "mugs"))
    read_json(await harness.merchant.operate("refund", "held", refund_amount=Decimal("12.20")))
    assert declined["status"] == "success"
    assert (
        read_json(await harness.merchant.operate("refund", "held", refund_amount=Decimal("1.00")))["status_code"]
        == "4009"
    )
