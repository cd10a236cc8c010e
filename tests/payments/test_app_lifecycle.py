"""The app is deleted, switched off or on: what Saleor says of the token counts, and nothing but it is forgotten."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from app.core.alerts import AlertKind
from app.core.payment import row_id_of
from app.core.vocabulary import CloseReason, PaymentStatus
from app.flows.app_lifecycle import handle_app_deleted, handle_app_status_changed
from app.flows.open_pages import check_polled_page
from app.reports.alerts.open_alerts import find_open_alerts
from app.services import Services
from app.store.installations import OpenInstallation
from app.store.presence import CHECK_INTERVAL
from integration_base_tests.loopback import json_reply
from saleor_app_sdk.errors import SaleorNotAuthorisedError, SaleorUnreachableError
from saleor_app_sdk.graphql import SaleorClient
from tests.payments.fake_gateway import operation, payment
from tests.payments.fake_saleor import amounts
from tests.payments.shop import SALEOR, TOTAL, Shop
from tests.payments.test_a_saleor_moves import installed_at, moved
from tests.payments.test_money_and_order_part import closing_reasons


async def known(shop: Shop) -> OpenInstallation:
    shop.services.installations.invalidate()
    return await shop.services.installations.get(shop.installation.id)


async def installed_again(shop: Shop) -> None:
    """Staff install the app again: Saleor gives it another id and another token."""
    shop.saleor.app.active = True
    await shop.services.installations.save(
        saleor_api_url=SALEOR, saleor_domain="s", schema_version="3.23", app_id="QXBwOjI=", token="new-token", jwks=None
    )


async def somebody_pays(shop: Shop) -> None:
    """The gateway notifies the app of it, which processes it before it can look at the page."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.notify(payment(shop.order_id))
    await shop.work()


async def test_a_token_that_saleor_refuses_is_forgotten_and_nothing_else(shop: Shop) -> None:
    before = await known(shop)
    shop.saleor.app.active = False
    await handle_app_deleted(shop.services, shop.saleor, before)
    after = await known(shop)
    assert (after.token, after.verified, after.unauthorised_since) == ("", False, shop.clock.now)
    assert (after.id, after.saleor_api_url, after.app_id, after.jwks) == (
        before.id, before.saleor_api_url, before.app_id, before.jwks,
    )  # fmt: skip
    assert [account.id for account in await shop.services.accounts.all(before.id)] == [shop.account.id]
    assert {alert.what for alert in await find_open_alerts(shop.services, after)} == {AlertKind.UNAUTHORISED}


@pytest.mark.threat("replayed-webhook")
async def test_an_event_alone_forgets_nothing(shop: Shop) -> None:
    """It is old, or comes a second time: Saleor takes the token."""
    before = await known(shop)
    await handle_app_deleted(shop.services, shop.saleor, before)
    await handle_app_status_changed(shop.services, shop.saleor, before)
    assert await known(shop) == before


