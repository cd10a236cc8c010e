"""What was paid twice changes afterwards, in total or because one is given back: what staff are told is true now."""

from typing import Any

import pytest

from app.core.alerts import AlertKind
from integration_base_tests.loopback import HangUp, json_reply
from saleor_app_sdk.testing.records import Checkout, Order
from tests.payments.alert_cases import subjects
from tests.payments.fake_gateway import operation, refusal_reply
from tests.payments.fake_gateway import payment as record_of
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


async def opened_on(shop: Shop, source: Checkout | Order, amount: str = TOTAL, flow: str = "CHARGE") -> Shop:
    """Open a page for a checkout, or for an order that staff have taken."""
    if shop.transaction not in source.transactions:
        source.transactions.append(shop.transaction)
        shop.transaction.checkout = source if isinstance(source, Checkout) else None
        shop.transaction.order = source if isinstance(source, Order) else None
    shop.gateway.will_answer(shop.gateway.page(shop.order_id))
    total = {"gross": amount_of(source.basket.total)}
    names: dict[str, Any] = {"totalPrice": total}
    if isinstance(source, Order):
        names = {"__typename": "Order", "number": source.number, "userEmail": "t@example.com", "total": total}
    await shop.begin(sourceObject=source_object(id=source.id, **names), amount=amount, flow=flow)
    return shop


async def pay_twice(shop: Shop, source: Checkout | Order, flow: str = "CHARGE") -> tuple[Shop, Shop]:
    """Pay all of it with two payments: nothing closes the older page in time."""
    shop.account = await shop.services.accounts.change(shop.account.id, cancel_older=False)
    both = await opened_on(shop, source, flow=flow), await opened_on(another(shop), source, flow=flow)
    shop.gateway.will_answer(*[refusal_reply("Invalid operation", "4150")] * 5)
    for payment in both:
        await pay(payment, method="purchase" if flow == "CHARGE" else "auth")
    shop.gateway.script.clear()
    return both


@pytest.fixture(autouse=True)
def states_totals(shop: Shop) -> None:
    shop.saleor.states_totals = True


@pytest.fixture(params=["order", "checkout"])
async def both(shop: Shop, request: pytest.FixtureRequest) -> tuple[Shop, Shop]:
    """Two payments of the whole order or checkout."""
    source = shop.saleor.order(shop.transaction) if request.param == "order" else shop.transaction.source
    return await pay_twice(shop, source)


async def refund(shop: Shop, amount: str, key: str = "refund") -> None:
    shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, amount, operation_id=f"id-{key}")))
    await shop.request_action("REFUND", amount, key)
    await shop.pass_time(minutes=2)


class TestTotalFell:
    @pytest.mark.parametrize(("before", "after"), [(0, 2), (30, 60)], ids=["at once", "later"])
    async def test_staff_are_told_the_sum_that_is_true_now(
        self, both: tuple[Shop, Shop], before: int, after: int
    ) -> None:
        await both[0].pass_time(minutes=before)
        change_total(both[0], "469.50")
        await both[0].pass_time(minutes=after)
        for payment in both:
            assert "1139.00 UAH was paid or authorized for 469.50 UAH" in await told(payment)
        assert set(PAID_TWICE) <= set(await subjects(both[0]))  # and that nobody has completed the checkout

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

    async def test_what_is_left_after_refunds_of_both_exceeds_what_is_owed(self, both: tuple[Shop, Shop]) -> None:
        older, newer = both
        await refund(newer, "100.00", "part")
        change_total(older, "369.50")
        await refund(older, TOTAL, "all")
        assert "100.00 UAH more was paid or authorized than is owed" in await told(newer)

    async def test_a_refund_of_what_is_too_much_leaves_nothing_to_tell(self, both: tuple[Shop, Shop]) -> None:
        await refund(both[0], TOTAL)
        await both[0].pass_time(hours=1)
        assert await subjects(both[0]) == []

    async def test_a_part_that_is_refunded_changes_the_sum_on_both(self, both: tuple[Shop, Shop]) -> None:
        await refund(both[0], "100.00")
        for payment in both:
            assert "1039.00 UAH was paid or authorized for 569.50 UAH" in await told(payment)
        await both[0].pass_time(minutes=30)
        change_total(both[0], "469.50")
        await refund(both[0], "10.00", "more")
        for payment in both:
            assert "1029.00 UAH was paid or authorized for 469.50 UAH" in await told(payment)

    async def test_refund_of_unknown_outcome_changes_no_sum(self, both: tuple[Shop, Shop]) -> None:
        """Saleor no longer counts as charged what it has asked to refund."""
        older, newer = both
        older.gateway.will_answer(HangUp())
        await older.request_action("REFUND", "100.00", "unknown")
        await older.pass_time(minutes=12)
        assert "1139.00 UAH was paid or authorized for 569.50 UAH" in await told(newer)

    async def test_total_that_rose_to_what_was_paid_ends_it(self, both: tuple[Shop, Shop]) -> None:
        change_total(both[0], "1139.00")
        await both[0].pass_time(hours=1)
        assert await subjects(both[0]) == []


