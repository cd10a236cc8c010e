"""What needs a person is there as long as it does, once for each cause and account, and only for that store."""

from datetime import datetime
from typing import Never

import pytest
from sqlalchemy import event

from app.ledger.inbox import Trouble
from app.ledger.presence import BETWEEN_CHECKS
from app.ledger.tables import Notification, Payment
from app.ledger.vault import KEY_BYTES, Vault
from app.payments.attention.items import PATIENCE, What, open_items, tasks
from app.payments.attention.settling import (
    mark_looked_at,
    mark_notifications_looked_at,
    tell_refused_again,
    tell_waiting_now,
)
from app.payments.attention.words import WORDS, command_for
from app.payments.learn.notify import Receipt, digest, receive
from app.payments.outcome.problems import ProblemKind, of_words, raise_on
from app.payments.said import Said
from app.saleor.errors import SaleorUnreachable
from tests.commands.books import a_payment
from tests.dashboard.office import names, next_door
from tests.payments.attention_scenes import (
    another_amount_is_paid,
    items,
    keys_are_refused,
    nonsense,
    notified_of,
    saleor_is_away,
    saleor_refuses,
    somebody_settles_it,
    whats,
)
from tests.payments.shop import SALEOR, Shop
from tests.payments.till import Mute, payment


async def test_where_nothing_is_wrong_nobody_is_needed(paid: Shop) -> None:
    assert await items(paid) == []


async def test_another_amount(shop: Shop) -> None:
    await another_amount_is_paid(shop)
    [item] = await items(shop)
    assert (item.what, item.count, item.account, item.since) == (What.MISMATCH, 1, "Main", shop.clock.now)
    shop.clock.forward(hours=5)
    await shop.notify(payment(shop.order_id, amount="1.00"))
    await shop.work()
    assert [each.since for each in await items(shop)] == [item.since]  # since the first of its problems
    assert await mark_looked_at(shop.desk, shop.installation.id, shop.order_id) == ()
    assert [each.what for each in await items(shop)] == [What.MISMATCH]  # to look is not enough: it must end
    await somebody_settles_it(shop, "569.49")
    assert await items(shop) == []
    assert (await shop.sheet()).payment.problem_since is None


async def test_an_event_that_saleor_refuses(shop: Shop) -> None:
    await saleor_refuses(shop)
    assert await whats(shop) == [(What.REFUSED, 1)]
    assert await tell_refused_again(shop.desk, shop.installation.id) == 1
    assert await whats(shop) == [(What.REFUSED, 1)]  # as long as Saleor has not taken it
    await shop.work()
    assert await items(shop) == []
    assert await tell_refused_again(shop.desk, shop.installation.id) == 0


async def test_refused_keys_are_one_item_of_the_account_however_many_payments_they_hinder(shop: Shop) -> None:
    await keys_are_refused(shop)
    for number in range(3):
        kept = await a_payment(shop.desk, shop.account, **names(number))
        async with shop.desk.database.transaction() as session:
            row = await session.get_one(Payment, kept.id)
            raise_on(row, "keys", Said("The gateway refuses the keys"), shop.clock.now)
            raise_on(row, of_words("differs", "@x"), Said("differs"), shop.clock.now)
    keys, mismatch = await items(shop)
    assert (keys.what, keys.count, keys.tasks, keys.key) == (What.KEYS, 4, 1, f"keys:{shop.account.id}")
    assert (mismatch.what, mismatch.count, mismatch.tasks) == (What.MISMATCH, 3, 3)
    assert tasks([keys, mismatch]) == 4
    assert keys.kinds == {"keys", "keys+mismatch"}
    assert command_for(keys) == f"saleor-gateway accounts set {shop.account.id} --rotate-secrets"


async def test_an_outcome_that_is_not_known_for_a_day(shop: Shop) -> None:
    await shop.paid()
    shop.till.will(Mute.HANGS_UP)
    await shop.staff("REFUND", "10.00")
    shop.till.will_look(*[shop.till.page()] * 1000)
    await shop.later(hours=23)
    assert await items(shop) == []
    await shop.later(hours=2)
    assert await whats(shop) == [(What.WAITING, 1)]


async def test_saleor_may_be_away_for_a_while(shop: Shop) -> None:
    await saleor_is_away(shop)
    began = shop.clock.now
    shop.clock.now = began + PATIENCE / 2
    assert await items(shop) == []
    shop.clock.now = began + PATIENCE
    [item] = await items(shop)
    assert (item.what, item.count, item.account_id, item.since) == (What.UNDELIVERED, 1, None, began)
    assert (item.key, item.detail) == ("undelivered:store", "nobody answers")
    shop.books.troubles.clear()
    assert await tell_waiting_now(shop.desk, shop.installation.id) == 1
    await shop.work()
    assert await items(shop) == []
    assert await tell_waiting_now(shop.desk, shop.installation.id) == 0


async def test_an_installation_that_is_not_complete(paid: Shop) -> None:
    other = "https://other.example.com/graphql/"
    await paid.desk.installations.save_pending(
        saleor_api_url=other, saleor_domain="s", schema_version="3.23", token="not-proven"
    )
    pending = await paid.desk.installations.find(other)
    assert pending is not None
    assert [each.what for each in await open_items(paid.desk, pending)] == [What.INSTALLATION]


async def test_what_strangers_bring_to_a_store_that_works_needs_nobody(paid: Shop) -> None:
    await paid.desk.installations.save_pending(
        saleor_api_url=SALEOR, saleor_domain="s", schema_version="3.23", token="not-proven"
    )
    assert await whats(paid) == []


