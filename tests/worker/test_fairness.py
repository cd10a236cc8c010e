"""Fairness: whoever is slow, down or flooded holds up nobody else."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from sqlmodel import col, select

from app.core.notification import OutcomeCode
from app.core.vocabulary import EventState, Flow
from app.rules.issues import Issue, IssueCode
from app.rules.problems import problem_text
from app.services import Services
from app.store.inbox import Inbox
from app.store.job_queue import Claim
from app.store.outbox import EVENTS
from app.store.tables import Notification, Payment, SaleorEvent
from app.store.vault import KEY_BYTES, Vault
from app.worker.consumer import Consumer, Job
from gateway_client.notification import digest as digest_of
from gateway_client.notification import encode
from integration_base_tests.waiting import unless_it_hangs
from tests.payments.fake_gateway import payment
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop
from tests.worker.running_worker import DeadSaleors, SlowSaleor, run_worker, wait_until, wait_until_reported

OTHER = "https://other.example.com/graphql/"


async def another_store(shop: Shop, payments: int, url: str = OTHER) -> None:
    """Another Saleor has installed us, and must be told of that many payments."""
    await shop.services.installations.save(
        saleor_api_url=url,
        saleor_domain="other.example.com",
        schema_version="3.23",
        app_id="QXBwOjI=",
        token="another-token",
        jwks=None,
    )
    other = await shop.services.installations.find(url)
    assert other is not None
    now = shop.clock.now
    transactions = [shop.saleor.new_transaction() for _ in range(payments)]
    rows = [
        Payment(
            installation_id=other.id, account_id=shop.account.id, transaction_id=transaction.id,
            order_id=f"other{transaction.token[:8]}", flow=Flow.CHARGE, amount=Decimal("1.00"), currency="UAH",
            channel="uah", source_id="checkout", created_at=now, updated_at=now,
        )
        for transaction in transactions
    ]  # fmt: skip
    async with shop.services.database.transaction() as session:
        session.add_all(rows)
        await session.flush()
        session.add_all(
            SaleorEvent(
                payment_id=row.id, installation_id=row.installation_id,
                type="INFO", psp_reference="x", amount=Decimal("0.00"), created_at=now,
                next_attempt_at=now - timedelta(hours=1),
            )
            for row in rows
            if row.id is not None
        )  # fmt: skip


async def test_a_lane_that_is_full_goes_on_as_soon_as_one_of_its_jobs_has_ended(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one store's events it does ten at once. Nobody waits for the next tick, which is an hour away."""
    monkeypatch.setattr("app.worker.loop._TICK_SECONDS", 3600)
    await another_store(shop, payments=25)
    async with run_worker(shop), unless_it_hangs():
        while len(shop.saleor.reports) < 25:
            shop.saleor.report_received.clear()
            await shop.saleor.report_received.wait()


async def test_what_there_was_no_room_for_is_claimed_as_soon_as_there_is(shop: Shop) -> None:
    """Also where the claim before had left nothing behind: it came after that."""
    over = asyncio.Event()

    async def job(_services: Services, _claim: Claim) -> None:
        await over.wait()

    consumer = Consumer(Job(EVENTS, job, limit=8, share=8))
    await another_store(shop, payments=8)
    async with shop.services.database.transaction() as session:
        last = (await session.exec(select(SaleorEvent).order_by(col(SaleorEvent.id).desc()))).first()
        assert last is not None
        last.next_attempt_at = shop.clock.now + timedelta(seconds=30)
    consumer.begin(shop.services, await consumer.claim(shop.services))
    shop.clock.forward(seconds=30)
    assert await consumer.claim(shop.services) == []  # seven of eight are at work: not worth its while
    assert not consumer.woken.is_set()
    over.set()
    await consumer.finish()
    assert consumer.woken.is_set()
    assert len(await consumer.claim(shop.services)) == 1


async def consumer_of_another_store(shop: Shop, share: int, events: int) -> tuple[Consumer, int]:
    """Return a consumer of eight jobs, each of which ends at once, and a store that has events to be told."""

    async def job(_services: Services, _claim: Claim) -> None:
        """End."""

    await another_store(shop, payments=events)
    other = await shop.services.installations.find(OTHER)
    assert other is not None
    return Consumer(Job(EVENTS, job, limit=8, share=share)), other.id


async def test_what_is_written_just_now_does_not_go_before_what_has_waited(shop: Shop) -> None:
    """While new jobs keep coming, a backlog would never end: there is room for them once it is claimed."""
    consumer, other = await consumer_of_another_store(shop, share=8, events=9)
    consumer.begin(shop.services, await consumer.claim(shop.services))
    await consumer.finish()
    assert consumer.reserve(shop.services, other) is None
    consumer.begin(shop.services, await consumer.claim(shop.services))
    await consumer.finish()
    assert consumer.reserve(shop.services, other) is not None
    assert consumer.begun_jobs == 9


