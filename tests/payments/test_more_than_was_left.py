"""Others do more than was possible, or their words come in another order: what was possible decides (8, 10)."""

from decimal import Decimal
from typing import Any

import pytest

from app.core.vocabulary import Kind, State
from app.flows.on_demand import look_up_now
from app.flows.staff.manual_resolution import settle
from app.rules.decisions.manual_resolution import Decision
from app.rules.problems import problem_messages, problem_text
from integration_base_tests.loopback import json_reply
from tests.payments.fake_gateway import operation, payment
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop

pytestmark = pytest.mark.law(8, 10)


async def in_the_portal(shop: Shop, method: str, amount: str, name: str, **more: Any) -> None:
    await shop.notify(operation(method, shop.order_id, amount, operation_id=name, **more))
    await shop.pass_time(minutes=2)


async def problems(shop: Shop) -> str:
    return problem_text((await shop.aggregate()).payment) or ""


class TestWhatCannotBe:
    """It is not booked, and what it has perhaps used is not used again."""

    @pytest.mark.parametrize("amount", ["0.00", "-5.00", "10.005"])
    async def test_what_is_no_amount_of_money_is_said_to_be_none(self, paid_shop: Shop, amount: str) -> None:
        await in_the_portal(paid_shop, "refund", amount, "refund")
        assert paid_shop.amounts == amounts(charged=TOTAL)
        assert await problems(paid_shop) == f"The gateway reports {amount} UAH, which is not a valid amount."

    async def test_a_release_of_a_charge_stops_its_refund(self, paid_shop: Shop) -> None:
        """A purchase that was reversed on the same day: perhaps the payer has the money back."""
        await in_the_portal(paid_shop, "void", TOTAL, "reversal")
        assert paid_shop.amounts == amounts(charged=TOTAL)
        assert paid_shop.transaction.actions == []
        assert "release of 569.50 UAH that was not requested here" in await problems(paid_shop)
        assert (await paid_shop.request_action("REFUND", TOTAL)).result == "REFUND_FAILURE"

    async def test_a_charge_of_what_is_charged_already_is_not_counted_twice(self, paid_shop: Shop) -> None:
        await in_the_portal(paid_shop, "capture", TOTAL, "capture")
        assert paid_shop.amounts == amounts(charged=TOTAL)
        assert paid_shop.transaction.actions == ["REFUND"]
        assert "charge of 569.50 UAH that was not requested here" in await problems(paid_shop)

    @pytest.mark.parametrize("status", ["success", "pending"])
    async def test_a_refund_of_more_than_was_charged(self, paid_shop: Shop, status: str) -> None:
        await paid_shop.notify(operation("refund", paid_shop.order_id, "600.00", status, operation_id="refund"))
        await in_the_portal(paid_shop, "refund", "600.00", "refund")
        assert paid_shop.amounts == amounts(charged=TOTAL)
        assert paid_shop.transaction.actions == []
        assert "refund of 600.00 UAH that was not requested here" in await problems(paid_shop)

    async def test_refunds_that_are_too_much_together(self, paid_shop: Shop) -> None:
        await in_the_portal(paid_shop, "refund", "400.00", "first")
        await in_the_portal(paid_shop, "refund", "400.00", "second")
        assert paid_shop.amounts == amounts(charged="169.50", refunded="400.00")
        assert paid_shop.transaction.actions == []
        assert "refund of 400.00 UAH that was not requested here" in await problems(paid_shop)

    async def test_a_look_up_of_the_order_puts_the_one_that_was_too_much_to_staff_and_no_other(
        self, paid_shop: Shop
    ) -> None:
        await in_the_portal(paid_shop, "refund", "400.00", "first")
        await in_the_portal(paid_shop, "refund", "400.00", "second")
        assert await look_up_now(paid_shop.services, paid_shop.order_id) is None
        [told] = problem_messages((await paid_shop.aggregate()).payment)
        assert "refund of 400.00 UAH that was not requested here" in told

    @pytest.mark.parametrize(
        ("words", "booked"),
        [
            ((("capture", "700.00"),), {"authorized": TOTAL}),
            ((("capture", TOTAL), ("void", TOTAL)), {"charged": TOTAL}),
            ((("void", TOTAL), ("capture", TOTAL)), {"canceled": TOTAL}),
        ],
    )
    async def test_more_than_was_authorized(
        self, reserved_shop: Shop, words: tuple[tuple[str, str], ...], booked: dict[str, str]
    ) -> None:
        for method, amount in words:
            await in_the_portal(reserved_shop, method, amount, method)
        assert reserved_shop.amounts == amounts(**booked)
        assert reserved_shop.transaction.actions == []
        assert "not enough left for it" in await problems(reserved_shop)

    @pytest.mark.parametrize(
        ("state", "booked", "actions"),
        [
            (State.SUCCESS, {"charged": "-30.50", "refunded": "600.00"}, []),
            (State.FAILURE, {"charged": TOTAL}, ["REFUND"]),
        ],
    )
    async def test_staff_settle_it_and_it_stays_settled(
        self, paid_shop: Shop, state: State, booked: dict[str, str], actions: list[str]
    ) -> None:
        await in_the_portal(paid_shop, "refund", "600.00", "refund")
        row = (await paid_shop.operation(Kind.REFUND)).id
        await settle(paid_shop.services, paid_shop.order_id, row, Decision(state, "Ann", "the portal"))
        await in_the_portal(paid_shop, "refund", "600.00", "refund", processed_at="2026-11-22T12:00:00.000")
        assert paid_shop.amounts == amounts(**booked)
        assert paid_shop.transaction.actions == actions
        assert await problems(paid_shop) == ""


