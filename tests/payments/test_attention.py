"""What needs a person is there as long as it does, once for each cause and account, and only for that store."""

from datetime import datetime, timedelta
from typing import Any, Never

import pytest

from app.core.alerts import AlertKind
from app.core.notification import Outcome, OutcomeCode
from app.flows.notifications import Receipt, process, receive
from app.flows.staff.manual_resolution import (
    acknowledge_notifications,
    acknowledge_problems,
    resend_refused_events,
    send_undelivered_events,
)
from app.reports.alerts.open_alerts import PATIENCE, count_tasks, find_open_alerts
from app.reports.alerts.texts import ALERT_TEXTS, command_for
from app.rules.issues import Issue, IssueCode
from app.rules.problems import KEYS, cause_of_mismatch
from app.store.presence import CHECK_INTERVAL
from app.store.tables import Notification, ReconciliationRun, RunState
from app.store.vault import KEY_BYTES, Vault
from integration_base_tests.loopback import HangUp
from saleor_app_sdk.errors import SaleorUnreachableError
from tests.commands.books import store_payment
from tests.dashboard.dashboard_app import names, other_store
from tests.payments.alert_cases import (
    another_amount_is_paid,
    items,
    keys_are_refused,
    notified_of,
    saleor_is_away,
    saleor_refuses,
    settle_amount,
    subjects,
    unreadable_record,
)
from tests.payments.fake_gateway import operation, payment
from tests.payments.fake_saleor import amounts
from tests.payments.problems import issue_saying, raise_problem
from tests.payments.shop import SALEOR, TOTAL, Shop
from tests.statements import record_statements

DIFFERS = issue_saying("differs")


async def test_where_nothing_is_wrong_nobody_is_needed(paid_shop: Shop) -> None:
    assert await items(paid_shop) == []


async def test_another_amount(shop: Shop) -> None:
    await another_amount_is_paid(shop)
    [item] = await items(shop)
    assert (item.what, item.count, item.account, item.since) == (AlertKind.MISMATCH, 1, "Main", shop.clock.now)
    shop.clock.forward(hours=5)
    await shop.notify(payment(shop.order_id, amount="1.00"))
    await shop.work()
    assert [item.since for item in await items(shop)] == [item.since]  # since the first of its problems
    assert await acknowledge_problems(shop.services, shop.installation.id, shop.order_id) == ()
    assert [item.what for item in await items(shop)] == [AlertKind.MISMATCH]  # to look is not enough: it must end
    await settle_amount(shop, "569.49")
    assert await items(shop) == []
    assert (await shop.aggregate()).payment.problem_since is None


async def test_an_event_that_saleor_refuses(shop: Shop) -> None:
    await saleor_refuses(shop)
    assert await subjects(shop) == [(AlertKind.REFUSED, 1)]
    assert await resend_refused_events(shop.services, shop.installation.id) == 1
    assert await subjects(shop) == [(AlertKind.REFUSED, 1)]  # as long as Saleor has not taken it
    await shop.work()
    assert await items(shop) == []
    assert await resend_refused_events(shop.services, shop.installation.id) == 0


async def test_refused_keys_are_one_item_of_the_account_however_many_payments_they_hinder(shop: Shop) -> None:
    await keys_are_refused(shop)
    for number in range(3):
        kept = await store_payment(shop.services, shop.account, **names(number))
        database, now = shop.services.database, shop.clock.now
        await raise_problem(database, kept, KEYS, Issue(IssueCode.KEYS_REFUSED), now)
        await raise_problem(database, kept, cause_of_mismatch(DIFFERS, None, "x"), DIFFERS, now)
    keys, mismatch = await items(shop)
    assert (keys.what, keys.count, keys.tasks, keys.key) == (AlertKind.KEYS, 4, 1, f"keys:{shop.account.id}")
    assert (mismatch.what, mismatch.count, mismatch.tasks) == (AlertKind.MISMATCH, 3, 3)
    assert count_tasks([keys, mismatch]) == 4
    assert command_for(keys) == f"saleor-gateway accounts set {shop.account.id} --rotate-secrets"


async def test_an_outcome_that_is_not_known_for_a_day(shop: Shop) -> None:
    await shop.complete_payment()
    shop.saleor.order(shop.transaction)
    shop.gateway.will_answer(HangUp())
    await shop.request_action("REFUND", "10.00")
    shop.gateway.will_answer_look_ups(*[shop.gateway.page()] * 1000)
    await shop.pass_time(hours=23)
    assert await items(shop) == []
    await shop.pass_time(hours=2)
    assert await subjects(shop) == [(AlertKind.WAITING, 1)]


