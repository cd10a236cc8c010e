"""``accounts``: the points of sale at the gateway, with their keys."""

from typing import Annotated

import typer

from app.commands import account_flags as flags
from app.commands.account_view import as_facts, as_table, describe_warnings, finding_to_json, to_json
from app.commands.failure import CommandFailed
from app.commands.finders import find_account
from app.commands.services import with_services
from app.commands.terminal import (
    AsJson,
    confirm,
    print_error,
    print_line,
    print_warning,
    require_interactive,
    show,
    show_json,
)
from app.flows.accounts.channels import AccountView, load_view, load_views
from app.flows.accounts.check import CheckResult, check_merchant_account
from app.flows.accounts.gateway_access import Access
from app.services import Services


def show_accounts(as_json: AsJson = False) -> None:
    """Show all merchant accounts."""
    found = with_services(load_views)
    if as_json:
        show_json([to_json(view) for view in found])
        return
    if not found:
        print_line("There is no merchant account yet: saleor-gateway accounts add --help")
    for number, saleor in enumerate(dict.fromkeys(view.saleor for view in found)):
        if number:
            print_line("")
        print_line(saleor, "bold")
        show(as_table(view for view in found if view.saleor == saleor))


def show_account(account: flags.Account, as_json: AsJson = False) -> None:
    """Show everything about one account except its secrets."""

    async def find(services: Services) -> AccountView:
        return await load_view(services, await find_account(services, account))

    found = with_services(find)
    if as_json:
        show_json(to_json(found))
    else:
        show(as_facts(found))


def check_accounts(
    account: Annotated[
        str | None,
        typer.Argument(metavar="[ACCOUNT]", help="The account's ID or name. Default: all that are switched on."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Test accounts at the gateway, safely. The exit status is 1 if something is wrong."""

    async def check_all(services: Services) -> list[CheckResult]:
        rows = (
            [await find_account(services, account)]
            if account
            else [row for row in await services.accounts.all() if row.enabled]
        )
        return [await check_merchant_account(services, view) for view in await load_views(services, rows)]

    findings = with_services(check_all)
    if not findings:
        raise CommandFailed("no merchant account is switched on: saleor-gateway accounts add --help")
    if as_json:
        show_json([finding_to_json(result) for result in findings])
    else:
        for finding in findings:
            _print_finding(finding)
    if any(finding.failure for finding in findings):
        raise typer.Exit(1)


def remove(
    account: flags.Account,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete an account and its keys. If payments refer to it, it is kept for them and switched off."""

    async def find(services: Services) -> AccountView:
        return await load_view(services, await find_account(services, account))

    found = with_services(find)
    row = found.account
    if not yes:
        require_interactive("confirm with --yes")
        show(as_facts(found))
        confirm(f"Remove the merchant account {row.name!r}?")
    deleted = with_services(lambda services: services.accounts.remove(row.id))
    if as_json:
        show_json({"id": row.id, "outcome": "deleted" if deleted else "disabled", "unmapped": list(found.channels)})
        return
    if deleted:
        print_line(f"The merchant account {row.name!r} and its keys were deleted.")
    else:
        print_line(f"The merchant account {row.name!r} was switched off. It is kept for the payments that refer to it.")
    if found.channels:
        print_warning(f"payments are no longer offered in: {', '.join(found.channels)}")


def _print_finding(finding: CheckResult) -> None:
    row = finding.view.account
    if finding.failure:
        print_error(f"{row.name} ({row.id}): {finding.failure}")
    else:
        print_line(f"{row.name} ({row.id}): the gateway accepts its keys", "green")
        areas = [f"payments: {Access.WORKS}", *(f"{area.area}: {area.access}" for area in finding.areas)]
        print_line(", ".join(areas))
    for text in describe_warnings(finding):
        print_warning(text)