class TestAReleaseOfAPart:
    """A release ends the whole reservation (gateway interface, 4): staff are told of one that leaves a rest."""

    @pytest.mark.parametrize("method", ["void", "capture"])
    async def test_is_put_to_staff_until_the_rest_is_reported(self, reserved_shop: Shop, method: str) -> None:
        await in_the_portal(reserved_shop, "void", "100.00", "part")
        assert reserved_shop.amounts == amounts(authorized="469.50", canceled="100.00")
        assert await problems(reserved_shop) == (
            "The gateway's records have a release of 100.00 UAH where ours have 569.50 UAH. "
            "Compare it with the merchant portal."
        )
        await in_the_portal(reserved_shop, method, "469.50", "rest")
        assert reserved_shop.amounts.authorized == 0
        assert await problems(reserved_shop) == ""

    async def test_that_a_look_up_has_found_first_is_put_to_staff_until_then_too(self, reserved_shop: Shop) -> None:
        book = reserved_shop.gateway.book[reserved_shop.order_id]
        for amount, is_told in (("100.00", True), ("469.50", False)):
            book.append(operation("void", reserved_shop.order_id, amount, operation_id=f"of-{amount}"))
            assert await look_up_now(reserved_shop.services, reserved_shop.order_id) is None
            assert ("release of 100.00 UAH" in await problems(reserved_shop)) is is_told

    async def test_of_all_that_was_left_is_none(self, reserved_shop: Shop) -> None:
        await in_the_portal(reserved_shop, "void", TOTAL, "all")
        assert await look_up_now(reserved_shop.services, reserved_shop.order_id) is None
        assert await problems(reserved_shop) == ""


class TestTheBankTakesMoreThanWasCharged:
    """The bank may take what was refunded, and never more than was charged (8)."""

    @staticmethod
    async def decided(shop: Shop, amount: str, name: str = "dispute", status: str = "success") -> None:
        await shop.notify(payment(shop.order_id, status, amount, method="dispute", payment_id=name))
        await shop.pass_time(minutes=2)

    async def test_in_one_dispute(self, paid_shop: Shop) -> None:
        await self.decided(paid_shop, "700.00")
        assert paid_shop.amounts == amounts(charged=TOTAL)
        assert paid_shop.transaction.actions == []
        assert "dispute of 700.00 UAH that was not requested here" in await problems(paid_shop)
        await self.decided(paid_shop, "500.00")
        assert paid_shop.amounts == amounts(charged="69.50")

    async def test_in_a_dispute_that_was_open(self, paid_shop: Shop) -> None:
        await self.decided(paid_shop, TOTAL, status="pending")
        await self.decided(paid_shop, "700.00")
        assert paid_shop.amounts == amounts(charged=TOTAL)
        assert "dispute of 700.00 UAH" in await problems(paid_shop)

    async def test_in_two(self, paid_shop: Shop) -> None:
        await self.decided(paid_shop, "400.00", "first")
        await self.decided(paid_shop, "400.00", "second")
        assert paid_shop.amounts == amounts(charged="169.50")
        assert "dispute of 400.00 UAH that was not requested here" in await problems(paid_shop)

    async def test_in_a_second_word_about_one(self, paid_shop: Shop) -> None:
        await self.decided(paid_shop, "500.00")
        await self.decided(paid_shop, "700.00")
        assert paid_shop.amounts == amounts(charged="69.50")
        dispute = await paid_shop.operation(Kind.DISPUTE)
        assert (dispute.state, dispute.amount) == (State.SUCCESS, Decimal("500.00"))
        assert "dispute of 700.00 UAH that was not requested here" in await problems(paid_shop)

    async def test_of_an_authorization_of_which_nothing_was_charged(self, reserved_shop: Shop) -> None:
        await self.decided(reserved_shop, TOTAL)
        assert reserved_shop.amounts == amounts(authorized=TOTAL)
        assert "dispute of 569.50 UAH that was not requested here" in await problems(reserved_shop)

    @pytest.mark.fault("notification-lost")
    async def test_of_an_authorization_whose_charge_was_not_notified(self, reserved_shop: Shop) -> None:
        """Looking up the order shows where the money came from."""
        shop = reserved_shop
        shop.gateway.book[shop.order_id].append(operation("capture", shop.order_id, TOTAL, operation_id="capture"))
        await self.decided(shop, TOTAL)
        assert shop.amounts == amounts()
        assert "took back 569.50 UAH" in await problems(shop)
        assert "not requested here" not in await problems(shop)

    async def test_what_was_refunded_before_is_taken(self, paid_shop: Shop) -> None:
        await in_the_portal(paid_shop, "refund", "100.00", "refund")
        await self.decided(paid_shop, TOTAL)
        assert paid_shop.amounts == amounts(charged="-100.00", refunded="100.00")
        assert "The payer gets more back than was charged" in await problems(paid_shop)


