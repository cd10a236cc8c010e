"""Problems are read with their payments, counted and listed by what they are, from an index of open ones only."""

from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlmodel import select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.core import payment as core
from app.core.alerts import AlertKind
from app.core.ids import PaymentRowId
from app.core.payment import PaymentAggregate, row_id_of
from app.store.aggregates import ById
from app.store.attention import CountedProblems, problem_counts
from app.store.database import Database
from app.store.problems import payment_ids_with_problem, payments_with_problem
from app.store.repository import PaymentRepository
from app.store.search import PaymentFilter, payments_page
from app.store.tables import MerchantAccount, Problem
from tests.db.rows import NOON, a_payment, load_by_order
from tests.payments.changes import Change
from tests.statements import record_statements

MISMATCH, DISPUTE = AlertKind.MISMATCH, AlertKind.DISPUTE


async def raised(database: Database, number: int, kind: AlertKind = MISMATCH, **different: Any) -> None:
    """Let a payment have a problem, raised that many minutes after noon."""
    usual: dict[str, Any] = {"message": {"message": "Look.", "values": {}}, "raised_at": NOON + minutes(number)}

    def step(aggregate: PaymentAggregate) -> None:
        payment = aggregate.payment
        payment.has_problems, payment.problem_since = True, usual["raised_at"]
        payment.problems.append(core.Problem(**usual | {"kind": kind} | different))

    await PaymentRepository(database).record(ById(PaymentRowId(number)), Change(step))


async def problems(database: Database) -> list[core.Problem]:
    """Return the problems of the first payment that have not ended."""
    return await PaymentRepository(database).record(
        ById(PaymentRowId(1)), Change(lambda aggregate: aggregate.payment.problems)
    )


def minutes(number: int) -> timedelta:
    return timedelta(minutes=number)


async def test_a_payment_without_problems_is_loaded_without_asking_for_them(
    database: Database, account: MerchantAccount
) -> None:
    for number in (1, 2):
        await a_payment(database, account, number)
    await raised(database, 2)
    counts = {}
    for order_id in ("order1", "order2"):
        with record_statements(database) as asked:
            async with database.transaction() as session:
                aggregate = await load_by_order(session, order_id)
        assert aggregate is not None
        counts[order_id] = (
            len([question for question, _ in asked if question.startswith("SELECT")]),
            [problem.kind for problem in aggregate.payment.problems],
        )
    assert counts == {"order1": (2, []), "order2": (3, [MISMATCH])}


async def test_problems_that_were_not_loaded_are_not_taken_for_none(
    database: Database, account: MerchantAccount
) -> None:
    await a_payment(database, account, 1)
    async with database.transaction() as session:
        [row] = await payments_page(session, PaymentFilter(), most=1)
        with pytest.raises(AttributeError):
            _ = row.problems


async def test_each_is_there_once_until_it_has_ended(database: Database, account: MerchantAccount) -> None:
    await a_payment(database, account, 1)
    await raised(database, 1, key="one")
    with pytest.raises(IntegrityError):
        await raised(database, 1, key="one")
    await raised(database, 1, key="two")
    await raised(database, 1, DISPUTE, key="one")

    def end(aggregate: PaymentAggregate) -> None:
        for problem in aggregate.payment.problems:
            problem.ended_at = NOON

    await PaymentRepository(database).record(ById(PaymentRowId(1)), Change(end))
    assert await problems(database) == []
    await raised(database, 1, key="one")
    assert [problem.key for problem in await problems(database)] == ["one"]
    async with database.transaction() as session:
        assert len((await session.exec(select(Problem))).all()) == 4  # what has ended is history


async def test_what_others_say_has_room(database: Database, account: MerchantAccount) -> None:
    await a_payment(database, account, 1)
    odd = "\x00\ud800" + "x" * 10_000
    said = {"message": "%(word)s", "values": {"word": odd}}
    await raised(database, 1, key=odd, gateway_id=odd, message=said)
    [kept] = await problems(database)
    assert kept.message == {"message": "%(word)s", "values": {"word": "\ufffd\ufffd" + "x" * 10_000}}
    assert (len(kept.key), len(kept.gateway_id or "")) == (100, 100)


async def test_payments_are_counted_and_listed_by_what_their_problems_are(
    database: Database, account: MerchantAccount
) -> None:
    for number in range(1, 9):
        await a_payment(database, account, number)
    for number in (3, 1, 4):
        await raised(database, number, key="first")
    for key in ("second", "third"):  # the payment is one, however many problems it has
        await raised(database, 1, key=key, raised_at=NOON + minutes(60))
    await raised(database, 1, DISPUTE)
    await raised(database, 5, acknowledged_at=NOON)
    await raised(database, 6, ended_at=NOON)
    store = account.installation_id
    async with database.transaction() as session:
        counted = [CountedProblems(*row) for row in (await session.exec(problem_counts(store))).all()]
        assert sorted(counted, key=lambda problem: problem.kind) == [
            CountedProblems(DISPUTE, account.id, 1, NOON + minutes(1)),
            CountedProblems(MISMATCH, account.id, 3, NOON + minutes(1)),
        ]
        assert (await session.exec(problem_counts(store + 1))).all() == []
        assert await payments_with_problem(session, store + 1, MISMATCH, most=10) == []
        for most in (1, 2, 3):
            seen: list[int] = []
            after = None
            while page := await payments_with_problem(session, store, MISMATCH, most=most, after=after):
                seen += [row_id_of(payment) for payment, _ in page]
                after = page[-1][1], row_id_of(page[-1][0])
            assert seen == [4, 3, 1]  # the newest first
        assert sorted(await payment_ids_with_problem(session, store, account.id, {MISMATCH})) == [1, 3, 4]
        assert await payment_ids_with_problem(session, store, account.id, {DISPUTE, AlertKind.KEYS}) == [1]
        assert await payment_ids_with_problem(session, store, "another", {MISMATCH}) == []


async def test_what_is_asked_reads_an_index_of_what_is_open(database: Database, account: MerchantAccount) -> None:
    await a_payment(database, account, 1)
    await raised(database, 1)
    async with database.transaction() as session:  # so many that have ended that it matters what is read
        [now] = (await session.exec(select(Problem))).all()
        ended = now.model_dump(exclude={"id"}) | {"ended_at": NOON}
        await session.exec(sa.insert(Problem), params=[ended] * 300)
    store = account.installation_id
    async with database.engine.begin() as connection:
        sqlite = connection.dialect.name == "sqlite"
        if not sqlite:
            await connection.execute(sa.text("ANALYZE problem"))
            await connection.execute(sa.text("SET LOCAL enable_seqscan = off"))
        async with AsyncSession(connection) as session:
            with record_statements(database) as asked:
                await session.exec(problem_counts(store))
                await payments_with_problem(session, store, MISMATCH, most=5)
                await payment_ids_with_problem(session, store, account.id, {AlertKind.KEYS})
                assert await load_by_order(session, "order1") is not None
        how = "EXPLAIN QUERY PLAN " if sqlite else "EXPLAIN "
        asked = [question for question in asked if "FROM problem" in question[0]]
        assert len(asked) == 5  # a page of payments comes with their problems
        for statement, parameters in asked:
            plan = [str(row) for row in (await connection.exec_driver_sql(how + statement, parameters)).all()]
            assert any("ix_problem_" in line for line in plan), "\n".join([statement, *plan])
            assert not any("SCAN problem" in line or "Seq Scan on problem" in line for line in plan), "\n".join(plan)
