"""What is locked is found by an index, however many payments there are: SQLite says how it will look."""

import re
from typing import Any

import pytest
from sqlalchemy import event, insert, text

from app.db.aggregates import ATTEMPTS
from app.db.columns import table_of
from app.db.database import Database, is_sqlite
from app.db.job_queue import DueQueues
from app.db.placed_orders import ORDERS
from app.db.repository import ByEvent, ById, ByOrder, ByTransaction, SameDebt, Which, lock_payments
from app.db.tables import MerchantAccount, Payment
from tests.db.rows import NOON, a_new_payment, an_event, raw

MANY = 3000


@pytest.fixture
async def payments(database: Database, database_url: str, account: MerchantAccount) -> None:
    """Many payments of one account, counted as they are in an app that has run for a while."""
    if not is_sqlite(database_url):
        pytest.skip("PostgreSQL plans by the values: bench.growth measures it")
    names = [f"order{number}" for number in range(MANY)]
    same = a_new_payment(account, 0).model_dump(exclude={"id"})
    rows = [same | {"transaction_id": name, "order_id": name, "source_id": name} for name in names]
    async with database.transaction() as session:
        await session.exec(insert(table_of(Payment)), params=rows)
        session.add(an_event(7, "event"))
    async with database.engine.connect() as connection:
        await connection.execute(text("ANALYZE"))
        await connection.commit()


@pytest.mark.parametrize(
    ("which", "debts"),
    [
        ([ById(5)], []),
        ([ByOrder("order5")], []),
        ([ByOrder(f"order{number}") for number in range(50)], []),
        ([ByTransaction(1, "order5")], []),
        ([ByEvent(1)], []),
        ([], [SameDebt(1, "order5", ["order6"])]),
        ([ById(5), ByOrder("order6")], [SameDebt(1, "order5", ["order6"])]),
    ],
    ids=["id", "order", "orders", "transaction", "event", "debt", "all of them"],
)
@pytest.mark.usefixtures("payments")
async def test_payments_are_not_searched_for_one_by_one(
    database: Database, which: list[Which], debts: list[SameDebt]
) -> None:
    asked: list[tuple[str, Any]] = []

    def note(_connection: object, _cursor: object, statement: str, parameters: Any, *_: object) -> None:
        asked.append((statement, parameters))

    engine = database.engine.sync_engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        async with database.transaction() as session:
            assert await lock_payments(session, which, debts)
    finally:
        event.remove(engine, "before_cursor_execute", note)
    async with database.engine.connect() as connection:
        for statement, parameters in asked:
            plan = await connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            steps = [row[3] for row in plan]
            assert not [each for each in steps if "SCAN payment" in each or "ix_payment_of_account" in each], steps


async def test_nothing_that_is_named_is_nothing(database: Database) -> None:
    async with database.transaction() as session:
        assert await lock_payments(session, []) == []
    assert await raw(database, "SELECT count(*) FROM payment") == [(0,)]


async def test_what_has_become_due_is_found_by_an_index_also_by_a_plan_for_any_moment(
    database: Database, database_url: str, account: MerchantAccount
) -> None:
    """After some rounds PostgreSQL plans once and for all: then it must not take payments without a moment for due."""
    if is_sqlite(database_url):
        pytest.skip("SQLite plans each statement for its indexes")
    same = a_new_payment(account, 0).model_dump(exclude={"id"})
    names = [f"order{number}" for number in range(MANY)]
    rows = [same | {"transaction_id": name, "order_id": name, "source_id": name} for name in names]
    async with database.transaction() as session:
        await session.exec(insert(table_of(Payment)), params=rows)
    asked: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        asked.append(statement)

    engine = database.engine.sync_engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        async with database.transaction() as session:
            assert await DueQueues([ATTEMPTS, ORDERS]).read(session, NOON) == []
    finally:
        event.remove(engine, "before_cursor_execute", note)
    statement = re.sub(r"%\(now\)s", "$1", re.sub(r"%\(param_\d\)s", "0", asked[-1]))
    async with database.engine.connect() as connection:
        await connection.execute(text("ANALYZE payment"))
        await connection.execute(text("SET LOCAL plan_cache_mode = force_generic_plan"))
        await connection.exec_driver_sql(f"PREPARE due (timestamptz) AS {statement}")
        plan = str((await connection.exec_driver_sql("EXPLAIN EXECUTE due (now())")).all())
        await connection.exec_driver_sql("DEALLOCATE due")
    assert "Seq Scan on payment" not in plan
    assert "ix_payment_attempts_due_at" in plan
