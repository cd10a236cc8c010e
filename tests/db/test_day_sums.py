"""The database sums our operations up exactly, and finds them by an index."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import insert

from app.core.vocabulary import Kind, State
from app.store.accounts import AccountRepository
from app.store.columns import table_of
from app.store.database import Database, is_sqlite
from app.store.day_sums import Days, Total, find_comparison_progress, our_totals
from app.store.installations import OpenInstallation
from app.store.tables import Booked, MerchantAccount, Operation, ReconciliationRun, RunState
from integration_base.amounts import LARGEST
from tests.db.rows import a_payment, an_account
from tests.statements import record_statements

DAY = date(2026, 10, 25)
MIDNIGHT = datetime(2026, 10, 25, tzinfo=UTC)


async def booked(database: Database, account: MerchantAccount, *rows: dict[str, Any]) -> None:
    """Keep operations of one payment that have moved money."""
    payment, _ = await a_payment(database, account)
    usual: dict[str, Any] = {
        "payment_id": payment.id,
        "kind": Kind.REFUND,
        "state": State.SUCCESS,
        "amount": Decimal("1.00"),
        "currency": "UAH",
        "booked_at": MIDNIGHT,
        "account_id": account.id,
        "fee": None,
        "fee_currency": None,
        "created_at": MIDNIGHT,
        "updated_at": MIDNIGHT,
        "request": {},
        "asked_by_saleor": True,
        "waits_for_shopper": False,
        "inferred": False,
        "polls": 0,
        "details": {},
        "saleor_requests": [],
        "asked_anew": 0,
    }
    many = [usual | row | {"idempotency_key": f"key-{number}"} for number, row in enumerate(rows)]
    async with database.transaction() as session:
        await session.exec(insert(table_of(Operation)), params=many)


async def totals(database: Database, account: MerchantAccount, first: date = DAY, last: date = DAY) -> list[Total]:
    async with database.transaction() as session:
        found = await our_totals(session, [account.id], Days(first, last))
    return sorted(found, key=lambda row: (row.day, row.kind, row.currency, row.amount))


async def test_the_largest_amounts_are_summed_to_the_last_cent(database: Database, account: MerchantAccount) -> None:
    await booked(database, account, *[{"amount": LARGEST}] * 500, {"amount": Decimal("0.01")})
    [total] = await totals(database, account)
    assert (total.amount, total.count) == (LARGEST * 500 + Decimal("0.01"), 501)


async def test_a_day_is_one_of_utc(database: Database, account: MerchantAccount) -> None:
    moments = [MIDNIGHT - timedelta(microseconds=1), MIDNIGHT, MIDNIGHT + timedelta(hours=23, minutes=59, seconds=59.9)]
    await booked(database, account, *[{"booked_at": moment} for moment in [*moments, MIDNIGHT + timedelta(days=1)]])
    [total] = await totals(database, account)
    assert (total.day, total.count) == (DAY, 2)
    around = await totals(database, account, DAY - timedelta(days=1), DAY + timedelta(days=1))
    assert [total.count for total in around] == [1, 2, 1]


async def test_fees_are_exact_and_one_in_another_currency_is_a_total_of_its_own(
    database: Database, account: MerchantAccount
) -> None:
    fine = Decimal("0.000001")
    await booked(
        database,
        account,
        {"fee": fine, "fee_currency": "UAH"},
        {"fee": Decimal("1.50"), "fee_currency": "UAH"},
        {"fee": Decimal("0.10"), "fee_currency": "EUR"},
        {},
    )
    found = await totals(database, account)
    by_currency = {currency: [total for total in found if total.currency == currency] for currency in ("UAH", "EUR")}
    assert sum(total.count for total in by_currency["UAH"]) == 4
    assert sum(total.fees for total in by_currency["UAH"]) == 3
    assert sum(total.fee for total in by_currency["UAH"]) == Decimal("1.500001")
    [euros] = by_currency["EUR"]
    assert (euros.amount, euros.count, euros.fee, euros.kind) == (Decimal(0), 0, Decimal("0.10"), Booked.REFUNDED)


async def test_another_accounts_operations_are_not_read(database: Database, account: MerchantAccount) -> None:
    await booked(database, account, {"account_id": "another"}, {"booked_at": None})
    assert await totals(database, account) == []


async def test_comparisons_have_come_as_far_as_that_of_the_slowest_account(
    database: Database, accounts: AccountRepository, installation: OpenInstallation, account: MerchantAccount
) -> None:
    """An account that was never compared has no books to trust, however far the others have come."""
    other = await an_account(accounts, installation, name="Other")

    async def progress() -> datetime | None:
        async with database.transaction() as session:
            found = await find_comparison_progress(session, [account.id, other.id])
        return None if found is None else found.until

    async def compared(owner: MerchantAccount, until: datetime) -> None:
        run = ReconciliationRun(
            installation_id=installation.id, account_id=owner.id, state=RunState.DONE, created_at=until
        )
        run.covered_until = run.finished_at = until
        async with database.transaction() as session:
            session.add(run)

    await compared(account, MIDNIGHT + timedelta(days=2))
    assert await progress() is None
    await compared(other, MIDNIGHT)
    assert await progress() == MIDNIGHT


async def test_operations_are_found_by_the_index(
    database: Database, account: MerchantAccount, database_url: str
) -> None:
    await booked(database, account, *[{"booked_at": MIDNIGHT + timedelta(days=n % 400)} for n in range(2000)])
    with record_statements(database) as asked:
        assert sum(total.count for total in await totals(database, account)) == 5
    [(statement, parameters)] = [question for question in asked if "sum(" in question[0]]
    how = "EXPLAIN QUERY PLAN" if is_sqlite(database_url) else "EXPLAIN"
    async with database.engine.connect() as connection:
        if not is_sqlite(database_url):
            await connection.exec_driver_sql("ANALYZE operation")
        plan = str((await connection.exec_driver_sql(f"{how} {statement}", parameters)).all())
    assert "ix_operation_booked" in plan
