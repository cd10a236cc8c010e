"""``accounts``: the points of sale at the gateway, with their keys."""

from typing import Annotated

import typer

from app.commands import account_flags as flags
from app.commands.account_view import areas_in_words, as_facts, as_table, finding_to_json, lacks_in_words, to_json
from app.commands.failure import CommandFailed
from app.commands.finding import find_account
from app.commands.opening import with_services
from app.commands.terminal import AsJson, complain, confirm, require_somebody_to_ask, say, show, show_json, warn
from app.payments.accounts.areas import Access
from app.payments.accounts.channels import AccountView, view, views
from app.payments.accounts.check import Finding, check
from app.payments.services import Services


def show_accounts(as_json: AsJson = False) -> None:
    """Show all merchant accounts."""
    found = with_services(views)
    if as_json:
        show_json([to_json(each) for each in found])
        return
    if not found:
        say("There is no merchant account yet: saleor-gateway accounts add --help")
    for number, saleor in enumerate(dict.fromkeys(each.saleor for each in found)):
        if number:
            say("")
        say(saleor, "bold")
        show(as_table(each for each in found if each.saleor == saleor))


def show_account(account: flags.Account, as_json: AsJson = False) -> None:
    """Show everything about one account but its secrets."""

    async def find(services: Services) -> AccountView:
        return await view(services, await find_account(services, account))

    found = with_services(find)
    if as_json:
        show_json(to_json(found))
    else:
        show(as_facts(found))


def check_accounts(
    account: Annotated[
        str | None,
        typer.Argument(metavar="[ACCOUNT]", help="Its id or its name; all that are switched on, if left out."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Try accounts out at the gateway, harmlessly. The exit status is 1 when something is wrong."""

    async def look(services: Services) -> list[Finding]:
        rows = (
            [await find_account(services, account)]
            if account
            else [row for row in await services.accounts.all() if row.enabled]
        )
        return [await check(services.gateways.client(each.account), each) for each in await views(services, rows)]

    findings = with_services(look)
    if not findings:
        raise CommandFailed("there is no merchant account that is switched on: saleor-gateway accounts add --help")
    if as_json:
        show_json([finding_to_json(each) for each in findings])
    else:
        for finding in findings:
            _tell(finding)
    if any(finding.wrong for finding in findings):
        raise typer.Exit(1)


def remove(
    account: flags.Account,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether you are sure.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete an account with its keys. One that payments refer to is kept for them, and switched off."""

    async def find(services: Services) -> AccountView:
        return await view(services, await find_account(services, account))

    found = with_services(find)
    row = found.account
    if not yes:
        require_somebody_to_ask("confirm with --yes")
        show(as_facts(found))
        confirm(f"Remove the merchant account {row.name!r}?")
    deleted = with_services(lambda services: services.accounts.remove(row.id))
    if as_json:
        show_json({"id": row.id, "outcome": "deleted" if deleted else "disabled", "unmapped": list(found.channels)})
        return
    if deleted:
        say(f"The merchant account {row.name!r} is deleted, with its keys.")
    else:
        say(f"The merchant account {row.name!r} is switched off. It is kept for the payments that refer to it.")
    if found.channels:
        warn(f"payments are no longer offered in: {', '.join(found.channels)}")


def _tell(finding: Finding) -> None:
    row = finding.view.account
    if finding.wrong:
        complain(f"{row.name} ({row.id}): {finding.wrong}")
    else:
        say(f"{row.name} ({row.id}): the gateway takes its keys", "green")
        areas = [f"payments: {Access.WORKS}", *(f"{each.area}: {each.access}" for each in finding.areas)]
        say(", ".join(areas))
    for words in [*areas_in_words(finding), *lacks_in_words(finding)]:
        warn(words)
