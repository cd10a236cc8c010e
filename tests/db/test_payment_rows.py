"""Payments are plain objects, and their rows hold what these say: all columns, written where they have changed."""

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from datetime import timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from app.core import payment as core
from app.core.alerts import AlertKind
from app.core.ids import PaymentRowId
from app.core.payment import PaymentAggregate
from app.core.vocabulary import EventState, Kind, State
from app.store.aggregates import ALONE, ById, load_outlines, read_payments
from app.store.database import Database
from app.store.payment_rows import EVENTS, OPERATIONS, PAYMENTS, PROBLEMS, RowMapping
from app.store.repository import PaymentRepository
from app.store.tables import MerchantAccount
from tests.db.rows import NOON, a_new_payment, plain, read_raw, store
from tests.payments.aggregates import an_operation
from tests.payments.changes import Change
from tests.statements import record_statements

APP = Path(__file__).parents[2] / "app"
OWNED = {
    "payment": set[str](),
    "operation": {"payment_id", "account_id"},
    "saleor_event": {"payment_id", "installation_id"},
    "problem": {"payment_id", "installation_id", "account_id"},
}
"""The columns of each table that repeat something of the payment."""


def an_event(reference: str = "reference", **different: Any) -> core.SaleorEvent:
    members: dict[str, Any] = {
        "type": "INFO", "psp_reference": reference, "amount": Decimal("1.00"), "created_at": NOON,
    }  # fmt: skip
    return core.SaleorEvent(**(members | different))


async def stored(database: Database, account: MerchantAccount, *operations: core.Operation) -> core.Payment:
    """Store a payment with one event."""
    payment = plain(a_new_payment(account, 1))
    create = an_operation(Kind.CREATE, State.INTENT, id=None, idempotency_key="create", trace_id="a" * 32)
    await store(database, payment, [create, *operations], [an_event(trace_id="a" * 32)])
    return payment


async def changed(database: Database, step: Callable[[PaymentAggregate], Any]) -> list[str]:
    """Change the payment; return the statements that write, each up to its condition."""
    with record_statements(database) as asked:
        await PaymentRepository(database).record(ById(PaymentRowId(1)), Change(step))
    return [statement.partition(" WHERE")[0] for statement, _ in asked if not statement.startswith("SELECT")]


@pytest.mark.parametrize("mapping", [PAYMENTS, OPERATIONS, EVENTS, PROBLEMS], ids=lambda mapping: mapping.table.name)
def test_every_column_is_an_attribute_or_repeats_one_of_the_payment(mapping: RowMapping[Any]) -> None:
    columns = {column.name for column in mapping.table.c}
    assert columns - set(mapping.names) == OWNED[mapping.table.name]


def test_every_attribute_is_a_column_or_is_loaded_beside_it() -> None:
    beside = {
        (plain_, field.name)
        for mapping, plain_ in (
            (PAYMENTS, core.Payment),
            (OPERATIONS, core.Operation),
            (EVENTS, core.SaleorEvent),
            (PROBLEMS, core.Problem),
        )
        for field in fields(plain_)
        if field.name not in mapping.names
    }
    assert beside == {(core.Payment, "loaded_account"), (core.Payment, "problems"), (core.Operation, "shares")}


async def test_what_was_stored_is_what_is_read(database: Database, account: MerchantAccount) -> None:
    refund = an_operation(
        Kind.REFUND, State.PENDING, Decimal("12.34"), id=None, details={"fee": {"amount": "1.5"}},
        decision={"by": "olena"}, saleor_requests=[{"key": "one", "digest": "two"}], fee=Decimal("0.123456"),
        fee_currency="UAH", answer_awaited_until=NOON, shares={"one": Decimal("10.00"), "two": Decimal("2.34")},
    )  # fmt: skip
    payment = await stored(database, account, refund)
    found = await PaymentRepository(database).find(ById(core.row_id_of(payment)))
    assert found is not None
    assert PAYMENTS.values_of(found.payment) == PAYMENTS.values_of(payment)
    assert OPERATIONS.values_of(found.operations[1]) == OPERATIONS.values_of(refund)
    assert found.operations[1].shares == refund.shares
    assert [(event.psp_reference, event.state) for event in found.events] == [("reference", EventState.WAITING)]


async def test_only_the_columns_that_have_changed_are_written(database: Database, account: MerchantAccount) -> None:
    await stored(database, account)

    def step(aggregate: PaymentAggregate) -> None:
        aggregate.create.polls += 1
        aggregate.create.message = "Successful"
        aggregate.events[0].attempts = 1
        aggregate.payment.amount = Decimal("569.5")  # the same amount

    written = await changed(database, step)
    assert len(written) == 2
    assert all(statement.startswith("UPDATE ") for statement in written)
    operation, event = written
    assert operation.count("=") == 2
    assert "polls=" in operation
    assert "message=" in operation
    assert event.count("=") == 1
    assert "attempts=" in event


