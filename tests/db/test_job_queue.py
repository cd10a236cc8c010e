"""Work is claimed in the database: by any number of workers at once, each piece by one (laws of money, 5 and 6)."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest
from sqlmodel import col, select, update

from app.core.notification import Outcome, OutcomeCode
from app.core.vocabulary import EventState, Kind, State
from app.store.accounts import AccountRepository
from app.store.aggregates import POLLS
from app.store.database import Database, create_engine, is_sqlite
from app.store.inbox import NOTIFICATIONS, Inbox
from app.store.installations import InstallationRepository
from app.store.job_queue import Capacity, Claim, DueQueues, JobQueue, Tenant, claim, release_claims
from app.store.outbox import EVENTS
from app.store.tables import MerchantAccount, Operation, SaleorEvent
from app.store.vault import Vault
from integration_base_tests.waiting import unless_it_hangs
from tests.db.rows import NOON, a_payment, an_account, an_event, an_installation, an_operation, read_raw
from tests.notification_facts import APPLIED, Decided

LEASE = timedelta(seconds=60)

FAILED = Outcome(OutcomeCode.FAILED, ("RuntimeError",))


@pytest.fixture
async def other(database_url: str) -> AsyncIterator[Database]:
    """The same database, seen from another process."""
    database = Database(create_engine(database_url))
    yield database
    await database.close()


async def events(database: Database, now: datetime = NOON, most: int = 20) -> list[int]:
    async with database.transaction() as session:
        return [claimed.row_id for claimed in await claim(session, EVENTS, now, LEASE, Capacity(most))]


async def polls(database: Database, now: datetime = NOON, most: int = 20) -> list[int]:
    async with database.transaction() as session:
        return [claimed.row_id for claimed in await claim(session, POLLS, now, LEASE, Capacity(most))]


async def notifications(database: Database, now: datetime = NOON, most: int = 20) -> list[int]:
    async with database.transaction() as session:
        return [claimed.row_id for claimed in await claim(session, NOTIFICATIONS, now, LEASE, Capacity(most))]


async def test_one_query_shows_which_queues_have_something_due(database: Database, account: MerchantAccount) -> None:
    due = DueQueues([NOTIFICATIONS, POLLS, EVENTS])

    async def read(now: datetime) -> list[JobQueue]:
        async with database.transaction() as session:
            return await due.read(session, now)

    assert await read(NOON) == []
    await many_payments(database, account, 2)  # each with an event, and an operation that is to be looked up
    assert await read(NOON - timedelta(days=1)) == []
    assert await read(NOON) == [POLLS, EVENTS]
    assert len(await polls(database)) == 2
    assert await read(NOON) == [EVENTS]
    assert len(await events(database)) == 2
    assert await read(NOON) == []
    assert await read(NOON + LEASE) == [POLLS, EVENTS]


async def many_payments(database: Database, account: MerchantAccount, count: int, events_each: int = 1) -> list[int]:
    """Return the row ids of payments with that many events each, all due."""
    ids = []
    for number in range(count):
        payment, _ = await a_payment(database, account, number)
        assert payment.id is not None
        ids.append(payment.id)
        async with database.transaction() as session:
            session.add_all([an_event(payment.id, f"event-{part}") for part in range(events_each)])
    return ids


async def finish(database: Database, event_id: int, state: EventState = EventState.DELIVERED) -> None:
    async with database.transaction() as session:
        event = await session.get_one(SaleorEvent, event_id)
        event.state, event.next_attempt_at = state, None


class TestEvents:
    async def test_what_somebody_is_working_on_is_left_to_them_and_not_waited_for(
        self, database: Database, other: Database, account: MerchantAccount, database_url: str
    ) -> None:
        if is_sqlite(database_url):
            pytest.skip("SQLite has one connection")
        await many_payments(database, account, 2)
        first, second = await events(database, most=2)
        async with unless_it_hangs(), database.transaction() as session:
            await session.get_one(SaleorEvent, first, with_for_update=True)
            assert await events(other, NOON + LEASE, most=2) == [second]

    @pytest.mark.fault("two-workers")
    async def test_nobody_gets_the_same_claim(
        self, database: Database, other: Database, account: MerchantAccount
    ) -> None:
        await many_payments(database, account, 12)
        claims = await asyncio.gather(*(events(place, most=3) for place in (database, other) * 3))
        claimed = [event for claim in claims for event in claim]
        assert len(claimed) == len(set(claimed))
        rest = await events(other)
        assert len(claimed) + len(rest) == 12
        assert await events(database) == []

    async def test_the_newest_waits_for_no_short_backlog_either(
        self, database: Database, account: MerchantAccount
    ) -> None:
        await many_payments(database, account, 6)
        oldest_and_newest, rest = await events(database, most=2), await events(database)
        assert (max(oldest_and_newest) > max(rest), min(oldest_and_newest) < min(rest)) == (True, True)

    async def test_two_connections_in_the_same_moment(
        self, database: Database, other: Database, account: MerchantAccount
    ) -> None:
        """The first has claimed and not committed; the second neither waits for ever nor claims it as well."""
        await many_payments(database, account, 2)
        async with database.transaction() as session:
            first = [claimed.row_id for claimed in await claim(session, EVENTS, NOON, LEASE, Capacity(1))]
            waiting = asyncio.create_task(events(other))
            await asyncio.wait([waiting], timeout=0.1)
        assert len(first) == 1
        assert set(first).isdisjoint(await waiting)

    @pytest.mark.law(5)
    async def test_of_each_payment_only_the_oldest(self, database: Database, account: MerchantAccount) -> None:
        """However long the older one waits: told out of order, the newer one would be overwritten."""
        await many_payments(database, account, 2, events_each=3)
        first = await events(database)
        assert len(first) == 2
        assert await events(database) == []
        await finish(database, first[0])
        second = await events(database)
        assert len(second) == 1
        async with database.transaction() as session:
            rows = (await session.exec(select(SaleorEvent).order_by(col(SaleorEvent.id).desc()))).all()
        assert set(first) == set({row.payment_id: row.id for row in rows}.values())
        assert second == [first[0] + 1]

    @pytest.mark.parametrize("state", [EventState.REFUSED, EventState.SUPERSEDED])
    async def test_what_has_ended_holds_nothing_up(
        self, database: Database, account: MerchantAccount, state: EventState
    ) -> None:
        await many_payments(database, account, 1, events_each=2)
        [first] = await events(database)
        await finish(database, first, state)
        assert await events(database) == [first + 1]

    @pytest.mark.fault("process-killed")
    async def test_a_claim_is_taken_over_when_its_lease_is_out(
        self, database: Database, other: Database, account: MerchantAccount
    ) -> None:
        await many_payments(database, account, 1)
        claimed = await events(database)
        assert await events(other, NOON + timedelta(seconds=59)) == []
        assert await events(other, NOON + timedelta(seconds=60)) == claimed
        async with database.transaction() as session:
            event = await session.get_one(SaleorEvent, claimed[0])
        assert event.attempts == 2

    async def test_what_is_not_due_is_left(self, database: Database, account: MerchantAccount) -> None:
        await many_payments(database, account, 1)
        assert await events(database, NOON - timedelta(seconds=1)) == []

    async def test_no_more_than_asked_for(self, database: Database, account: MerchantAccount) -> None:
        await many_payments(database, account, 5)
        assert len(await events(database, most=2)) == 2


class TestLooks:
    @pytest.mark.fault("two-workers")
    async def test_nobody_gets_the_same_claim(
        self, database: Database, other: Database, account: MerchantAccount
    ) -> None:
        await many_payments(database, account, 10)
        claims = await asyncio.gather(*(polls(place, most=3) for place in (database, other) * 2))
        claimed = [look for claim in claims for look in claim]
        assert len(claimed) == len(set(claimed))
        assert len(claimed) + len(await polls(other)) == 10

    @pytest.mark.fault("process-killed")
    async def test_a_claim_is_taken_over_when_its_lease_is_out(
        self, database: Database, other: Database, account: MerchantAccount
    ) -> None:
        await many_payments(database, account, 1)
        claimed = await polls(database)
        assert await polls(other) == []
        assert await polls(other, NOON + LEASE) == claimed

    async def test_two_connections_in_the_same_moment(
        self, database: Database, other: Database, account: MerchantAccount
    ) -> None:
        await many_payments(database, account, 2)
        async with database.transaction() as session:
            first = [claimed.row_id for claimed in await claim(session, POLLS, NOON, LEASE, Capacity(1))]
            waiting = asyncio.create_task(polls(other))
            await asyncio.wait([waiting], timeout=0.1)
        assert len(first) == 1
        assert set(first).isdisjoint(await waiting)

    async def test_the_longest_due_first_and_never_what_is_not_due(
        self, database: Database, account: MerchantAccount
    ) -> None:
        [payment_id] = await many_payments(database, account, 1)
        async with database.transaction() as session:
            session.add_all(
                [
                    an_operation(payment_id, Kind.REFUND, "late", next_poll_at=NOON - timedelta(hours=1)),
                    an_operation(payment_id, Kind.REFUND, "early", next_poll_at=NOON + timedelta(seconds=1)),
                    an_operation(payment_id, Kind.REFUND, "never", next_poll_at=None, state=State.SUCCESS),
                ]
            )
        [first] = await polls(database, most=1)
        async with database.transaction() as session:
            row = (await session.exec(select(Operation).where(Operation.id == first))).one()
        assert row.idempotency_key == "late"
        assert len(await polls(database)) == 1
        assert await polls(database) == []


class TestInbox:
    async def test_a_repeat_is_known_by_its_content(self, inbox: Inbox, account: MerchantAccount) -> None:
        receipts = [
            await inbox.store(account_id=account.id, digest=digest * 64, data=digest, order_id="order1", now=NOON)
            for digest in ("a", "a", "b", "a")
        ]
        assert receipts == [True, False, True, False]
        kept = await inbox.find_for_order(account.id, "order1")
        assert [(notification.data, notification.deliveries) for notification in kept] == [("a", 3), ("b", 1)]
        assert await inbox.find_for_order(account.id, "order2") == []
        assert "'a'" not in repr(kept[0])

    @pytest.mark.law(6)
    async def test_repeats_at_the_same_moment(
        self, database: Database, other: Database, vault: Vault, account: MerchantAccount
    ) -> None:
        keeping = (
            Inbox(place, vault).store(account_id=account.id, digest="a" * 64, data="a", order_id="order1", now=NOON)
            for place in (database, other) * 3
        )
        assert sorted(await asyncio.gather(*keeping)) == [False] * 5 + [True]
        [kept] = await Inbox(other, vault).find_for_order(account.id, "order1")
        assert kept.deliveries == 6

    @pytest.mark.fault("two-workers")
    async def test_nobody_gets_the_same_claim(
        self, database: Database, other: Database, inbox: Inbox, account: MerchantAccount
    ) -> None:
        for number in range(8):
            await inbox.store(account_id=account.id, digest=f"{number:064}", data="d", order_id="order1", now=NOON)
        claims = await asyncio.gather(*(notifications(place, most=3) for place in (database, other) * 2))
        claimed = [row_id for claim in claims for row_id in claim]
        assert len(claimed) == len(set(claimed))
        assert all(claim == sorted(claim) for claim in claims)
        assert len(claimed) + len(await notifications(other)) == 8

    async def test_processed_or_to_be_tried_again(
        self, database: Database, inbox: Inbox, account: MerchantAccount
    ) -> None:
        for digest in ("a", "b"):
            await inbox.store(account_id=account.id, digest=digest * 64, data=digest, order_id="order1", now=NOON)
        first, second = await notifications(database)
        await inbox.process(first, Decided(), NOON)
        await inbox.postpone(second, outcome=FAILED, until=NOON + timedelta(seconds=4))
        assert await notifications(database, NOON + timedelta(seconds=3)) == []
        assert await notifications(database, NOON + timedelta(seconds=4)) == [second]
        again = await inbox.get(second)
        assert (again.attempts, again.outcome, again.processed_at) == (2, FAILED, None)
        done = (await inbox.find_for_order(account.id, "order1"))[0]
        assert (done.outcome, done.processed_at, done.next_attempt_at) == (APPLIED, NOON, None)

    async def test_it_is_sealed(self, database: Database, inbox: Inbox, account: MerchantAccount) -> None:
        """It can hold a card's token."""
        await inbox.store(account_id=account.id, digest="a" * 64, data="tok-secret", order_id="order1", now=NOON)
        assert "tok-secret" not in str(await read_raw(database, "SELECT * FROM notification"))
        [kept] = await Inbox(database, Vault([b"\x09" * 32])).find_for_order(account.id, "order1")
        assert kept.data is None


