"""A store with a flood of work, and another with a little: how long the second waits, counted in jobs of the first."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import insert, text
from sqlmodel import SQLModel, select

from app.core.vocabulary import Kind
from app.store.accounts import AccountRepository
from app.store.aggregates import ATTEMPTS, ORDERS, POLLS
from app.store.columns import table_of
from app.store.database import Database, is_sqlite
from app.store.inbox import NOTIFICATIONS
from app.store.installations import InstallationRepository
from app.store.job_queue import Capacity, JobQueue, Tenant, claim
from app.store.outbox import EVENTS
from app.store.presence import retry_events_now
from app.store.tables import MerchantAccount, Notification, Operation, Payment, SaleorEvent
from tests.db.rows import NOON, a_new_payment, an_account, an_event, an_installation, an_operation
from tests.statements import record_statements

FLOOD, FEW = 10_000, 30
LEASE = timedelta(seconds=60)
MOST, SHARE = 100, 50


@dataclass
class Stores:
    """A store with ten thousand of everything, due for an hour; one with thirty, due for a minute."""

    busy: MerchantAccount
    quiet: MerchantAccount

    def tenants(self, work: JobQueue) -> tuple[Tenant, Tenant]:
        """Return by what the two are known in that kind of work."""
        if work in {EVENTS, ORDERS}:
            return self.busy.installation_id, self.quiet.installation_id
        return self.busy.id, self.quiet.id


@pytest.fixture
async def stores(
    database: Database, accounts: AccountRepository, installations: InstallationRepository
) -> AsyncIterator[Stores]:
    made = []
    for number, (name, many, minutes) in enumerate((("busy", FLOOD, 60), ("quiet", FEW, 1))):
        installation = await an_installation(installations, f"https://{name}.example.com/graphql/")
        made.append(await an_account(accounts, installation))
        await let_wait(database, made[-1], range(number * FLOOD, number * FLOOD + many), minutes)
    yield Stores(*made)
    if database.engine.dialect.name == "postgresql":
        # Deleted row by row, they would take half a second, and their places twice the time of each later clean-up.
        names = ", ".join(table_of(model).name for model in (SaleorEvent, Operation, Notification, Payment))
        async with database.engine.begin() as connection:
            await connection.execute(text(f"TRUNCATE {names} CASCADE"))


async def let_wait(database: Database, account: MerchantAccount, numbers: range, minutes: int) -> None:
    """Put a payment into every queue for each number, all due since so many minutes."""
    due = NOON - timedelta(minutes=minutes)

    def like(one: SQLModel, **more: list[Any]) -> list[dict[str, Any]]:
        same = one.model_dump(exclude={"id"})
        return [same | dict(zip(more, values, strict=True)) for values in zip(*more.values(), strict=True)]

    payment = a_new_payment(account, 0)
    payment.attempts_due_at = payment.next_order_poll_at = due
    names = [f"order{number}" for number in numbers]
    notification = Notification(
        account_id=account.id, digest="", data_sealed="", order_id="", next_attempt_at=due, received_at=due
    )
    poll = an_operation(0, Kind.CREATE, "create", next_poll_at=due)
    event = an_event(0, "event", due=due, installation_id=account.installation_id)
    async with database.transaction() as session:
        await session.exec(insert(table_of(Payment)), params=like(payment, transaction_id=names, order_id=names))
        await session.exec(insert(table_of(Notification)), params=like(notification, digest=names))
        ids = [*await session.exec(select(Payment.id).where(Payment.account_id == account.id))]
        await session.exec(insert(table_of(Operation)), params=like(poll, payment_id=ids))
        await session.exec(insert(table_of(SaleorEvent)), params=like(event, payment_id=ids))


async def would_be_claimed(database: Database, work: JobQueue, capacity: Capacity) -> Counter[Tenant]:
    """Claim and give back."""
    async with database.transaction() as session:
        claims = await claim(session, work, NOON, LEASE, capacity)
        await session.rollback()
    return Counter(claim.tenant for claim in claims)


@pytest.mark.threat("flood")
async def test_whatever_is_due_for_another_a_store_is_served_by_the_next_claim(
    database: Database, stores: Stores
) -> None:
    """Whether nothing is done for the busy one at this moment (a batch ends as a whole), something, or its share."""
    for work in (NOTIFICATIONS, EVENTS, POLLS, ATTEMPTS, ORDERS):
        busy, quiet = stores.tenants(work)
        for jobs in (0, 20, SHARE):
            capacity = Capacity(MOST - jobs, SHARE, {busy: jobs})
            expected = Counter({busy: SHARE - jobs, quiet: FEW})
            assert await would_be_claimed(database, work, capacity) == expected, (work.due, jobs)
        few_are_free = Capacity(4, SHARE, {busy: 40, quiet: 20})
        assert await would_be_claimed(database, work, few_are_free) == {quiet: 4}, work.due


@pytest.fixture
def locking_database(database: Database, database_url: str) -> Database:
    """Named before ``stores``, which are not filled in vain then."""
    if is_sqlite(database_url):
        pytest.skip("SQLite locks no rows")
    return database


async def test_the_rows_of_a_claim_are_locked_by_a_query_that_runs_once(
    locking_database: Database, stores: Stores
) -> None:
    """As a subquery it can run for each row of the table, where statistics are older than the flood."""
    database = locking_database
    with record_statements(database) as asked:
        await would_be_claimed(database, NOTIFICATIONS, Capacity(MOST, SHARE, {}))
    await expect_rows_locked_once(database, asked, "UPDATE notification")


async def test_the_failed_events_of_a_store_are_locked_by_a_query_that_runs_once(
    locking_database: Database, stores: Stores
) -> None:
    """It runs when a Saleor can be reached again, or has the app again: another store's flood must not end that."""
    database = locking_database
    with record_statements(database) as asked:
        async with database.transaction() as session:
            await retry_events_now(session, stores.quiet.installation_id, NOON)
    await expect_rows_locked_once(database, asked, "UPDATE saleor_event")