async def test_a_step_that_changes_nothing_writes_nothing(database: Database, account: MerchantAccount) -> None:
    await stored(database, account)
    assert await changed(database, lambda aggregate: aggregate.create.state) == []


def _speak(language: str, aggregate: PaymentAggregate) -> None:
    aggregate.payment.language = language


async def test_what_is_changed_a_second_time_is_written_a_second_time(
    database: Database, account: MerchantAccount
) -> None:
    """Also back to what it was at first."""
    await stored(database, account)
    for language in ("uk", "en", "uk"):
        await changed(database, partial(_speak, language))
        assert await read_raw(database, "SELECT language FROM payment") == [(language,)]


async def test_an_operation_that_is_summed_names_its_account_and_no_other_does(
    database: Database, account: MerchantAccount
) -> None:
    refund = an_operation(Kind.REFUND, State.SUCCESS, id=None, booked_at=NOON)
    await stored(database, account, refund)
    query = "SELECT account_id FROM operation ORDER BY id"
    assert await read_raw(database, query) == [(None,), (account.id,)]

    def end(aggregate: PaymentAggregate) -> None:
        aggregate.create.ended_at = NOON
        aggregate.operations[1].booked_at = None

    await changed(database, end)
    assert await read_raw(database, query) == [(account.id,), (None,)]


async def test_a_problem_and_an_event_are_of_the_store_and_the_account_of_their_payment(
    database: Database, account: MerchantAccount
) -> None:
    await stored(database, account)

    def step(aggregate: PaymentAggregate) -> None:
        aggregate.payment.problems.append(core.Problem(kind=AlertKind.KEYS, message={}, raised_at=NOON))
        aggregate.events.append(an_event("second"))

    await changed(database, step)
    owner = (1, account.installation_id, account.id)
    assert await read_raw(database, "SELECT payment_id, installation_id, account_id FROM problem") == [owner]
    events = await read_raw(database, "SELECT payment_id, installation_id FROM saleor_event")
    assert events == [(1, account.installation_id)] * 2


async def test_nobody_takes_what_was_not_loaded_for_empty(database: Database, account: MerchantAccount) -> None:
    await stored(database, account)
    async with database.transaction() as session:
        [payment] = await read_payments(session, ALONE)
        with pytest.raises(AttributeError):
            _ = payment.problems
        [outline] = await load_outlines(session, [payment])
    assert outline.payment.problems == []
    with pytest.raises(AttributeError):
        _ = outline.create.request
    with pytest.raises(AssertionError):
        _ = payment.account


async def test_a_day_that_is_over_is_summed_again_when_its_operation_changes(
    database: Database, account: MerchantAccount
) -> None:
    before = NOON - timedelta(days=3)
    refund = an_operation(Kind.REFUND, State.SUCCESS, id=None, booked_at=before, created_at=before, updated_at=before)
    await stored(database, account, refund)
    assert await read_raw(database, "SELECT day FROM changed_day") == []
    await changed(database, lambda aggregate: setattr(aggregate.operations[1], "fee", Decimal("1.00")))
    assert [str(day) for (day,) in await read_raw(database, "SELECT day FROM changed_day")] == ["2026-11-18"]
    await changed(database, lambda aggregate: setattr(aggregate.operations[1], "message", "again"))
    assert len(await read_raw(database, "SELECT day FROM changed_day")) == 1


WRITTEN_BY = {
    "payment_rows.py",  # all that decisions change
    "job_queue.py",  # claims
    "moves.py",  # the store that a payment belongs to
    "presence.py",  # events wait for a store that is away
    "restored_backup.py",  # what must not be sent again
    "retention.py",  # what is erased
    "saved_cards.py",  # consents that are withdrawn
    "sealed_values.py",  # other keys
}
"""Who writes the tables of payments; all of it is in ``app/store``."""

TABLES = {"Payment", "Operation", "SaleorEvent", "Problem", "SplitShare"}


def writers() -> Iterator[tuple[str, str]]:
    """Return each module with a table of payments that it imports and uses in a statement that writes."""
    for path in APP.rglob("*.py"):
        tree = ast.parse(path.read_text())
        imported = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "app.store.tables"
            for alias in node.names
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _name_of(node.func) in {"insert", "update", "delete", "add", "add_all"}:
                for table in {_name_of(part) for part in ast.walk(node)} & TABLES:
                    if table in imported or f"tables.{table}" in ast.unparse(node):
                        yield str(path.relative_to(APP)), table


def _name_of(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


@pytest.mark.law(5)
def test_only_the_store_writes_payments() -> None:
    """Laws of money, 5: whoever else wrote a state would not write the event that tells of it."""
    outside = {(module, table) for module, table in writers() if not module.startswith("store/")}
    assert outside == set()
    inside: Sequence[str] = sorted({module.removeprefix("store/") for module, _ in writers()})
    assert set(inside) <= WRITTEN_BY
