"""Tells of what was committed: operations that have ended, events that Saleor has, notifications that are processed.

What is decided about a payment can be decided again when a transaction comes to nothing (``repository``), so none of it
is told where it is decided. Here it is told once, after the commit, whoever has written it.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import event
from sqlalchemy.orm.attributes import get_history
from sqlmodel import Session

from app.db.tables import EventState, Notification, Operation, SaleorEvent
from app.telemetry import Happening, happened

_TOLD = "told"


class TellingSession(Session):
    """A session that tells what it has committed."""


@event.listens_for(TellingSession, "after_flush")
def _note(session: Session, _flush: Any) -> None:
    notes = session.info.setdefault(_TOLD, [])
    for row in (*session.new, *session.dirty):
        match row:
            case Operation() if row.state.final and _is_new(row, "state"):
                labels = {"kind": row.kind.value, "state": row.state.value, "code": row.status_code or ""}
                notes.append((Happening.OPERATION_ENDED, None, labels))
            case SaleorEvent() if row.state is not EventState.WAITING and _is_new(row, "state"):
                notes.append((Happening.EVENT_TOLD, _between(row.created_at, row.delivered_at), {"outcome": row.state}))
            case Notification() if row.processed_at is not None and _is_new(row, "processed_at"):
                notes.append((Happening.NOTIFICATION_PROCESSED, _between(row.received_at, row.processed_at), {}))
            case _:
                pass


@event.listens_for(TellingSession, "after_commit")
def _tell(session: Session) -> None:
    for what, seconds, labels in session.info.pop(_TOLD, ()):
        happened(what, seconds, **labels)


@event.listens_for(TellingSession, "after_rollback")
def _forget(session: Session) -> None:
    session.info.pop(_TOLD, None)


def _is_new(row: Any, name: str) -> bool:
    return bool(get_history(row, name).added)


def _between(since: datetime, until: datetime | None) -> float | None:
    return None if until is None else max(0.0, (until - since).total_seconds())
