"""What others do: disputes, a portal that tells nobody, holds that lapse; and a gateway that is called too often."""

from datetime import timedelta
from decimal import Decimal

import pytest

from gateway_client.sandbox.control import SandboxRefusedError
from gateway_client_tests.sandbox.harness import Harness, lines, read_json
from gateway_client_tests.sandbox.test_time import REGISTER


async def available(harness: Harness) -> Decimal:
    accounts = read_json(
        await harness.merchant.http.get(
            f"/api/v1/balances/pos/{harness.sandbox.settings.points_of_sale[0].pos_id}/accounts"
        )
    )
    amount: Decimal = accounts["accounts"][0]["balances"]["available"]
    return amount


async def test_a_dispute_is_a_record_a_notification_and_a_line_of_the_register(harness: Harness) -> None:
    await harness.merchant.pay_direct("mugs", "100.00")
    before = await available(harness)
    view = await harness.control.dispute("mugs", Decimal("40.00"))
    assert [(o.method, o.amount, o.status_code) for o in view.operations] == [("dispute", Decimal("40.00"), "1000")]
    await harness.quiet()
    told = harness.shop.webhooks[-1]
    assert (told["method"], told["status"], told["amount"]) == ("dispute", "success", Decimal("40.00"))
    assert told["operation_id"] == str(view.operations[0].operation_id)
    assert read_json(await harness.merchant.look("mugs", "dispute"))["amount"] == Decimal("40.00")
    assert await available(harness) == before - 40

    started = read_json(await harness.merchant.post("/streaming-report/start", REGISTER | {"methods": ["dispute"]}))
    await harness.merchant.http.get(f"/streaming-report/fetch/{started['report_id']}")
    (row,) = lines(await harness.merchant.http.get(f"/streaming-report/fetch/{started['report_id']}"))
    assert (row["method"], row["amount"], row["orderId"]) == ("dispute", "40.00", "mugs")


async def test_what_is_disputed_is_not_given_back_as_well(harness: Harness) -> None:
    await harness.merchant.pay_direct("mugs", "100.00")
    await harness.control.dispute("mugs", Decimal("40.00"))
    refused = read_json(await harness.merchant.operate("refund", "mugs", refund_amount=Decimal("60.01")), 400)
    assert refused["args"]["status_code"] == "4139"
    read_json(await harness.merchant.operate("refund", "mugs", refund_amount=Decimal("60.00")))
    with pytest.raises(
        SandboxRefusedError, match="Only what was paid can be disputed"
    ):  # the store has nothing of it left
        await harness.control.dispute("mugs", Decimal("60.01"))


async def test_a_dispute_may_be_open_and_be_won(harness: Harness) -> None:
    await harness.merchant.pay_direct("mugs", "100.00")
    before = await available(harness)
    view = await harness.control.dispute("mugs", status_code="2201")
    assert (view.operations[0].status, view.operations[0].amount) == ("pending", Decimal("100.00"))
    await harness.control.settle("mugs", "4000")
    assert (await harness.merchant.records("mugs"))[-1] == ("dispute", "failure", "4000")
    assert await available(harness) == before
    read_json(await harness.merchant.operate("refund", "mugs"))


async def test_nobody_disputes_what_was_not_paid(harness: Harness) -> None:
    await harness.merchant.pay_hosted("mugs")
    with pytest.raises(SandboxRefusedError, match="Only what was paid"):
        await harness.control.dispute("mugs")
    # The outcome that was asked for waits for nobody.
    await harness.control.pay("mugs")
    assert not harness.sandbox.state.scripts


async def test_what_is_done_in_silence_is_done_all_the_same(harness: Harness) -> None:
    await harness.merchant.pay_direct("mugs", "100.00")
    await harness.control.portal("mugs", "refund", Decimal("10.00"), silent=True)
    await harness.control.dispute("mugs", Decimal("5.00"), silent=True)
    await harness.quiet()
    assert {told["method"] for told in harness.shop.webhooks} == {"purchase"}
    assert [record[0] for record in await harness.merchant.records("mugs")] == ["purchase", "refund", "dispute"]
    # Who asks for the webhook gets it.
    read_json(await harness.merchant.look("mugs", "refund", callback="true"))
    await harness.quiet()
    assert harness.shop.webhooks[-1]["method"] == "refund"
    # What was loud before stays loud.
    await harness.control.portal("mugs", "refund", Decimal("1.00"))
    await harness.control.portal("mugs", "refund", Decimal("2.00"), silent=True)
    await harness.quiet()
    assert [told["amount"] for told in harness.shop.webhooks if told["method"] == "refund"] == [10, 1]


async def test_a_hold_lapses_and_nobody_is_told(harness: Harness) -> None:
    await harness.control.options(hold_lapses_after="P7D")
    await harness.merchant.pay_direct("early", method="auth")
    await harness.merchant.pay_direct("late", method="auth")
    await harness.control.advance(timedelta(days=7) - timedelta(seconds=1))
    read_json(await harness.merchant.operate("capture", "early"))
    await harness.control.advance(timedelta(seconds=1))
    await harness.quiet()
    for operation in ("capture", "void"):
        refused = read_json(await harness.merchant.operate(operation, "late"), 400)
        assert (refused["message"], refused["args"]["status_code"]) == ("This reservation has lapsed", "4150")
    assert await harness.merchant.records("late") == [("auth", "success", "1002")]
    assert {told["method"] for told in harness.shop.webhooks if told["order_id"] == "late"} == {"auth"}


async def test_who_calls_too_often_waits_for_a_minute(harness: Harness) -> None:
    await harness.control.options(calls_per_minute=2)
    await harness.merchant.look("0")
    await harness.merchant.pay_hosted("first")
    refused = await harness.merchant.pay_hosted("second")
    assert read_json(refused, 429) == {"message": "Too many requests", "args": {"code": "P-429"}}
    await harness.control.advance(timedelta(seconds=60))
    # The order id of what was refused is not used up.
    assert (await harness.merchant.pay_hosted("second")).status_code == 303
    # Wrong credentials are told as such, however often.
    for _ in range(3):
        answer = await harness.merchant.http.get("/api/v1/pos/none/orders/0")
        assert answer.status_code == 401
