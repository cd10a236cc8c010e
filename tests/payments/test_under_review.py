"""What the gateway says does not agree with what was asked: nothing counts, nothing is given up, nobody pays twice."""

from decimal import Decimal

import pytest

from app.core.vocabulary import Kind, State
from integration_base_tests.loopback import json_reply
from tests.payments.fake_gateway import operation, payment, refusal_reply
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop


@pytest.fixture
async def waiting(shop: Shop) -> Shop:
    """A shop whose shopper has paid another amount than was asked."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.work()
    await shop.notify(payment(shop.order_id, amount="5.69"))
    await shop.work()
    shop.gateway.requests.clear()
    return shop


async def test_the_shopper_is_not_led_to_pay_again(waiting: Shop) -> None:
    answer = await waiting.process_session()
    assert answer.result == "CHARGE_ACTION_REQUIRED"  # a request would count as covered, a failure as not taken
    assert [error["code"] for error in answer.data["errors"]] == ["UNDER_REVIEW"]
    assert "checkoutUrl" not in answer.data
    assert waiting.amounts == amounts()


@pytest.mark.law(8)
async def test_it_is_not_given_up_when_the_time_to_pay_is_over(waiting: Shop) -> None:
    """Money moved, so "failed" would be as wrong as "paid"; and its page is not closed either."""
    for _ in range(4):
        await waiting.pass_time(hours=1)
        await waiting.process_session()
    assert (await waiting.operation(Kind.CREATE)).state is State.INIT
    assert waiting.gateway.calls == []
    assert waiting.saleor.reported_types == ["INFO", "INFO"]


async def test_it_cannot_be_cancelled_before_the_difference_is_settled(waiting: Shop) -> None:
    waiting.gateway.will_answer(refusal_reply("Invalid operation", "4150"))
    answer = await waiting.request_action("CANCEL")
    assert answer.result == "CANCEL_FAILURE"
    waiting.gateway.will_answer(json_reply([payment(waiting.order_id, amount="5.69")]))
    answer = await waiting.request_action("CANCEL", key="key-2")
    assert answer.result == "CANCEL_FAILURE"
    assert "check the payment's problem first" in (answer.message or "")


async def test_an_operation_that_the_gateway_has_named_is_not_given_up_for_silence(paid_shop: Shop) -> None:
    """It answered once, with another amount; that it shows nothing later does not mean that nothing went back."""
    paid_shop.saleor.order(paid_shop.transaction)
    paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "99.99", operation_id="refund-1")))
    await paid_shop.request_action("REFUND", "100.00")
    assert (await paid_shop.operation(Kind.REFUND)).state is State.UNKNOWN
    await paid_shop.pass_time(days=1)
    assert (await paid_shop.operation(Kind.REFUND)).state is State.UNKNOWN
    assert paid_shop.saleor.reported_types == ["INFO"]
    assert paid_shop.amounts == amounts(charged=str(Decimal(TOTAL) - 100), refund_pending="100.00")