async def test_an_app_that_was_removed_in_saleor_needs_somebody_until_it_is_back(paid: Shop) -> None:
    """Nobody has to tell Saleor anything: it is asked from time to time."""
    await paid.checks_presence()
    await paid.work()
    assert await whats(paid) == []
    paid.books.app.active = False
    began = paid.clock.now + BETWEEN_CHECKS
    await paid.later(minutes=20)
    [item] = await items(paid)
    assert (item.what, item.since) == (What.UNAUTHORISED, began)
    paid.books.app.active = True
    await paid.later(minutes=20)
    assert await whats(paid) == []


async def test_a_saleor_that_cannot_be_reached_says_nothing_of_the_app(
    paid: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unreachable(*_: object, **__: object) -> Never:
        raise SaleorUnreachable("nobody answers")

    monkeypatch.setattr(paid.books, "who_am_i", unreachable)
    await paid.checks_presence()
    await paid.later(hours=1)
    assert await whats(paid) == []


async def test_notifications_of_orders_that_are_not_ours(shop: Shop) -> None:
    await notified_of(shop)
    await notified_of(shop, order_id="e" * 32)
    [item] = await items(shop)
    assert (item.what, item.count, item.tasks, item.account) == (What.UNMATCHED, 2, 2, "Main")
    assert await mark_notifications_looked_at(shop.desk, shop.installation.id, What.UNMATCHED) == 2
    assert await items(shop) == []
    await notified_of(shop)  # repeated: it is the same, and somebody has looked
    assert await items(shop) == []


async def test_what_the_gateway_has_signed_and_nobody_understands_is_kept(shop: Shop) -> None:
    assert await receive(shop.desk, shop.account.id, nonsense()) is Receipt.UNREADABLE
    assert await receive(shop.desk, shop.account.id, nonsense()) is Receipt.UNREADABLE
    assert await shop.work() == 0
    assert await whats(shop) == [(What.UNREADABLE, 1)]
    async with shop.desk.database.transaction() as session:
        [kept] = [await session.get_one(Notification, 1)]
    assert (kept.deliveries, kept.trouble, kept.next_attempt_at) == (2, Trouble.UNREADABLE, None)
    await digest(shop.desk, 1)  # replayed, it is still not understood, and not tried for ever
    assert await whats(shop) == [(What.UNREADABLE, 1)]
    assert await shop.work() == 0


async def test_a_forgery_is_nobodys_business(shop: Shop) -> None:
    assert await receive(shop.desk, shop.account.id, nonsense().replace(b"data=", b"data=AAAA")) is Receipt.FORGED
    assert await items(shop) == []


async def test_a_notification_that_no_key_opens(shop: Shop) -> None:
    shop.till.will(shop.till.page())
    await shop.begin()
    vault = shop.desk.inbox._vault
    shop.desk.inbox._vault = Vault([b"\x08" * KEY_BYTES])
    await shop.notify(payment(shop.order_id))
    shop.desk.inbox._vault = vault
    await shop.work()
    assert (What.SEALED, 1) in await whats(shop)
    shop.desk.inbox._vault = Vault([b"\x08" * KEY_BYTES])
    await shop.later(minutes=10)
    assert (What.SEALED, 1) not in await whats(shop)


async def test_what_could_not_be_digested_is_told_only_when_it_lasts(shop: Shop) -> None:
    shop.till.will(shop.till.page())
    await shop.begin()
    await shop.later(seconds=25)
    await shop.notify(payment(shop.order_id))
    await shop.desk.inbox.postpone(1, reason="Broken", until=datetime.max.replace(tzinfo=shop.clock.now.tzinfo),
                                   trouble=Trouble.FAILED)  # fmt: skip
    assert await items(shop) == []
    shop.clock.now += PATIENCE
    assert await whats(shop) == [(What.FAILED, 1)]


async def test_the_store_next_door_has_worries_of_its_own(shop: Shop) -> None:
    await another_amount_is_paid(shop)
    await notified_of(shop)
    account = await next_door(shop)
    neighbour = await shop.desk.installations.get(account.installation_id)
    assert await open_items(shop.desk, neighbour) == []
    assert await mark_looked_at(shop.desk, neighbour.id, shop.order_id) is None
    assert await mark_notifications_looked_at(shop.desk, neighbour.id, What.UNMATCHED) == 0
    assert await tell_refused_again(shop.desk, neighbour.id, shop.order_id) == 0
    assert await whats(shop) == [(What.MISMATCH, 1), (What.UNMATCHED, 1)]


async def test_however_much_is_wrong_it_is_a_few_queries(shop: Shop) -> None:
    for number in range(30):
        kept = await a_payment(shop.desk, shop.account, **names(number))
        async with shop.desk.database.transaction() as session:
            row = await session.get_one(Payment, kept.id)
            raise_on(row, of_words("differs", "@x"), Said("differs"), shop.clock.now)
    asked: list[str] = []
    engine = shop.desk.database.engine.sync_engine
    event.listen(engine, "before_cursor_execute", lambda *said: asked.append(said[2]))
    assert await whats(shop) == [(What.MISMATCH, 30)]
    assert len([each for each in asked if each.startswith("SELECT")]) <= 5


def test_there_are_words_for_everything() -> None:
    assert set(WORDS) == set(What)
    assert {each.value for each in ProblemKind} <= {each.value for each in What}
    assert {each.value for each in Trouble} <= {each.value for each in What}
