"""Runs a comparison of an account's books with the gateway's, from first window to last (laws of money, 13).

A run is a row that stores its progress together with the findings: another process can take over and continue from
there, and repeating a step is idempotent. A window is at most 31 days in UTC (gateway interface, 10); its books are
read completely or not at all. Failures are retried with growing pauses, and then left to the next night.

``preview`` compares without a run, and without side effects.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta

import structlog

from app.flows.look_up import client_of
from app.flows.reconciliation.compare import Period
from app.flows.reconciliation.gather import read_orders, read_register, start_register
from app.flows.reconciliation.orders import GatewayUnavailableError, build_finding, compare_orders
from app.flows.reconciliation.progress import Progress
from app.flows.reconciliation.spool import open_spool
from app.flows.reconciliation.windows import BATCH_SIZE, Comparison
from app.rules.issues import Issue, IssueCode, issue_from_json
from app.services import Services
from app.store.committed import claims_of
from app.store.reconciliations import (
    FIRST_RUN_REACH,
    RECONCILIATIONS,
    SETTLING_TIME,
    Finding,
    begin_comparison,
    claim_run,
    covered_until,
    extend_claim,
    is_being_compared,
    plan_run,
    planned_time,
    update_run,
)
from app.store.tables import DiscrepancyState, MerchantAccount, ReconciliationRun, RunState
from gateway_client.errors import GatewayError, RateLimitedError, ReportNotReadyError
from gateway_client.models.reports import split_period

log = structlog.get_logger(__name__)

OVERLAP = timedelta(days=2)
"""How much of the previous night's period is compared again: some of it was still pending."""

_FIRST_PAUSE, _LONGEST_PAUSE, _MAX_ATTEMPTS = timedelta(minutes=1), timedelta(hours=1), 8
_NOT_READY_PAUSE, _MAX_REGISTER_POLLS = timedelta(seconds=1), 120
_POLL_SECONDS = 0.2
_PREVIEW_TIMEOUT = 600.0  # seconds that a register is waited for

_NOT_READY = Issue(IssueCode.REGISTER_NOT_READY)


class _RetryLaterError(Exception):
    """The run cannot continue now. ``issue`` is the reason; ``pause``: how long the gateway wants no requests."""

    def __init__(self, issue: Issue, pause: timedelta | None = None) -> None:
        super().__init__(issue.message)
        self.issue = issue
        self.pause = pause


async def reconcile(services: Services, run_id: int, progress: Progress | None = None) -> None:
    """Continue a claimed comparison until it ends or fails."""
    async with services.database.transaction() as session:
        await begin_comparison(session, run_id, services.now())
        run = await session.get_one(ReconciliationRun, run_id)
    account = None if run.due_at is None else await services.accounts.find(run.account_id)
    if account is None:
        return
    if run.state is RunState.PLANNED and not await _start_if_due(services, run, account):
        return
    try:
        async with _renewing_claim(services, run):
            await Comparison(services, run, account, progress or Progress()).resume()
    except ReportNotReadyError:
        await _schedule_retry(services, run, account, _RetryLaterError(_NOT_READY))
    except GatewayUnavailableError as error:
        await _schedule_retry(services, run, account, _retry_error(error.cause))
    except GatewayError as error:
        await _schedule_retry(services, run, account, _retry_error(error))
    except Exception as error:
        log.exception("comparison.failed", run=run_id, error=type(error).__name__)
        await _schedule_retry(services, run, account, _RetryLaterError(Issue(IssueCode.COMPARISON_FAILED)))


async def schedule_comparison(services: Services, account: MerchantAccount) -> bool:
    """Let a worker run the next nightly comparison now; False when one is already running."""
    async with services.database.transaction() as session:
        if await is_being_compared(session, account.id):
            return False
    run_id = await begin_run(services, account)
    async with services.database.transaction() as session:
        await update_run(session, run_id, due_at=services.now())
        claims_of(session).wake(RECONCILIATIONS)
    return True


async def begin_run(
    services: Services, account: MerchantAccount, start: datetime | None = None, end: datetime | None = None
) -> int:
    """Create a comparison to run now and return its row id; the caller must continue it.

    Without a period it covers the period of the next nightly run.
    """
    now = services.now()
    first, last = await nightly_period(services, account)
    async with services.database.transaction() as session:
        run = ReconciliationRun(
            installation_id=account.installation_id,
            account_id=account.id,
            state=RunState.RUNNING,
            chosen=start is not None or end is not None,
            starts_at=start or first,
            ends_at=end or last,
            due_at=now + services.schedule.lease,
            created_at=now,
            started_at=now,
        )
        session.add(run)
        await session.flush()
        return run.id or 0


async def complete_run(services: Services, run_id: int, progress: Progress | None = None) -> ReconciliationRun:
    """Continue a comparison to its end while the caller waits; return its row.

    Waits for a register. After any other failure, the run is left to the worker and returned as it is.
    """
    while True:
        await reconcile(services, run_id, progress)
        run = await _load_run(services, run_id)
        while run.due_at is not None and is_waiting_for_register(run):
            await asyncio.sleep(max((run.due_at - services.now()).total_seconds(), _POLL_SECONDS))
            async with services.database.transaction() as session:
                if await claim_run(session, run_id, run.due_at, services.now() + services.schedule.lease):
                    break
            run = await _load_run(services, run_id)
        else:
            return run


