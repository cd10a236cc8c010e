"""Group commit: jobs that several callers want written at the same moment are written in one transaction.

The first job is written at once. Jobs that arrive while that transaction runs wait for its end, and are then written
together: the busier the process, the less of a transaction each of them costs. No job depends on the others: if
anything goes wrong, each job is done again, alone; and if a transaction stalls, on a lock or a dead connection, another
writer writes the waiting jobs in parallel.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from sqlmodel.ext.asyncio.session import AsyncSession

from app.store.errors import TRANSIENT_ERRORS, CommitUnknownError, DatabaseUnavailableError, map_error

J = TypeVar("J")
R = TypeVar("R")

Write: TypeAlias = Callable[[AsyncSession, Sequence[J]], Awaitable[Sequence[R]]]

_MAX_BATCH = 50  # jobs in one transaction: its locks are held until all are written
_MAX_WRITERS = 4  # each holds a connection
_STALLED_AFTER_SECONDS = 0.25  # after this, other jobs no longer wait for a transaction
_CLOSE_TIMEOUT_SECONDS = 1.0
_ABANDON_AFTER_SECONDS = 10.0  # longer than any statement and its locks may take (``database.Timeouts``)


@dataclass(slots=True)
class _Try(Generic[J, R]):
    """A transaction. ``stalled``: it takes so long that another writer serves the waiting jobs."""

    batch: Sequence[tuple[J, "asyncio.Future[R]"]]
    written: bool = False
    stalled: bool = False


def _fail_pending(batch: Sequence[tuple[J, "asyncio.Future[R]"]], error: Exception) -> None:
    """Raise an error for all callers that still wait."""
    for _, ticket in batch:
        if not ticket.done():
            ticket.set_exception(error)


class GroupCommit(Generic[J, R]):
    """Groups the jobs of one ``write``, which does all jobs that it is given and returns their results in order.

    ``write`` must be able to repeat a job after a failed transaction. ``abandon_after``: the seconds after which a
    transaction is abandoned.
    """

    def __init__(
        self,
        transaction: Callable[[], AbstractAsyncContextManager[AsyncSession]],
        write: Write[J, R],
        *,
        abandon_after: float = _ABANDON_AFTER_SECONDS,
    ) -> None:
        self._transaction = transaction
        self._write = write
        self._abandon_after = abandon_after
        self._waiting: list[tuple[J, asyncio.Future[R]]] = []
        self._writers: set[asyncio.Task[None]] = set()
        self._stalled = 0

    async def do(self, job: J) -> R:
        """Return the result of ``job`` once it is committed; raise the error if it failed."""
        ticket: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((job, ticket))
        self._start_writer()
        return await ticket

    async def close(self) -> None:
        """Wait for running transactions; after a short timeout cancel them, so that no connection stays open."""
        if not self._writers:
            return
        _, late = await asyncio.wait(set(self._writers), timeout=_CLOSE_TIMEOUT_SECONDS)
        for writer in late:
            writer.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    def _start_writer(self) -> None:
        """Start a writer if jobs wait and no other writer is free."""
        if self._waiting and len(self._writers) == self._stalled < _MAX_WRITERS:
            # A task of its own: a caller that stops waiting does not cancel the others' jobs.
            writer = asyncio.create_task(self._write_all())
            self._writers.add(writer)
            writer.add_done_callback(self._on_writer_done)

    def _on_writer_done(self, writer: asyncio.Task[None]) -> None:
        self._writers.discard(writer)
        self._start_writer()

    async def _write_all(self) -> None:
        while self._waiting:
            first, self._waiting = self._waiting[:_MAX_BATCH], self._waiting[_MAX_BATCH:]
            batch = [(job, ticket) for job, ticket in first if not ticket.done()]  # the others' callers no longer wait
            if not batch:
                continue
            try:
                if await self._try(batch) is not None:
                    await self._write_individually(batch)
            finally:  # in case it was abandoned while jobs were being written individually
                _fail_pending(batch, DatabaseUnavailableError("the database request was abandoned"))

    async def _write_individually(self, batch: Sequence[tuple[J, asyncio.Future[R]]]) -> None:
        """Write, one by one, the jobs of a batch that have neither result nor error yet."""
        gone: Exception | None = None
        for job, ticket in batch:
            if ticket.done():
                continue
            if gone is None:
                error = await self._try([(job, ticket)])
                # The database fails, not the job: fail the others at once instead of one after another.
                gone = error if isinstance(error, TRANSIENT_ERRORS) else None
            else:
                ticket.set_exception(gone)

    async def _try(self, batch: Sequence[tuple[J, asyncio.Future[R]]]) -> Exception | None:
        """Write a batch; return the error if that failed.

        The error is also raised for the caller of a single job, and for all callers if the commit's outcome is unknown.
        """
        attempt = _Try(batch)
        loop, writer = asyncio.get_running_loop(), asyncio.current_task()
        assert writer is not None  # noqa: S101 - only writers call this
        timers = [
            loop.call_later(_STALLED_AFTER_SECONDS, self._mark_stalled, attempt),
            loop.call_later(self._abandon_after, self._abandon, attempt, writer),
        ]
        try:
            async with self._transaction() as session:
                results = await self._write(session, [job for job, _ in batch])
                attempt.written = True
        except Exception as error:  # noqa: BLE001 - any error is raised where the job was submitted
            known = map_error(error, committing=True) if attempt.written else error
            if len(batch) == 1 or isinstance(known, CommitUnknownError):
                _fail_pending(batch, known)
            return known
        finally:
            for timer in timers:
                timer.cancel()
            self._stalled -= attempt.stalled
        for (_, ticket), result in zip(batch, results, strict=True):
            if not ticket.done():
                ticket.set_result(result)
        return None

    def _mark_stalled(self, attempt: _Try[J, R]) -> None:
        attempt.stalled = True
        self._stalled += 1
        self._start_writer()

    def _abandon(self, attempt: _Try[J, R], writer: asyncio.Task[None]) -> None:
        message = f"the database did not finish within {self._abandon_after:g} seconds"
        error = CommitUnknownError(message) if attempt.written else DatabaseUnavailableError(message)
        _fail_pending(attempt.batch, error)
        writer.cancel()  # rolls back, as soon as the connection allows