class TestTotalRoseAboveBoth:
    async def test_needs_more_money_and_both_payments_say_so(self, both: tuple[Shop, Shop]) -> None:
        for total, left in (("1200.00", "61.00"), ("1300.00", "161.00")):
            change_total(both[0], total)
            await both[0].pass_time(hours=1)
            assert await subjects(both[0]) == [(AlertKind.NOT_PAID, 2)]
            for payment in both:
                assert f" {left} UAH is" in await told(payment)

    async def test_once_one_is_refunded_the_other_alone_says_what_is_missing(self, both: tuple[Shop, Shop]) -> None:
        older, newer = both
        change_total(older, "1200.00")
        await older.pass_time(hours=1)
        await refund(older, TOTAL)
        await older.pass_time(hours=1)
        assert await told(older) == ""
        assert " 630.50 UAH is" in await told(newer)


class TestOfACheckout:
    async def test_that_is_completed_after_its_total_fell(self, shop: Shop) -> None:
        older, newer = await pay_twice(shop, shop.transaction.source)
        await shop.pass_time(minutes=30)
        change_total(shop, "469.50")
        shop.saleor.order(shop.transaction)
        await shop.pass_time(hours=1)
        for payment in (older, newer):
            assert "1139.00 UAH was paid or authorized for 469.50 UAH" in await told(payment)
        assert await subjects(shop) == PAID_TWICE

    async def test_that_was_authorized_twice(self, shop: Shop) -> None:
        """Saleor's balance of a checkout omits what is authorized, by whichever payment."""
        older, newer = await pay_twice(shop, shop.transaction.source, "AUTHORIZATION")
        await shop.pass_time(hours=1)
        for payment in (older, newer):
            assert "1139.00 UAH was paid or authorized for 569.50 UAH" in await told(payment)
        change_total(shop, "469.50")
        shop.gateway.will_answer(json_reply(operation("void", older.order_id, TOTAL)))
        await older.request_action("CANCEL", TOTAL, "release")
        await shop.pass_time(minutes=2)
        assert await told(older) == ""
        assert "100.00 UAH more was paid or authorized than is owed" in await told(newer)

    async def test_whose_total_rose_and_whose_rest_was_authorized_apart(self, shop: Shop) -> None:
        checkout = shop.transaction.source
        await pay(await opened_on(shop, checkout, flow="AUTHORIZATION"), method="auth")
        change_total(shop, "600.00")
        rest = await opened_on(another(shop), checkout, "30.50", flow="AUTHORIZATION")
        await pay(rest, method="auth", amount="30.50")
        await shop.pass_time(hours=1)
        assert await subjects(shop) == []

    async def test_that_nobody_completes_and_staff_know_of(self, shop: Shop) -> None:
        """Saleor is asked for its order no more; what is left of it is compared nevertheless."""
        older, newer = await pay_twice(shop, shop.transaction.source)
        await shop.pass_time(hours=2)
        for payment in (older, newer):
            await acknowledge_all(payment)
        await shop.pass_time(days=3)
        change_total(shop, "469.50")
        await refund(older, TOTAL)
        assert "100.00 UAH more was paid or authorized than is owed" in await told(newer)

    async def test_is_not_sooner_one_that_nobody_completes(self, shop: Shop) -> None:
        older, newer = await pay_twice(shop, shop.transaction.source)
        for number in range(3):
            await refund(older, "10.00", f"part-{number}")
        await refund(older, "539.50", "rest")
        await shop.pass_time(minutes=50)
        assert await told(newer) == ""


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


async def test_while_one_more_is_at_the_bank_the_sums_are_those_that_were_told(shop: Shop) -> None:
    """Saleor's balance of a checkout counts that one as paid, and nobody knows whether it will be."""
    shop.account = await shop.services.accounts.change(shop.account.id, cancel_older=False)
    checkout = shop.transaction.source
    attempts = [await opened_on(attempt, checkout) for attempt in (another(shop), shop, another(shop))]
    third, *both = attempts
    shop.gateway.will_answer(*[refusal_reply("Invalid operation", "4150")] * 8)
    shop.gateway.book[third.order_id] = [record_of(third.order_id, "pending", status_code="2001")]
    assert (await third.process_session()).result == "CHARGE_REQUEST"
    for paid in both:
        await pay(paid)
    change_total(shop, "600.00")
    await shop.pass_time(hours=2)
    for paid in both:
        assert "1139.00 UAH was paid or authorized for 569.50 UAH" in await told(paid)
    await pay(third, status="failure", status_code="4009")
    await shop.pass_time(hours=2)
    shop.gateway.script.clear()
    for paid in both:
        assert "1139.00 UAH was paid or authorized for 600.00 UAH" in await told(paid)
