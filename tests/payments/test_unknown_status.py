"""A status that the app does not know, of what had succeeded: nothing is undone by it, and staff are told once (16)."""

import pytest

from app.core.vocabulary import State
from app.flows.on_demand import look_up_now
from app.flows.pay_out import pay_out
from app.flows.staff.manual_resolution import acknowledge_problems
from app.rules.problems import problem_text
from integration_base_tests.loopback import json_reply
from tests.payments.fake_gateway import operation, payment
from tests.payments.fake_saleor import amounts
from tests.payments.payouts import a_payout, enable_payouts, payout_record, recorded
from tests.payments.shop import TOTAL, Shop

pytestmark = pytest.mark.law(16)

SENTENCE = (
    "The gateway now reports the status “%s” for a %s of %s UAH that had succeeded. The app does not know this status, "
    "and changes nothing: compare it with the merchant portal."
)


async def reports(shop: Shop, status: str, **more: object) -> None:
    """The gateway notifies us of the payment."""
    await shop.notify(payment(shop.order_id, status, **more))
    await shop.work()


async def told(shop: Shop) -> str | None:
    """Return what staff have to look at."""
    return problem_text((await shop.aggregate()).payment)


def told_saleor(shop: Shop, word: str) -> int:
    """Return how many events in Saleor's history name that word."""
    return sum(f"“{word}”" in (event.message or "") for event in shop.saleor.reports)


@pytest.mark.parametrize("word", ["reversed", "Refunded", "chargeback"])
async def test_of_a_payment_is_put_to_staff_once(shop: Shop, word: str) -> None:
    await shop.complete_payment()
    for processed_at in ("2026-11-21T12:01:00.000", "2026-11-21T12:02:00.000"):
        await reports(shop, word, processed_at=processed_at)
    assert await told(shop) == SENTENCE % (word, "payment", TOTAL)
    assert shop.amounts == amounts(charged=TOTAL)
    assert told_saleor(shop, word) == 1

    assert await acknowledge_problems(shop.services, shop.installation.id, shop.order_id)
    shop.gateway.book[shop.order_id] = [payment(shop.order_id, word)]
    await look_up_now(shop.services, shop.order_id)
    assert await told(shop) is None
    await reports(shop, "on hold")  # which is another word
    assert await told(shop) == SENTENCE % ("on hold", "payment", TOTAL)


@pytest.mark.parametrize("word", ["init", "processing", "Waiting", " antifraud ", "SUCCESS"])
async def test_a_known_word_is_none(shop: Shop, word: str) -> None:
    await shop.complete_payment()
    await reports(shop, word)
    assert await told(shop) is None


async def test_of_a_refund_is_put_to_staff(shop: Shop) -> None:
    await shop.complete_payment()
    shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, "100.00", operation_id="one")))
    await shop.request_action("REFUND", "100.00")
    await shop.notify(operation("refund", shop.order_id, "100.00", "returned", operation_id="one"))
    await shop.work()
    assert await told(shop) == SENTENCE % ("returned", "refund", "100.00")
    assert shop.amounts.refunded == 100


async def test_a_payment_that_was_given_back_may_be_called_so(shop: Shop) -> None:
    """The interface does not say what a refund does to the payment's own record."""
    await shop.complete_payment()
    shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, "100.00", operation_id="one")))
    await shop.request_action("REFUND", "100.00", "one")
    shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, "469.50", operation_id="two")))
    await shop.request_action("REFUND", "469.50", "two")
    await reports(shop, "refunded")
    assert await told(shop) is None


async def test_a_payment_that_is_shown_with_what_gave_it_back_may_be_called_so(shop: Shop) -> None:
    await shop.complete_payment()
    back = operation("refund", shop.order_id, TOTAL, operation_id="in-the-portal")
    shop.gateway.book[shop.order_id] = [payment(shop.order_id, "refunded"), back]
    await look_up_now(shop.services, shop.order_id)
    await shop.work()
    assert shop.amounts == amounts(refunded=TOTAL)
    assert await told(shop) is None


async def test_of_a_payout_is_put_to_staff(shop: Shop) -> None:
    await enable_payouts(shop)
    wish = a_payout(shop)
    shop.gateway.will_answer(json_reply(payout_record(wish)))
    await pay_out(shop.services, shop.account, wish)
    await shop.notify(payout_record(wish, "reversed"))
    await shop.work()
    aggregate = await recorded(shop, wish)
    assert aggregate.create.state is State.SUCCESS
    assert problem_text(aggregate.payment) == SENTENCE % ("reversed", "payout", "100.00")


@pytest.mark.parametrize(
    ("members", "named"), [({}, "payment"), ({"method": "cashback"}, "cashback")], ids=["purchase", "cashback"]
)
async def test_of_something_else_of_the_order_is_put_to_staff(shop: Shop, members: dict[str, str], named: str) -> None:
    """Another payment beside the one that has succeeded may be a second one; and nobody knows what a cashback is."""
    await shop.complete_payment()
    other = payment(shop.order_id, "approved", payment_id="another", **members)
    shop.gateway.book[shop.order_id] = [payment(shop.order_id), other]
    await look_up_now(shop.services, shop.order_id)
    await shop.notify(other)
    await shop.work()
    assert await told(shop) == (
        f"The gateway reports a {named} of {TOTAL} UAH of this order with the status “approved”, which the app does "
        "not know: nothing of it is booked. Check it in the merchant portal."
    )
    assert shop.amounts == amounts(charged=TOTAL)
    assert told_saleor(shop, "approved") == 1
