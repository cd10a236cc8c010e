"""Payments that were just begun: taken as they were written, unless anybody has touched them since."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlmodel.ext.asyncio.session import AsyncSession

from app.ledger.begun import Begun, Intent, Others, insert_intents, load_begun
from app.ledger.columns import Moment, table_of
from app.ledger.database import Database, create_engine
from app.ledger.sheets import Sheet, load_by_order, row_id_of
from app.ledger.tables import Kind, MerchantAccount, Operation, Payment, SplitShare, State
from tests.ledger.rows import NOON, a_new_payment, an_event, raw

NAMES = {"id", "payment_id", "installation_id", "account_id"}  # what ties rows together never changes


@pytest.fixture
async def other(database_url: str) -> AsyncIterator[Database]:
    """The same database, seen from another process."""
    database = Database(create_engine(database_url))
    yield database
    await database.close()


def intent(account: MerchantAccount, number: int, *, source: str = "checkout") -> Intent:
    def operation(payment: Payment) -> Operation:
        return Operation(
            payment_id=row_id_of(payment),
            kind=Kind.CREATE,
            idempotency_key="create",
            state=State.INTENT,
            amount=payment.amount,
            currency=payment.currency,
            request={"amount": "569.50"},
            next_look_at=NOON,
            created_at=NOON,
            updated_at=NOON,
        )

    def shares(operation: Operation) -> list[SplitShare]:
        return [SplitShare(operation_id=row_id_of(operation), sub_merchant_id="seller", amount=operation.amount)]

    return Intent(partial(a_new_payment, account, number, source), operation, shares)


async def written(database: Database, account: MerchantAccount, number: int = 1, **said: Any) -> Sheet:
    sheet = await database.together(insert_intents, intent(account, number, **said))
    assert isinstance(sheet, Sheet)
    return sheet


def begun(sheet: Sheet, *transactions: str, alone: bool = False) -> Begun:
    payment = sheet.payment
    others = None if alone else Others(payment.source_id, [payment.transaction_id, *transactions])
    return Begun(row_id_of(payment), payment.installation_id, sheet, others)


def another(value: Any) -> Any:
    """Return something else of the same kind."""
    match value:
        case Enum():
            return next(each for each in type(value) if each is not value)
        case bool():
            return not value
        case datetime():
            return value + timedelta(hours=1)
        case int() | Decimal():
            return value + 1
        case str():
            return "XX" if value != "XX" else "YY"
    raise TypeError(value)


async def test_intents_are_kept_with_all_that_belongs_to_them(database: Database, account: MerchantAccount) -> None:
    sheets = await asyncio.gather(*(written(database, account, number) for number in range(5)))
    assert [each.payment.order_id for each in sheets] == [f"order{number}" for number in range(5)]
    async with database.transaction() as session:
        for sheet in sheets:
            found = await load_by_order(session, sheet.payment.order_id)
            assert found is not None
            assert found.create.id == sheet.create.id
            assert found.shares_of(found.create) == {"seller": Decimal("569.50")}


@pytest.mark.law(4)
async def test_of_the_same_payment_twice_one_is_kept(database: Database, account: MerchantAccount) -> None:
    """Also when both come in the same moment, among others."""
    answers: list[Any] = await asyncio.gather(
        *(written(database, account, number) for number in (1, 2, 1, 3)), return_exceptions=True
    )
    assert [type(each) for each in answers] == [Sheet, Sheet, IntegrityError, Sheet]
    assert await raw(database, "SELECT count(*) FROM payment") == [(3,)]
    assert await raw(database, "SELECT count(*) FROM operation") == [(3,)]


async def test_what_nobody_has_touched_is_not_read_again(database: Database, account: MerchantAccount) -> None:
    sheet = await written(database, account)
    async with database.transaction() as session:
        [[found]] = await load_begun(session, [begun(sheet)])
        assert found is sheet
        found.payment.checkout_url = "https://gateway.example/form"
        found.create.state = State.INIT
    assert await raw(database, "SELECT checkout_url, state FROM payment, operation") == [
        ("https://gateway.example/form", "init")
    ]


@pytest.mark.law(3)
@pytest.mark.parametrize("model", [Payment, Operation])
async def test_whatever_anybody_changes_is_seen(database: Database, account: MerchantAccount, model: Any) -> None:
    """What was written a moment ago decides nothing that somebody has changed since."""
    table = table_of(model)
    changed = [each for each in table.c if each.name not in NAMES and not isinstance(each.type, sa.JSON)]
    assert len(changed) > 15
    for number, column in enumerate(changed):
        sheet = await written(database, account, number)
        row = sheet.payment if model is Payment else sheet.create
        value = getattr(row, column.name)
        if value is None:
            value = NOON if isinstance(column.type, Moment) else Decimal(1) if column.name == "to_pay" else "x"
            new = value
        else:
            new = another(value)
        async with database.engine.begin() as connection:
            await connection.execute(table.update().where(table.c.id == row.id).values({column.name: new}))
        async with database.transaction() as session:
            [[found]] = await load_begun(session, [begun(sheet, alone=True)])
            assert found is not sheet, column.name
            assert getattr(found.payment if model is Payment else found.operations[0], column.name) == new


async def test_what_others_add_is_seen(database: Database, account: MerchantAccount) -> None:
    with_event, with_operation = await written(database, account, 1), await written(database, account, 2)
    second = intent(account, 2).operation(with_operation.payment)
    second.idempotency_key = "refund"
    async with database.transaction() as session:
        session.add(an_event(row_id_of(with_event.payment), "event"))
        session.add(second)
    async with database.transaction() as session:
        [one], [two] = await load_begun(session, [begun(each, alone=True) for each in (with_event, with_operation)])
    assert (len(one.events), len(two.operations)) == (1, 2)


async def test_it_is_read_anew_after_a_transaction_that_came_to_nothing(
    database: Database, account: MerchantAccount
) -> None:
    sheet = await written(database, account)
    again = begun(sheet)

    async def in_vain() -> None:
        async with database.transaction() as session:
            [[found]] = await load_begun(session, [again])
            found.create.state = State.INIT
            raise RuntimeError("something else went wrong")

    with pytest.raises(RuntimeError):
        await in_vain()
    async with database.transaction() as session:
        [[found]] = await load_begun(session, [again])
        assert found is not sheet
        assert found.create.state is State.INTENT


async def test_attempts_to_pay_the_same_are_found_by_source_or_transaction(
    database: Database, account: MerchantAccount
) -> None:
    first = await written(database, account, 1)
    second = await written(database, account, 2)
    moved = await written(database, account, 3, source="order")  # the checkout has become an order
    await written(database, account, 4, source="another")
    async with database.transaction() as session:
        groups = await load_begun(session, [begun(moved, "transaction-1"), begun(second)])
        orders = [[each.payment.order_id for each in group] for group in groups]
        assert orders == [["order1", "order3"], ["order1", "order2"]]
        assert groups[0][0] is groups[1][0]  # one sheet of one payment, whoever asks
        assert first.payment.id == groups[0][0].payment.id


@pytest.mark.law(3)
async def test_others_wait_until_it_is_posted(database: Database, other: Database, account: MerchantAccount) -> None:
    """The lock is held until the commit, and what was committed is seen by whoever waited."""
    sheet = await written(database, account)
    locked, seen = asyncio.Event(), list[State]()

    async def post() -> None:
        async with database.transaction() as session:
            [[found]] = await load_begun(session, [begun(sheet)])
            locked.set()
            await asyncio.sleep(0)
            found.create.state = State.INIT

    async def look() -> None:
        await locked.wait()
        async with other.transaction() as session:
            found = await load_by_order(session, "order1")
            assert found is not None
            seen.append(found.create.state)

    await asyncio.gather(post(), look())
    assert seen == [State.INIT]


async def test_other_attempts_are_found_without_going_through_all_payments(
    database: Database, account: MerchantAccount
) -> None:
    """What a store has sold until now does not slow down whoever pays next."""
    sheet, asked = await written(database, account), list[tuple[str, Any]]()

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_more: Any) -> None:
        asked.append((statement, parameters))

    async with database.engine.begin() as connection:
        sqlite = connection.dialect.name == "sqlite"
        if not sqlite:
            await connection.execute(sa.text("SET LOCAL enable_seqscan = off"))  # where there is any other way
        sa.event.listen(database.engine.sync_engine, "before_cursor_execute", note)
        async with database.transaction() if not sqlite else AsyncSession(connection) as session:
            await load_begun(session, [begun(sheet, "transaction-2")])
        sa.event.remove(database.engine.sync_engine, "before_cursor_execute", note)
        lock, parameters = next(each for each in asked if "source_id" in each[0])
        how = "EXPLAIN QUERY PLAN " if sqlite else "EXPLAIN "
        plan = [str(row) for row in (await connection.exec_driver_sql(how + lock, parameters)).all()]
    assert any("ix_payment_of_source" in line for line in plan)
    assert not any("SCAN payment" in line or "Seq Scan on payment" in line for line in plan)
