"""What time does: pages expire, slow banks decide, subscriptions charge, registers get ready, periods are looked up."""

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from gateway_client.sandbox.core.records import RecurringPlan
from gateway_client.sandbox.core.subscriptions import add_interval
from gateway_client_tests.sandbox.harness import CHALLENGE, POS, SLOW, Harness, lines, open_harness, read_json
from integration_base_tests.clock import Clock
from integration_base_tests.waiting import LONGEST_WAIT

PLAN = {"interval_unit": "month", "interval_count": 1}


async def test_an_unpaid_page_expires_by_its_own_lifetime(harness: Harness) -> None:
    await harness.merchant.pay_hosted("short", order_timeout=300)
    await harness.merchant.pay_hosted("long")
    await harness.control.advance(timedelta(seconds=299))
    assert await harness.merchant.records("short") == [("purchase", "init", None)]
    await harness.control.advance(timedelta(seconds=1))
    assert await harness.merchant.records("short") == [("purchase", "failure", "4149")]
    assert await harness.merchant.records("long") == [("purchase", "init", None)]
    await harness.quiet()
    assert harness.shop.received() == [("purchase", "failure", "4149")]


async def test_a_challenge_nobody_answers_times_out(harness: Harness) -> None:
    await harness.merchant.pay_hosted("mugs", order_timeout=300)
    await harness.control.pay("mugs", card=CHALLENGE)
    await harness.control.advance(timedelta(seconds=300))
    assert await harness.merchant.records("mugs") == [("purchase", "failure", "4147")]


async def test_a_slow_bank_says_yes_in_the_end(harness: Harness) -> None:
    await harness.merchant.pay_hosted("mugs")
    await harness.control.pay("mugs", card=SLOW)
    harness.clock.forward(seconds=29)
    assert await harness.merchant.records("mugs") == [("purchase", "pending", "2119")]
    harness.clock.forward(seconds=1)
    assert await harness.merchant.records("mugs") == [("purchase", "success", "1000")]


async def test_things_happen_though_nobody_asks(clock: Clock) -> None:
    async with open_harness(clock, tick=0.01) as harness:
        await harness.merchant.pay_hosted("mugs", order_timeout=60)
        clock.forward(seconds=60)
        await asyncio.wait_for(harness.shop.webhook_arrived.wait(), LONGEST_WAIT)
        assert harness.shop.received() == [("purchase", "failure", "4149")]


async def test_a_subscription_from_start_to_cancel(harness: Harness) -> None:
    await harness.merchant.pay_hosted("club", "50.00", init_recurring=PLAN | {"amount": Decimal("40.00")})
    (record,) = read_json(await harness.merchant.look("club"))
    assert record["recurring"]["status"] == "init"
    await harness.control.pay("club")
    (record,) = read_json(await harness.merchant.look("club"))
    recurring_id = record["recurring"]["id"]
    assert record["recurring"]["status"] == "active"

    await harness.control.advance(timedelta(days=70))
    charges = read_json(await harness.merchant.look("club"))
    assert [(c["amount"], c["created_at"][:10]) for c in charges] == [
        (Decimal("50.00"), "2026-11-21"),
        (Decimal("40.00"), "2026-12-21"),
        (Decimal("40.00"), "2027-01-21"),
    ]
    latest = read_json(await harness.merchant.look("club", "purchase", callback="true"))
    assert latest["payment_id"] == charges[-1]["payment_id"]
    chosen = charges[1]["transaction_id"]
    again = read_json(await harness.merchant.look("club", "purchase", callback="true", transactionId=chosen))
    assert again["payment_id"] == charges[1]["payment_id"]

    base = f"/api/v1/pos/{POS.pos_id}/recurring/{recurring_id}"
    refund = {"order_currency": "UAH", "refund_amount": Decimal("15.00")}
    record = read_json(await harness.merchant.post(f"{base}/payments/{charges[1]['payment_id']}/refund", refund))
    assert record["payment_id"] == charges[1]["payment_id"]
    listed = await harness.merchant.http.get(base, params={"method": "refund", "status": "success"})
    assert [r["amount"] for r in read_json(listed)] == [Decimal("15.00")]
    for missing in ({"method": "auth", "status": "success"}, {"method": "purchase"}):
        assert (await harness.merchant.http.get(base, params=missing)).status_code == 400

    canceled = read_json(await harness.merchant.http.put(f"/api/v1/recurring/{recurring_id}/cancel"))
    assert canceled["recurring_status"] == "canceled"
    await harness.control.advance(timedelta(days=70))
    assert len(await harness.merchant.records("club")) == 4


async def test_a_failed_charge_is_tried_again(harness: Harness) -> None:
    plan = PLAN | {"interval_unit": "day", "retry_attempts": 2, "retry_interval_hours": 3}
    await harness.merchant.pay_hosted("club", init_recurring=plan)
    await harness.control.pay("club")
    await harness.control.outcome("4009", method="purchase", times=3)
    await harness.control.advance(timedelta(days=2))
    charges = read_json(await harness.merchant.look("club"))
    assert [(c["created_at"][8:16], c["status"]) for c in charges] == [
        ("21T12:00", "success"),
        ("22T12:00", "failure"),
        ("22T15:00", "failure"),
        ("22T18:00", "failure"),
        ("23T12:00", "success"),
    ]


