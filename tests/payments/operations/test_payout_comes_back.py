"""Money that was paid out comes back: the recipient has less of it, and it is out no more (laws of money, 7, 8)."""

from decimal import Decimal

import pytest

from app.core.payment import PaymentAggregate
from app.core.vocabulary import Kind, State
from app.flows.pay_out import ConfirmedPayout, paid_out_last_day, pay_out
from app.flows.staff.manual_resolution import Decision, settle
from app.reports.payout_view import payout_facts, payout_rows
from app.reports.sheet import SheetStyle
from app.reports.status import standing
from app.rules.problems import problem_text
from app.store.day_sums import Days, Total, our_totals
from app.store.payouts import payouts_page, similar_payouts_since
from app.store.tables import Booked
from integration_base_tests.loopback import json_reply
from tests.payments.fake_gateway import operation
from tests.payments.payouts import MASK, a_payout, enable_payouts, order_of, payout_record, recorded
from tests.payments.shop import Shop

pytestmark = pytest.mark.law(7, 8)


@pytest.fixture
async def shop(shop: Shop) -> Shop:
    """A shop whose owner lets staff pay out to cards."""
    await enable_payouts(shop)
    return shop


async def paid_out(shop: Shop, amount: str = "100.00") -> ConfirmedPayout:
    wish = a_payout(shop, amount)
    shop.gateway.will_answer(json_reply(payout_record(wish)))
    await pay_out(shop.services, shop.account, wish)
    shop.gateway.book[order_of(wish)] = [payout_record(wish)]
    return wish


async def comes_back(shop: Shop, wish: ConfirmedPayout, amount: str, method: str = "refund") -> PaymentAggregate:
    await shop.notify(operation(method, order_of(wish), amount, operation_id=f"{method} {amount}"))
    await shop.pass_time(minutes=2)
    return await recorded(shop, wish)


async def totals(shop: Shop) -> list[Total]:
    today = shop.clock.now.date()
    async with shop.services.database.transaction() as session:
        return await our_totals(session, [shop.account.id], Days(today, today))


@pytest.mark.parametrize("method", ["refund", "void"])
@pytest.mark.parametrize(
    ("amount", "words", "left"), [("100.00", "returned", "0.00"), ("40.00", "partially returned", "60.00")]
)
async def test_a_payout_that_comes_back_is_shown_and_is_paid_out_no_more(
    shop: Shop, method: str, amount: str, words: str, left: str
) -> None:
    wish = await paid_out(shop)
    aggregate = await comes_back(shop, wish, amount, method)
    assert standing(aggregate) == words
    assert problem_text(aggregate.payment) is None
    found = await totals(shop)
    assert {total.kind for total in found} == {Booked.PAID_OUT}
    assert not any(total.is_trial for total in found)
    assert sum(total.amount for total in found) == Decimal(left)
    assert await paid_out_last_day(shop.services, shop.account) == Decimal(left)


@pytest.mark.parametrize("amounts", [[], ["40.00"], ["40.00", "25.50"]])
async def test_files_and_scripts_are_told_how_much_has_come_back(shop: Shop, amounts: list[str]) -> None:
    """The amount alone would say that all of it is still paid out, unlike the sums of the day."""
    wish = await paid_out(shop)
    for amount in amounts:
        await comes_back(shop, wish, amount)
    batches = payout_rows(shop.services, shop.installation.id, SheetStyle())
    [headings, row] = [row async for rows in batches for row in rows]
    returned = sum(map(Decimal, amounts), Decimal("0.00"))
    assert [row[headings.index(heading)] for heading in ("Amount", "Returned")] == [Decimal("100.00"), returned]
    assert sum(total.amount for total in await totals(shop)) == Decimal("100.00") - returned
    async with shop.services.database.transaction() as session:
        [payout] = await payouts_page(session, shop.installation.id, most=2)
    assert payout_facts(shop.services, payout)["returned"] == returned


async def test_a_payout_that_came_back_whole_is_no_earlier_payout_of_the_same(shop: Shop) -> None:
    wish = await paid_out(shop)
    await comes_back(shop, wish, "100.00")
    async with shop.services.database.transaction() as session:
        assert not await similar_payouts_since(
            session, shop.account.id, mask=MASK, amount=Decimal("100.00"), currency="UAH", since=wish.requested.at
        )


async def test_more_than_was_paid_out_is_put_to_staff(shop: Shop) -> None:
    wish = await paid_out(shop)
    aggregate = await comes_back(shop, wish, "250.00")
    assert standing(aggregate) == "paid out"
    assert "refund of 250.00 UAH that was not requested here" in (problem_text(aggregate.payment) or "")
    assert sum(total.amount for total in await totals(shop)) == Decimal("100.00")
    assert await paid_out_last_day(shop.services, shop.account) == Decimal("100.00")


async def test_no_payout_is_captured(shop: Shop) -> None:
    wish = await paid_out(shop)
    aggregate = await comes_back(shop, wish, "100.00", "capture")
    assert "charge of 100.00 UAH that was not requested here" in (problem_text(aggregate.payment) or "")
    capture = next(known for known in aggregate.operations if known.kind is Kind.CAPTURE)
    assert (capture.state, capture.booked_at) == (State.FAILURE, None)
    assert sum(total.amount for total in await totals(shop)) == Decimal("100.00")


@pytest.mark.parametrize("status", ["pending", "success"])
async def test_of_a_disputed_payout_staff_are_not_told_that_a_payer_took_money(shop: Shop, status: str) -> None:
    """What comes back of it, the store gets: there is nothing to refund, and Saleor knows nothing of it."""
    wish = await paid_out(shop)
    await shop.notify(payout_record(wish, status, method="dispute", payment_id="dispute", amount=Decimal("40.00")))
    await shop.pass_time(minutes=2)
    aggregate = await recorded(shop, wish)
    assert standing(aggregate).startswith("paid out" if status == "pending" else "partially returned")
    told = problem_text(aggregate.payment) or ""
    assert "dispute over 40.00 UAH of this payout" in told
    assert not any(word in told for word in ("payer", "refund", "Saleor"))


async def test_a_payout_that_the_gateway_reports_as_failed_later_is_settled_as_returned(shop: Shop) -> None:
    wish = await paid_out(shop)
    await shop.notify(payout_record(wish, "failure"))
    await shop.work()
    assert "first reported success and now reports failure" in (
        problem_text((await recorded(shop, wish)).payment) or ""
    )
    await settle(shop.services, order_of(wish), None, Decision(State.FAILURE, "olena", "the card is closed"))
    await shop.work()
    aggregate = await recorded(shop, wish)
    assert standing(aggregate) == "returned, charged back"
    assert problem_text(aggregate.payment) is None
    assert sum(total.amount for total in await totals(shop)) == 0
    assert await paid_out_last_day(shop.services, shop.account) == 0