async def test_a_saleor_that_does_not_say_is_asked_again(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    before = await known(shop)

    async def nobody(*_: object, **__: object) -> None:
        raise SaleorUnreachableError("nobody answers")

    with monkeypatch.context() as down:
        down.setattr(shop.saleor, "who_am_i", nobody)
        await handle_app_deleted(shop.services, shop.saleor, before)
    assert (await known(shop)).token == before.token
    shop.saleor.app.active = False
    await shop.work()
    assert (await known(shop)).unauthorised_since == shop.clock.now, "by the check of its presence, at once"


@pytest.mark.threat("replayed-webhook")
async def test_a_token_that_came_meanwhile_is_not_forgotten(shop: Shop) -> None:
    """The app is installed again before the event of its deletion is handled."""
    before = await known(shop)
    await installed_again(shop)
    shop.saleor.app.active = False
    await handle_app_deleted(shop.services, shop.saleor, before)
    assert (await known(shop)).token == "new-token"


async def test_what_waits_is_not_tried_while_the_app_is_deleted_and_told_after_the_next_installation(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.saleor.app.active = False
    await handle_app_deleted(shop.services, shop.saleor, await known(shop))
    asked: list[object] = []

    async def report(*about: object) -> None:
        asked.append(about)
        raise SaleorNotAuthorisedError("removed")

    with monkeypatch.context() as gone:
        gone.setattr(shop.saleor, "report", report)
        await somebody_pays(shop)
        for _ in range(10):
            shop.clock.forward(hours=1)
            await shop.work()
    assert asked == [], "there is nobody to be asked"
    assert shop.amounts == amounts()
    await installed_again(shop)
    await shop.work()
    assert shop.amounts == amounts(charged=TOTAL)


async def test_a_saleor_in_which_the_app_is_switched_off_is_asked_for_its_presence_alone(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much waits, it is asked four times an hour; and hears all of it when the app is on again."""
    shop.saleor.app.active = False
    before = await known(shop)
    await handle_app_status_changed(shop.services, shop.saleor, before)
    off = await known(shop)
    assert (off.token, off.unauthorised_since) == (before.token, shop.clock.now)
    asked: list[object] = []

    async def report(*about: object) -> None:
        asked.append(about)
        raise SaleorNotAuthorisedError("switched off")

    with monkeypatch.context() as gone:
        gone.setattr(shop.saleor, "report", report)
        await somebody_pays(shop)
        for _ in range(8):
            shop.clock.now += CHECK_INTERVAL
            await shop.work()
    assert asked == []
    shop.saleor.app.active = True
    await handle_app_status_changed(shop.services, shop.saleor, await known(shop))
    await shop.work()
    assert shop.amounts == amounts(charged=TOTAL)
    assert (await known(shop)).unauthorised_since is None


@pytest.mark.parametrize("event", [handle_app_deleted, handle_app_status_changed])
async def test_an_answer_that_may_be_lost_is_looked_for_when_saleor_lets_the_app_in_again(
    paid_shop: Shop, event: Callable[[Services, SaleorClient, OpenInstallation], Awaitable[None]]
) -> None:
    """Whether it was read cannot be asked meanwhile: no more is asked than whether the app is there."""
    refund = operation("refund", paid_shop.order_id, "100.00")
    paid_shop.gateway.book[paid_shop.order_id].append(refund)
    paid_shop.gateway.will_answer(json_reply(refund))
    await paid_shop.request_action("REFUND", "100.00", booked=False)
    paid_shop.saleor.app.active = False
    await event(paid_shop.services, paid_shop.saleor, await known(paid_shop))
    await paid_shop.pass_time(hours=3)
    assert paid_shop.saleor.executed_documents == []
    assert "was removed there" in ((await paid_shop.aggregate()).events[-1].last_error or "")
    await installed_again(paid_shop)
    paid_shop.saleor.app.token = "new-token"
    await paid_shop.work()
    assert paid_shop.amounts == amounts(charged="469.50", refunded="100.00")


async def test_a_store_that_is_deleted_takes_no_place_of_those_that_were_never_proven(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.store.installations.MAX_UNPROVEN_INSTALLATIONS", 1)
    shop.saleor.app.active = False
    await handle_app_deleted(shop.services, shop.saleor, await known(shop))
    kept = await shop.services.installations.save_pending(
        saleor_api_url="https://b.example.com/graphql/", saleor_domain="b", schema_version=None, token="t"
    )
    assert kept


async def test_the_order_of_a_payment_is_still_looked_for_after_a_week(shop: Shop) -> None:
    """Saleor is asked for it a few times only: none of them is used up while it lets nobody in."""
    await shop.complete_payment()
    shop.saleor.app.active = False
    await handle_app_status_changed(shop.services, shop.saleor, await known(shop))
    for _ in range(7):
        shop.clock.now += timedelta(days=1)
        await shop.work()
    kept = (await shop.aggregate()).payment
    assert kept.order_number is not None or kept.next_order_poll_at is not None
    assert kept.order_polls <= 1


async def test_a_store_that_removed_the_app_has_moved(shop: Shop) -> None:
    """It is installed at the new address, and the operator says that both are one store."""
    shop.saleor.app.active = False
    await handle_app_deleted(shop.services, shop.saleor, await known(shop))
    await somebody_pays(shop)
    shop.saleor.app.active = True
    await moved(shop, await installed_at(shop))
    await shop.work()
    assert shop.amounts == amounts(charged=TOTAL)
    assert not (await known(shop)).is_shut_out


async def page_is_opened(shop: Shop) -> None:
    """A shopper has begun to pay, and the app is deleted in the meantime."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.work()
    shop.saleor.app.active = False


def page_will_close(shop: Shop) -> None:
    shop.gateway.will_answer(json_reply([payment(shop.order_id, "failure", TOTAL, status_code="6007")]))


@pytest.mark.fault("app-removed")
async def test_page_that_is_open_when_the_app_is_deleted_is_closed(shop: Shop) -> None:
    """Nobody could tell Saleor what is paid on it."""
    await page_is_opened(shop)
    page_will_close(shop)
    await handle_app_deleted(shop.services, shop.saleor, await known(shop))
    await shop.work()
    aggregate = await shop.aggregate()
    assert aggregate.payment.status is PaymentStatus.CANCELED
    assert "The app was removed from Saleor" in (aggregate.create.message or "")
    assert await closing_reasons(shop) == [CloseReason.APP_REMOVED]

    await installed_again(shop)
    await shop.work()
    assert shop.amounts == amounts()
    assert [event.type for event in shop.transaction.events][-1] == "CHARGE_FAILURE"


@pytest.mark.fault("app-removed")
async def test_page_that_another_process_opened_meanwhile_is_closed_at_its_look_up(shop: Shop) -> None:
    shop.saleor.app.active = False
    await handle_app_deleted(shop.services, shop.saleor, await known(shop))
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    create = (await shop.aggregate()).create
    await check_polled_page(shop.services, shop.saleor, row_id_of(create))
    assert await closing_reasons(shop) == [CloseReason.APP_REMOVED]


@pytest.mark.fault("app-removed")
async def test_what_was_at_the_bank_when_the_app_was_deleted_is_reported_after_the_next_installation(
    shop: Shop,
) -> None:
    await page_is_opened(shop)
    await shop.notify(payment(shop.order_id, "pending"))
    await shop.work()
    await handle_app_deleted(shop.services, shop.saleor, await known(shop))
    assert await closing_reasons(shop) == []
    await shop.notify(payment(shop.order_id))
    await shop.work()
    await installed_again(shop)
    await shop.work()
    assert shop.amounts == amounts(charged=TOTAL)


@pytest.mark.parametrize("event", [handle_app_deleted, handle_app_status_changed])
async def test_page_stays_open_where_the_app_is_still_there_or_only_switched_off(
    shop: Shop, event: Callable[[Services, SaleorClient, OpenInstallation], Awaitable[None]]
) -> None:
    await page_is_opened(shop)
    shop.saleor.app.active = event is handle_app_deleted  # an old event, which comes again
    await event(shop.services, shop.saleor, await known(shop))
    await shop.work()
    assert await closing_reasons(shop) == []
