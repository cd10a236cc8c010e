"""A database that is away is logged once when it goes, at growing pauses, and once when it is back."""

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError
from sqlmodel import select
from structlog.testing import capture_logs

from app.store.database import Database, create_engine
from app.store.errors import DatabaseUnavailableError
from app.store.outage import Outage
from app.store.tables import Installation


class Seconds:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def outage_of_a_database_that_was_there(clock: Seconds) -> Outage:
    outage = Outage(clock)
    outage.record_success()
    return outage


class ServerError(Exception):
    def __init__(self, sqlstate: str | None) -> None:
        self.sqlstate = sqlstate


def failure(sqlstate: str | None = None) -> DatabaseUnavailableError:
    error = DatabaseUnavailableError("the database did not complete the request")
    error.__cause__ = OperationalError("SELECT 1", {}, ServerError(sqlstate))
    return error


@pytest.mark.fault("database-away")
def test_three_minutes_are_a_few_lines_however_many_need_it() -> None:
    seconds = Seconds()
    outage = outage_of_a_database_that_was_there(seconds)
    with capture_logs() as logs:
        for _ in range(1800):
            error = failure()
            outage.record_failure(error)
            assert error.is_logged
            seconds.now += 0.1
        outage.record_success()
        outage.record_success()
    told = [log["event"] for log in logs]
    assert told == ["database.lost", *["database.not_recovered"] * 4, "database.recovered"]
    assert (logs[-1]["seconds"], logs[-1]["failures"]) == (180.0, 1800)


@pytest.mark.fault("database-away")
def test_each_time_it_goes_is_told() -> None:
    outage = outage_of_a_database_that_was_there(Seconds())
    with capture_logs() as logs:
        for _ in range(2):
            outage.record_failure(failure("57P01"))
            outage.record_success()
    assert [log["event"] for log in logs] == ["database.lost", "database.recovered"] * 2


@pytest.mark.fault("disk-full")
def test_one_that_can_be_read_and_not_written_is_a_few_lines() -> None:
    """On a full disk reading works, and writing does not: each success looked like its return."""
    seconds = Seconds()
    outage = outage_of_a_database_that_was_there(seconds)
    with capture_logs() as logs:
        for _ in range(1800):
            error = failure()
            outage.record_failure(error)
            assert error.is_logged
            outage.record_success()
            seconds.now += 0.1
        seconds.now += 10
        outage.record_success()
    told = [log["event"] for log in logs]
    came_and_went = ["database.lost", "database.recovered"] * 3
    assert told == [*came_and_went, "database.lost", *["database.not_recovered"] * 4, "database.recovered"]
    assert logs[-1]["failures"] == 1797


def test_one_that_was_never_there_has_not_gone_away() -> None:
    error = failure()
    with capture_logs() as logs:
        Outage().record_failure(error)
    assert logs == []
    assert not error.is_logged, "whoever starts or runs a command is told"


@pytest.mark.fault("database-slow")
@pytest.mark.parametrize("sqlstate", ["55P03", "57014", "40P01"])
def test_a_lock_or_a_statement_that_took_too_long_is_none(sqlstate: str) -> None:
    error = failure(sqlstate)
    with capture_logs() as logs:
        outage_of_a_database_that_was_there(Seconds()).record_failure(error)
    assert logs == []
    assert not error.is_logged, "it is told where it happens"


@pytest.mark.fault("database-slow")
def test_nor_is_a_lock_of_sqlite_or_what_no_database_has_said() -> None:
    locked = sqlite3.OperationalError("database is locked")
    locked.sqlite_errorname = "SQLITE_BUSY_SNAPSHOT"
    for cause in (OperationalError("SELECT 1", {}, locked), TimeoutError()):
        error = DatabaseUnavailableError("the database did not complete the request")
        error.__cause__ = cause
        with capture_logs() as logs:
            outage_of_a_database_that_was_there(Seconds()).record_failure(error)
        assert logs == []
        assert not error.is_logged, "it is told where it happens"


@pytest.mark.fault("database-away")
@pytest.mark.parametrize("url", ["postgresql://postgres@127.0.0.1:1/nowhere", "sqlite:///{folder}/none/here.sqlite"])
async def test_transactions_tell_it(tmp_path: Path, url: str) -> None:
    database = Database(create_engine(url.format(folder=tmp_path)))
    database._outage.record_success()
    with capture_logs() as logs:
        for _ in range(3):
            with pytest.raises(DatabaseUnavailableError) as caught:
                async with database.transaction() as session:
                    await session.exec(select(Installation))
            assert caught.value.is_logged
    await database.close()
    assert [log["event"] for log in logs] == ["database.lost"]


@pytest.mark.fault("database-away")
@pytest.mark.parametrize("sqlstate", ["25006", "53100", "53200", "58030"])
def test_a_server_that_reads_and_cannot_write_is_a_few_lines(sqlstate: str) -> None:
    """A standby, a full disk, no memory, a broken disk: each round of each worker was a traceback, for hours."""
    outage = outage_of_a_database_that_was_there(Seconds())
    with capture_logs() as logs:
        for _ in range(100):
            error = failure(sqlstate)
            outage.record_failure(error)
            assert error.is_logged
    assert [log["event"] for log in logs] == ["database.lost"]


async def test_a_transaction_tells_that_it_is_back(database: Database) -> None:
    database._outage.record_success()
    database._outage.record_failure(failure())
    with capture_logs() as logs:
        async with database.transaction():
            pass
    assert [log["event"] for log in logs] == ["database.recovered"]
