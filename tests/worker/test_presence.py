"""What waits for a Saleor that was away is told when it is heard of again, and not only when its pause is over."""

from datetime import timedelta

import pytest
from sqlmodel import select

from app.ledger.presence import BETWEEN_CHECKS, BETWEEN_REVIVALS
from app.ledger.tables import EventState, SaleorEvent
from app.saleor.errors import SaleorError, SaleorNotAuthorised, SaleorUnreachable
from tests.payments.books import amounts
from tests.payments.shop import SALEOR, TOTAL, Shop
from tests.payments.till import payment


async def waiting(shop: Shop) -> list[timedelta]:
    """Return how long each event waits that Saleor has not taken."""
    async with shop.desk.database.transaction() as session:
        events = (await session.exec(select(SaleorEvent).where(SaleorEvent.state == EventState.WAITING))).all()
    return [each.next_attempt_at - shop.clock.now for each in events if each.next_attempt_at]


async def heard(shop: Shop) -> None:
    """A verified webhook comes."""
    installation = await shop.desk.installations.get(shop.installation.id)
    await shop.desk.installations.heard_from(installation)


async def away(shop: Shop, trouble: SaleorError, tries: int = 8) -> None:
    """Somebody pays, and Saleor does not take it for so long that the pauses have become long."""
    shop.till.will(shop.till.page())
    await shop.begin()
    await shop.later(minutes=1)
    shop.books.troubles.extend([trouble] * tries)
    await shop.notify(payment(shop.order_id))
    for _ in range(tries):
        await shop.work()
        [pause] = await waiting(shop)
        if len(shop.books.troubles):
            shop.clock.now += pause
    assert not shop.books.troubles
    shop.desk.installations.forget()


@pytest.mark.parametrize("trouble", [SaleorUnreachable("nobody answers"), SaleorNotAuthorised("switched off")])
async def test_a_verified_webhook_lets_what_waits_be_told_now(shop: Shop, trouble: SaleorError) -> None:
    await away(shop, trouble)
    [pause] = await waiting(shop)
    assert pause > timedelta(minutes=2)
    await heard(shop)
    await shop.work()
    assert await waiting(shop) == []
    assert shop.amounts == amounts(charged=TOTAL)


async def test_a_new_installation_lets_what_waits_be_told_now(shop: Shop) -> None:
    await away(shop, SaleorNotAuthorised("removed"))
    await shop.desk.installations.save(
        saleor_api_url=SALEOR, saleor_domain="s", schema_version="3.23", app_id="QXBwOjI=", token="new", jwks=None
    )
    await shop.work()
    assert shop.amounts == amounts(charged=TOTAL)


async def test_an_app_that_is_let_in_again_tells_what_waits_without_being_asked(shop: Shop) -> None:
    shop.books.app.active = False
    await away(shop, SaleorNotAuthorised("switched off"))
    [pause] = await waiting(shop)
    assert pause > 2 * BETWEEN_CHECKS
    shop.books.app.active = True
    shop.clock.now += BETWEEN_CHECKS
    await shop.work()
    assert shop.amounts == amounts(charged=TOTAL)


async def test_webhooks_of_a_saleor_that_still_takes_nothing_do_not_hammer_it(shop: Shop) -> None:
    await away(shop, SaleorUnreachable("nobody answers"))
    shop.books.troubles.extend([SaleorUnreachable("nobody answers")] * 100)
    for _ in range(20):
        await heard(shop)
        await shop.work()
        shop.desk.installations.forget()
    assert len(shop.books.troubles) == 99
    shop.clock.now += BETWEEN_REVIVALS
    await heard(shop)
    await shop.work()
    assert len(shop.books.troubles) == 98


async def test_where_nothing_waits_a_webhook_costs_no_look_into_the_database(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError

    installation = await shop.desk.installations.get(shop.installation.id)
    monkeypatch.setattr(shop.desk.database, "transaction", never)
    await shop.desk.installations.heard_from(installation)
    with pytest.raises(TypeError):
        await shop.desk.installations.heard_from(object())


async def test_what_has_not_been_tried_yet_keeps_its_time(shop: Shop) -> None:
    """A note waits until Saleor has read the answer: that has nothing to do with whether it is there."""
    await away(shop, SaleorUnreachable("nobody answers"))
    async with shop.desk.database.transaction() as session:
        event = (await session.exec(select(SaleorEvent).where(SaleorEvent.state == EventState.WAITING))).one()
        event.attempts = 0
        event.next_attempt_at = shop.clock.now + timedelta(seconds=20)
    await heard(shop)
    assert await waiting(shop) == [timedelta(seconds=20)]
