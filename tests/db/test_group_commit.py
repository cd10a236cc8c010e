"""Group commit: who comes while something is being written is written with all others who do, and owes them nothing."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlmodel.ext.asyncio.session import AsyncSession

from app.store.database import Database
from app.store.errors import CommitUnknownError, DatabaseUnavailableError
from app.store.group_commit import GroupCommit
from integration_base_tests.waiting import unless_it_hangs
from tests.db.rows import read_raw


class Register:
    """Writes names down, each once, and remembers who was written together. It can be held up."""

    def __init__(self, database: Database) -> None:
        self.batches: list[list[str]] = []
        self.free = asyncio.Event()
        self.busy = asyncio.Event()
        self.free.set()
        self._database = database

    async def opened(self) -> None:
        async with self._database.engine.begin() as connection:
            await connection.execute(text("CREATE TABLE register (name VARCHAR(20) PRIMARY KEY)"))

    async def write(self, session: AsyncSession, names: Sequence[str]) -> list[str]:
        self.batches.append(list(names))
        self.busy.set()
        await self.free.wait()
        for name in names:
            await (await session.connection()).execute(text("INSERT INTO register VALUES (:name)"), {"name": name})
        return [f"{name} is in" for name in names]

    async def names(self) -> list[str]:
        return [name for (name,) in await read_raw(self._database, "SELECT name FROM register ORDER BY name")]


@pytest.fixture
async def register(database: Database) -> AsyncIterator[Register]:
    it = Register(database)
    await it.opened()
    yield it
    async with database.engine.begin() as connection:
        await connection.execute(text("DROP TABLE register"))


async def asked(database: Database, register: Register, *names: str) -> list[asyncio.Task[str]]:
    """Let all ask while the first is being written."""
    register.free.clear()
    first = asyncio.create_task(database.group_commit(register.write, names[0]))
    await register.busy.wait()
    others = [asyncio.create_task(database.group_commit(register.write, name)) for name in names[1:]]
    await asyncio.sleep(0)
    register.free.set()
    return [first, *others]


async def test_who_comes_meanwhile_shares_the_next_transaction(database: Database, register: Register) -> None:
    answers = await asyncio.gather(*await asked(database, register, "ann", "bob", "cid", "dan"))
    assert answers == ["ann is in", "bob is in", "cid is in", "dan is in"]
    assert register.batches == [["ann"], ["bob", "cid", "dan"]]
    assert await register.names() == ["ann", "bob", "cid", "dan"]


async def test_who_comes_later_does_not_wait_for_anybody(database: Database, register: Register) -> None:
    for name in ("ann", "bob"):
        assert await database.group_commit(register.write, name) == f"{name} is in"
    assert register.batches == [["ann"], ["bob"]]


@pytest.mark.law(1)
async def test_what_goes_wrong_for_one_goes_wrong_for_nobody_else(database: Database, register: Register) -> None:
    answers: list[Any] = await asyncio.gather(
        *await asked(database, register, "ann", "bob", "ann", "dan"), return_exceptions=True
    )
    assert [type(answer) for answer in answers] == [str, str, IntegrityError, str]
    assert await register.names() == ["ann", "bob", "dan"]


@pytest.mark.law(11)
async def test_who_stops_waiting_undoes_nothing_and_what_has_not_begun_does_not_begin(
    database: Database, register: Register
) -> None:
    """Whoever was answered as failed meanwhile must not find it begun behind that."""
    ann, bob, cid = await asked(database, register, "ann", "bob", "cid")
    ann.cancel()
    bob.cancel()
    assert await cid == "cid is in"
    assert await register.names() == ["ann", "cid"]


async def test_nobody_is_forgotten_when_more_come_than_go_into_one(database: Database, register: Register) -> None:
    names = [f"{number:03}" for number in range(120)]
    await asyncio.gather(*await asked(database, register, *names))
    assert await register.names() == names
    assert max(len(batch) for batch in register.batches) == 50


@pytest.mark.fault("database-away")
async def test_when_the_database_is_away_all_are_told_at_once(database: Database) -> None:
    """Not one after another, each after the time that it takes to find out."""
    tries = 0

    class Away(AbstractAsyncContextManager[AsyncSession]):
        async def __aenter__(self) -> AsyncSession:
            nonlocal tries
            tries += 1
            raise OperationalError("", {}, ConnectionRefusedError())

        async def __aexit__(self, *_error: object) -> None:
            raise AssertionError("it was never entered")

    async def write(_session: AsyncSession, _jobs: Sequence[int]) -> list[int]:
        raise AssertionError("there is no session to write with")

    group_commit = GroupCommit(Away, write)
    answers: list[Any] = await asyncio.gather(*(group_commit.do(number) for number in range(9)), return_exceptions=True)
    assert {type(answer) for answer in answers} == {OperationalError}
    assert tries == 2


@pytest.mark.law(1)
async def test_nobody_is_told_before_the_commit() -> None:
    """A result that is handed out in the transaction is a call that leaves before its intent is on disk."""
    committed = asyncio.Event()

    @asynccontextmanager
    async def transaction() -> AsyncIterator[Any]:
        yield None
        await asyncio.sleep(0.05)  # the commit takes its time
        committed.set()

    assert await GroupCommit(transaction, echo).do(1) == 1
    assert committed.is_set()


async def echo(_session: AsyncSession, jobs: Sequence[int]) -> list[int]:
    return list(jobs)


class Hanging:
    """Transactions of which the first so many never come to their end: the server is gone, and nobody says so."""

    def __init__(self, hang: int = 1, *, in_commit: bool = False) -> None:
        self.begun = 0
        self.undone = 0
        self._hang = hang
        self._in_commit = in_commit

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        self.begun += 1
        hangs = self.begun <= self._hang
        try:
            if hangs and not self._in_commit:
                await asyncio.Event().wait()
            yield None
            if hangs:
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.undone += 1
            raise


@pytest.mark.fault("database-slow")
@pytest.mark.parametrize("hang", [1, 2, 3])
async def test_a_transaction_that_hangs_holds_up_only_its_own(hang: int) -> None:
    hanging = Hanging(hang)
    group_commit = GroupCommit(hanging.transaction, echo)
    async with unless_it_hangs():
        stuck = []
        for number in range(hang):
            stuck.append(asyncio.create_task(group_commit.do(number)))
            while hanging.begun <= number:  # noqa: ASYNC110 - a writer is called by a timer, which tells nobody
                await asyncio.sleep(0.01)
        assert await asyncio.gather(*(group_commit.do(number) for number in range(7, 70))) == list(range(7, 70))
    for task in stuck:
        assert not task.done()
        task.cancel()


@pytest.mark.parametrize(("in_commit", "told"), [(False, DatabaseUnavailableError), (True, CommitUnknownError)])
async def test_nobody_waits_for_it_without_end(in_commit: bool, told: type[Exception]) -> None:
    """Before the commit nothing is done for certain; in it nobody knows. Then others are served again."""
    hanging = Hanging(hang=9, in_commit=in_commit)
    group_commit = GroupCommit(hanging.transaction, echo, abandon_after=0.4)
    async with unless_it_hangs():
        answers: list[Any] = await asyncio.gather(
            *(group_commit.do(number) for number in range(9)), return_exceptions=True
        )
        assert {type(answer) for answer in answers} == {told}
        hanging.begun = 9
        assert await group_commit.do(1) == 1
    assert hanging.undone >= 1


async def test_who_is_left_when_one_of_them_hangs_is_told() -> None:
    """All are undone and written alone, and the first alone hangs: the others are not forgotten."""
    begun = 0

    @asynccontextmanager
    async def transaction() -> AsyncIterator[Any]:
        nonlocal begun
        begun += 1
        if begun == 1:
            raise IntegrityError("", {}, ValueError())
        if begun == 2:
            await asyncio.Event().wait()
        yield None

    group_commit = GroupCommit(transaction, echo, abandon_after=0.4)
    async with unless_it_hangs():
        answers: list[Any] = await asyncio.gather(
            *(group_commit.do(number) for number in range(3)), return_exceptions=True
        )
    assert [type(answer) for answer in answers] == [DatabaseUnavailableError] * 3


@pytest.mark.fault("commit-unknown")
async def test_a_commit_whose_connection_breaks_is_not_done_again_unseen() -> None:
    """Who asked must read what is there: done again it would meet itself, and take that for somebody else."""
    begun = 0

    @asynccontextmanager
    async def transaction() -> AsyncIterator[Any]:
        nonlocal begun
        begun += 1
        yield None
        raise OperationalError("COMMIT", {}, ConnectionResetError())

    group_commit = GroupCommit(transaction, echo)
    answers: list[Any] = await asyncio.gather(*(group_commit.do(number) for number in range(3)), return_exceptions=True)
    assert {type(answer) for answer in answers} == {CommitUnknownError}
    assert begun == 1


async def test_closing_gives_up_what_hangs_and_leaves_nothing_open() -> None:
    hanging = Hanging()
    group_commit = GroupCommit(hanging.transaction, echo)
    stuck = asyncio.create_task(group_commit.do(1))
    while not hanging.begun:  # noqa: ASYNC110 - a writer is a task of its own, which tells nobody
        await asyncio.sleep(0)
    await group_commit.close()
    assert hanging.undone == 1
    assert [type(outcome) for outcome in await asyncio.gather(stuck, return_exceptions=True)] == [
        DatabaseUnavailableError
    ]
