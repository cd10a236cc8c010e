"""What is locked is found by an index, however many payments there are: SQLite says how it will look."""

import re
import sqlite3
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete, insert, text

from app.core.ids import EventRowId, PaymentRowId
from app.core.payment import row_id_of
from app.core.vocabulary import Kind, State
from app.store.aggregates import ATTEMPTS, ORDERS, ByEvent, ById, ByOrder, ByTransaction, Payable, PaymentSelector
from app.store.columns import table_of
from app.store.database import Database, is_sqlite
from app.store.job_queue import DueQueues
from app.store.payment_locks import lock_payments
from app.store.reconciliations import paid_orders_page
from app.store.repository import PaymentRepository
from app.store.search import PaymentFilter, PaymentNames, payments_page
from app.store.tables import Installation, MerchantAccount, Operation, Payment
from tests.db.rows import NOON, a_new_payment, an_event, an_operation, read_raw
from tests.statements import record_statements

MANY = 3000


@pytest.fixture
async def payments(database: Database, database_url: str, account: MerchantAccount) -> None:
    """Many payments of one account, counted as they are in an app that has run for a while."""
    if not is_sqlite(database_url):
        pytest.skip("PostgreSQL plans by the values: bench.growth measures it")
    names = [f"order{number}" for number in range(MANY)]
    same = a_new_payment(account, 0).model_dump(exclude={"id"})
    rows = [
        same
        | {"transaction_id": name, "order_id": name, "source_id": name, "created_at": NOON + timedelta(seconds=number)}
        for number, name in enumerate(names)
    ]
    async with database.transaction() as session:
        await session.exec(insert(table_of(Payment)), params=rows)
        session.add(an_event(7, "event"))
    async with database.engine.connect() as connection:
        await connection.execute(text("ANALYZE"))
        await connection.commit()


@pytest.mark.parametrize(
    ("which", "payables"),
    [
        ([ById(PaymentRowId(5))], []),
        ([ByOrder("order5")], []),
        ([ByOrder(f"order{number}") for number in range(50)], []),
        ([ByTransaction(1, "order5")], []),
        ([ByEvent(EventRowId(1))], []),
        ([], [Payable(1, "order5", ["order6"])]),
        ([ById(PaymentRowId(5)), ByOrder("order6")], [Payable(1, "order5", ["order6"])]),
    ],
    ids=["id", "order", "orders", "transaction", "event", "payable", "all of them"],
)
@pytest.mark.usefixtures("payments")
async def test_payments_are_not_searched_for_one_by_one(
    database: Database, which: list[PaymentSelector], payables: list[Payable]
) -> None:
    with record_statements(database) as asked:
        async with database.transaction() as session:
            assert await lock_payments(session, which, payables)
    async with database.engine.connect() as connection:
        for statement, parameters in asked:
            plan = await connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            steps = [row[3] for row in plan]
            assert not [step for step in steps if "SCAN payment" in step or "ix_payment_of_account" in step], steps


@pytest.mark.parametrize("store", [None, 1])
@pytest.mark.usefixtures("payments")
async def test_payments_are_not_searched_for_their_names_one_by_one(database: Database, store: int | None) -> None:
    names = PaymentNames(exact=["order5", "order6"], beginning="order5", order_number="1042")
    with record_statements(database) as asked:
        async with database.transaction() as session:
            assert await payments_page(session, PaymentFilter(installation_id=store, names=names), most=20)
    async with database.engine.connect() as connection:
        for statement, parameters in asked:
            plan = await connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            steps = [row[3] for row in plan]
            assert not [step for step in steps if "SCAN payment" in step], steps


@pytest.mark.usefixtures("payments")
async def test_the_last_page_of_a_period_takes_no_more_than_the_first(
    database: Database, account: MerchantAccount
) -> None:
    """A page that passed over all that came before it would make a comparison take the square of what there is."""
    paid = [{"payment_id": number} for number in range(1, MANY + 1)]
    same = an_operation(1, Kind.CREATE, "create", state=State.SUCCESS).model_dump(exclude={"id", "payment_id"})
    engine = database.engine.sync_engine
    async with database.transaction() as session:
        await session.exec(insert(table_of(Operation)), params=[same | numbers for numbers in paid])
    with record_statements(database) as asked:
        async with database.transaction() as session:
            for before in (0, MANY - 100):
                after = NOON + timedelta(seconds=before - 1), before
                page = await paid_orders_page(session, account.id, after, NOON + timedelta(days=1), most=100)
                assert [row for _, row, _ in page] == list(range(before + 1, before + 101))
    first, last = (steps_of(str(engine.url.database), *question) for question in asked)
    assert last < 1.2 * first


