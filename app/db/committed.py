"""Reports what was committed: operations that ended, events delivered to Saleor, notifications that were processed.

A decision about a payment can be made again when a transaction fails (``repository``), so it is not reported where it
is made. It is reported here, once, after the commit, whichever code wrote it.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import event
from sqlalchemy.orm.attributes import get_history
from sqlmodel import Session

from app.db.tables import EventState, Notification, Operation, SaleorEvent
from app.telemetry import TelemetryEvent, emit

_REPORTS = "reports"


class ReportingSession(Session):
    """A session that reports what it has committed."""


@event.listens_for(ReportingSession, "after_flush")
def _collect_reports(session: Session, _flush: Any) -> None:
    notes = session.info.setdefault(_REPORTS, [])
    for row in (*session.new, *session.dirty):
        match row:
            case Operation() if row.state.final and _was_set(row, "state"):
                labels = {"kind": row.kind.value, "state": row.state.value, "code": row.status_code or ""}
                notes.append((TelemetryEvent.OPERATION_ENDED, None, labels))
            case SaleorEvent() if row.state is not EventState.WAITING and _was_set(row, "state"):
                notes.append(
                    (
                        TelemetryEvent.EVENT_REPORTED,
                        _seconds_between(row.created_at, row.delivered_at),
                        {"outcome": row.state},
                    )
                )
            case Notification() if row.processed_at is not None and _was_set(row, "processed_at"):
                notes.append(
                    (TelemetryEvent.NOTIFICATION_PROCESSED, _seconds_between(row.received_at, row.processed_at), {})
                )
            case _:
                pass


@event.listens_for(ReportingSession, "after_commit")
def _send_reports(session: Session) -> None:
    for what, seconds, labels in session.info.pop(_REPORTS, ()):
        emit(what, seconds, **labels)


@event.listens_for(ReportingSession, "after_rollback")
def _discard_reports(session: Session) -> None:
    session.info.pop(_REPORTS, None)


def _was_set(row: Any, name: str) -> bool:
    return bool(get_history(row, name).added)


def _seconds_between(since: datetime, until: datetime | None) -> float | None:
    return None if until is None else max(0.0, (until - since).total_seconds())