async def test_saleor_may_be_away_for_a_while(shop: Shop) -> None:
    await saleor_is_away(shop)
    began = shop.clock.now
    shop.clock.now = began + PATIENCE / 2
    assert await items(shop) == []
    shop.clock.now = began + PATIENCE
    [item] = await items(shop)
    assert (item.what, item.count, item.account_id, item.since) == (AlertKind.UNDELIVERED, 1, None, began)
    assert (item.key, item.detail) == ("undelivered:store", "nobody answers")
    shop.saleor.failures.clear()
    assert await send_undelivered_events(shop.services, shop.installation.id) == 1
    await shop.work()
    assert await items(shop) == []
    assert await send_undelivered_events(shop.services, shop.installation.id) == 0


@pytest.mark.parametrize(("most", "more"), [(1, True), (2, False)])
async def test_of_very_many_events_it_is_said_that_there_are_more(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, *, most: int, more: bool
) -> None:
    monkeypatch.setattr("app.store.attention.MAX_COUNTED", most)
    monkeypatch.setattr("app.reports.alerts.open_alerts.MAX_COUNTED", most)
    await saleor_is_away(shop)
    began = shop.clock.now
    await shop.notify(operation("refund", shop.order_id, "1.00", operation_id="portal-1"))
    await shop.work()
    shop.clock.now = began + PATIENCE
    [item] = await items(shop)
    assert (item.count, item.more) == (most, more)


async def test_an_installation_that_is_not_complete(paid_shop: Shop) -> None:
    other = "https://other.example.com/graphql/"
    await paid_shop.services.installations.save_pending(
        saleor_api_url=other, saleor_domain="s", schema_version="3.23", token="not-proven"
    )
    pending = await paid_shop.services.installations.find(other)
    assert pending is not None
    assert [alert.what for alert in await find_open_alerts(paid_shop.services, pending)] == [AlertKind.INSTALLATION]


async def test_what_strangers_bring_to_a_store_that_works_needs_nobody(paid_shop: Shop) -> None:
    await paid_shop.services.installations.save_pending(
        saleor_api_url=SALEOR, saleor_domain="s", schema_version="3.23", token="not-proven"
    )
    assert await subjects(paid_shop) == []


@pytest.mark.fault("app-removed")
async def test_an_app_that_was_removed_in_saleor_needs_somebody_until_it_is_back(paid_shop: Shop) -> None:
    """Nobody has to tell Saleor anything: it is asked from time to time."""
    await paid_shop.enable_presence_check()
    await paid_shop.work()
    assert await subjects(paid_shop) == []
    paid_shop.saleor.app.active = False
    began = paid_shop.clock.now + CHECK_INTERVAL
    await paid_shop.pass_time(minutes=20)
    [item] = await items(paid_shop)
    assert (item.what, item.since) == (AlertKind.UNAUTHORISED, began)
    paid_shop.saleor.app.active = True
    await paid_shop.pass_time(minutes=20)
    assert await subjects(paid_shop) == []


