"""What the interface does not have is refused, in the gateway's words: a request that it lets pass proves something."""

from decimal import Decimal
from typing import Any

import pytest

from gateway_client_tests.sandbox.harness import FINGERPRINT, NO_CARD, POS, SUCCESS, Harness, read_json
from gateway_client_tests.sandbox.test_split import ANN, BOB, parts, refund, split_purchase


def fields_of(refused: Any) -> list[str]:
    return [problem["field_name"] for problem in refused["args"]]


async def test_a_misspelt_amount_is_no_full_refund(harness: Harness) -> None:
    await harness.merchant.pay_direct("mugs")
    refused = read_json(await harness.merchant.operate("refund", "mugs", refund_amout=Decimal("10.00")), 400)
    assert refused == {
        "message": "Invalid refund_amout provided",
        "args": [{"field_name": "refund_amout", "violation": "is no field of this request"}],
    }
    assert [record[0] for record in await harness.merchant.records("mugs")] == ["purchase"]


@pytest.mark.parametrize(
    ("operation", "field", "amount"),
    [("refund", "refund_amount", "10.00"), ("capture", "charge_amount", "10.00"), ("capture", "charge_amount", True)],
)
async def test_an_amount_of_an_operation_is_a_number(harness: Harness, operation: str, field: str, amount: Any) -> None:
    await harness.merchant.pay_direct("mugs", method="auth" if operation == "capture" else "purchase")
    refused = read_json(await harness.merchant.operate(operation, "mugs", **{field: amount}), 400)
    assert refused["args"] == [{"field_name": field, "violation": "must be a number"}]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"amount": "100.00"}, "amount"),
        ({"customer_emial": "ann@example.com"}, "customer_emial"),
        ({"customer_city": "Lviv"}, "customer_city"),
        ({"properties": {}}, "properties"),
        ({"split": parts(ann="100.00")}, "split"),
        ({"split": None}, "split"),
        ({"currency": "ABC"}, "currency"),
        ({"currency": "HRK"}, "currency"),
        ({"customer_country": "UK"}, "customer_country"),
        ({"customer_country": "EU"}, "customer_country"),
        ({"customer_country": "ua"}, "customer_country"),
        ({"customer_birthday": "2000-02-30"}, "customer_birthday"),
        ({"order_3ds_bypass": "sometimes"}, "order_3ds_bypass"),
        ({"merchant_mcc": "12"}, "merchant_mcc"),
        ({"description": 12}, "description"),
        ({"order_id": 12}, "order_id"),
        ({"payload": {"order": "1"}}, "payload"),
        ({"attributes": {"key": "value"}}, "attributes"),
        ({"attributes": [{"key": "k", "value": 1}]}, "attributes.0.value"),
        ({"attributes": [{"key": "k", "value": "v", "name": "n"}]}, "attributes.0.name"),
        ({"products": [{"name": "Mug", "price": Decimal(1)}]}, "products.0.price"),
        ({"products": [{"name": "Mug", "amount": "1.00"}]}, "products.0.amount"),
        ({"products": [{"name": "Mug", "qty": "2"}]}, "products.0.qty"),
        ({"server_url": "https://shop.test:444/hook"}, "server_url"),
        ({"server_url": "http://shop.test/hook"}, "server_url"),
        ({"server_url": "https://shop.test:99999/hook"}, "server_url"),
        ({"result_url": "/thanks"}, "result_url"),
    ],
)
@pytest.mark.parametrize("mode", ["direct", "hosted"])
async def test_what_no_payment_has_is_refused(harness: Harness, mode: str, changes: dict[str, Any], field: str) -> None:
    usual = harness.merchant.hosted_body("bad") if mode == "hosted" else harness.merchant.direct_body("bad")
    assert fields_of(read_json(await harness.merchant.post("/api/v1/payment", usual | changes), 400)) == [field]
    assert (await harness.merchant.look("bad")).status_code == 404


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"exp_month": "12"}, "exp_month"),
        ({"exp_year": Decimal("2030.5")}, "exp_year"),
        ({"card_cvv": 123}, "card_cvv"),
        ({"customer_fname": ""}, "customer_fname"),
        ({"customer_lang": "UK"}, "customer_lang"),
        ({"order_timeout": 60}, "order_timeout"),
        ({"browser_fingerprint": FINGERPRINT | {"browserColorDepth": 24}}, "browser_fingerprint.browserColorDepth"),
        ({"browser_fingerprint": FINGERPRINT | {"browserName": "x"}}, "browser_fingerprint.browserName"),
    ],
)
async def test_what_no_direct_payment_has_is_refused(harness: Harness, changes: dict[str, Any], field: str) -> None:
    assert fields_of(read_json(await harness.merchant.pay_direct("bad", **changes), 400)) == [field]


