"""``reconcile run``: compares the books of one account, or of all, with the gateway's now."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

import typer

from app.commands.arguments import read_moment
from app.commands.failure import CommandFailed
from app.commands.finders import find_account
from app.commands.progress_bar import Stage, show_progress
from app.commands.reconcile_view import (
    account_to_json,
    finding_to_json,
    format_period,
    print_finding,
    print_run,
    run_to_json,
)
from app.commands.services import with_services
from app.commands.terminal import AsJson, moment, print_line, show_json
from app.flows.reconciliation.progress import Progress
from app.flows.reconciliation.run import begin_run, complete_run, nightly_period, preview
from app.services import Services
from app.store.reconciliations import SETTLING_TIME, Finding
from app.store.tables import MerchantAccount, ReconciliationRun, RunState
from gateway_client.errors import GatewayError

_SETTLING_MINUTES = int(SETTLING_TIME.total_seconds() // 60)

OneAccount = Annotated[
    str | None,
    typer.Option("--account", metavar="ACCOUNT", help="The account's ID or name. Default: all accounts."),
]


@dataclass(frozen=True, slots=True)
class _Comparison:
    """The result for one account: a comparison, or the findings of a dry run, or the error that prevented it."""

    account: MerchantAccount
    period: tuple[datetime, datetime]
    run: ReconciliationRun | None = None
    findings: Sequence[Finding] = ()
    error: str | None = None

    @property
    def agrees(self) -> bool:
        """Return True when nothing needs a person."""
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
            help="The first day, or a time with its zone. Default: the end of the last nightly comparison, or 180 "
            "days ago.",
            show_default=False,
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="DATE",
            help=f"The last day, or a time with its zone. Default: {_SETTLING_MINUTES} minutes ago, because what is "
            "newer may still change.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show differences: nothing is looked up, repaired or reported.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compare accounts' records with the gateway's now, and repair what can be repaired. Days are in UTC.

    The exit status is 1 if something needs attention or could not be compared.
    """
    start, end = read_moment(since, "--from"), read_moment(until, "--to", last=True)

    async def do(services: Services) -> list[_Comparison]:
        accounts = list(await services.accounts.all()) if account is None else [await find_account(services, account)]
        done = []
        for compared_account in accounts:
            progress = Progress()
            async with show_progress(lambda name=compared_account.name, progress=progress: _stage(name, progress)):  # type: ignore[misc]
                done.append(await _compare(services, compared_account, (start, end), progress, dry_run=dry_run))
            if not as_json:
                _print_comparison(done[-1])
        return done

    compared = with_services(do)
    if as_json:
        show_json([_to_json(comparison) for comparison in compared])
    elif not compared:
        print_line("There is no merchant account yet.")
    elif end is None:
        print_line(
            f"The last {_SETTLING_MINUTES} minutes are left out, because they may still change. To compare them too, "
            "give today as --to.",
            "dim",
        )
    if not all(comparison.agrees for comparison in compared):
        raise typer.Exit(1)


async def _compare(
    services: Services,
    account: MerchantAccount,
    period: tuple[datetime | None, datetime | None],
    progress: Progress,
    *,
    dry_run: bool,
) -> _Comparison:
    start, end = await _period(services, account, *period)
    if dry_run:
        try:
            return _Comparison(account, (start, end), findings=await preview(services, account, start, end, progress))
        except GatewayError as error:
            return _Comparison(account, (start, end), error=str(error))
    chosen = (None, None) if period == (None, None) else (start, end)
    run = await complete_run(services, await begin_run(services, account, *chosen), progress)
    return _Comparison(account, (start, end), run)


async def _period(
    services: Services, account: MerchantAccount, start: datetime | None, end: datetime | None
) -> tuple[datetime, datetime]:
    """Return the period to compare, without its future part. Raises CommandFailed."""
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


def _print_comparison(compared: _Comparison) -> None:
    account = compared.account
    if compared.run is not None:
        print_run(compared.run, account.name)
        return
    period = format_period(*compared.period)
    if compared.error is not None:
        print_line(f"{account.name}, {period}: {compared.error}", "yellow")
        return
    found = len(compared.findings)
    differ = "1 difference" if found == 1 else f"{found} differences"
    print_line(f"{account.name}, {period}: {differ if found else 'records agree'}")
    for finding in compared.findings:
        print_finding(finding.order_id, finding.kind, finding.state, dict(finding.facts))


def _to_json(compared: _Comparison) -> dict[str, object]:
    result = account_to_json(compared.account)
    if compared.run is not None:
        return result | run_to_json(compared.run)
    return result | {
        "dry_run": True,
        "from": moment(compared.period[0]),
        "to": moment(compared.period[1]),
        "error": compared.error,
        "differences": [
            finding_to_json(finding.order_id, finding.kind, finding.state, finding.facts)
            for finding in compared.findings
        ],
    }
