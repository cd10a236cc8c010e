"""A comparison of an account's books with the gateway's, from its first window to its last (laws of money, 13).

It is a row that says how far it has come, written with what was found: whoever takes it over goes on there, and what is
done twice changes nothing. A window is at most 31 days, by the clock of UTC (gateway interface, 10); its books are read
as a whole, or not at all. What hinders it is tried again, later and later, and then left to the next night.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta

import structlog

from app.db.reconciliations import (
    RECONCILIATIONS,
    change,
    claim_run,
    covered_until,
    is_being_compared,
    keep_claim,
    next_time,
    plan,
)
from app.db.tables import MerchantAccount, ReconciliationRun, RunState
from app.gateway.errors import GatewayError, RateLimitedError, ReportNotReadyError
from app.i18n.messages import LazyMessage
from app.payments.reconciliation.orders import GatewayAwayError
from app.payments.reconciliation.progress import Progress
from app.payments.reconciliation.windows import Comparison
from app.payments.services import Services

log = structlog.get_logger(__name__)

COVERED = timedelta(days=180)
"""How far back the first comparison of an account goes; refunds and disputes come no later (gateway facts, 6)."""

OVERLAP = timedelta(days=2)
"""What was compared the night before is compared again: of that day some was still on its way."""

SETTLED = timedelta(minutes=15)
"""What is newer may still be notified of, and is left to the next night."""

_FIRST_PAUSE, _LONGEST_PAUSE, _MOST_TRIES = timedelta(minutes=1), timedelta(hours=1), 8
_NOT_READY_PAUSE, _MOST_LOOKS = timedelta(seconds=1), 120
_LOOK_SECONDS = 0.2

_NOT_READY = LazyMessage("The gateway is still making the register.")
_LATE = LazyMessage("The gateway has not made the register in time.")
_BROKEN = LazyMessage("Something went wrong in the app: the operator finds in its log what.")


class _NotNowError(Exception):
    """It cannot go on at this moment. ``words`` say why; ``pause``: how long the gateway wants to be left alone."""

    def __init__(self, words: LazyMessage, pause: timedelta | None = None) -> None:
        super().__init__(words)
        self.words = words
        self.pause = pause


async def reconcile(services: Services, run_id: int, progress: Progress | None = None) -> None:
    """Go on with a comparison that was claimed, as far as it goes: to its end, or to whatever hinders it."""
    run = await _read(services, run_id)
    account = None if run.due_at is None else await services.accounts.find(run.account_id)
    if account is None:
        return
    if run.state is RunState.PLANNED and not await _its_hour_has_come(services, run, account):
        return
    try:
        async with _claimed(services, run):
            await Comparison(services, run, account, progress or Progress()).go_on()
    except ReportNotReadyError:
        await _come_back(services, run, account, _NotNowError(_NOT_READY))
    except GatewayAwayError as error:
        await _come_back(services, run, account, _why(error.cause))
    except GatewayError as error:
        await _come_back(services, run, account, _why(error))
    except Exception as error:
        log.exception("comparison with the gateway failed", run=run_id, error=type(error).__name__)
        await _come_back(services, run, account, _NotNowError(_BROKEN))


async def let_worker_compare(services: Services, account: MerchantAccount) -> bool:
    """Let a worker compare what the next night would, now; False when that is being done already."""
    async with services.database.transaction() as session:
        if await is_being_compared(session, account.id):
            return False
    run_id = await begin(services, account)
    async with services.database.transaction() as session:
        await change(session, run_id, due_at=services.now())
    services.wake(RECONCILIATIONS)
    return True


async def begin(
    services: Services, account: MerchantAccount, start: datetime | None = None, end: datetime | None = None
) -> int:
    """Begin a comparison now, for somebody who waits for it; return its row id. Whoever calls this goes on with it.

    Without a period it covers what the next night would.
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


async def go_on(services: Services, run_id: int, progress: Progress | None = None) -> ReconciliationRun:
    """Go on with a comparison that was begun until it has ended, for somebody who waits for it; return it.

    A register is waited for. What else hinders it is left to the worker: then it is returned as it stands.
    """
    while True:
        await reconcile(services, run_id, progress)
        run = await _read(services, run_id)
        while run.due_at is not None and is_being_made(run):
            await asyncio.sleep(max((run.due_at - services.now()).total_seconds(), _LOOK_SECONDS))
            async with services.database.transaction() as session:
                if await claim_run(session, run_id, run.due_at, services.now() + services.schedule.lease):
                    break
            run = await _read(services, run_id)
        else:
            return run