class TestWhatComesInAnotherOrder:
    """Whatever may still be reported counts as possible; staff are told when the whole order does not show it."""

    @pytest.mark.fault("notification-lost")
    async def test_a_refund_of_a_payment_whose_success_was_lost_finds_it(self, shop: Shop) -> None:
        shop.gateway.will_answer(shop.gateway.page())
        await shop.begin()
        await shop.notify(payment(shop.order_id, "failure"))
        await shop.work()
        shop.gateway.book[shop.order_id] = [payment(shop.order_id)]
        await in_the_portal(shop, "refund", TOTAL, "refund")
        assert shop.amounts == amounts(refunded=TOTAL)
        assert await problems(shop) == ""

    @pytest.mark.fault("notification-out-of-order")
    async def test_a_refund_before_its_charge_is_put_to_staff_until_that_is_reported(self, reserved_shop: Shop) -> None:
        await in_the_portal(reserved_shop, "refund", "100.00", "refund")
        assert "refund of 100.00 UAH was carried out" in await problems(reserved_shop)
        await in_the_portal(reserved_shop, "capture", TOTAL, "capture")
        assert reserved_shop.amounts == amounts(charged="469.50", refunded="100.00")
        assert await problems(reserved_shop) == ""

    async def test_refunds_here_and_in_the_portal_that_were_both_carried_out(self, paid_shop: Shop) -> None:
        ours = operation("refund", paid_shop.order_id, "300.00", "pending", operation_id="ours")
        paid_shop.gateway.will_answer(json_reply(ours))
        await paid_shop.request_action("REFUND", "300.00")
        await in_the_portal(paid_shop, "refund", "400.00", "theirs")
        await in_the_portal(paid_shop, "refund", "300.00", "ours")
        assert paid_shop.amounts == amounts(charged="-130.50", refunded="700.00")
        assert await problems(paid_shop) == (
            "The refund of 300.00 UAH was carried out, although there was not enough left for it: "
            "compare it with the merchant portal."
        )


async def test_a_rest_that_the_gateway_releases_after_saleor_was_told_is_told_once(reserved_shop: Shop) -> None:
    shop = reserved_shop
    shop.gateway.will_answer(json_reply(operation("capture", shop.order_id, "100.00", operation_id="capture")))
    await shop.request_action("CHARGE", "100.00")
    await shop.pass_time(minutes=1)
    await in_the_portal(shop, "void", "469.50", "rest")
    assert shop.amounts == amounts(charged="100.00", canceled="469.50")
    assert (await shop.operation(Kind.VOID)).amount == Decimal("469.50")
    assert await problems(shop) == ""


@pytest.mark.law(7)
@pytest.mark.parametrize("refund_first", [True, False])
async def test_a_refund_of_what_the_bank_takes_back_is_put_to_staff(paid_shop: Shop, *, refund_first: bool) -> None:
    refund = operation("refund", paid_shop.order_id, TOTAL, operation_id="refund")
    dispute = payment(paid_shop.order_id, method="dispute", payment_id="dispute")
    for record in (refund, dispute) if refund_first else (dispute, refund):
        await paid_shop.notify(record)
        await paid_shop.work()
    assert "The payer gets more back than was charged" in await problems(paid_shop)
