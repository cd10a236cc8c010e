"""Reports what was committed: operations that ended, events delivered to Saleor, notifications that were processed.

A decision about a payment can be made again when a transaction fails (``repository``), so it is not reported where it
is made. Who writes a row notes it here, and it is reported once, after the commit.
"""

from datetime import datetime

from sqlalchemy import event
from sqlmodel import Session
from sqlmodel.ext.asyncio.session import AsyncSession

from app.core.payment import Operation, SaleorEvent
from app.core.vocabulary import EventState
from integration_base.telemetry import TelemetryEvent, emit

_REPORTS = "reports"


class ReportingSession(Session):
    """A session that reports what it has committed."""


def note_operation(session: AsyncSession, operation: Operation) -> None:
    """Note the state that an operation has just reached."""
    if operation.state.final:
        labels = {"kind": operation.kind.value, "state": operation.state.value, "code": operation.status_code or ""}
        _note(session, TelemetryEvent.OPERATION_ENDED, None, labels)


def note_event(session: AsyncSession, reported: SaleorEvent) -> None:
    """Note the state that an event has just reached."""
    if reported.state is not EventState.WAITING:
        seconds = _seconds_between(reported.created_at, reported.delivered_at)
        _note(session, TelemetryEvent.EVENT_REPORTED, seconds, {"outcome": reported.state})


def note_notification(session: AsyncSession, received_at: datetime, processed_at: datetime | None) -> None:
    """Note that a notification was processed."""
    seconds = _seconds_between(received_at, processed_at)
    _note(session, TelemetryEvent.NOTIFICATION_PROCESSED, seconds, {})


def _note(session: AsyncSession, what: TelemetryEvent, seconds: float | None, labels: dict[str, str]) -> None:
    session.info.setdefault(_REPORTS, []).append((what, seconds, labels))


@event.listens_for(ReportingSession, "after_commit")
def _send_reports(session: Session) -> None:
    for what, seconds, labels in session.info.pop(_REPORTS, ()):
        emit(what, seconds, **labels)


@event.listens_for(ReportingSession, "after_rollback")
def _discard_reports(session: Session) -> None:
    session.info.pop(_REPORTS, None)


def _seconds_between(since: datetime, until: datetime | None) -> float | None:
    return None if until is None else max(0.0, (until - since).total_seconds())
