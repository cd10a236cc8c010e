"""An order was paid twice, and then its total changes or one payment is given back: what staff are told is true now."""

import pytest

from app.core.alerts import AlertKind
from integration_base_tests.loopback import json_reply
from saleor_app_sdk.testing.records import Order
from tests.payments.alert_cases import subjects
from tests.payments.fake_gateway import operation, refusal_reply
from tests.payments.operations.test_competing_attempts import another
from tests.payments.shop import TOTAL, Shop, source_object
from tests.payments.test_money_and_order_part import (
    NOT_OWED,
    acknowledge_all,
    amount_of,
    change_total,
    pay,
    told,
)

pytestmark = [pytest.mark.law(10), pytest.mark.law(12)]

PAID_TWICE = [(AlertKind.PAID_TWICE, 2)]


async def opened_on(shop: Shop, order: Order, amount: str = TOTAL, flow: str = "CHARGE") -> Shop:
    """Open a page for an order that staff have taken."""
    if shop.transaction not in order.transactions:
        order.transactions.append(shop.transaction)
        shop.transaction.checkout, shop.transaction.order = None, order
    shop.gateway.will_answer(shop.gateway.page(shop.order_id))
    total = {"gross": amount_of(TOTAL)}
    source = source_object(__typename="Order", id=order.id, number=order.number, userEmail="t@example.com", total=total)
    await shop.begin(sourceObject=source, amount=amount, flow=flow)
    return shop


@pytest.fixture
async def both(shop: Shop) -> tuple[Shop, Shop]:
    """Two payments of the whole order: nothing closed the older page in time."""
    shop.saleor.states_totals = True
    shop.account = await shop.services.accounts.change(shop.account.id, cancel_older=False)
    order = shop.saleor.order(shop.transaction)
    older = await opened_on(shop, order)
    newer = await opened_on(another(shop), order)
    shop.gateway.will_answer(*[refusal_reply("Invalid operation", "4150")] * 5)
    await pay(older)
    await pay(newer)
    shop.gateway.script.clear()
    return older, newer


async def refund(shop: Shop, amount: str, key: str = "refund") -> None:
    shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, amount, operation_id=f"id-{key}")))
    await shop.request_action("REFUND", amount, key)
    await shop.pass_time(minutes=2)


class TestTotalFell:
    async def test_staff_are_told_the_sum_that_is_true_now(self, both: tuple[Shop, Shop]) -> None:
        change_total(both[0], "469.50")
        await both[0].pass_time(hours=1)
        for payment in both:
            assert "1139.00 UAH was paid or authorized for 469.50 UAH" in await told(payment)
        assert await subjects(both[0]) == PAID_TWICE

    @pytest.mark.parametrize("hours", [0, 1], ids=["not learnt yet", "learnt"])
    async def test_once_one_is_refunded_the_rest_exceeds_what_is_owed(
        self, both: tuple[Shop, Shop], hours: int
    ) -> None:
        older, newer = both
        change_total(older, "469.50")
        await older.pass_time(hours=hours)
        await refund(older, TOTAL)
        assert await told(older) == ""
        assert "100.00 UAH more was paid or authorized than is owed" in await told(newer)
        assert await subjects(older) == NOT_OWED
        await refund(newer, "60.00", "part")
        assert "40.00 UAH more was paid or authorized than is owed" in await told(newer)
        await refund(newer, "40.00", "rest")
        assert await subjects(older) == []

    async def test_a_refund_of_what_is_too_much_leaves_nothing_to_tell(self, both: tuple[Shop, Shop]) -> None:
        await refund(both[0], TOTAL)
        await both[0].pass_time(hours=2)
        assert await subjects(both[0]) == []

    async def test_a_part_that_is_refunded_changes_the_sum_on_both(self, both: tuple[Shop, Shop]) -> None:
        await refund(both[0], "100.00")
        for payment in both:
            assert "1039.00 UAH was paid or authorized for 569.50 UAH" in await told(payment)

    async def test_total_that_rose_to_what_was_paid_ends_it(self, both: tuple[Shop, Shop]) -> None:
        change_total(both[0], "1139.00")
        await both[0].pass_time(hours=1)
        assert await subjects(both[0]) == []


class TestAcknowledged:
    async def test_less_that_is_too_much_is_no_news(self, both: tuple[Shop, Shop]) -> None:
        for payment in both:
            await acknowledge_all(payment)
        await refund(both[0], "100.00")
        assert await subjects(both[0]) == []

    async def test_a_third_payment_is_news(self, shop: Shop) -> None:
        shop.account = await shop.services.accounts.change(shop.account.id, cancel_older=False)
        order = shop.saleor.order(shop.transaction)
        attempts = [await opened_on(attempt, order) for attempt in (shop, another(shop), another(shop))]
        for attempt in attempts:
            shop.gateway.will_answer(*[refusal_reply("Invalid operation", "4150")] * 5)
            for paid in attempts[:2]:
                if (await paid.aggregate()).payment.has_problems:
                    await acknowledge_all(paid)
            await pay(attempt)
        shop.gateway.script.clear()
        assert await subjects(shop) == [(AlertKind.PAID_TWICE, 3)]
