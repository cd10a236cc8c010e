"""Problems are read with their payments, counted and listed by what they are, from an index of open ones only."""

from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError, InvalidRequestError
from sqlmodel import select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.db.aggregates import load_by_order, lock_payment, row_id_of
from app.db.database import Database
from app.db.problems import CountedProblems, count_problems, payment_ids_with_problem, payments_with_problem
from app.db.search import PaymentFilter, payments_page
from app.db.tables import MerchantAccount, Problem, ProblemKind
from tests.db.rows import NOON, a_payment
from tests.statements import record_statements

MISMATCH, DISPUTE = ProblemKind.MISMATCH, ProblemKind.DISPUTE


async def raised(
    database: Database, account: MerchantAccount, number: int, kind: ProblemKind = MISMATCH, **different: Any
) -> None:
    """Let a payment have a problem, raised that many minutes after noon."""
    usual: dict[str, Any] = {"message": {"message": "Look.", "values": {}}, "raised_at": NOON + minutes(number)}
    async with database.transaction() as session:
        payment = await lock_payment(session, number)
        payment.has_problems, payment.problem_since = True, usual["raised_at"]
        theirs = {"installation_id": account.installation_id, "account_id": account.id, "kind": kind}
        payment.problems.append(Problem(**usual | theirs | different))


def minutes(number: int) -> timedelta:
    return timedelta(minutes=number)


async def test_a_payment_without_problems_is_loaded_without_asking_for_them(
    database: Database, account: MerchantAccount
) -> None:
    for number in (1, 2):
        await a_payment(database, account, number)
    await raised(database, account, 2)
    counts = {}
    for order_id in ("order1", "order2"):
        with record_statements(database) as asked:
            async with database.transaction() as session:
                aggregate = await load_by_order(session, order_id)
        assert aggregate is not None
        counts[order_id] = (
            len([each for each, _ in asked if each.startswith("SELECT")]),
            [each.kind for each in aggregate.payment.problems],
        )
    assert counts == {"order1": (3, []), "order2": (4, [MISMATCH])}


async def test_problems_that_were_not_loaded_are_not_taken_for_none(
    database: Database, account: MerchantAccount
) -> None:
    await a_payment(database, account, 1)
    async with database.transaction() as session:
        [row] = await payments_page(session, PaymentFilter(), most=1)
        with pytest.raises(InvalidRequestError):
            _ = row.problems


async def test_each_is_there_once_until_it_has_ended(database: Database, account: MerchantAccount) -> None:
    await a_payment(database, account, 1)
    await raised(database, account, 1, key="one")
    with pytest.raises(IntegrityError):
        await raised(database, account, 1, key="one")
    await raised(database, account, 1, key="two")
    await raised(database, account, 1, DISPUTE, key="one")
    async with database.transaction() as session:
        for each in (await lock_payment(session, 1)).problems:
            each.ended_at = NOON
    async with database.transaction() as session:
        assert (await lock_payment(session, 1)).problems == []
    await raised(database, account, 1, key="one")
    async with database.transaction() as session:
        assert [each.key for each in (await lock_payment(session, 1)).problems] == ["one"]
        assert len((await session.exec(select(Problem))).all()) == 4  # what has ended is history


async def test_what_others_say_has_room(database: Database, account: MerchantAccount) -> None:
    await a_payment(database, account, 1)
    odd = "\x00\ud800" + "x" * 10_000
    said = {"message": "%(word)s", "values": {"word": odd}}
    await raised(database, account, 1, key=odd, gateway_id=odd, message=said)
    async with database.transaction() as session:
        [kept] = (await lock_payment(session, 1)).problems
    assert kept.message == {"message": "%(word)s", "values": {"word": "\ufffd\ufffd" + "x" * 10_000}}
    assert (len(kept.key), len(kept.gateway_id or "")) == (100, 100)


async def test_payments_are_counted_and_listed_by_what_their_problems_are(
    database: Database, account: MerchantAccount
) -> None:
    for number in range(1, 9):
        await a_payment(database, account, number)
    for number in (3, 1, 4):
        await raised(database, account, number, key="first")
    for key in ("second", "third"):  # the payment is one, however many problems it has
        await raised(database, account, 1, key=key, raised_at=NOON + minutes(60))
    await raised(database, account, 1, DISPUTE)
    await raised(database, account, 5, acknowledged_at=NOON)
    await raised(database, account, 6, ended_at=NOON)
    store = account.installation_id
    async with database.transaction() as session:
        assert sorted(await count_problems(session, store), key=lambda each: each.kind) == [
            CountedProblems(DISPUTE, account.id, 1, NOON + minutes(1)),
            CountedProblems(MISMATCH, account.id, 3, NOON + minutes(1)),
        ]
        assert await count_problems(session, store + 1) == []
        assert await payments_with_problem(session, store + 1, MISMATCH, most=10) == []
        for most in (1, 2, 3):
            seen: list[int] = []
            after = None
            while page := await payments_with_problem(session, store, MISMATCH, most=most, after=after):
                seen += [row_id_of(payment) for payment, _ in page]
                after = page[-1][1], row_id_of(page[-1][0])
            assert seen == [4, 3, 1]  # the newest first
        assert sorted(await payment_ids_with_problem(session, store, account.id, {MISMATCH})) == [1, 3, 4]
        assert await payment_ids_with_problem(session, store, account.id, {DISPUTE, ProblemKind.KEYS}) == [1]
        assert await payment_ids_with_problem(session, store, "another", {MISMATCH}) == []


async def test_what_is_asked_reads_an_index_of_what_is_open(database: Database, account: MerchantAccount) -> None:
    await a_payment(database, account, 1)
    await raised(database, account, 1)
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
                await count_problems(session, store)
                await payments_with_problem(session, store, MISMATCH, most=5)
                await payment_ids_with_problem(session, store, account.id, {ProblemKind.KEYS})
                await lock_payment(session, 1)
        how = "EXPLAIN QUERY PLAN " if sqlite else "EXPLAIN "
        asked = [each for each in asked if "FROM problem" in each[0]]
        assert len(asked) == 5  # a page of payments comes with their problems
        for statement, parameters in asked:
            plan = [str(row) for row in (await connection.exec_driver_sql(how + statement, parameters)).all()]
            assert any("ix_problem_" in line for line in plan), "\n".join([statement, *plan])
            assert not any("SCAN problem" in line or "Seq Scan on problem" in line for line in plan), "\n".join(plan)
