"""Payments are begun once, and changed by one at a time, however many come in the same moment."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from sqlmodel.ext.asyncio.session import AsyncSession

from app.core.fact import AttemptFact, PayoutFact
from app.core.ids import PaymentRowId, PspReference
from app.core.payment import PaymentAggregate, SaleorEvent, row_id_of
from app.core.vocabulary import Kind, State
from app.rules.problems import add_problem, cause_of_mismatch
from app.store.aggregates import ById, ByOrder, ByTransaction, Payable, account_of
from app.store.database import Database, create_engine
from app.store.payment_locks import lock_payments
from app.store.repository import AccountGoneError, NewPayment, PaymentNotFoundError, PaymentRepository
from app.store.tables import MerchantAccount
from tests.db.rows import NOON, a_new_payment, load_by_order, plain, read_raw
from tests.payments.aggregates import HUNDRED, an_operation
from tests.payments.changes import AttemptChange, Change
from tests.payments.problems import issue_saying
from tests.statements import record_statements


@pytest.fixture
async def other(database_url: str) -> AsyncIterator[Database]:
    """The same database, seen from another process."""
    database = Database(create_engine(database_url))
    yield database
    await database.close()


def intent(account: MerchantAccount, number: int, *, source: str = "checkout") -> NewPayment:
    payment = plain(a_new_payment(account, number, source))
    operation = an_operation(
        Kind.CREATE, State.INTENT, payment.amount, id=None, idempotency_key="create", request={"amount": "569.50"},
        next_poll_at=NOON, shares={"seller": payment.amount},
    )  # fmt: skip
    return NewPayment(payment, operation)


async def written(database: Database, account: MerchantAccount, number: int = 1, **said: Any) -> PaymentAggregate:
    aggregate = await PaymentRepository(database).begin(intent(account, number, **said))
    assert aggregate is not None
    return aggregate


def payable_of(aggregate: PaymentAggregate, *transactions: str) -> Payable:
    payment = aggregate.payment
    return Payable(payment.installation_id, payment.source_id, [payment.transaction_id, *transactions])


async def test_intents_are_kept_with_all_that_belongs_to_them(database: Database, account: MerchantAccount) -> None:
    aggregates = await asyncio.gather(*(written(database, account, number) for number in range(5)))
    assert [aggregate.payment.order_id for aggregate in aggregates] == [f"order{number}" for number in range(5)]
    async with database.transaction() as session:
        for aggregate in aggregates:
            found = await load_by_order(session, aggregate.payment.order_id)
            assert found is not None
            assert found.create.id == aggregate.create.id
            assert found.create.shares == {"seller": Decimal("569.50")}


class NoLimit(PayoutFact):
    """A limit that every payout is within."""

    since = NOON

    def decide(self, account: Any, paid_out: Decimal) -> Exception | None:
        assert account.id != "gone"
        assert not paid_out
        return None


@pytest.mark.parametrize("limit", [None, NoLimit()], ids=["payment", "payout"])
async def test_nothing_is_begun_with_an_account_that_is_gone(
    database: Database, account: MerchantAccount, limit: PayoutFact | None
) -> None:
    """The others of the same moment are begun nevertheless."""
    gone = intent(MerchantAccount(**account.model_dump() | {"id": "gone"}), 2)
    payments = PaymentRepository(database)
    begun = [payments.begin(replace(new, limit=limit)) for new in (intent(account, 1), gone, intent(account, 3))]
    first, refused, third = await asyncio.gather(*begun, return_exceptions=True)
    assert isinstance(refused, AccountGoneError)
    assert isinstance(first, PaymentAggregate)
    assert isinstance(third, PaymentAggregate)


@pytest.mark.law(4)
async def test_of_the_same_payment_twice_one_is_kept(database: Database, account: MerchantAccount) -> None:
    """Laws of money, 4: also when both come in the same moment, among others."""
    payments = PaymentRepository(database)
    answers = await asyncio.gather(*(payments.begin(intent(account, number)) for number in (1, 2, 1, 3)))
    assert [answer is not None for answer in answers] == [True, True, False, True]
    assert await read_raw(database, "SELECT count(*) FROM payment") == [(3,)]
    assert await read_raw(database, "SELECT count(*) FROM operation") == [(3,)]


@pytest.mark.law(12)
async def test_who_begins_in_the_same_moment_meets_the_attempts_to_pay_the_same_and_no_others(
    database: Database, account: MerchantAccount
) -> None:
    """They are written together, and all that they may meet is locked together."""
    for number, source in ((1, "one"), (2, "two")):
        await written(database, account, number, source=source)
    met: dict[str, list[str]] = {}

    class Meets(AttemptFact[None]):
        def decide(self, aggregate: PaymentAggregate, attempts: Sequence[PaymentAggregate]) -> None:
            met[aggregate.payment.order_id] = [attempt.payment.order_id for attempt in attempts]

    def begins(number: int, source: str) -> NewPayment:
        payable = Payable(account.installation_id, source)
        return replace(intent(account, number, source=source), payable=payable, fact=Meets())

    payments = PaymentRepository(database)
    await asyncio.gather(*(payments.begin(begins(*attempt)) for attempt in ((3, "three"), (4, "one"), (5, "two"))))
    assert met == {"order3": [], "order4": ["order1"], "order5": ["order2"]}


async def test_a_step_is_saved_with_all_that_it_added(database: Database, account: MerchantAccount) -> None:
    aggregate = await written(database, account)

    def step(own: PaymentAggregate) -> str:
        refund = an_operation(
            Kind.REFUND, State.INTENT, id=None, shares={"seller": Decimal("5.00"), "other": Decimal("7.00")}
        )
        event = SaleorEvent(type="INFO", psp_reference=PspReference("event"), amount=Decimal("1.00"), created_at=NOON)
        own.operations.append(refund)
        own.events.append(event)
        own.create.shares = {"other": Decimal("9.00")}
        own.link(event, refund)
        return "done"

    payments, which = PaymentRepository(database), ById(row_id_of(aggregate.payment))
    assert await payments.record(which, Change(step)) == "done"
    found = await payments.find(which)
    assert found is not None
    create, refund = found.operations
    assert create.shares == {"other": Decimal("9.00")}
    assert refund.shares == {"seller": Decimal("5.00"), "other": Decimal("7.00")}
    assert [event.operation_id for event in found.events] == [refund.id]
    assert account_of(found.payment).id == account.id


async def test_a_step_that_raises_changes_nothing_and_harms_nobody(
    database: Database, account: MerchantAccount
) -> None:
    one, two = [await written(database, account, number) for number in (1, 2)]
    payments = PaymentRepository(database)

    def moves(aggregate: PaymentAggregate) -> None:
        aggregate.create.state = State.INIT

    def fails(aggregate: PaymentAggregate) -> None:
        moves(aggregate)
        raise RuntimeError("this is not possible")

    first = asyncio.create_task(
        payments.record(ById(PaymentRowId(0)), Change(moves))
    )  # whoever comes now is written together
    await asyncio.sleep(0)
    answers: Sequence[Any] = await asyncio.gather(
        first,
        payments.record(ById(row_id_of(one.payment)), Change(fails)),
        payments.record(ByOrder("order2", account_id=account.id), Change(moves)),
        payments.record(ByOrder("order2", account_id="another"), Change(moves)),
        payments.record(ByTransaction(two.payment.installation_id, "nobody's"), Change(moves)),
        return_exceptions=True,
    )
    kinds = [PaymentNotFoundError, RuntimeError, type(None), PaymentNotFoundError, PaymentNotFoundError]
    assert [type(answer) for answer in answers] == kinds
    found = [await payments.find(ByOrder(order)) for order in ("order1", "order2")]
    assert [payment_aggregate and payment_aggregate.create.state for payment_aggregate in found] == [
        State.INTENT,
        State.INIT,
    ]


async def test_a_step_that_refuses_is_an_answer_and_its_neighbours_are_not_done_again(
    database: Database, account: MerchantAccount
) -> None:
    """Fifty that share a transaction would otherwise be fifty-one transactions, because one of them was impossible."""
    others = [await written(database, account, number) for number in range(1, 10)]
    payments, runs = PaymentRepository(database), list[int]()

    def moves(aggregate: PaymentAggregate) -> None:
        runs.append(row_id_of(aggregate.payment))
        aggregate.create.state = State.INIT

    def refuses(aggregate: PaymentAggregate) -> None:
        runs.append(row_id_of(aggregate.payment))
        raise RuntimeError("this is not possible")

    ids = [row_id_of(other.payment) for other in others]
    first = asyncio.create_task(
        payments.record(ById(PaymentRowId(0)), Change(moves))
    )  # whoever comes now is written together
    await asyncio.sleep(0)
    changes = {payment_id: Change(refuses if payment_id == ids[4] else moves) for payment_id in ids}
    answers: Sequence[Any] = await asyncio.gather(
        first,
        *(payments.record(ById(payment_id), change) for payment_id, change in changes.items()),
        return_exceptions=True,
    )
    assert [type(answer) for answer in answers[1:]] == [
        RuntimeError if number == 4 else type(None) for number in range(9)
    ]
    assert runs == ids
    found = [await payments.find(ById(payment_id)) for payment_id in ids]
    assert [aggregate and aggregate.create.state is State.INIT for aggregate in found] == [
        number != 4 for number in range(9)
    ]


def _alters(aggregate: PaymentAggregate) -> None:
    aggregate.payment.language = "uk"


def _adds_an_operation(aggregate: PaymentAggregate) -> None:
    aggregate.operations.append(an_operation(Kind.REFUND, State.INTENT, id=None))


def _adds_an_event(aggregate: PaymentAggregate) -> None:
    aggregate.events.append(
        SaleorEvent(type="INFO", psp_reference=PspReference("event"), amount=HUNDRED, created_at=NOON)
    )


def _assigns_shares(aggregate: PaymentAggregate) -> None:
    aggregate.create.shares = {"other": Decimal("9.00")}


def _raises_a_problem(aggregate: PaymentAggregate) -> None:
    issue = issue_saying("differs")
    add_problem(aggregate.payment, cause_of_mismatch(issue, None, "x"), issue, NOON)


@pytest.mark.parametrize("change", [_alters, _adds_an_operation, _adds_an_event, _assigns_shares, _raises_a_problem])
async def test_a_step_that_changed_something_before_it_refused_leaves_nothing_behind(
    database: Database, account: MerchantAccount, change: Callable[[PaymentAggregate], None]
) -> None:
    """Also when it concerns two attempts to pay the same, and has changed one of them."""
    one, two = [await written(database, account, number) for number in (1, 2)]
    payments, which = PaymentRepository(database), ById(row_id_of(one.payment))

    def refuses(aggregate: PaymentAggregate, attempts: Sequence[PaymentAggregate]) -> None:
        assert len(attempts) == 2
        change(aggregate)
        raise RuntimeError("this is not possible")

    def moves(aggregate: PaymentAggregate) -> None:
        aggregate.create.state = State.INIT

    first = asyncio.create_task(payments.record(ById(PaymentRowId(0)), Change(moves)))
    await asyncio.sleep(0)
    answers = await asyncio.gather(
        first,
        payments.record_of_attempt(which, payable_of(one), AttemptChange(refuses)),
        payments.record(ById(row_id_of(two.payment)), Change(moves)),
        return_exceptions=True,
    )
    assert [type(answer) for answer in answers] == [PaymentNotFoundError, RuntimeError, type(None)]
    before, after = one, await payments.find(which)
    assert after is not None
    assert (after.payment.language, after.payment.has_problems) == (before.payment.language, False)
    assert [operation.kind for operation in after.operations] == [Kind.CREATE]
    assert after.events == []
    assert after.create.shares == {"seller": Decimal("569.50")}


@pytest.mark.law(3)
async def test_two_steps_on_one_payment_see_each_other(database: Database, account: MerchantAccount) -> None:
    aggregate = await written(database, account)
    payments = PaymentRepository(database)

    def step(own: PaymentAggregate) -> int:
        own.create.polls += 1
        return own.create.polls

    which = ById(row_id_of(aggregate.payment))
    assert sorted(await asyncio.gather(*(payments.record(which, Change(step)) for _ in range(5)))) == [1, 2, 3, 4, 5]


async def test_attempts_to_pay_the_same_are_found_by_source_or_transaction(
    database: Database, account: MerchantAccount
) -> None:
    first = await written(database, account, 1)
    second = await written(database, account, 2)
    moved = await written(database, account, 3, source="order")  # the checkout has become an order
    await written(database, account, 4, source="another")
    payments = PaymentRepository(database)

    def step(_own: PaymentAggregate, attempts: Sequence[PaymentAggregate]) -> list[str]:
        return [attempt.payment.order_id for attempt in attempts]

    asked = [(moved, payable_of(moved, "transaction-1")), (second, payable_of(second)), (first, None)]
    orders = await asyncio.gather(
        *(
            payments.record_of_attempt(ById(row_id_of(aggregate.payment)), payable, AttemptChange(step))
            for aggregate, payable in asked
        )
    )
    assert orders == [["order1", "order3"], ["order1", "order2"], ["order1"]]


async def test_others_wait_until_it_is_posted(database: Database, other: Database, account: MerchantAccount) -> None:
    """The lock is held until the commit, and what was committed is seen by whoever waited."""
    aggregate = await written(database, account)
    which = ById(row_id_of(aggregate.payment))

    def step(own: PaymentAggregate) -> int:
        own.create.polls += 1
        return own.create.polls

    both = [PaymentRepository(one).record(which, Change(step)) for one in (database, other)]
    assert sorted(await asyncio.gather(*both)) == [1, 2]


async def test_other_attempts_are_found_without_going_through_all_payments(
    database: Database, account: MerchantAccount
) -> None:
    """What a store has sold until now does not slow down whoever pays next."""
    aggregate = await written(database, account)
    payments = PaymentRepository(database)
    await asyncio.gather(*(payments.begin(intent(account, n, source=f"another {n}")) for n in range(2, 200)))

    async with database.engine.begin() as connection:
        sqlite = connection.dialect.name == "sqlite"
        if not sqlite:
            await connection.execute(sa.text("ANALYZE payment"))
            for way in ("enable_seqscan", "enable_indexscan"):  # so few rows are read from the first to the last else
                await connection.execute(sa.text(f"SET LOCAL {way} = off"))
        which, payable = ById(row_id_of(aggregate.payment)), payable_of(aggregate, "transaction-2")
        async with database.transaction() if not sqlite else AsyncSession(connection) as session:
            with record_statements(database) as asked:
                await lock_payments(session, [which], [payable])
        lock, parameters = next(question for question in asked if "source_id" in question[0])
        how = "EXPLAIN QUERY PLAN " if sqlite else "EXPLAIN "
        plan = [str(row) for row in (await connection.exec_driver_sql(how + lock, parameters)).all()]
    assert any("ix_payment_of_source" in line for line in plan), "\n".join(plan)
    assert not any("SCAN payment" in line or "Seq Scan on payment" in line for line in plan)