class TestGivingBack:
    async def test_what_was_not_begun_is_free_at_once(self, database: Database, account: MerchantAccount) -> None:
        """And the try is not counted."""
        await many_payments(database, account, 2)
        for work in (EVENTS, POLLS):
            async with database.transaction() as session:
                claims = await claim(session, work, NOON, LEASE, Capacity(20))
            async with database.transaction() as session:
                await release_claims(session, work, claims, NOON)
            async with database.transaction() as session:
                assert await claim(session, work, NOON, LEASE, Capacity(20)) == claims
        async with database.transaction() as session:
            assert {saleor_event.attempts for saleor_event in (await session.exec(select(SaleorEvent))).all()} == {1}

    async def test_what_somebody_else_has_by_now_stays_theirs(
        self, database: Database, account: MerchantAccount
    ) -> None:
        await many_payments(database, account, 1)
        async with database.transaction() as session:
            claims = await claim(session, EVENTS, NOON, LEASE, Capacity(20))
        later = NOON + LEASE
        assert len(await events(database, later)) == 1
        async with database.transaction() as session:
            await release_claims(session, EVENTS, claims, later)
        assert await events(database, later) == []


class TestFairness:
    """A store gets its turn, however much there is to do for another one."""

    @pytest.fixture
    async def stores(
        self, database: Database, accounts: AccountRepository, installations: InstallationRepository
    ) -> list[MerchantAccount]:
        """A big store with ten payments, and two small ones with one each that came later."""
        found = []
        for number, payments in enumerate((10, 1, 1)):
            installation = await an_installation(installations, f"https://shop{number}.example.com/graphql/")
            found.append(await an_account(accounts, installation, name=f"Store {number}"))
            for place in range(payments):
                payment, _ = await a_payment(database, found[-1], number * 100 + place)
                assert payment.id is not None
                async with database.transaction() as session:
                    due = NOON - timedelta(minutes=10 - number)
                    session.add(an_event(payment.id, "event", due=due, installation_id=payment.installation_id))
        return found

    @staticmethod
    async def served(database: Database, capacity: Capacity) -> Counter[Tenant]:
        async with database.transaction() as session:
            claims: list[Claim] = await claim(session, EVENTS, NOON, LEASE, capacity)
        return Counter(claim.tenant for claim in claims)

    async def test_everybody_once_before_anybody_twice(self, database: Database, stores: list[MerchantAccount]) -> None:
        big, small, other = (store.installation_id for store in stores)
        assert await self.served(database, Capacity(4)) == {big: 2, small: 1, other: 1}

    async def test_nobody_gets_more_than_a_share(self, database: Database, stores: list[MerchantAccount]) -> None:
        big, small, other = (store.installation_id for store in stores)
        assert await self.served(database, Capacity(20, share=3)) == {big: 3, small: 1, other: 1}

    async def test_what_is_being_done_counts(self, database: Database, stores: list[MerchantAccount]) -> None:
        big, small, other = (store.installation_id for store in stores)
        assert await self.served(database, Capacity(2, busy={big: 1})) == {small: 1, other: 1}
        assert await self.served(database, Capacity(20, share=3, busy={big: 2})) == {big: 1}
        assert await self.served(database, Capacity(20, share=3, busy={big: 3})) == {}

    async def test_a_backlog_longer_than_is_looked_at_hides_nobody(
        self, database: Database, stores: list[MerchantAccount], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("app.store.job_queue._LOOK_AHEAD", 6)
        big, small, other = (store.installation_id for store in stores)
        assert await self.served(database, Capacity(20, share=2)) == {big: 2, small: 1, other: 1}
        assert await self.served(database, Capacity(18, share=2, busy={big: 2, small: 1, other: 1})) == {}

    async def test_of_more_stores_than_can_be_served_those_come_first_that_have_waited_longest(
        self, database: Database, stores: list[MerchantAccount], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("app.store.job_queue._LOOK_AHEAD", 4)
        big, small, other = (store.installation_id for store in stores)
        async with database.transaction() as session:
            of_the_first = col(SaleorEvent.installation_id) == big
            await session.exec(update(SaleorEvent).where(of_the_first).values(next_attempt_at=NOON))
        assert await self.served(database, Capacity(2, share=1)) == {small: 1, other: 1}

    async def test_what_is_new_does_not_wait_for_the_end_of_a_long_backlog(
        self, database: Database, stores: list[MerchantAccount], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Saleor was away for a day: a shopper who pays now is not reported after all of yesterday's."""
        monkeypatch.setattr("app.store.job_queue._LOOK_AHEAD", 4)
        payment, _ = await a_payment(database, stores[0], 99)
        assert payment.id is not None
        async with database.transaction() as session:
            session.add(an_event(payment.id, "new", due=NOON, installation_id=payment.installation_id))
        oldest_first, newest_first = [
            await self.payments_of(database, stores[0], Capacity(20, share=1, begun=begun)) for begun in (0, 1)
        ]
        assert (oldest_first, newest_first) == ([1], [payment.id])
        assert await self.payments_of(database, stores[0], Capacity(20, share=4)) == [2, 3, 9, 10]

    @staticmethod
    async def payments_of(database: Database, store: MerchantAccount, capacity: Capacity) -> list[int]:
        """Return the payments of a store of which events are claimed."""
        async with database.transaction() as session:
            claims = await claim(session, EVENTS, NOON, LEASE, capacity)
            ids = [claimed.row_id for claimed in claims if claimed.tenant == store.installation_id]
            rows = await session.exec(select(SaleorEvent.payment_id).where(col(SaleorEvent.id).in_(ids)))
        return sorted(rows.all())

    async def test_of_too_many_stores_with_a_backlog_those_that_wait_longest(
        self, database: Database, stores: list[MerchantAccount], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("app.store.job_queue._LOOK_AHEAD", 1)
        big, small, other = (store.installation_id for store in stores)
        assert await self.served(database, Capacity(1, share=1)) == {big: 1}
        assert await self.served(database, Capacity(1, share=1, busy={big: 1})) == {small: 1}
        assert await self.served(database, Capacity(1, share=1, busy={big: 1, small: 1})) == {other: 1}

    async def test_accounts_take_turns_at_the_gateway(self, database: Database, stores: list[MerchantAccount]) -> None:
        async with database.transaction() as session:
            claims = await claim(session, POLLS, NOON, LEASE, Capacity(3))
        assert {claim.tenant for claim in claims} == {store.id for store in stores}
