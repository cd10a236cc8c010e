"""Column types: what goes in comes out, exactly, or is refused."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import JSON, Column, Enum, Integer, MetaData, String, Table
from sqlalchemy.dialects.sqlite import dialect
from sqlmodel import SQLModel, select
from sqlmodel.sql.sqltypes import AutoString

from app.core.text import fit_text
from app.core.vocabulary import State
from app.store.columns import Amount, BoundedText, Moment, OrderIdText, enum_type
from app.store.database import Database, async_url, create_engine, is_sqlite
from app.store.tables import MerchantAccount, Operation
from tests.db.rows import NOON, a_payment, read_raw

SQLITE = dialect()
cents = st.integers(-(10**17), 10**17)


@pytest.mark.law(14)
@given(cents)
def test_an_amount_of_two_decimals_is_exact(number: int) -> None:
    amount = Decimal(number).scaleb(-2)
    kept = Amount().process_bind_param(amount, SQLITE)
    assert kept == number
    back = Amount().process_result_value(kept, SQLITE)
    assert back == amount
    assert back is not None
    assert back.as_tuple().exponent == -2


@pytest.mark.law(14)
@pytest.mark.parametrize("amount", ["0.001", "569.505", "1E-3", "NaN"])
def test_a_finer_amount_is_refused_and_never_rounded(amount: str) -> None:
    with pytest.raises(ValueError, match="at most two decimals"):
        Amount().process_bind_param(Decimal(amount), SQLITE)


def test_nothing_stays_nothing() -> None:
    assert Amount().process_bind_param(None, SQLITE) is None
    assert Amount().process_result_value(None, SQLITE) is None
    assert Moment().process_bind_param(None, SQLITE) is None
    assert Moment().process_result_value(None, SQLITE) is None


@given(st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=3)), timezone(timedelta(hours=-11))])))
def test_a_moment_is_the_same_moment_in_utc(moment: datetime) -> None:
    kept = Moment().process_bind_param(moment, SQLITE)
    assert kept is not None
    assert kept.tzinfo is UTC
    assert Moment().process_result_value(kept.replace(tzinfo=None), SQLITE) == moment  # SQLite forgets the zone


def test_a_moment_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        Moment().process_bind_param(datetime(2026, 11, 21), SQLITE)  # noqa: DTZ001 - that is the point


async def test_on_both_databases(database: Database, account: MerchantAccount) -> None:
    """Money is a whole number in the table, so that no database can round it."""
    await a_payment(database, account)
    async with database.transaction() as session:
        row = (await session.exec(select(Operation))).one()
    assert (row.amount, str(row.amount)) == (Decimal("569.50"), "569.50")
    assert await read_raw(database, "SELECT amount, state FROM operation") == [(56950, "init")]
    assert (row.created_at, row.created_at.tzinfo) == (NOON, UTC)


@pytest.mark.law(7)
def test_states_only_move_in_the_order_in_which_they_are_listed() -> None:
    ranks = [state.rank for state in State]
    assert ranks == sorted(ranks)
    assert State.SUCCESS.rank == State.FAILURE.rank
    assert [state for state in State if state.final] == [State.SUCCESS, State.FAILURE]
    assert enum_type(State).enums == [state.value for state in State]


@pytest.mark.parametrize(
    ("given_url", "driver"),
    [
        ("sqlite:///data/payments.sqlite", "sqlite+aiosqlite"),
        ("postgresql://u@h/d", "postgresql+psycopg"),
        ("postgres://u@h/d", "postgresql+psycopg"),
    ],
)
def test_the_database_is_spoken_to_by_our_drivers(given_url: str, driver: str) -> None:
    assert async_url(given_url).drivername == driver
    assert is_sqlite(given_url) is driver.startswith("sqlite")


def test_another_database_is_refused() -> None:
    with pytest.raises(ValueError, match="neither sqlite nor postgresql"):
        create_engine("mysql://u@h/d")


@pytest.mark.law(1)
async def test_every_commit_of_sqlite_is_on_disk(tmp_path: Path) -> None:
    """Law 1 is worth nothing if a commit can get lost with the power."""
    database = Database(create_engine(f"sqlite:///{tmp_path / 'payments.sqlite'}"))
    pragmas = [await read_raw(database, f"PRAGMA {name}") for name in ("synchronous", "journal_mode", "foreign_keys")]
    await database.close()
    assert pragmas == [[(2,)], [("wal",)], [(1,)]]


ANY_TEXT = st.text(st.characters(), max_size=80) | st.text("\x00\ud800\udfffї🙂x", max_size=80)
_SCRATCH = Table(
    "scratch",
    MetaData(),
    Column("id", Integer, primary_key=True),
    Column("short", BoundedText(3)),
    Column("name", BoundedText(32)),
    Column("order_id", OrderIdText),
    Column("free", BoundedText()),
    Column("prose", BoundedText(40, prose=True)),
    Column("said", JSON),
)


@pytest.fixture
async def scratch(database: Database) -> AsyncIterator[Table]:
    async with database.engine.begin() as connection:
        await connection.run_sync(_SCRATCH.create)
    yield _SCRATCH
    async with database.engine.begin() as connection:
        await connection.run_sync(_SCRATCH.drop)


@pytest.mark.threat("hostile-text", "injection")
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(ANY_TEXT)
async def test_any_text_is_kept_and_found_again(database: Database, scratch: Table, said: str) -> None:
    """Whatever others say: written, read, compared with, on both databases."""
    columns = dict.fromkeys(("short", "name", "order_id", "free", "prose"), said)
    async with database.engine.begin() as connection:
        await connection.execute(scratch.delete())
        await connection.execute(scratch.insert().values(**columns, said={"words": [said], said: None}))
        [row] = (await connection.execute(scratch.select())).all()
        found = scratch.select().where(*(scratch.c[name] == said for name in columns))
        assert len((await connection.execute(found)).all()) == 1
    assert row.free == fit_text(said)
    assert (row.short, row.name, row.prose) == (fit_text(said, 3), fit_text(said, 32), fit_text(said, 40))
    assert row.said == {"words": [fit_text(said)], fit_text(said): None}
    row.free.encode()


@given(ANY_TEXT, st.integers(1, 60))
def test_what_fits_stays_and_what_does_not_is_made_to(said: str, most: int) -> None:
    made = fit_text(said, most)
    assert len(made) <= most
    assert fit_text(made, most) == made
    possible = not any(character == "\x00" or "\ud800" <= character <= "\udfff" for character in said)
    if possible and len(said) <= most:
        assert made == said


@given(st.text("ab", min_size=33, max_size=60), st.text("ab", min_size=1, max_size=60))
def test_two_long_names_never_become_one(one: str, other: str) -> None:
    assert (fit_text(one, 32) == fit_text(other, 32)) == (one == other)


def test_every_column_of_text_takes_any_text() -> None:
    """A new column is one of them: nobody has to think of it."""
    kinds = {
        f"{table.name}.{column.name}": type(column.type)
        for table in SQLModel.metadata.tables.values()
        for column in table.c
        if isinstance(column.type, String | AutoString | BoundedText) and not isinstance(column.type, Enum)
    }
    assert len(kinds) > 50
    assert set(kinds.values()) == {BoundedText}