async def test_room_is_not_given_twice(shop: Shop) -> None:
    """To what is being claimed, and to what is being written meanwhile: a store would have more than its share."""
    consumer, other = await consumer_of_another_store(shop, share=2, events=1)
    claiming = asyncio.create_task(consumer.claim(shop.services))
    await asyncio.sleep(0)
    assert consumer.reserve(shop.services, other) is None
    consumer.begin(shop.services, await claiming)
    place = consumer.reserve(shop.services, other)
    assert place is not None
    assert consumer.reserve(shop.services, other) is None
    place.release()
    await consumer.finish()


@pytest.mark.fault("saleor-slow")
@pytest.mark.threat("flood")
async def test_a_saleor_that_does_not_answer_holds_up_no_other(shop: Shop) -> None:
    """It has fifty events to be told, all due before the other store's; it is told a few at a time, and hangs."""
    await another_store(shop, payments=50)
    saleor = SlowSaleor(shop, OTHER)
    shop.gateway.will_answer(shop.gateway.page())
    async with run_worker(shop):
        await saleor.arrived.wait()
        await shop.begin()
        await shop.notify(payment(shop.order_id))
        await wait_until_reported(shop, "CHARGE_SUCCESS")
        assert [report.transaction_id for report in shop.saleor.reports] == [shop.transaction.id]
        assert saleor.waiting == 20


@pytest.mark.fault("saleor-down")
async def test_stores_that_are_down_hold_up_none_of_a_hundred_others(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four are down, with more to be told than there can be jobs at once. They cost the others one time-out, not more.

    Once one of them has answered it is told as much at once as anybody.
    """
    monkeypatch.setattr("app.worker.loop._TICK_SECONDS", 0.1)
    down = frozenset(f"https://down-{number}.example.com/graphql/" for number in range(4))
    for url in down:
        await another_store(shop, payments=21, url=url)
    dead = DeadSaleors(shop, down)
    async with run_worker(shop):
        await wait_until(shop, lambda: dead.waiting.total() == 80)  # nobody could know
        for number in range(100):
            await another_store(shop, payments=1, url=f"https://up-{number}.example.com/graphql/")
        dead.end()
        await wait_until(shop, lambda: len(shop.saleor.reports) == 100)
        shop.clock.forward(minutes=1)  # all that has failed is due again
        await wait_until(shop, lambda: set(dead.waiting.values()) == {1})
        await another_store(shop, payments=40, url="https://up.example.com/graphql/")
        await wait_until(shop, lambda: len(shop.saleor.reports) == 140)
        assert dead.waiting.total() == 4

        dead.recover()
        shop.clock.forward(minutes=1)
        await wait_until(shop, lambda: len(shop.saleor.reports) == 140 + 4 * 21)


@pytest.mark.fault("key-lost")
async def test_what_one_key_does_not_open_stops_nothing_else(shop: Shop, vault: Vault) -> None:
    """It is a problem that staff can see, and it is applied as soon as the key is there."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    lost = Vault([b"\x2a" * KEY_BYTES])
    data = encode(payment(shop.order_id))
    await Inbox(shop.services.database, lost).store(
        account_id=shop.account.id, digest=digest_of(data), data=data, order_id=shop.order_id, now=shop.clock.now
    )
    first = shop.transaction
    shop.transaction = shop.saleor.new_transaction()
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.notify(payment(shop.order_id))
    await shop.work()
    assert shop.amounts == amounts(charged=TOTAL)

    shop.transaction = first
    assert problem_text((await shop.aggregate()).payment) == Issue(IssueCode.NOT_DECRYPTED).message
    assert shop.amounts == amounts()
    async with shop.services.database.transaction() as session:
        query = select(Notification).where(col(Notification.processed_at).is_(None))
        [kept] = (await session.exec(query)).all()
    assert kept.outcome == OutcomeCode.NOT_DECRYPTED

    shop.services = replace(
        shop.services, inbox=Inbox(shop.services.database, Vault([b"\x07" * KEY_BYTES, b"\x2a" * KEY_BYTES]))
    )
    await shop.pass_time(minutes=1)
    assert problem_text((await shop.aggregate()).payment) is None
    assert shop.amounts == amounts(charged=TOTAL)


@pytest.mark.threat("flood")
async def test_a_flood_of_notifications_does_not_starve_deliveries(
    paid_shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lane of notifications is full with jobs that do not end; Saleor is told all the same."""
    stuck = asyncio.Event()

    async def never_ends(*_: object) -> None:
        stuck.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(Inbox, "process", never_ends)
    for number in range(20):
        await paid_shop.notify(payment(paid_shop.order_id, extra=number))
    async with paid_shop.services.database.transaction() as session:
        paid_for = (await session.exec(select(Payment))).one()
        assert paid_for.id is not None
        session.add(
            SaleorEvent(
                payment_id=paid_for.id, installation_id=paid_for.installation_id,
                type="INFO", psp_reference="after-the-flood", amount=Decimal("0.00"),
                state=EventState.WAITING, next_attempt_at=paid_shop.clock.now, created_at=paid_shop.clock.now,
            )
        )  # fmt: skip
    async with run_worker(paid_shop):
        await stuck.wait()
        await wait_until_reported(paid_shop, "INFO")
