"""Group commit: what several want to write in the same moment is written in one transaction.

Whoever comes first is written at once. Who comes while that goes on waits for its end, and is then written together
with all others who came meanwhile: the busier the process, the less of a transaction each of them costs. Nobody depends
on the others: if anything goes wrong, everybody's part is done again, alone; and if a transaction is held up, by a lock
or a connection that is dead, those who wait are written by another writer beside it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from sqlmodel.ext.asyncio.session import AsyncSession

from app.db.errors import PASSING, CommitUnknownError, DatabaseUnavailableError, mapped

J = TypeVar("J")
R = TypeVar("R")

Write: TypeAlias = Callable[[AsyncSession, Sequence[J]], Awaitable[Sequence[R]]]

_MOST = 50  # in one transaction: what it locks stays locked until all are written
_MOST_WRITERS = 4  # each holds a connection
_HELD_UP_SECONDS = 0.25  # after so long nobody else waits for a transaction
_CLOSING_SECONDS = 1.0
_GIVEN_UP_SECONDS = 10.0  # longer than any statement and its locks may take (``database.Patience``)


@dataclass(slots=True)
class _Attempt(Generic[J, R]):
    """A transaction. ``held_up``: it takes so long that another writer serves those who wait."""

    batch: Sequence[tuple[J, "asyncio.Future[R]"]]
    written: bool = False
    held_up: bool = False


def _end(batch: Sequence[tuple[J, "asyncio.Future[R]"]], error: Exception) -> None:
    """Tell all who still wait."""
    for _, ticket in batch:
        if not ticket.done():
            ticket.set_exception(error)


class GroupCommit(Generic[J, R]):
    """Those who want the same ``write``: it does all jobs that it is given and returns their results, in their order.

    It must be able to do a job again after a transaction that came to nothing. ``given_up`` is after how many seconds
    nobody waits for a transaction any more.
    """

    def __init__(
        self,
        transaction: Callable[[], AbstractAsyncContextManager[AsyncSession]],
        write: Write[J, R],
        *,
        given_up: float = _GIVEN_UP_SECONDS,
    ) -> None:
        self._transaction = transaction
        self._write = write
        self._given_up = given_up
        self._waiting: list[tuple[J, asyncio.Future[R]]] = []
        self._writers: set[asyncio.Task[None]] = set()
        self._held_up = 0

    async def do(self, job: J) -> R:
        """Return the result of ``job`` once it is committed; raise what went wrong with it."""
        ticket: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((job, ticket))
        self._call_writer()
        return await ticket

    async def close(self) -> None:
        """Let what is being written end; after a moment it is given up, so that no connection stays open."""
        if not self._writers:
            return
        _, late = await asyncio.wait(set(self._writers), timeout=_CLOSING_SECONDS)
        for writer in late:
            writer.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    def _call_writer(self) -> None:
        """Begin to write if somebody waits and nobody is there to do it."""
        if self._waiting and len(self._writers) == self._held_up < _MOST_WRITERS:
            # A task of its own: whoever stops waiting does not undo what others wait for.
            writer = asyncio.create_task(self._write_all())
            self._writers.add(writer)
            writer.add_done_callback(self._has_left)

    def _has_left(self, writer: asyncio.Task[None]) -> None:
        self._writers.discard(writer)
        self._call_writer()

    async def _write_all(self) -> None:
        while self._waiting:
            first, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
            batch = [(job, ticket) for job, ticket in first if not ticket.done()]  # else nobody waits for it any more
            if not batch:
                continue
            try:
                if await self._try(batch) is not None:
                    await self._each_alone(batch)
            finally:  # given up, in the midst of those who are written alone
                _end(batch, DatabaseUnavailableError("the database was given up"))

    async def _each_alone(self, batch: Sequence[tuple[J, asyncio.Future[R]]]) -> None:
        """Write those of a batch who have not been told yet why it could not be written."""
        gone: Exception | None = None
        for job, ticket in batch:
            if ticket.done():
                continue
            if gone is None:
                error = await self._try([(job, ticket)])
                # It is the database that fails, not the job: the others need not wait for that one after another.
                gone = error if isinstance(error, PASSING) else None
            else:
                ticket.set_exception(gone)

    async def _try(self, batch: Sequence[tuple[J, asyncio.Future[R]]]) -> Exception | None:
        """Write a batch; return why it could not be. Who is alone is told so, too, and all when nobody knows."""
        attempt = _Attempt(batch)
        loop, writer = asyncio.get_running_loop(), asyncio.current_task()
        assert writer is not None  # noqa: S101 - only writers call this
        timers = [
            loop.call_later(_HELD_UP_SECONDS, self._is_held_up, attempt),
            loop.call_later(self._given_up, self._give_up, attempt, writer),
        ]
        try:
            async with self._transaction() as session:
                results = await self._write(session, [job for job, _ in batch])
                attempt.written = True
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised where the job was asked for
            known = mapped(error, committing=True) if attempt.written else error
            if len(batch) == 1 or isinstance(known, CommitUnknownError):
                _end(batch, known)
            return known
        finally:
            for timer in timers:
                timer.cancel()
            self._held_up -= attempt.held_up
        for (_, ticket), result in zip(batch, results, strict=True):
            if not ticket.done():
                ticket.set_result(result)
        return None

    def _is_held_up(self, attempt: _Attempt[J, R]) -> None:
        attempt.held_up = True
        self._held_up += 1
        self._call_writer()

    def _give_up(self, attempt: _Attempt[J, R], writer: asyncio.Task[None]) -> None:
        words = f"the database has not done it in {self._given_up:g} seconds"
        _end(attempt.batch, CommitUnknownError(words) if attempt.written else DatabaseUnavailableError(words))
        writer.cancel()  # undoes it, as soon as the connection lets it