async def expect_rows_locked_once(database: Database, asked: Sequence[tuple[str, Any]], beginning: str) -> None:
    [(statement, parameters)] = [one for one in asked if beginning in one[0]]
    async with database.engine.connect() as connection:
        plan = [row[0] for row in (await connection.exec_driver_sql(f"EXPLAIN {statement}", parameters)).all()]
    assert any("CTE locked" in line for line in plan), plan
    assert sum("LockRows" in line for line in plan) == 1


@pytest.mark.threat("flood")
async def test_whose_jobs_wait_is_found_without_reading_the_backlog(database: Database, stores: Stores) -> None:
    """Read at each claim, a backlog would take longer the longer it is, and in all as its square."""
    sqlite = database.engine.dialect.name == "sqlite"
    async with database.engine.begin() as connection:
        await connection.execute(text("ANALYZE"))
    for work, table, tenant in (
        (EVENTS, "saleor_event", "installation_id"),
        (NOTIFICATIONS, "notification", "account_id"),
    ):
        with record_statements(database) as asked:
            await would_be_claimed(database, work, Capacity(MOST, SHARE, {}))
        [(statement, parameters)] = [one for one in asked if "min(" in one[0]]
        explain = "EXPLAIN QUERY PLAN" if sqlite else "EXPLAIN"
        async with database.engine.connect() as connection:
            plan = [row[-1] for row in (await connection.exec_driver_sql(f"{explain} {statement}", parameters)).all()]
        read = [line for line in plan if f"{table} " in line or f"{table}_due" in line]
        by_tenant = f"ix_{table}_due ({tenant}=? AND" if sqlite else f"Index Only Scan using ix_{table}_due"
        assert read, plan
        assert all(by_tenant in line for line in read), plan
        assert not any("GROUP" in line or "Aggregate" in line for line in plan), plan