@pytest.mark.parametrize("field", ["customer_fname", "customer_lname", "customer_email", "customer_phone"])
async def test_who_pays_is_told_with_a_card(harness: Harness, field: str) -> None:
    body = {name: value for name, value in harness.merchant.direct_body("bad").items() if name != field}
    assert fields_of(read_json(await harness.merchant.post("/api/v1/payment", body), 400)) == [field]


@pytest.mark.parametrize(
    "changes",
    [
        {"customer_ip": "192.0.2.1"},
        {"browser_fingerprint": FINGERPRINT},
        {"cryptogram": {"a": "b"}},
        {"customer_referrer": "https://shop.test/"},
        {"cc_token": "token"},
        {"cc_number": SUCCESS},
        {"order_timeout": "60"},
        {"customer_lang": "uk"},
    ],
)
async def test_what_no_hosted_payment_has_is_refused(harness: Harness, changes: dict[str, Any]) -> None:
    refused = await harness.merchant.pay_hosted("bad", **changes)
    assert fields_of(read_json(refused, 400)) == list(changes)
    assert SUCCESS not in refused.text


async def test_a_reservation_of_several_is_begun_as_the_options_say(harness: Harness) -> None:
    reserved: dict[str, Any] = {"method": "auth", "split": parts(ann="100.00")}
    assert (await harness.merchant.pay_hosted("taken", **reserved)).status_code == 303
    await harness.control.options(split_reservations=False)
    assert fields_of(read_json(await harness.merchant.pay_hosted("refused", **reserved), 400)) == ["split"]


async def test_a_split_belongs_to_the_split_endpoints(harness: Harness) -> None:
    await harness.merchant.pay_hosted("mugs", method="auth", split=parts(ann="100.00"))
    await harness.control.pay("mugs")
    plain = await harness.merchant.operate("capture", "mugs", split=parts(ann="100.00"))
    assert fields_of(read_json(plain, 400)) == ["split"]
    read_json(await harness.merchant.operate("split/capture", "mugs", split=parts(ann="100.00")))
    assert fields_of(read_json(await harness.merchant.operate("refund", "mugs", split=parts(ann="1.00")), 400)) == [
        "split"
    ]
    wrong_name = await harness.merchant.operate(
        "split/refund", "mugs", refund_amount=Decimal("1.00"), order_currency="UAH", split=parts(ann="1.00")
    )
    assert fields_of(read_json(wrong_name, 400)) == ["order_currency"]


async def test_each_sub_merchant_is_known_and_named_once(harness: Harness) -> None:
    twice = parts(ann="30.00") + parts(ann="70.00")
    assert fields_of(read_json(await split_purchase(harness, "twice", twice), 400)) == ["split"]
    await harness.control.options(sub_merchants=[ANN])
    assert fields_of(read_json(await split_purchase(harness, "bob", parts(ann="30.00", bob="70.00")), 400)) == ["split"]
    await harness.control.options(sub_merchants=[ANN, BOB])
    assert (await split_purchase(harness, "mugs", parts(ann="30.00", bob="70.00"))).status_code == 303
    await harness.control.pay("mugs")
    again = read_json(await refund(harness, "20.00", parts(ann="10.00") + parts(ann="10.00")), 400)
    assert again["args"] == [{"field_name": "split", "violation": "names a sub-merchant twice"}]


