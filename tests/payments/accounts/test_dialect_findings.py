"""What the check of an account finds out about its gateway, and proposes (laws of money, 15 and 16)."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from app.flows.accounts.changes import AccountChange, change_account
from app.flows.accounts.dialect_findings import DialectFinding, find_dialect
from app.rules.accounts.option_values import read_options
from app.rules.problems import problem_messages
from integration_base_tests.loopback import json_reply, text_reply
from tests.payments.fake_gateway import operation, payment
from tests.payments.shop import TOTAL, Shop

pytestmark = [pytest.mark.law(15), pytest.mark.law(16)]


async def proposal(shop: Shop, option: str) -> DialectFinding | None:
    account = await shop.services.accounts.find(shop.account.id)
    assert account is not None
    shop.gateway.will_answer(*[text_reply("Not Found", 404)] * 2)  # to the calls that look for the path of captures
    found = await find_dialect(shop.services, shop.services.gateways.client(account), account)
    return next((finding for finding in found if finding.option == option), None)


async def zone_found(shop: Shop) -> DialectFinding | None:
    return await proposal(shop, "time_zone")


@pytest.fixture
async def shop(shop: Shop) -> Shop:
    """A shop in which a shopper has opened a page."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    return shop


async def notify(shop: Shop, ahead: timedelta, name: str = "1", **more: Any) -> None:
    """The gateway notifies of what has just happened, by a clock that is so far ahead of UTC."""
    at = (shop.clock.now + ahead).replace(tzinfo=None).isoformat(timespec="milliseconds")
    await shop.notify(payment(shop.order_id, payment_id=name, processed_at=at, **more))


@pytest.mark.parametrize(
    ("ahead", "zone"),
    [(timedelta(hours=2), "Europe/Kyiv"), (timedelta(hours=5), "Etc/GMT-5"), (timedelta(hours=-3), "Etc/GMT+3")],
)
async def test_the_zone_of_fresh_notifications_is_proposed(shop: Shop, ahead: timedelta, zone: str) -> None:
    await notify(shop, ahead - timedelta(seconds=2))
    found = await zone_found(shop)
    assert found is not None
    assert (found.value, zone in str(found.why)) == (zone, True)
    await shop.services.accounts.change(shop.account.id, time_zone=zone)
    assert await zone_found(shop) is None


async def test_a_notification_that_is_late_shows_no_zone_and_neither_hides_one(shop: Shop) -> None:
    await notify(shop, timedelta(hours=2, minutes=-40), "late")
    assert await zone_found(shop) is None
    await notify(shop, timedelta(hours=2), "fresh")
    found = await zone_found(shop)
    assert found is not None
    assert found.value == "Europe/Kyiv"


@pytest.mark.parametrize("change", [datetime(2027, 3, 28, 1, tzinfo=UTC), datetime(2027, 10, 31, 1, tzinfo=UTC)])
async def test_a_zone_that_has_changed_its_clocks_is_still_the_same(shop: Shop, change: datetime) -> None:
    """For a week after it, another zone was proposed to every store whose gateway writes local times."""
    kyiv = ZoneInfo("Europe/Kyiv")
    await shop.services.accounts.change(shop.account.id, time_zone=kyiv.key)
    for number, hours in enumerate((-20, -0.01, 0.01, 20)):
        shop.clock.now = change + timedelta(hours=hours)
        assert await zone_found(shop) is None
        await notify(shop, shop.clock.now.astimezone(kyiv).utcoffset() or timedelta(), f"{number}")
        assert await zone_found(shop) is None
    await shop.services.accounts.change(shop.account.id, time_zone="UTC")
    found = await zone_found(shop)
    assert found is not None
    assert found.value == kyiv.key


async def test_what_says_its_zone_or_is_of_last_season_or_of_a_rare_zone_proposes_none(shop: Shop) -> None:
    at = (shop.clock.now + timedelta(hours=2)).replace(tzinfo=None).isoformat()
    await shop.notify(payment(shop.order_id, processed_at=f"{at}+02:00"))
    assert await zone_found(shop) is None
    await notify(shop, timedelta(hours=5, minutes=45), "rare")
    assert await zone_found(shop) is None
    await notify(shop, timedelta(hours=13), "kept")
    shop.clock.forward(days=8)
    assert await zone_found(shop) is None


@pytest.mark.law(8)
async def test_a_fee_on_top_of_the_amount_is_proposed_as_the_payers_and_books_what_waits(shop: Shop) -> None:
    """No record says what the payer's fee is: the app proposes it, the store owner decides, and nothing is lost."""
    await shop.notify(payment(shop.order_id, amount="578.04"))
    await shop.work()
    found = await proposal(shop, "payer_fee_percent")
    assert found is not None
    assert (found.value, "1.50 %" in str(found.why)) == ("1.5", True)  # 8.54 of 569.50 are 1.4996 %, rounded up

    account = await shop.services.accounts.find(shop.account.id)
    assert account is not None
    change = AccountChange(read_options({found.option: found.value}, shop.clock.now, "UAH"))
    await change_account(shop.services, account, change, verify=False)
    shop.gateway.will_answer_look_ups(json_reply([payment(shop.order_id, amount="578.04")]))
    await shop.work()
    assert (shop.amounts.charged, problem_messages((await shop.aggregate()).payment)) == (Decimal(TOTAL), [])
    assert await proposal(shop, "payer_fee_percent") is None


@pytest.mark.law(8)
async def test_a_fee_above_that_of_the_account_is_proposed(shop: Shop) -> None:
    await shop.services.accounts.change(shop.account.id, payer_fee_percent=Decimal(1))
    await shop.notify(payment(shop.order_id, amount="580.89"))
    await shop.work()
    found = await proposal(shop, "payer_fee_percent")
    assert found is not None
    assert found.value == "2"


@pytest.mark.law(8)
@pytest.mark.parametrize("amount", ["569.49", "711.88"])
async def test_less_than_was_requested_or_more_than_any_fee_proposes_none(shop: Shop, amount: str) -> None:
    await shop.notify(payment(shop.order_id, amount=amount))
    await shop.work()
    assert await proposal(shop, "payer_fee_percent") is None


@pytest.mark.law(8)
async def test_a_refund_over_another_amount_proposes_no_fee(shop: Shop) -> None:
    await shop.notify(payment(shop.order_id))
    await shop.work()
    shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, "101.00")))
    await shop.request_action("REFUND", "100.00")
    assert len(problem_messages((await shop.aggregate()).payment)) == 1
    assert await proposal(shop, "payer_fee_percent") is None
