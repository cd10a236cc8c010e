"""What follows once a transaction is committed: reports of what it changed, and jobs that it has claimed.

A decision about a payment can be made again when a transaction fails (``repository``), so it is not reported where it
is made. Who writes a row notes it here, and it is reported once, after the commit: operations that ended, events
delivered to Saleor, notifications that were processed.

Claims on write: whoever makes a job due claims it for the worker of its own process. That saves the transaction of a
claim, and the wait for it. A worker that dies loses nothing: such a claim expires like any other. Where there is no
worker in this process, or no room in it, the job is written unclaimed, and any worker is free to take it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from sqlalchemy import event
from sqlmodel import Session
from sqlmodel.ext.asyncio.session import AsyncSession

from app.core.payment import Operation, SaleorEvent
from app.core.vocabulary import EventState
from app.store.job_queue import Claim, JobQueue, Tenant
from integration_base.telemetry import TelemetryEvent, emit

_REPORTS = "reports"
_CLAIMS = "claims on write"


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


class Reservation(Protocol):
    """Room for one job in a worker. ``until``: how long a claim that is written now lasts."""

    @property
    def until(self) -> datetime: ...

    def begin(self, claim: Claim) -> None:
        """Begin the job: its claim is committed."""

    def release(self) -> None:
        """Give the room back: there is no job."""


class LocalWorker(Protocol):
    """The worker of this process."""

    def now(self) -> datetime: ...

    def reserve(self, queue: JobQueue, tenant: Tenant) -> Reservation | None:
        """Reserve room for a job; None when there is none now."""

    def wake(self, *queues: JobQueue) -> None:
        """Have the worker claim what is due in these queues."""


@dataclass
class ClaimsOnWrite:
    """The claims that one transaction writes. They end with it: the jobs begin, or the room is given back.

    Jobs that it makes due without claiming them wake the worker, so that nobody else has to.
    """

    worker: LocalWorker | None
    _reserved: list[Reservation] = field(default_factory=list)
    _claimed: list[tuple[Reservation, Claim]] = field(default_factory=list)
    _woken: set[JobQueue] = field(default_factory=set)

    def attach(self, session: AsyncSession) -> None:
        session.info[_CLAIMS] = self

    def reserve(self, queue: JobQueue, tenant: Tenant, due: datetime | None) -> Reservation | None:
        """Reserve room for a job that is about to be written, if it is due at once; None: write it unclaimed."""
        if self.worker is None or due is None or due > self.worker.now():
            return None
        reservation = self.worker.reserve(queue, tenant)
        if reservation is None:
            self.wake(queue)
        else:
            self._reserved.append(reservation)
        return reservation

    def wake(self, *queues: JobQueue) -> None:
        """Have the worker claim from these queues once this transaction is committed: it has made jobs due."""
        self._woken.update(queues)

    def add(self, reservation: Reservation, claim: Claim) -> None:
        """Begin the job of ``claim``, which was written, in the room that was reserved, once it is committed."""
        self._reserved.remove(reservation)
        self._claimed.append((reservation, claim))

    def end(self, *, committed: bool) -> None:
        """Begin the jobs, or give all room back when nothing was committed."""
        if committed:
            for reservation, claim in self._claimed:
                reservation.begin(claim)
            if self.worker is not None and self._woken:
                self.worker.wake(*self._woken)
        unused: Sequence[Reservation] = [reservation for reservation, _ in self._claimed if not committed]
        for reservation in (*self._reserved, *unused):
            reservation.release()


def claims_of(session: AsyncSession) -> ClaimsOnWrite:
    """Return the claims that the transaction of this session writes."""
    claims: ClaimsOnWrite = session.info[_CLAIMS]
    return claims
