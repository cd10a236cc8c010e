"""What the check of an account finds out about its gateway, and proposes (laws of money, 15 and 16)."""

from datetime import timedelta
from typing import Any

import pytest

from app.flows.accounts.dialect_findings import DialectFinding, find_dialect
from integration_base_tests.loopback import text_reply
from tests.payments.fake_gateway import payment
from tests.payments.shop import Shop

pytestmark = [pytest.mark.law(15), pytest.mark.law(16)]


async def zone_found(shop: Shop) -> DialectFinding | None:
    account = await shop.services.accounts.find(shop.account.id)
    assert account is not None
    shop.gateway.will_answer(*[text_reply("Not Found", 404)] * 2)  # to the calls that look for the path of captures
    found = await find_dialect(shop.services, shop.services.gateways.client(account), account)
    return next((finding for finding in found if finding.option == "time_zone"), None)


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


async def test_what_says_its_zone_or_is_of_last_season_or_of_a_rare_zone_proposes_none(shop: Shop) -> None:
    at = (shop.clock.now + timedelta(hours=2)).replace(tzinfo=None).isoformat()
    await shop.notify(payment(shop.order_id, processed_at=f"{at}+02:00"))
    assert await zone_found(shop) is None
    await notify(shop, timedelta(hours=5, minutes=45), "rare")
    assert await zone_found(shop) is None
    await notify(shop, timedelta(hours=13), "kept")
    shop.clock.forward(days=8)
    assert await zone_found(shop) is None
