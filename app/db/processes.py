"""The processes of the app: each keeps a row that says when it was last seen, and costs an update in ``BETWEEN_SIGNS``.

So a worker that stands still is noticed, and whoever answers at the app's address can be told from somebody else.
"""

import os
import socket
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.db.tables import Process

BETWEEN_SIGNS = timedelta(seconds=20)
SILENT_AFTER = timedelta(seconds=75)
"""Whoever was not seen for so long does nothing any more: three signs are missing."""
FORGOTTEN_AFTER = timedelta(days=7)


def this_host() -> str:
    """Return what this machine, or this container, is called."""
    return socket.gethostname()[:255]


@dataclass(frozen=True, slots=True)
class RunningProcess:
    """This process: whether it ``serves`` requests, and whether it ``works`` at the durable jobs."""

    version: str
    serves: bool
    works: bool
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    host: str = field(default_factory=this_host)
    pid: int = field(default_factory=os.getpid)


async def sign(session: AsyncSession, process: RunningProcess, now: datetime) -> None:
    """Note that a process is there."""
    seen: Any = await session.exec(update(Process).where(col(Process.id) == process.id).values(seen_at=now))
    if seen.rowcount:
        return
    await session.exec(delete(Process).where(col(Process.seen_at) < now - FORGOTTEN_AFTER))
    session.add(
        Process(
            id=process.id,
            host=process.host,
            pid=process.pid,
            version=process.version,
            serves=process.serves,
            works=process.works,
            started_at=now,
            seen_at=now,
        )
    )


async def sign_off(session: AsyncSession, process: RunningProcess) -> None:
    """Note that a process has ended."""
    await session.exec(delete(Process).where(col(Process.id) == process.id))


async def all_processes(session: AsyncSession) -> Sequence[Process]:
    """Return all that have not signed off, whoever was seen last first."""
    return (await session.exec(select(Process).order_by(col(Process.seen_at).desc(), col(Process.id)))).all()


async def works_here(session: AsyncSession, host: str, now: datetime) -> bool:
    """Return whether a worker of that machine was seen just now."""
    seen = col(Process.seen_at) >= now - SILENT_AFTER
    query = select(Process.id).where(col(Process.works).is_(True), Process.host == host, seen).limit(1)
    return (await session.exec(query)).first() is not None
