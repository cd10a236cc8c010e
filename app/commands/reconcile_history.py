"""``reconcile history``, ``show`` and ``looked-at``: the results of comparisons, and their acknowledgement."""

from collections.abc import Sequence
from typing import Annotated

import typer

from app.commands.acknowledge import acknowledge_in_store
from app.commands.arguments import MAX_NUMBER
from app.commands.failure import CommandFailed
from app.commands.finders import find_account
from app.commands.reconcile import OneAccount
from app.commands.reconcile_view import finding_to_json, print_finding, print_run, run_to_json
from app.commands.services import with_services
from app.commands.terminal import AsJson, print_line, show_json
from app.flows.staff.manual_resolution import acknowledge_unknown_orders
from app.services import Services
from app.store.reconciliations import discrepancies_of_run
from app.store.reconciliations import list_runs as read_history
from app.store.tables import Discrepancy, ReconciliationRun

_MOST = 500


def history(
    account: OneAccount = None,
    before: Annotated[
        int | None,
        typer.Option(
            max=MAX_NUMBER,
            metavar="NUMBER",
            help="Continue before this comparison, the last one of a page.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, metavar="NUMBER", help="How many to show, newest first.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show the newest comparisons."""

    async def read(services: Services) -> tuple[Sequence[ReconciliationRun], dict[str, str]]:
        accounts = {account.id: account.name for account in await services.accounts.all()}
        chosen = None if account is None else (await find_account(services, account)).id
        async with services.database.transaction() as session:
            return await read_history(session, account_id=chosen, before=before, most=limit), accounts

    runs, names = with_services(read)
    if as_json:
        show_json([{"account": run.account_id} | run_to_json(run) for run in runs])
    elif not runs:
        print_line("Nothing has been compared yet.")
    else:
        for run in runs:
            print_run(run, names[run.account_id])


def show_run(
    number: Annotated[
        int, typer.Argument(max=MAX_NUMBER, metavar="NUMBER", help="The number of a comparison, from `history`.")
    ],
    as_json: AsJson = False,
) -> None:
    """Show what a comparison found. At most 500 differences are shown: the first ones."""

    async def read(services: Services) -> tuple[ReconciliationRun | None, Sequence[Discrepancy], str]:
        async with services.database.transaction() as session:
            run = await session.get(ReconciliationRun, number)
            found = await discrepancies_of_run(session, number, most=_MOST)
        account = None if run is None else await services.accounts.find(run.account_id)
        return run, found, "" if account is None else account.name

    run, found, name = with_services(read)
    if run is None:
        raise CommandFailed(f"there is no comparison {number}: `saleor-gateway reconcile history` shows them")
    if as_json:
        differences = [
            finding_to_json(discrepancy.order_id, discrepancy.kind, discrepancy.state, discrepancy.facts)
            for discrepancy in found
        ]
        show_json({"account": run.account_id} | run_to_json(run) | {"differences": differences})
        return
    print_run(run, name)
    for discrepancy in found:
        print_finding(discrepancy.order_id, discrepancy.kind, discrepancy.state, discrepancy.facts)


def looked_at(
    saleor: Annotated[
        str | None, typer.Option(metavar="URL", help="The store's Saleor API URL, if several have installed the app.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Mark paid orders in the gateway's records that match no payment as reviewed. They are kept."""
    acknowledge_in_store(saleor, acknowledge_unknown_orders, as_json=as_json)