async def test_a_plan_may_begin_later_and_end(harness: Harness) -> None:
    plan = {"interval_unit": "week", "start_date": "2026-12-01", "time": "06:30:00", "expiry_date": "2026-12-10"}
    await harness.merchant.pay_hosted("club", init_recurring=plan)
    await harness.control.pay("club")
    await harness.control.advance(timedelta(days=60))
    charges = read_json(await harness.merchant.look("club"))
    assert [c["created_at"][:16] for c in charges[1:]] == ["2026-12-01T06:30", "2026-12-08T06:30"]
    assert charges[0]["recurring"]["status"] == "canceled"


@pytest.mark.parametrize(
    ("unit", "count", "expected"),
    [
        ("day", 30, (2028, 3, 1)),
        ("week", 2, (2028, 2, 14)),
        ("month", 1, (2028, 2, 29)),
        ("quarter", 1, (2028, 4, 30)),
        ("year", 2, (2030, 1, 31)),
    ],
)
def test_intervals(unit: str, count: int, expected: tuple[int, int, int]) -> None:
    plan = RecurringPlan.model_validate({"interval_unit": unit, "interval_count": count})
    assert add_interval(datetime(2028, 1, 31, tzinfo=UTC), plan) == datetime(*expected, tzinfo=UTC)


async def test_a_period_is_looked_up_line_by_line(harness: Harness) -> None:
    await harness.merchant.pay_hosted("unpaid", payload='a"b')
    await harness.merchant.pay_direct("paid", "20.00")
    harness.clock.forward(minutes=30)
    await harness.merchant.pay_direct("later")
    noon = int(datetime(2026, 11, 21, 12, tzinfo=UTC).timestamp() * 1000)
    path = f"/api/v1/pos/{POS.pos_id}/transactions"
    unpaid, paid = lines(await harness.merchant.http.get(path, params={"startDate": noon, "enddate": noon + 60_000}))
    assert (unpaid["orderId"], unpaid["dateTime"], unpaid["payload"]) == ("unpaid", "", 'a"b')
    assert (paid["orderId"], paid["dateTime"], paid["amount"], paid["merchantFee"]) == ("paid", noon, "20.00", "0.30")
    assert (await harness.merchant.http.get(path, params={"startDate": noon})).status_code == 400


REGISTER = {
    "project_id": str(POS.pos_id),
    "start_date": "2026-11-01T00:00:00+02:00",
    "end_date": "2026-12-01T00:00:00+02:00",
}


async def test_a_register_is_ready_after_a_while(harness: Harness) -> None:
    await harness.control.options(register_polls=2, register_delay="PT60S")
    await harness.merchant.pay_direct("paid", "20.00")
    await harness.merchant.pay_direct("declined", "20.09")
    await harness.merchant.operate("refund", "paid", refund_amount=Decimal("5.00"))
    started = read_json(await harness.merchant.post("/streaming-report/start", REGISTER))
    assert started["count"] == 3
    fetch = f"/streaming-report/fetch/{started['report_id']}"
    for _ in range(3):
        waiting = read_json(await harness.merchant.http.get(fetch))
        assert waiting["code"] == "report_not_ready"
    harness.clock.forward(seconds=60)
    rows = lines(await harness.merchant.http.get(fetch, headers={"x-api-key": ""}))
    assert [(row["orderId"], row["method"], row["amount"], row["status"]) for row in rows] == [
        ("paid", "purchase", "20.00", "success"),
        ("declined", "purchase", "20.09", "failure"),
        ("paid", "refund", "5.00", "success"),
    ]
    assert len(rows[0]) == 11


async def test_a_register_is_chosen(harness: Harness) -> None:
    await harness.control.options(register_polls=0)
    await harness.merchant.pay_direct("paid", "20.00")
    await harness.merchant.pay_direct("declined", "20.09")
    wanted: dict[str, Any] = {
        "statuses": ["failure"],
        "methods": ["purchase"],
        "transaction_details": ["orderId", "receiverName"],
    }
    started = read_json(await harness.merchant.post("/streaming-report/start", REGISTER | wanted))
    rows = lines(await harness.merchant.http.get(f"/streaming-report/fetch/{started['report_id']}"))
    assert rows == [{"orderId": "declined", "receiverName": ""}]
    for wrong in (
        {"end_date": "2026-12-03T00:00:00+02:00"},
        {"end_date": "2026-10-01T00:00:00+02:00"},
        {"start_date": "2026-11-20T00:00:00"},
        {"transaction_details": ["secret"]},
        {"statuses": ["paid"]},
    ):
        assert (await harness.merchant.post("/streaming-report/start", REGISTER | wrong)).status_code == 400
    assert (await harness.merchant.http.get("/streaming-report/fetch/none")).status_code == 404
