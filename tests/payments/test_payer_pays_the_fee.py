"""The payer bears the gateway's fee: what was paid is the requested amount, and the store receives that (8)."""

from decimal import Decimal
from typing import Any

import pytest

from app.flows.on_demand import look_up_now
from app.rules.problems import problem_messages
from integration_base_tests.loopback import json_reply
from tests.payments.fake_gateway import operation, payment
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop

WITH_FEE = "578.05"  # of 569.50, 1.5 % are 8.5425: rounded up to what the gateway may make of it
MORE_THAN_THE_FEE = "578.06"


async def pay(shop: Shop, flow: str = "CHARGE", **record: str) -> tuple[str, list[str]]:
    """Let a shopper pay on a page; return Saleor's answer to transactionProcess and what staff read."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin(flow=flow)
    method = "purchase" if flow == "CHARGE" else "auth"
    await shop.notify(payment(shop.order_id, method=method, **record))
    await shop.work()
    answer = await shop.process_session()
    return answer.result, [str(message) for message in problem_messages((await shop.aggregate()).payment)]


@pytest.mark.law(8)
@pytest.mark.parametrize("flow", ["CHARGE", "AUTHORIZATION"])
@pytest.mark.parametrize(
    "record",
    [
        {"amount": WITH_FEE},
        {"amount": WITH_FEE, "processed_amount": WITH_FEE, "processed_currency": "UAH"},
        {"amount": TOTAL, "processed_amount": WITH_FEE},
        {"amount": TOTAL},
        {"amount": "569.51"},
    ],
)
async def test_the_requested_amount_is_booked_where_the_payer_pays_the_fee(
    shop: Shop, flow: str, record: dict[str, str]
) -> None:
    await shop.services.accounts.change(shop.account.id, payer_fee_percent=Decimal("1.50"))

    assert await pay(shop, flow, **record) == (f"{flow}_SUCCESS", [])
    assert Decimal(TOTAL) in (shop.amounts.charged, shop.amounts.authorized)
    assert (await shop.aggregate()).create.amount == Decimal(TOTAL)


@pytest.mark.law(8)
@pytest.mark.parametrize("amount", [MORE_THAN_THE_FEE, "569.49"])
async def test_more_than_the_fee_or_less_than_requested_is_for_staff(shop: Shop, amount: str) -> None:
    await shop.services.accounts.change(shop.account.id, payer_fee_percent=Decimal("1.50"))

    assert await pay(shop, amount=amount) == (
        "CHARGE_ACTION_REQUIRED",
        [f"The gateway reports {amount} UAH, but 569.50 UAH was requested."],
    )


async def paid_with_fee(shop: Shop) -> None:
    await shop.services.accounts.change(shop.account.id, payer_fee_percent=Decimal("1.50"))
    assert await pay(shop, amount=WITH_FEE) == ("CHARGE_SUCCESS", [])


async def told_of(shop: Shop, record: dict[str, Any]) -> list[str]:
    """The gateway reports a record, and is looked up; return what staff read."""
    await shop.notify(record)
    await shop.pass_time(minutes=2)
    assert await look_up_now(shop.services, shop.order_id) is None
    await shop.work()
    return [str(message) for message in problem_messages((await shop.aggregate()).payment)]


@pytest.mark.law(8, 10)
async def test_a_refund_in_the_portal_of_all_that_the_payer_paid_is_a_refund_of_the_payment(shop: Shop) -> None:
    await paid_with_fee(shop)
    refund = operation("refund", shop.order_id, WITH_FEE, operation_id="portal")
    assert await told_of(shop, refund) == []
    assert shop.amounts == amounts(refunded=TOTAL)
    assert shop.transaction.actions == []


@pytest.mark.law(8, 10)
async def test_the_rest_of_it_is_what_was_left(shop: Shop) -> None:
    await paid_with_fee(shop)
    assert await told_of(shop, operation("refund", shop.order_id, "100.00", operation_id="first")) == []
    rest = operation("refund", shop.order_id, "478.05", operation_id="rest")
    assert await told_of(shop, rest) == []
    assert shop.amounts == amounts(refunded=TOTAL)


@pytest.mark.law(8, 10)
async def test_a_refund_of_more_than_the_payer_paid_is_for_staff(shop: Shop) -> None:
    await paid_with_fee(shop)
    [read] = await told_of(shop, operation("refund", shop.order_id, MORE_THAN_THE_FEE, operation_id="portal"))
    assert "refund of 578.06 UAH that was not requested here" in read
    assert shop.amounts == amounts(charged=TOTAL)


@pytest.mark.law(8)
async def test_our_own_refund_is_of_the_amount_that_was_requested(shop: Shop) -> None:
    await paid_with_fee(shop)
    shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, "578.05", operation_id="ours")))
    assert "result" not in (await shop.request_action("REFUND", TOTAL)).model_dump(exclude_none=True)
    [read] = [str(message) for message in problem_messages((await shop.aggregate()).payment)]
    assert read == "The gateway reports 578.05 UAH, but 569.50 UAH was requested."


@pytest.mark.law(8, 10)
async def test_nothing_is_left_for_the_fee_alone(shop: Shop) -> None:
    await paid_with_fee(shop)
    assert await told_of(shop, operation("refund", shop.order_id, TOTAL, operation_id="all")) == []
    [read] = await told_of(shop, operation("refund", shop.order_id, "8.55", operation_id="fee"))
    assert "refund of 8.55 UAH that was not requested here" in read
    assert shop.amounts == amounts(refunded=TOTAL)


@pytest.mark.law(7, 8)
async def test_the_bank_takes_back_all_that_the_payer_paid(shop: Shop) -> None:
    await paid_with_fee(shop)
    dispute = payment(shop.order_id, amount=WITH_FEE, method="dispute", payment_id="dispute")
    [read] = await told_of(shop, dispute)
    assert "took back 569.50 UAH" in read
    assert shop.amounts == amounts()


@pytest.mark.law(8)
async def test_without_the_option_no_fee_is_expected(shop: Shop) -> None:
    result, read = await pay(shop, amount="569.51")

    assert result == "CHARGE_ACTION_REQUIRED"
    assert len(read) == 1
