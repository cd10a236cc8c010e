"""``reconcile history``, ``show`` and ``looked-at``: what comparisons have found, and that somebody has looked."""

from collections.abc import Sequence
from typing import Annotated

import typer

from app.commands.failure import CommandFailed
from app.commands.finding import find_account
from app.commands.looking import mark_in_store
from app.commands.opening import with_services
from app.commands.reconcile import OneAccount
from app.commands.reconcile_view import finding_to_json, run_to_json, say_finding, say_run
from app.commands.terminal import AsJson, say, show_json
from app.db.reconciliations import found_by
from app.db.reconciliations import history as read_history
from app.db.tables import Discrepancy, ReconciliationRun
from app.payments.services import Services
from app.payments.staff.manual_resolution import mark_unknown_orders_looked_at

_MOST = 500


def history(
    account: OneAccount = None,
    before: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="Go on before this one, the last of a page.", show_default=False),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, metavar="NUMBER", help="How many, the newest first.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show the newest comparisons."""

    async def read(services: Services) -> tuple[Sequence[ReconciliationRun], dict[str, str]]:
        accounts = {each.id: each.name for each in await services.accounts.all()}
        chosen = None if account is None else (await find_account(services, account)).id
        async with services.database.transaction() as session:
            return await read_history(session, account_id=chosen, before=before, most=limit), accounts

    runs, names = with_services(read)
    if as_json:
        show_json([{"account": each.account_id} | run_to_json(each) for each in runs])
    elif not runs:
        say("Nothing was compared yet.")
    else:
        for each in runs:
            say_run(each, names[each.account_id])


def show_run(
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="The number of a comparison (history).")],
    as_json: AsJson = False,
) -> None:
    """Show what a comparison has found first. At most 500 differences are shown."""

    async def read(services: Services) -> tuple[ReconciliationRun | None, Sequence[Discrepancy], str]:
        async with services.database.transaction() as session:
            run = await session.get(ReconciliationRun, number)
            found = await found_by(session, number, most=_MOST)
        account = None if run is None else await services.accounts.find(run.account_id)
        return run, found, "" if account is None else account.name

    run, found, name = with_services(read)
    if run is None:
        raise CommandFailed(f"there is no comparison {number}: `saleor-gateway reconcile history` shows them")
    if as_json:
        said = [finding_to_json(each.order_id, each.kind, each.state, each.facts) for each in found]
        show_json({"account": run.account_id} | run_to_json(run) | {"differences": said})
        return
    say_run(run, name)
    for each in found:
        say_finding(each.order_id, each.kind, each.state, each.facts)


def looked_at(
    saleor: Annotated[
        str | None, typer.Option(metavar="URL", help="Which Saleor, if several have installed the app.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say that you have looked at the paid orders of the gateway's books that are nobody's. They are kept."""
    mark_in_store(saleor, mark_unknown_orders_looked_at, as_json=as_json)