async def test_a_saleor_that_cannot_be_reached_says_nothing_of_the_app(
    paid_shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unreachable(*_: object, **__: object) -> Never:
        raise SaleorUnreachableError("nobody answers")

    monkeypatch.setattr(paid_shop.saleor, "who_am_i", unreachable)
    await paid_shop.enable_presence_check()
    await paid_shop.pass_time(hours=1)
    assert await subjects(paid_shop) == []


async def test_notifications_of_orders_that_are_not_ours(shop: Shop) -> None:
    await notified_of(shop)
    await notified_of(shop, order_id="e" * 32)
    [item] = await items(shop)
    assert (item.what, item.count, item.tasks, item.account) == (AlertKind.UNMATCHED, 2, 2, "Main")
    assert await acknowledge_notifications(shop.services, shop.installation.id, AlertKind.UNMATCHED) == 2
    assert await items(shop) == []
    await notified_of(shop)  # repeated: it is the same, and somebody has looked
    assert await items(shop) == []


class TestNotificationsOfOtherShops:
    """The account can be told which orders at its point of sale are another shop's: nobody has to look at those."""

    async def test_told_before_they_arrive(self, shop: Shop) -> None:
        await shop.services.accounts.change(shop.account.id, other_orders=["woo-*"])
        await notified_of(shop, order_id="woo-1")
        assert await items(shop) == []
        [kept] = await shop.services.inbox.find_for_order(shop.account.id, "woo-1")
        assert (kept.outcome, kept.next_attempt_at) == (Outcome(OutcomeCode.OF_ANOTHER_SHOP), None)

    async def test_told_after_they_have_been_listed(self, shop: Shop) -> None:
        await notified_of(shop, order_id="woo-1")
        await notified_of(shop, order_id="e" * 32)
        await shop.services.accounts.change(shop.account.id, other_orders=["woo-*"])
        [item] = await items(shop)
        assert (item.what, item.count) == (AlertKind.UNMATCHED, 1)
        [kept] = await shop.services.inbox.find_for_order(shop.account.id, "woo-1")
        assert kept.outcome == Outcome(OutcomeCode.OF_ANOTHER_SHOP)

    async def test_other_orders_are_still_listed(self, shop: Shop) -> None:
        await shop.services.accounts.change(shop.account.id, other_orders=["woo-*"])
        await notified_of(shop, order_id="shop-1")
        [item] = await items(shop)
        assert (item.what, item.count) == (AlertKind.UNMATCHED, 1)

    async def test_payment_of_ours_is_processed_whatever_its_id_looks_like(self, shop: Shop) -> None:
        await shop.services.accounts.change(shop.account.id, other_orders=["*"])
        await shop.complete_payment()
        assert shop.amounts == amounts(charged=TOTAL)


async def test_what_the_gateway_has_signed_and_nobody_understands_is_kept(shop: Shop) -> None:
    assert await receive(shop.services, shop.account.id, unreadable_record()) is Receipt.UNREADABLE
    assert await receive(shop.services, shop.account.id, unreadable_record()) is Receipt.UNREADABLE
    assert await shop.work() == 0
    assert await subjects(shop) == [(AlertKind.UNREADABLE, 1)]
    async with shop.services.database.transaction() as session:
        [kept] = [await session.get_one(Notification, 1)]
    assert (kept.deliveries, kept.trouble, kept.next_attempt_at) == (2, AlertKind.UNREADABLE, None)
    await process(shop.services, 1)  # replayed, it is still not understood, and not tried for ever
    assert await subjects(shop) == [(AlertKind.UNREADABLE, 1)]
    assert await shop.work() == 0


async def test_a_forgery_is_nobodys_business(shop: Shop) -> None:
    assert (
        await receive(shop.services, shop.account.id, unreadable_record().replace(b"data=", b"data=AAAA"))
        is Receipt.FORGED
    )
    assert await items(shop) == []


@pytest.mark.fault("key-lost")
async def test_a_notification_that_no_key_opens(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    vault = shop.services.inbox._vault
    shop.services.inbox._vault = Vault([b"\x08" * KEY_BYTES])
    await shop.notify(payment(shop.order_id))
    shop.services.inbox._vault = vault
    await shop.work()
    assert (AlertKind.SEALED, 1) in await subjects(shop)
    shop.services.inbox._vault = Vault([b"\x08" * KEY_BYTES])
    await shop.pass_time(minutes=10)
    assert (AlertKind.SEALED, 1) not in await subjects(shop)


@pytest.mark.fault("poison")
async def test_what_could_not_be_digested_is_told_only_when_it_lasts(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.pass_time(seconds=25)
    await shop.notify(payment(shop.order_id))
    never = datetime.max.replace(tzinfo=shop.clock.now.tzinfo)
    broken = Outcome(OutcomeCode.FAILED, ("Broken",))
    await shop.services.inbox.postpone(1, outcome=broken, until=never, trouble=AlertKind.FAILED)
    assert await items(shop) == []
    shop.clock.now += PATIENCE
    assert await subjects(shop) == [(AlertKind.FAILED, 1)]


@pytest.mark.law(13)
async def test_a_night_and_gaps_that_could_not_be_compared_are_one_alert(shop: Shop) -> None:
    now = shop.clock.now
    own: dict[str, Any] = {
        "installation_id": shop.installation.id, "account_id": shop.account.id, "state": RunState.FAILED,
        "created_at": now, "ends_at": now, "finished_at": now,
    }  # fmt: skip
    async with shop.services.database.transaction() as session:
        for days, chosen in [(1, True), (3, False), (2, True)]:
            session.add(ReconciliationRun(**own, chosen=chosen, starts_at=now - timedelta(days=days)))
            await session.flush()
    [alert] = await items(shop)
    assert (alert.what, alert.account, alert.since) == (AlertKind.NOT_COMPARED, "Main", now - timedelta(days=3))


async def test_the_store_next_door_has_worries_of_its_own(shop: Shop) -> None:
    await another_amount_is_paid(shop)
    await notified_of(shop)
    account = await other_store(shop)
    neighbour = await shop.services.installations.get(account.installation_id)
    assert await find_open_alerts(shop.services, neighbour) == []
    assert await acknowledge_problems(shop.services, neighbour.id, shop.order_id) is None
    assert await acknowledge_notifications(shop.services, neighbour.id, AlertKind.UNMATCHED) == 0
    assert await resend_refused_events(shop.services, neighbour.id, shop.order_id) == 0
    assert await subjects(shop) == [(AlertKind.MISMATCH, 1), (AlertKind.UNMATCHED, 1)]


async def test_however_much_is_wrong_it_is_a_few_queries(shop: Shop) -> None:
    for number in range(30):
        kept = await store_payment(shop.services, shop.account, **names(number))
        cause = cause_of_mismatch(DIFFERS, None, "x")
        await raise_problem(shop.services.database, kept, cause, DIFFERS, shop.clock.now)
    with record_statements(shop.services.database) as asked:
        assert await subjects(shop) == [(AlertKind.MISMATCH, 30)]
    assert len([statement for statement, _ in asked if statement.startswith("SELECT")]) == 3


def test_there_are_words_for_everything() -> None:
    assert set(ALERT_TEXTS) == set(AlertKind)