def is_waiting_for_register(run: ReconciliationRun) -> bool:
    """Return whether a comparison is only waiting for the gateway to create a register."""
    return run.failure is not None and issue_from_json(run.failure) == _NOT_READY


async def nightly_period(services: Services, account: MerchantAccount) -> tuple[datetime, datetime]:
    """Return the period of the next nightly comparison."""
    async with services.database.transaction() as session:
        start = _period_start(account, services.now(), await covered_until(session, account.id))
    return start, _period_end(start, services.now())


async def preview(
    services: Services, account: MerchantAccount, start: datetime, end: datetime, progress: Progress
) -> list[Finding]:
    """Return the differences of a period. Raises GatewayError.

    It is a comparison without side effects: nothing is looked up, repaired, written or reported.
    """
    client = client_of(services, account)
    found: list[Finding] = []
    for since, until in split_period(start, end):
        period = Period(since, until)
        progress.start_window(since, until)
        async with open_spool() as spool:
            ticket = await start_register(client, since, until)
            if ticket is None:
                await read_orders(client, since, until, spool, progress)
            else:
                await read_register(client, ticket, spool, progress, patience=_PREVIEW_TIMEOUT)
            progress.start_comparing(await spool.count_orders())
            after = None
            while lines := await spool.next_orders(after, BATCH_SIZE):
                ours, unknown_orders = await compare_orders(services, account, lines, period)
                found += [build_finding(payment, difference, DiscrepancyState.FOUND) for payment, difference in ours]
                found += unknown_orders
                progress.add_compared(len(lines))
                after = list(lines)[-1]
    return found


def _period_start(account: MerchantAccount, now: datetime, covered: datetime | None) -> datetime:
    first = max(account.created_at, now - FIRST_RUN_REACH)
    return first if covered is None else max(first, covered - OVERLAP)


def _period_end(start: datetime, now: datetime) -> datetime:
    return max(now - SETTLING_TIME, start + timedelta(seconds=1))


async def _load_run(services: Services, run_id: int) -> ReconciliationRun:
    async with services.database.transaction() as session:
        return await session.get_one(ReconciliationRun, run_id)


async def _start_if_due(services: Services, run: ReconciliationRun, account: MerchantAccount) -> bool:
    """Start a planned comparison; postpone it and return False if its owner has since chosen another hour."""
    now = services.now()
    columns: dict[str, object]
    planned_for = planned_time(account, run)
    if planned_for > now:
        columns = {"due_at": planned_for}
    else:
        run.state, run.started_at = RunState.RUNNING, now
        run.starts_at, run.ends_at = await nightly_period(services, account)
        columns = {name: getattr(run, name) for name in ("state", "started_at", "starts_at", "ends_at")}
    async with services.database.transaction() as session:
        await update_run(session, run.id or 0, **columns)
        if run.state is RunState.RUNNING:
            await plan_run(session, account, now)
    return run.state is RunState.RUNNING


@asynccontextmanager
async def _renewing_claim(services: Services, run: ReconciliationRun) -> AsyncIterator[None]:
    """Renew the claim while the block runs, so that no other process takes over."""
    lease = services.schedule.lease

    finished = asyncio.Event()

    async def renew() -> None:
        while not finished.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(finished.wait(), lease.total_seconds() / 3)
                return
            async with services.database.transaction() as session:
                await extend_claim(session, run.id or 0, services.now() + lease)

    renewing = asyncio.create_task(renew())
    try:
        yield
    finally:
        finished.set()  # not cancelled: on SQLite the lock of an interrupted transaction outlives it for a while
        await renewing


def _retry_error(error: GatewayError) -> _RetryLaterError:
    log.warning("comparison.interrupted", error=str(error))
    pause = error.pause if isinstance(error, RateLimitedError) else None
    issue = Issue(IssueCode.RECORDS_NOT_PROVIDED, said=error.message)
    return _RetryLaterError(issue, None if pause is None else timedelta(seconds=pause))


async def _schedule_retry(
    services: Services, run: ReconciliationRun, account: MerchantAccount, error: _RetryLaterError
) -> None:
    """Schedule the next attempt; after too many attempts, fail the run and leave it to the next night."""
    now, waiting = services.now(), error.issue == _NOT_READY
    run = await _load_run(services, run.id or 0)
    attempts = run.attempts + 1
    async with services.database.transaction() as session:
        if attempts >= (_MAX_REGISTER_POLLS if waiting else _MAX_ATTEMPTS):
            issue = Issue(IssueCode.REGISTER_LATE) if waiting else error.issue
            await update_run(
                session,
                run.id or 0,
                state=RunState.FAILED,
                failure=issue.to_json(),
                report_id=None,
                finished_at=now,
                due_at=None,
            )
            await plan_run(session, account, now)
            return
        first = _NOT_READY_PAUSE if waiting else _FIRST_PAUSE
        longest = _FIRST_PAUSE if waiting else _LONGEST_PAUSE
        pause = max(services.schedule.pause(first, attempts, longest), error.pause or timedelta())
        await update_run(session, run.id or 0, attempts=attempts, failure=error.issue.to_json(), due_at=now + pause)