async def test_payments_that_were_begun_in_one_moment_are_on_some_page_each(
    database: Database, account: MerchantAccount
) -> None:
    """Else one at the edge of a page would never be looked for in the gateway's books."""
    async with database.transaction() as session:
        payments = [a_new_payment(account, number) for number in range(5)]
        for payment in payments:
            payment.created_at = NOON
        session.add_all(payments)
        await session.flush()
        ids = [row_id_of(payment) for payment in payments]
        session.add_all(an_operation(row_id, Kind.CREATE, "create", state=State.SUCCESS) for row_id in ids)
    found, after = list[int](), (NOON, 0)
    async with database.transaction() as session:
        while page := await paid_orders_page(session, account.id, after, NOON + timedelta(days=1), most=2):
            found += [row for _, row, _ in page]
            after = page[-1][:2]
    assert found == sorted(ids)


def steps_of(file: str, statement: str, parameters: Any) -> int:
    """Return how many instructions SQLite executes for a statement."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    with closing(sqlite3.connect(file)) as connection:
        connection.set_progress_handler(count, 1)
        connection.execute(statement, parameters).fetchall()
    return steps


async def test_nothing_that_is_named_is_nothing(database: Database) -> None:
    async with database.transaction() as session:
        assert await lock_payments(session, []) == []
    assert await read_raw(database, "SELECT count(*) FROM payment") == [(0,)]


async def test_a_payment_of_another_store_is_found_by_an_index_however_many_stores_there_are(
    database: Database, database_url: str, account: MerchantAccount
) -> None:
    """Each new payment asks for it: an app that serves ten thousand stores would look through all their payments."""
    async with database.transaction() as session:
        installation = (await session.get_one(Installation, account.installation_id)).model_dump()
    stores = [
        installation | {"id": 100 + number, "saleor_api_url": f"https://{number}.example"} for number in range(MANY)
    ]
    same = a_new_payment(account, 0).model_dump(exclude={"id"})
    rows = [
        same | {"transaction_id": f"t{number}", "order_id": f"o{number}", "installation_id": 100 + number}
        for number in range(MANY)
    ]
    async with database.transaction() as session:
        await session.exec(insert(table_of(Installation)), params=stores)
        await session.exec(insert(table_of(Payment)), params=rows)
    async with database.engine.connect() as connection:
        await connection.execute(text("ANALYZE"))
        await connection.commit()
    repository = PaymentRepository(database)
    with record_statements(database) as asked:
        assert await repository.exists_only_elsewhere(100, "t5")
        assert not await repository.exists_only_elsewhere(105, "t5")
        assert not await repository.exists_only_elsewhere(100, "t")
    explain = "EXPLAIN QUERY PLAN" if is_sqlite(database_url) else "EXPLAIN"
    async with database.engine.connect() as connection:
        for statement, parameters in asked:
            plan = str((await connection.exec_driver_sql(f"{explain} {statement}", parameters)).all())
            assert "ix_payment_of_transaction" in plan


async def test_what_has_become_due_is_found_by_an_index_also_by_a_plan_for_any_moment(
    database: Database, database_url: str, account: MerchantAccount
) -> None:
    """After some rounds PostgreSQL plans once and for all: then it must not take payments without a moment for due."""
    if is_sqlite(database_url):
        pytest.skip("SQLite plans each statement for its indexes")
    same = a_new_payment(account, 0).model_dump(exclude={"id"})
    names = [f"order{number}" for number in range(MANY)]
    rows = [
        same
        | {"transaction_id": name, "order_id": name, "source_id": name, "created_at": NOON + timedelta(seconds=number)}
        for number, name in enumerate(names)
    ]
    for _ in range(8):  # full of the dead, as after a busy day, an index looks dear
        async with database.transaction() as session:
            was_due = [row | {"attempts_due_at": NOON, "next_order_poll_at": NOON} for row in rows]
            await session.exec(insert(table_of(Payment)), params=was_due)
            await session.exec(delete(Payment))
    async with database.transaction() as session:
        await session.exec(insert(table_of(Payment)), params=rows)
    with record_statements(database) as asked:
        async with database.transaction() as session:
            assert await DueQueues([ATTEMPTS, ORDERS]).read(session, NOON) == []
    statement = re.sub(r"%\(now\)s", "$1", re.sub(r"%\(param_\d\)s", "0", asked[-1][0]))
    async with database.engine.connect() as connection:
        await connection.execute(text("ANALYZE payment"))
        await connection.execute(text("SET LOCAL plan_cache_mode = force_generic_plan"))
        await connection.exec_driver_sql(f"PREPARE due (timestamptz) AS {statement}")
        plan = str((await connection.exec_driver_sql("EXPLAIN EXECUTE due (now())")).all())
        await connection.exec_driver_sql("DEALLOCATE due")
    assert "Seq Scan on payment" not in plan
    assert "ix_payment_attempts_due_at" in plan
