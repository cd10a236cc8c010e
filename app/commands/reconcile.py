"""``reconcile run``: the books of one account, or of all, are compared with the gateway's now."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

import typer

from app.commands.failure import CommandFailed
from app.commands.finding import find_account
from app.commands.opening import with_services
from app.commands.periods import read_moment
from app.commands.progress_bar import Stage, shown
from app.commands.reconcile_view import account_to_json, finding_to_json, run_to_json, say_finding, say_run
from app.commands.terminal import AsJson, say, show_json
from app.db.reconciliations import Finding
from app.db.tables import MerchantAccount, ReconciliationRun, RunState
from app.gateway.errors import GatewayError
from app.payments.reconciliation.preview import preview
from app.payments.reconciliation.progress import Progress
from app.payments.reconciliation.run import begin, go_on, nightly_period
from app.payments.services import Services

OneAccount = Annotated[
    str | None,
    typer.Option("--account", metavar="ACCOUNT", help="Its id or its name; all accounts unless given."),
]


@dataclass(frozen=True, slots=True)
class _Compared:
    """What came of one account: a comparison, or of a dry run what it found, or why it found nothing."""

    account: MerchantAccount
    run: ReconciliationRun | None = None
    findings: Sequence[Finding] = ()
    error: str | None = None

    @property
    def agrees(self) -> bool:
        """Return True when nobody has to do anything."""
        if self.run is not None:
            return self.run.state is RunState.DONE and not self.run.to_people
        return self.error is None and not self.findings


def run(
    account: OneAccount = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="DATE",
            help="The first day, or a moment with its zone; from where the last night ended, or 180 days ago, unless "
            "given.",
            show_default=False,
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="DATE",
            help="The last day, or a moment with its zone; until now unless given.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what differs: nothing is looked up, repaired or told.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compare accounts' books with the gateway's now, and repair what can be repaired. Days are those of UTC.

    The exit status is 1 when something needs a person, or could not be compared.
    """
    start, end = read_moment(since, "--from"), read_moment(until, "--to", last=True)

    async def do(services: Services) -> list[_Compared]:
        meant = list(await services.accounts.all()) if account is None else [await find_account(services, account)]
        done = []
        for each in meant:
            progress = Progress()
            async with shown(lambda name=each.name, progress=progress: _stage(name, progress)):  # type: ignore[misc]
                done.append(await _compare(services, each, (start, end), progress, dry_run=dry_run))
            if not as_json:
                _say(done[-1])
        return done

    compared = with_services(do)
    if as_json:
        show_json([_to_json(each) for each in compared])
    elif not compared:
        say("There is no merchant account yet.")
    if not all(each.agrees for each in compared):
        raise typer.Exit(1)


async def _compare(
    services: Services,
    account: MerchantAccount,
    period: tuple[datetime | None, datetime | None],
    progress: Progress,
    *,
    dry_run: bool,
) -> _Compared:
    start, end = await _period(services, account, *period)
    if dry_run:
        try:
            return _Compared(account, findings=await preview(services, account, start, end, progress))
        except GatewayError as error:
            return _Compared(account, error=str(error))
    chosen = (None, None) if period == (None, None) else (start, end)
    return _Compared(account, await go_on(services, await begin(services, account, *chosen), progress))


async def _period(
    services: Services, account: MerchantAccount, start: datetime | None, end: datetime | None
) -> tuple[datetime, datetime]:
    """Return the period that is meant; what has not happened yet is left out. Raises CommandFailed."""
    first, last = await nightly_period(services, account)
    if start is not None and end is None and start > first:
        last = max(last, start + timedelta(seconds=1))
    start, end = start or first, min(end or last, services.now())
    if start >= end:
        raise CommandFailed(f"there is nothing to compare between {start:%Y-%m-%d %H:%M} and {end:%Y-%m-%d %H:%M} UTC")
    return start, end


def _stage(name: str, progress: Progress) -> Stage:
    if progress.window is None:
        return Stage(name, 0, None)
    days = f"{name}, {progress.window[0]:%Y-%m-%d} to {progress.window[1]:%Y-%m-%d}"
    if progress.orders:
        return Stage(f"{days}: orders compared", progress.compared, progress.orders)
    return Stage(f"{days}: lines read", progress.lines, progress.announced)


def _say(compared: _Compared) -> None:
    account = compared.account
    if compared.run is not None:
        say_run(compared.run, account.name)
        return
    if compared.error is not None:
        say(f"{account.name}: {compared.error}", "yellow")
        return
    found = len(compared.findings)
    differ = "1 difference" if found == 1 else f"{found} differences"
    say(f"{account.name}: {differ if found else 'books agree'}")
    for each in compared.findings:
        say_finding(each.order_id, each.kind, each.state, dict(each.facts))


def _to_json(compared: _Compared) -> dict[str, object]:
    said = account_to_json(compared.account)
    if compared.run is not None:
        return said | run_to_json(compared.run)
    return said | {
        "dry_run": True,
        "error": compared.error,
        "differences": [
            finding_to_json(each.order_id, each.kind, each.state, each.facts) for each in compared.findings
        ],
    }