def payout(**more: Any) -> dict[str, Any]:
    return {
        "mode": "direct",
        "method": "credit",
        "amount": Decimal("10.00"),
        "currency": "UAH",
        "description": "Won",
        "order_id": "out",
        "order_3ds_bypass": "never",
        "customer_ip": "192.0.2.1",
        "cc_number": SUCCESS,
        **more,
    }


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"properties": {"recipient_name": "Ann"}}, "properties.recipient_name"),
        ({"properties": {"recipient_birth_date": "1.1.2000"}}, "properties.recipient_birth_date"),
        ({"properties": {"is_operation_taxable": True}}, "properties.is_operation_taxable"),
        ({"properties": "Ann"}, "properties"),
        ({"browser_fingerprint": FINGERPRINT}, "browser_fingerprint"),
        ({"attributes": [{"key": "k", "value": "v"}]}, "attributes"),
        ({"exp_month": 12}, "exp_month"),
        ({"validation_url": "no address"}, "validation_url"),
    ],
)
async def test_what_no_payout_has_is_refused(harness: Harness, changes: dict[str, Any], field: str) -> None:
    assert fields_of(read_json(await harness.merchant.post("/api/v1/payment", payout(**changes)), 400)) == [field]


async def test_a_payout_answers_with_the_recipient_that_was_named(harness: Harness) -> None:
    recipient = {"recipient_first_name": "Ann", "recipient_birth_date": "2000-01-31", "is_operation_taxable": "true"}
    record = read_json(await harness.merchant.post("/api/v1/payment", payout(properties=recipient)))
    assert record["properties"] == recipient


async def test_webhooks_go_to_the_ports_that_were_arranged(harness: Harness) -> None:
    for number, address in enumerate(("https://shop.test/hook", "https://shop.test:8443/hook")):
        assert (await harness.merchant.pay_hosted(f"usual{number}", server_url=address)).status_code == 303
    await harness.control.options(webhook_ports=[443, 9000])
    assert (await harness.merchant.pay_hosted("arranged", server_url="https://shop.test:9000/hook")).status_code == 303
    # On this machine any port will do, unless one wants to know.
    assert (await harness.merchant.pay_hosted("here")).status_code == 303
    await harness.control.options(webhook_ports_on_this_machine=False)
    assert fields_of(read_json(await harness.merchant.pay_hosted("not here"), 400)) == ["server_url"]
    await harness.merchant.pay_direct("paid", server_url=None)
    assert fields_of(read_json(await harness.merchant.operate("refund", "paid"), 400)) == ["server_url"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"start_date": 1795000000}, "start_date"),
        ({"start_date": "2026-11-01"}, "start_date"),
        ({"start_date": "2026-11-01 00:00:00+02:00"}, "start_date"),
        ({"end_date": "2026-12-02T01:00:00+02:00"}, "end_date"),
        ({"pos_id": str(POS.pos_id)}, "pos_id"),
        ({"status": ["success"]}, "status"),
    ],
)
async def test_a_registers_period_has_offsets_and_is_not_too_long(
    harness: Harness, changes: dict[str, Any], field: str
) -> None:
    period = {"start_date": "2026-11-01T00:00:00+02:00", "end_date": "2026-12-02T00:00:00+02:00"}
    read_json(await harness.merchant.post("/streaming-report/start", period))
    assert fields_of(read_json(await harness.merchant.post("/streaming-report/start", period | changes), 400)) == [
        field
    ]


async def test_a_path_that_is_no_identifier_is_refused_like_a_field(harness: Harness) -> None:
    for path in (f"/api/v1/pos/{POS.pos_id}/recurring/none", f"/api/v1/pos/{POS.pos_id}/recurring/none?method=refund"):
        assert fields_of(read_json(await harness.merchant.http.get(path), 400)) == ["recurring_id"]
    body = {name: value for name, value in harness.merchant.direct_body("qr").items() if name not in NO_CARD}
    assert fields_of(read_json(await harness.merchant.post("/api/v1/payment?qr=perhaps", body), 400)) == ["qr"]
