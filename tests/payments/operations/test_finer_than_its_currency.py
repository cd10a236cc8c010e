"""The gateway moves a part of a unit that Saleor does not have: Saleor rounds it, and staff are told of both."""

from decimal import Decimal
from typing import Any

import pytest

from app.core.vocabulary import Kind
from app.rules.problems import problem_text
from tests.payments.fake_gateway import operation, payment
from tests.payments.fake_saleor import amounts
from tests.payments.shop import Shop


async def pay_yen(shop: Shop, **paid: Any) -> None:
    """Bring the transaction to the point where the shopper has paid 500 JPY, or what the record says."""
    shop.transaction.currency = "JPY"
    await shop.services.accounts.change(shop.account.id, currencies=["UAH", "JPY"])
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin(amount="500.00", currency="JPY")
    await shop.notify(payment(shop.order_id, currency="JPY", **{"amount": "500.00", **paid}))
    await shop.work()


@pytest.mark.law(8)
@pytest.mark.parametrize(("paid", "charged"), [("508.00", "500"), ("509.00", "0")])
async def test_payers_fee_is_a_whole_number_of_yen(shop: Shop, paid: str, charged: str) -> None:
    """Of 500, 1.5 % are 7.5: the payer has paid 508."""
    await shop.services.accounts.change(shop.account.id, payer_fee_percent=Decimal("1.50"))
    await pay_yen(shop, amount=paid)
    assert shop.amounts == amounts(charged=charged)
    assert (await problem_of(shop) is None) is (charged == "500")


async def problem_of(shop: Shop) -> str | None:
    return problem_text((await shop.aggregate()).payment)


@pytest.mark.law(8, 14)
async def test_a_refund_in_the_portal_that_saleor_rounds_is_put_to_staff_with_both_amounts(shop: Shop) -> None:
    await pay_yen(shop)
    for _ in ("told", "repeated"):
        await shop.notify(operation("refund", shop.order_id, "100.50", operation_id="portal", currency="JPY"))
        await shop.work()
        assert (await shop.operation(Kind.REFUND)).amount == Decimal("100.50")
        assert shop.amounts == amounts(charged="400", refunded="100")
        problem = await problem_of(shop)
        assert problem is not None
        assert "a refund of 100.50 JPY" in problem
        assert "may show 100 JPY" in problem
    aggregate = await shop.aggregate()
    assert len(aggregate.payment.problems) == 1
    assert aggregate.create.next_poll_at is None


@pytest.mark.law(8, 14)
async def test_what_the_payer_has_paid_on_top_is_put_to_staff_where_saleor_rounds_it(shop: Shop) -> None:
    await pay_yen(shop, processed_amount=Decimal("501.50"), processed_currency="JPY")
    assert shop.amounts == amounts(charged="502")
    problem = await problem_of(shop)
    assert problem is not None
    assert "a payment of 501.50 JPY" in problem
    assert "may show 502 JPY" in problem


@pytest.mark.law(8, 14)
@pytest.mark.parametrize("amount", ["100.00", "500"])
async def test_a_refund_in_whole_units_is_for_nobody_to_look_at(shop: Shop, amount: str) -> None:
    await pay_yen(shop)
    await shop.notify(operation("refund", shop.order_id, amount, operation_id="portal", currency="JPY"))
    await shop.work()
    assert await problem_of(shop) is None


@pytest.mark.law(8, 14)
async def test_a_refund_that_failed_or_waits_is_for_nobody_to_look_at_yet(shop: Shop) -> None:
    """Nothing of it is in Saleor; once it is made, there is."""
    await pay_yen(shop)
    for status, is_shown in (("pending", False), ("success", True)):
        record = operation("refund", shop.order_id, "100.50", status, operation_id="portal", currency="JPY")
        await shop.notify(record)
        await shop.work()
        assert ((await problem_of(shop)) is not None) is is_shown
