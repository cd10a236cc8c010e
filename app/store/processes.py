"""The processes of the app: each has a row with its last heartbeat, one update per ``HEARTBEAT_INTERVAL``.

So a stalled worker is noticed, the process that answers at the app's address can be told apart from another app, and
it is known since when nobody has received the gateway's notifications.
"""

import os
import socket
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import case, delete, or_, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.store.tables import Process

HEARTBEAT_INTERVAL = timedelta(seconds=20)
SILENT_AFTER = timedelta(seconds=75)
"""A process that was not seen for so long no longer runs: three heartbeats are missing."""
DELETED_AFTER = timedelta(days=7)


def this_host() -> str:
    """Return the name of this machine, or container."""
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


async def record_heartbeat(session: AsyncSession, process: RunningProcess, now: datetime) -> None:
    """Record that a process is running."""
    seen: Any = await session.exec(update(Process).where(col(Process.id) == process.id).values(seen_at=now))
    if seen.rowcount:
        return
    await session.exec(delete(Process).where(col(Process.seen_at) < now - DELETED_AFTER))
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


async def find_gap(session: AsyncSession, now: datetime) -> datetime | None:
    """Return when a process that serves was last seen, if that is longer ago than ``SILENT_AFTER``.

    Call it before the heartbeat that ends the gap is recorded, in the same transaction: of several processes that start
    together one finds the gap. None also when there never was such a process.
    """
    last = await _last_served(session, now)
    if last is None or now - last[1] <= SILENT_AFTER:
        return None
    await session.exec(select(Process.id).where(Process.id == last[0]).with_for_update())
    last = await _last_served(session, now)  # whoever held the lock has recorded a heartbeat
    return None if last is None or now - last[1] <= SILENT_AFTER else last[1]


async def _last_served(session: AsyncSession, now: datetime) -> tuple[str, datetime] | None:
    """Return the process that served last, and when: of one whose clock was ahead, only its start is known."""
    served = or_(col(Process.serves), ~col(Process.works))
    latest = now + SILENT_AFTER
    at = case((col(Process.seen_at) <= latest, col(Process.seen_at)), else_=col(Process.started_at))
    query = select(Process.id, at).where(served, at <= latest).order_by(at.desc()).limit(1)
    return (await session.exec(query)).first()


async def remove_process(session: AsyncSession, process: RunningProcess, now: datetime) -> None:
    """Record that a process has ended. One that served leaves a row that neither serves nor works: its last moment."""
    row = col(Process.id) == process.id
    if process.serves:
        await session.exec(update(Process).where(row).values(serves=False, works=False, seen_at=now))
    else:
        await session.exec(delete(Process).where(row))


async def all_processes(session: AsyncSession) -> Sequence[Process]:
    """Return all processes that have not been removed, the most recently seen first."""
    running = or_(col(Process.serves), col(Process.works))
    query = select(Process).where(running).order_by(col(Process.seen_at).desc(), col(Process.id))
    return (await session.exec(query)).all()


async def has_worker_on(session: AsyncSession, host: str, now: datetime) -> bool:
    """Return True when a worker on that machine was seen within ``SILENT_AFTER``."""
    seen = col(Process.seen_at) >= now - SILENT_AFTER
    query = select(Process.id).where(col(Process.works).is_(True), Process.host == host, seen).limit(1)
    return (await session.exec(query)).first() is not None