def is_being_made(run: ReconciliationRun) -> bool:
    """Return whether a comparison goes on as soon as the gateway has made a register."""
    return run.failure is not None and LazyMessage.of(run.failure) == _NOT_READY


async def nightly_period(services: Services, account: MerchantAccount) -> tuple[datetime, datetime]:
    """Return the period that the next night would compare."""
    async with services.database.transaction() as session:
        start = _start(account, services.now(), await covered_until(session, account.id))
    return start, _end(start, services.now())


def _start(account: MerchantAccount, now: datetime, covered: datetime | None) -> datetime:
    first = max(account.created_at, now - COVERED)
    return first if covered is None else max(first, covered - OVERLAP)


def _end(start: datetime, now: datetime) -> datetime:
    return max(now - SETTLED, start + timedelta(seconds=1))


async def _read(services: Services, run_id: int) -> ReconciliationRun:
    async with services.database.transaction() as session:
        return await session.get_one(ReconciliationRun, run_id)


async def _its_hour_has_come(services: Services, run: ReconciliationRun, account: MerchantAccount) -> bool:
    """Begin a planned comparison, unless its owner has chosen another hour meanwhile."""
    now = services.now()
    columns: dict[str, object]
    chosen = next_time(account.reconcile_at, now - timedelta(days=1))  # the last such hour
    planned_for = next_time(account.reconcile_at, run.created_at)
    if chosen < planned_for:
        columns = {"due_at": planned_for}
    else:
        run.state, run.started_at = RunState.RUNNING, now
        run.starts_at, run.ends_at = await nightly_period(services, account)
        columns = {name: getattr(run, name) for name in ("state", "started_at", "starts_at", "ends_at")}
    async with services.database.transaction() as session:
        await change(session, run.id or 0, **columns)
        if run.state is RunState.RUNNING:
            await plan(session, account, now)
    return run.state is RunState.RUNNING


@asynccontextmanager
async def _claimed(services: Services, run: ReconciliationRun) -> AsyncIterator[None]:
    """Keep the claim for as long as the block takes: nobody takes over what is being done."""
    lease = services.schedule.lease

    over = asyncio.Event()

    async def renew() -> None:
        while not over.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), lease.total_seconds() / 3)
                return
            async with services.database.transaction() as session:
                await keep_claim(session, run.id or 0, services.now() + lease)

    renewing = asyncio.create_task(renew())
    try:
        yield
    finally:
        over.set()  # and not cancelled: on SQLite the lock of half a transaction outlives it for a while
        await renewing


def _why(error: GatewayError) -> _NotNowError:
    log.warning("comparison with the gateway interrupted", error=str(error))
    pause = error.pause if isinstance(error, RateLimitedError) else None
    words = LazyMessage("The gateway did not give its books: %(said)s", said=error.message)
    return _NotNowError(words, None if pause is None else timedelta(seconds=pause))


async def _come_back(services: Services, run: ReconciliationRun, account: MerchantAccount, error: _NotNowError) -> None:
    """Say when it is tried again; what was in vain for too long is left to the next night."""
    now, waiting = services.now(), error.words is _NOT_READY
    run = await _read(services, run.id or 0)
    tries = run.attempts + 1
    async with services.database.transaction() as session:
        if tries >= (_MOST_LOOKS if waiting else _MOST_TRIES):
            words = _LATE if waiting else error.words
            await change(
                session,
                run.id or 0,
                state=RunState.FAILED,
                failure=words.kept(),
                report_id=None,
                finished_at=now,
                due_at=None,
            )
            await plan(session, account, now)
            return
        first = _NOT_READY_PAUSE if waiting else _FIRST_PAUSE
        longest = _FIRST_PAUSE if waiting else _LONGEST_PAUSE
        pause = max(services.schedule.pause(first, tries, longest), error.pause or timedelta())
        await change(session, run.id or 0, attempts=tries, failure=error.words.kept(), due_at=now + pause)
