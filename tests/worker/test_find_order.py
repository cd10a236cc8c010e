"""Staff know a payment by the number of its order, which a checkout gets only after it is paid."""

from datetime import timedelta

import pytest

from app.rules.problems import acknowledge
from app.store.aggregates import ByOrder
from saleor_app_sdk.testing.records import Order
from tests.payments.changes import Change
from tests.payments.fake_gateway import payment
from tests.payments.shop import Shop, source_object


def place(shop: Shop) -> Order:
    """The checkout becomes an order."""
    checkout = shop.transaction.checkout
    assert checkout is not None
    order = Order(token=checkout.token, number="1042", basket=checkout.basket)
    shop.transaction.order, shop.transaction.checkout = order, None
    return order


async def number(shop: Shop) -> str | None:
    return (await shop.aggregate()).payment.order_number


async def test_the_order_is_found_once_it_is_placed(paid_shop: Shop) -> None:
    assert await number(paid_shop) is None
    order = place(paid_shop)
    await paid_shop.pass_time(minutes=2)
    aggregate = await paid_shop.aggregate()
    assert (aggregate.payment.order_number, aggregate.payment.source_id) == ("1042", order.id)
    assert aggregate.payment.next_order_poll_at is None


async def test_the_answer_to_a_report_names_it_and_nobody_is_asked(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    shop.saleor.is_down = True  # when it is asked
    order = place(shop)
    await shop.notify(payment(shop.order_id))
    await shop.work()
    aggregate = await shop.aggregate()
    assert (aggregate.payment.order_number, aggregate.payment.source_id) == ("1042", order.id)
    assert (aggregate.payment.next_order_poll_at, aggregate.payment.order_polls) == (None, 0)


async def test_nobody_looks_before_saleor_has_the_money(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.pass_time(minutes=30)
    kept = (await shop.aggregate()).payment
    assert (kept.next_order_poll_at, kept.order_polls) == (None, 0)


async def look_at_problems(shop: Shop) -> None:
    which = ByOrder(shop.order_id)
    await shop.services.payments.record(which, Change(lambda locked: acknowledge(locked.payment, shop.clock.now)))


async def test_an_order_that_is_never_placed_is_given_up_once_staff_have_looked(paid_shop: Shop) -> None:
    await paid_shop.pass_time(hours=1, minutes=20)
    await look_at_problems(paid_shop)
    await paid_shop.pass_time(days=3)
    kept = (await paid_shop.aggregate()).payment
    assert (kept.next_order_poll_at, kept.order_polls, kept.order_number) == (None, 6, None)


async def test_saleor_is_silent_and_comes_back(paid_shop: Shop) -> None:
    paid_shop.saleor.is_down = True
    place(paid_shop)
    await paid_shop.pass_time(minutes=5)
    assert await number(paid_shop) is None
    paid_shop.saleor.is_down = False
    await paid_shop.pass_time(minutes=30)
    assert await number(paid_shop) == "1042"


async def test_saleor_is_silent_for_days_and_comes_back(paid_shop: Shop) -> None:
    """A question that was not answered is none of the few that an order is worth."""
    paid_shop.saleor.is_down = True
    place(paid_shop)
    await paid_shop.pass_time(days=3)
    paid_shop.saleor.is_down = False
    await paid_shop.pass_time(hours=1)
    assert await number(paid_shop) == "1042"


async def test_saleor_that_has_no_time_is_left_alone_as_long_as_it_says(paid_shop: Shop) -> None:
    paid_shop.saleor.is_down, paid_shop.saleor.pause_while_down = True, 1200
    await paid_shop.pass_time(minutes=1)
    assert (await paid_shop.aggregate()).payment.next_order_poll_at == paid_shop.clock.now + timedelta(minutes=20)


@pytest.mark.parametrize("flow", ["CHARGE", "AUTHORIZATION"])
async def test_it_is_asked_as_often_as_it_is_worth(shop: Shop, flow: str) -> None:
    await shop.complete_payment(flow)
    asked = shop.clock.now
    pauses = []
    while (due := (await shop.aggregate()).payment.next_order_poll_at) is not None:
        pauses.append(due - asked)
        asked = due
        await shop.pass_time(seconds=(due - shop.clock.now).total_seconds())
        await look_at_problems(shop)
    hour = timedelta(hours=1)  # the second is the pause after which a problem that staff are shown may have ended
    assert pauses == [timedelta(minutes=1), timedelta(minutes=10), hour, hour, timedelta(days=1)]


async def test_it_is_asked_each_hour_as_long_as_staff_are_shown_that_it_is_missing(paid_shop: Shop) -> None:
    await paid_shop.pass_time(hours=1, minutes=20)
    for _ in range(4):
        await paid_shop.pass_time(hours=1)
        due = (await paid_shop.aggregate()).payment.next_order_poll_at
        assert due is not None
        assert due - paid_shop.clock.now <= timedelta(hours=1)


async def test_the_payment_of_an_order_has_its_number_and_nobody_is_asked(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    order = source_object(__typename="Order", id="T3JkZXI6MQ==", number="77", userEmail="taras@example.com")
    await shop.begin(sourceObject=order)
    await shop.notify(payment(shop.order_id))
    await shop.work()
    aggregate = await shop.aggregate()
    assert (aggregate.payment.order_number, aggregate.payment.next_order_poll_at, aggregate.payment.order_polls) == (
        "77",
        None,
        0,
    )
