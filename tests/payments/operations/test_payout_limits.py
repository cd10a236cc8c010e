"""What counts against the limit of a day: everything that an account pays out in 24 hours, or may have, and no more."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from app.core.vocabulary import State
from app.flows.accounts.changes import AccountChange, change_account
from app.flows.pay_out import paid_out_last_day, pay_out
from app.flows.staff.manual_resolution import Decision, acknowledge_problems, settle
from app.reports.status import standing
from app.rules.requests.payout import PayoutRefusedError
from app.store.payouts import similar_payouts_since
from app.store.tables import MerchantAccount
from integration_base_tests.loopback import HangUp, json_reply
from tests.dashboard.dashboard_app import other_store
from tests.payments.fake_gateway import payment
from tests.payments.payouts import MASK, a_payout, enable_payouts, order_of, payout_record, recorded
from tests.payments.second_account import SECOND_POS, add_second_account
from tests.payments.shop import Shop

DAY = timedelta(hours=24)


@pytest.fixture
async def shop(shop: Shop) -> Shop:
    """A shop that pays out at most 1000.00 in 24 hours."""
    await enable_payouts(shop, a_day="1000.00")
    return shop


async def pays_out(shop: Shop, amount: str, status: str = "success", **more: Any) -> str:
    """Pay out, and return the standing of the payout; the gateway answers with that status."""
    wish = a_payout(shop, amount)
    shop.gateway.will_answer(json_reply(payout_record(wish, status, **more)))
    return standing(await pay_out(shop.services, shop.account, wish))


@pytest.mark.threat("dishonest-staff")
@pytest.mark.parametrize(
    ("later", "counts"), [(timedelta(hours=13), True), (DAY - timedelta(seconds=1), True), (DAY, False)]
)
async def test_a_payout_counts_for_24_hours(shop: Shop, later: timedelta, counts: bool) -> None:
    assert await pays_out(shop, "1000.00") == "paid out"
    shop.clock.forward(seconds=later.total_seconds())
    assert await paid_out_last_day(shop.services, shop.account) == (Decimal("1000.00") if counts else 0)
    if counts:
        with pytest.raises(PayoutRefusedError, match="in any 24 hours"):
            await pays_out(shop, "0.01")
    else:
        assert await pays_out(shop, "1000.00") == "paid out"


@pytest.mark.parametrize("of_the_other", [add_second_account, other_store], ids=["same store", "another store"])
async def test_what_another_account_pays_out_does_not_count(shop: Shop, of_the_other: Any) -> None:
    other: MerchantAccount = await of_the_other(shop)
    assert await pays_out(shop, "1000.00") == "paid out"
    assert await paid_out_last_day(shop.services, other) == 0
    assert await paid_out_last_day(shop.services, shop.account) == Decimal("1000.00")
    async with shop.services.database.transaction() as session:
        similar = partial(
            similar_payouts_since, session, mask=MASK, amount=Decimal("1000.00"), since=shop.clock.now - DAY
        )
        alike = [
            len(await similar(account.id, currency=currency))
            for account, currency in ((shop.account, "UAH"), (shop.account, "EUR"), (other, "UAH"))
        ]
    assert alike == [1, 0, 0]  # nor is it warned of as the same payout, nor is as much of another currency


async def test_what_was_paid_out_in_another_currency_is_not_added(shop: Shop) -> None:
    """The owner has chosen another currency for payouts, and their limits are in that one since."""
    assert await pays_out(shop, "1000.00") == "paid out"
    shop.account = await shop.services.accounts.change(shop.account.id, currencies=["EUR", "UAH"])
    assert await paid_out_last_day(shop.services, shop.account) == 0
    terms = replace(a_payout(shop, "40.00").terms, currency="EUR")
    wish = a_payout(shop, terms=terms)
    shop.gateway.will_answer(json_reply(payout_record(wish, currency="EUR")))
    assert standing(await pay_out(shop.services, shop.account, wish)) == "paid out"
    assert await paid_out_last_day(shop.services, shop.account) == Decimal("40.00")


async def test_each_account_of_a_store_pays_out_up_to_its_own_limit(shop: Shop) -> None:
    assert await pays_out(shop, "1000.00") == "paid out"
    other = replace(shop, account=await add_second_account(shop))
    await enable_payouts(other, a_day="500.00")
    assert await pays_out(other, "500.00", pos_id=SECOND_POS) == "paid out"
    for account_shop in (shop, other):
        with pytest.raises(PayoutRefusedError, match="in any 24 hours"):
            await pays_out(account_shop, "0.01")
        account_shop.gateway.script.clear()


@pytest.mark.law(7)
async def test_one_that_has_failed_and_perhaps_succeeded_after_all_counts(shop: Shop) -> None:
    """Its outcome was never answered, and it was given up; then the gateway reports success, over another amount."""
    wish = a_payout(shop, "1000.00")
    shop.gateway.will_answer(HangUp())
    await pay_out(shop.services, shop.account, wish)
    await shop.pass_time(minutes=20)
    assert (await recorded(shop, wish)).create.state is State.FAILURE
    assert await paid_out_last_day(shop.services, shop.account) == 0

    await shop.notify(payment(order_of(wish), mode="direct", method="credit", amount=Decimal("900.00")))
    await shop.work()

    assert (await recorded(shop, wish)).create.contradicted
    assert await paid_out_last_day(shop.services, shop.account) == Decimal("1000.00")


@pytest.mark.law(8)
@pytest.mark.threat("dishonest-staff")
@pytest.mark.parametrize("is_first_word", [True, False])
async def test_one_that_the_gateway_reports_as_more_counts_as_that_until_staff_settle_it(
    shop: Shop, is_first_word: bool
) -> None:
    wish = a_payout(shop, "100.00")
    shop.gateway.will_answer(json_reply(payout_record(wish, amount="900.00" if is_first_word else "100.00")))
    await pay_out(shop.services, shop.account, wish)
    if not is_first_word:
        assert await paid_out_last_day(shop.services, shop.account) == Decimal("100.00")
        await shop.notify(payout_record(wish, amount="800.00"))
        await shop.notify(payout_record(wish, amount="900.00"))
        await shop.work()
    assert await paid_out_last_day(shop.services, shop.account) == Decimal("900.00")
    with pytest.raises(PayoutRefusedError, match=r"900\.00 UAH has been or is being paid out"):
        await pays_out(shop, "100.01")
    assert await pays_out(shop, "50.00") == "paid out"

    if is_first_word:
        decision = Decision(State.SUCCESS, "olena", "seen in the portal", Decimal("100.00"))
        await settle(shop.services, order_of(wish), (await recorded(shop, wish)).create.id, decision)
    else:
        assert await acknowledge_problems(shop.services, shop.installation.id, order_of(wish))
    assert await paid_out_last_day(shop.services, shop.account) == Decimal("150.00")


@pytest.mark.parametrize(
    ("columns", "most", "most_a_day"),
    [
        ({"currencies": ["EUR", "UAH"]}, None, None),
        ({"currencies": ["EUR", "UAH"], "payout_most": Decimal(20), "payout_most_a_day": Decimal(40)}, "20", "40"),
        ({"currencies": ["UAH", "EUR"]}, "1000", "1000"),
        ({"name": "Prizes"}, "1000", "1000"),
    ],
)
async def test_limits_are_not_taken_for_those_of_another_currency(
    shop: Shop, columns: dict[str, object], most: str | None, most_a_day: str | None
) -> None:
    """1000.00 UAH a day is not 1000.00 EUR a day: the owner sets limits anew, and nothing is paid out before."""
    account = await change_account(shop.services, shop.account, AccountChange(columns), verify=False)
    expected = (None, None) if most is None else (Decimal(most), Decimal(most_a_day or 0))
    assert (account.payout_most, account.payout_most_a_day) == expected
    assert account.can_pay_out is (most is not None)
