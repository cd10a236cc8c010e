"""The aggregate of a payment: read as a whole, under its lock, and unique where the laws of money need it to be."""

import asyncio
from collections.abc import AsyncIterator
from decimal import Decimal

import pytest
from sqlalchemy.exc import IntegrityError
from sqlmodel import SQLModel

from app.core.vocabulary import Kind
from app.store.aggregates import find_by_order
from app.store.database import Database, create_engine, is_sqlite
from app.store.search import PaymentFilter, payments_page
from app.store.tables import MerchantAccount, Payment
from integration_base_tests.waiting import unless_it_hangs
from tests.db.rows import NOON, a_payment, an_event, an_operation, load_by_order, load_by_transaction


@pytest.fixture
async def other(database_url: str) -> AsyncIterator[Database]:
    """The same database, seen from another process."""
    database = Database(create_engine(database_url))
    yield database
    await database.close()


@pytest.fixture
async def payment(database: Database, account: MerchantAccount) -> Payment:
    return (await a_payment(database, account))[0]


async def test_a_sheet_is_found_by_whatever_names_it(database: Database, payment: Payment) -> None:
    async with database.transaction() as session:
        found = [
            await load_by_transaction(session, payment.installation_id, "transaction-1"),
            await load_by_order(session, "order1"),
            await load_by_order(session, "order1", account_id=payment.account_id),
            await find_by_order(session, "order1"),
        ]
        assert {aggregate.payment.id for aggregate in found if aggregate is not None} == {payment.id}
        assert None not in found
        assert await load_by_transaction(session, payment.installation_id + 1, "transaction-1") is None
        assert await load_by_order(session, "order1", account_id="another") is None
        assert await load_by_order(session, "order2") is None


async def test_operations_and_events_come_oldest_first(database: Database, payment: Payment) -> None:
    assert payment.id is not None
    async with database.transaction() as session:
        session.add_all([an_operation(payment.id, Kind.REFUND, f"key-{number}") for number in range(3)])
        session.add_all([an_event(payment.id, f"event-{number}") for number in range(3)])
    async with database.transaction() as session:
        aggregate = await load_by_order(session, "order1")
    assert aggregate is not None
    assert [operation.idempotency_key for operation in aggregate.operations] == ["create", "key-0", "key-1", "key-2"]
    assert [event.psp_reference for event in aggregate.events] == ["event-0", "event-1", "event-2"]
    assert aggregate.create.kind is Kind.CREATE
    assert aggregate.operation_by_key("key-1") is aggregate.operations[2]
    assert aggregate.operation_by_key("nobody asked that") is None
    assert aggregate.operation_by_id(aggregate.operations[3].id) is aggregate.operations[3]


async def test_whoever_only_reads_a_payment_waits_for_nobody(
    database: Database, other: Database, payment: Payment, database_url: str
) -> None:
    if is_sqlite(database_url):
        pytest.skip("SQLite has one connection")
    async with database.transaction() as session:
        assert await load_by_order(session, payment.order_id) is not None
        async with unless_it_hangs(), other.transaction() as reading:
            assert await find_by_order(reading, payment.order_id) is not None


@pytest.mark.law(3)
async def test_whoever_decides_about_a_payment_is_alone_with_it(
    database: Database, other: Database, payment: Payment
) -> None:
    """Eight requests in two processes each add a refund if there is room for it: there is room for three."""

    async def refund(through: Database, number: int) -> bool:
        async with through.transaction() as session:
            aggregate = await load_by_order(session, "order1")
            assert aggregate is not None
            taken = sum(
                (operation.amount for operation in aggregate.operations if operation.kind is Kind.REFUND), Decimal(0)
            )
            await asyncio.sleep(0)  # let the others try
            if taken + 150 > aggregate.payment.amount:
                return False
            assert aggregate.payment.id is not None
            session.add(an_operation(aggregate.payment.id, Kind.REFUND, f"key-{number}", amount=Decimal(150)))
            return True

    made = await asyncio.gather(*(refund((database, other)[number % 2], number) for number in range(8)))
    assert sum(made) == 3


async def test_what_fails_leaves_nothing_behind(database: Database, payment: Payment) -> None:
    async def fail() -> None:
        assert payment.id is not None
        async with database.transaction() as session:
            session.add(an_operation(payment.id, Kind.REFUND, "key"))
            await session.flush()
            raise RuntimeError("half-way")

    with pytest.raises(RuntimeError, match="half-way"):
        await fail()
    async with database.transaction() as session:
        aggregate = await load_by_order(session, "order1")
    assert aggregate is not None
    assert len(aggregate.operations) == 1


class TestOneOfEach:
    """What the laws of money say, the database says too."""

    async def refused(self, database: Database, row: SQLModel) -> None:
        with pytest.raises(IntegrityError):
            async with database.transaction() as session:
                session.add(row)

    @pytest.mark.law(4)
    async def test_question(self, database: Database, payment: Payment) -> None:
        assert payment.id is not None
        await self.refused(database, an_operation(payment.id, Kind.REFUND, "create"))

    @pytest.mark.law(9)
    async def test_reference_of_an_operation(self, database: Database, payment: Payment) -> None:
        assert payment.id is not None
        async with database.transaction() as session:
            session.add(an_operation(payment.id, Kind.REFUND, "one", psp_reference="reference"))
            session.add(an_operation(payment.id, Kind.REFUND, "two"))  # none yet
            session.add(an_operation(payment.id, Kind.REFUND, "three"))
        await self.refused(database, an_operation(payment.id, Kind.CAPTURE, "four", psp_reference="reference"))

    @pytest.mark.law(5)
    async def test_event_of_a_type_and_reference(self, database: Database, payment: Payment) -> None:
        """Saleor knows an event by these."""
        assert payment.id is not None
        async with database.transaction() as session:
            session.add(an_event(payment.id, "reference", "REFUND_FAILURE"))
            session.add(an_event(payment.id, "reference", "REFUND_SUCCESS"))
        await self.refused(database, an_event(payment.id, "reference", "REFUND_SUCCESS"))

    async def test_payment_of_a_transaction_and_of_an_order(self, database: Database, payment: Payment) -> None:
        members = payment.model_dump(exclude={"id"})
        await self.refused(database, Payment(**(members | {"order_id": "another"})))
        await self.refused(database, Payment(**(members | {"transaction_id": "another"})))

    async def test_owner(self, database: Database) -> None:
        await self.refused(database, an_operation(4711, Kind.REFUND, "key"))


async def test_the_newest_payments_and_those_that_somebody_must_look_at(
    database: Database, account: MerchantAccount
) -> None:
    for number in range(4):
        await a_payment(database, account, number)
    async with database.transaction() as session:
        (await session.get_one(Payment, 2)).problem_since = NOON
    async with database.transaction() as session:
        newest = await payments_page(session, PaymentFilter(), most=2, after=None)
        problems = await payments_page(session, PaymentFilter(problems=True), most=10, after=None)
    assert [payment.order_id for payment in newest] == ["order3", "order2"]
    assert [problem.order_id for problem in problems] == ["order1"]
