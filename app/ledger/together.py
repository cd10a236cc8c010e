"""Group commit: what several want to write in the same moment is written in one transaction.

Whoever comes first is written at once. Who comes while that goes on waits for its end, and is then written together
with all others who came meanwhile: the busier the process, the less of a transaction each of them costs. Nobody depends
on the others: if anything goes wrong, everybody's part is done again, alone.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Generic, TypeAlias, TypeVar

from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as NoConnection
from sqlmodel.ext.asyncio.session import AsyncSession

J = TypeVar("J")
R = TypeVar("R")

Write: TypeAlias = Callable[[AsyncSession, Sequence[J]], Awaitable[Sequence[R]]]

_MOST = 50  # in one transaction: what it locks stays locked until all are written


class Together(Generic[J, R]):
    """Those who want the same ``write``: it does all jobs that it is given and returns their results, in their order.

    It must be able to do a job again after a transaction that came to nothing.
    """

    def __init__(
        self, transaction: Callable[[], AbstractAsyncContextManager[AsyncSession]], write: Write[J, R]
    ) -> None:
        self._transaction = transaction
        self._write = write
        self._waiting: list[tuple[J, asyncio.Future[R]]] = []
        self._writing: asyncio.Task[None] | None = None

    async def do(self, job: J) -> R:
        """Return the result of ``job`` once it is committed; raise what went wrong with it."""
        ticket: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((job, ticket))
        if self._writing is None:
            # A task of its own: whoever stops waiting does not undo what others wait for.
            self._writing = asyncio.create_task(self._write_all())
        return await ticket

    async def _write_all(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:_MOST], self._waiting[_MOST:]
                if await self._try(batch) is not None and len(batch) > 1:
                    await self._each_alone(batch)
        finally:
            self._writing = None

    async def _each_alone(self, batch: Sequence[tuple[J, asyncio.Future[R]]]) -> None:
        gone: Exception | None = None
        for job, ticket in batch:
            if gone is None:
                error = await self._try([(job, ticket)])
                # It is the database that fails, not the job: the others need not wait for that one after another.
                gone = error if isinstance(error, OperationalError | NoConnection) else None
            elif not ticket.done():
                ticket.set_exception(gone)

    async def _try(self, batch: Sequence[tuple[J, asyncio.Future[R]]]) -> Exception | None:
        """Write a batch; return why it could not be. Who is alone is told so, too."""
        try:
            async with self._transaction() as session:
                results = await self._write(session, [job for job, _ in batch])
        except Exception as error:  # noqa: BLE001 - whatever it is, it is raised where the job was asked for
            if len(batch) == 1 and not batch[0][1].done():
                batch[0][1].set_exception(error)
            return error
        for (_, ticket), result in zip(batch, results, strict=True):
            if not ticket.done():
                ticket.set_result(result)
        return None
