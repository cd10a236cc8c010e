"""What waits for a Saleor that was away is told when it is heard of again, and not only when its pause is over."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from sqlmodel import select

from app.core.vocabulary import EventState
from app.flows.app_lifecycle import handle_app_deleted, handle_app_status_changed
from app.store.installations import InstallationRepository
from app.store.presence import CHECK_INTERVAL, MIN_REVIVAL_INTERVAL
from app.store.tables import SaleorEvent
from app.store.vault import Vault
from app.worker.presence import check_presence
from saleor_app_sdk.errors import SaleorError, SaleorNotAuthorisedError, SaleorUnreachableError
from saleor_app_sdk.installation import Installation
from saleor_app_sdk.reports import EventReport, ReportOutcome
from tests.payments.fake_gateway import payment
from tests.payments.fake_saleor import amounts
from tests.payments.shop import SALEOR, TOTAL, Shop
from tests.payments.test_a_saleor_moves import installed_at, moved

Step = Callable[[Shop], Awaitable[None]]


async def waiting(shop: Shop) -> list[timedelta]:
    """Return how long each event waits that Saleor has not taken."""
    async with shop.services.database.transaction() as session:
        events = (await session.exec(select(SaleorEvent).where(SaleorEvent.state == EventState.WAITING))).all()
    return [event.next_attempt_at - shop.clock.now for event in events if event.next_attempt_at]


async def heard(shop: Shop) -> None:
    """A verified webhook comes."""
    installation = await shop.services.installations.get(shop.installation.id)
    await shop.services.installations.record_contact(installation)


async def away(shop: Shop, trouble: SaleorError, tries: int = 8, asked: int | None = None) -> None:
    """Somebody pays, and Saleor does not take it for so long that the pauses have become long.

    ``asked``: how often it is told; each time, unless the app knows better meanwhile.
    """
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.pass_time(minutes=1)
    shop.saleor.failures.extend([trouble] * tries)
    await shop.notify(payment(shop.order_id))
    for left in reversed(range(tries)):
        await shop.work()
        [pause] = await waiting(shop)
        if left:
            shop.clock.now += pause
    assert len(shop.saleor.failures) == tries - (tries if asked is None else asked)
    shop.saleor.failures.clear()
    shop.services.installations.invalidate()


@pytest.mark.fault("saleor-down")
@pytest.mark.parametrize(
    "trouble", [SaleorUnreachableError("nobody answers"), SaleorNotAuthorisedError("switched off")]
)
async def test_a_verified_webhook_lets_what_waits_be_told_now(shop: Shop, trouble: SaleorError) -> None:
    await away(shop, trouble)
    [pause] = await waiting(shop)
    assert pause > timedelta(minutes=2)
    await heard(shop)
    await shop.work()
    assert await waiting(shop) == []
    assert shop.amounts == amounts(charged=TOTAL)


async def test_a_new_installation_lets_what_waits_be_told_now(shop: Shop) -> None:
    await away(shop, SaleorNotAuthorisedError("removed"))
    await shop.services.installations.save(
        saleor_api_url=SALEOR, saleor_domain="s", schema_version="3.23", app_id="QXBwOjI=", token="new", jwks=None
    )
    await shop.work()
    assert shop.amounts == amounts(charged=TOTAL)


async def test_what_an_old_token_could_not_tell_is_told_at_once_by_one_that_came_meanwhile(
    shop: Shop, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The app is installed anew in another process while this one, which still has the old token, is telling."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.pass_time(minutes=1)
    another_process = InstallationRepository(shop.services.database, vault, shop.clock)
    report, tokens = shop.saleor.report, list[str]()

    async def only_by_the_new_token(installed: Installation, event: EventReport) -> ReportOutcome:
        tokens.append(installed.token)
        if installed.token == "new":
            return await report(installed, event)
        await another_process.save(
            saleor_api_url=SALEOR, saleor_domain="s", schema_version="3.23", app_id="QXBwOjI=", token="new", jwks=None
        )
        raise SaleorNotAuthorisedError("this token is dead")

    monkeypatch.setattr(shop.saleor, "report", only_by_the_new_token)
    await shop.notify(payment(shop.order_id))
    await shop.work()
    assert tokens == [shop.installation.token, "new"]
    assert shop.amounts == amounts(charged=TOTAL)


@pytest.mark.fault("app-removed")
async def test_an_app_that_is_let_in_again_tells_what_waits_without_being_asked(shop: Shop) -> None:
    shop.saleor.app.active = False
    await away(shop, SaleorNotAuthorisedError("switched off"), asked=1)  # then it is known that the app is shut out
    [pause] = await waiting(shop)
    assert pause > 2 * CHECK_INTERVAL
    shop.saleor.app.active = True
    shop.clock.now += CHECK_INTERVAL
    await shop.work()
    assert shop.amounts == amounts(charged=TOTAL)


async def test_webhooks_of_a_saleor_that_still_takes_nothing_do_not_hammer_it(shop: Shop) -> None:
    await away(shop, SaleorUnreachableError("nobody answers"))
    shop.saleor.failures.extend([SaleorUnreachableError("nobody answers")] * 100)
    for _ in range(20):
        await heard(shop)
        await shop.work()
        shop.services.installations.invalidate()
    assert len(shop.saleor.failures) == 99
    shop.clock.now += MIN_REVIVAL_INTERVAL
    await heard(shop)
    await shop.work()
    assert len(shop.saleor.failures) == 98


async def test_where_nothing_waits_a_webhook_costs_no_look_into_the_database(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError

    installation = await shop.services.installations.get(shop.installation.id)
    monkeypatch.setattr(shop.services.database, "transaction", never)
    await shop.services.installations.record_contact(installation)
    with pytest.raises(TypeError):
        await shop.services.installations.record_contact(object())


async def test_what_has_not_been_tried_yet_keeps_its_time(shop: Shop) -> None:
    """A note waits until Saleor has read the answer: that has nothing to do with whether it is there."""
    await away(shop, SaleorUnreachableError("nobody answers"))
    async with shop.services.database.transaction() as session:
        event = (await session.exec(select(SaleorEvent).where(SaleorEvent.state == EventState.WAITING))).one()
        event.attempts, event.last_error = 0, None
        event.next_attempt_at = shop.clock.now + timedelta(seconds=20)
    await heard(shop)
    assert await waiting(shop) == [timedelta(seconds=20)]


async def installed_again(shop: Shop) -> None:
    await shop.services.installations.save(
        saleor_api_url=SALEOR, saleor_domain="s", schema_version="3.23", app_id="QXBwOjI=", token="new", jwks=None
    )


async def moved_away(shop: Shop) -> None:
    await moved(shop, await installed_at(shop))


async def checked_by_the_worker(shop: Shop) -> None:
    await check_presence(shop.services, shop.saleor, shop.installation.id)


async def said_to_be_off(shop: Shop) -> None:
    await handle_app_status_changed(shop.services, shop.saleor, shop.installation)


async def said_to_be_deleted(shop: Shop) -> None:
    await handle_app_deleted(shop.services, shop.saleor, shop.installation)


@pytest.mark.fault("app-removed")
@pytest.mark.parametrize("check", [checked_by_the_worker, said_to_be_off, said_to_be_deleted])
@pytest.mark.parametrize("change", [installed_again, moved_away])
@pytest.mark.parametrize("trouble", [SaleorNotAuthorisedError("removed"), SaleorUnreachableError("nobody answers")])
async def test_what_a_check_learns_of_a_replaced_token_is_not_said_of_the_new_one(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, check: Step, change: Step, trouble: SaleorError
) -> None:
    """The app is installed again, or its Saleor moved, while the old token is being tried."""
    before = shop.installation.token

    async def replaced_meanwhile(*_: object, **__: object) -> None:
        await change(shop)
        raise trouble

    with monkeypatch.context() as being_tried:
        being_tried.setattr(shop.saleor, "who_am_i", replaced_meanwhile)
        await check(shop)
    now = await shop.services.installations.get(shop.installation.id)
    assert (now.token != before, now.unauthorised_since, now.away_since) == (True, None, None)


@pytest.mark.parametrize("change", [installed_again, moved_away])
@pytest.mark.parametrize("trouble", [SaleorNotAuthorisedError("removed"), SaleorUnreachableError("nobody answers")])
async def test_a_report_under_a_replaced_token_does_not_mark_the_store_as_away(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, change: Step, trouble: SaleorError
) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.pass_time(minutes=1)
    report, done = shop.saleor.report, list[EventReport]()

    async def replaced_meanwhile(installed: Installation, event: EventReport) -> ReportOutcome:
        if done:
            return await report(installed, event)
        done.append(event)
        await change(shop)
        raise trouble

    monkeypatch.setattr(shop.saleor, "report", replaced_meanwhile)
    await shop.notify(payment(shop.order_id))
    await shop.work()
    assert done
    now = await shop.services.installations.get(shop.installation.id)
    assert (now.unauthorised_since, now.away_since) == (None, None)
    await shop.pass_time(seconds=5)
    assert shop.amounts == amounts(charged=TOTAL)
