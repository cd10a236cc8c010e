"""``accounts set``: changes an account. What the gateway must agree to is tried out before it is kept."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Annotated

import typer

from app.commands import account_flags as flags
from app.commands.account_keys import SecretsFile, keys_again, read_new_keys
from app.commands.account_view import as_facts, to_json
from app.commands.failure import CommandFailed
from app.commands.finding import find_account
from app.commands.opening import with_services
from app.commands.terminal import AsJson, say, show, show_json
from app.db.accounts import GRACE
from app.payments.accounts.channels import AccountView, view
from app.payments.accounts.keeping import (
    LONGEST_GRACE,
    Change,
    KeysNeededError,
    NameTakenError,
    NotTakenError,
    WalletNotTakenError,
    change_account,
    changes_address,
)
from app.payments.accounts.option_values import Given, OptionsRefusedError
from app.payments.accounts.places import Place
from app.payments.services import Services

_HOUR = timedelta(hours=1)


@flags.takes_options
def change(
    account: flags.Account,
    *,
    gateway: flags.Preset = None,
    base_url: flags.BaseUrl = None,
    scheme_word: flags.SchemeWord = None,
    rotate_secrets: Annotated[
        bool,
        typer.Option(
            "--rotate-secrets",
            help="Replace secrets. The old API secret still verifies notifications on their way, for a time.",
        ),
    ] = False,
    grace: Annotated[
        int,
        typer.Option(
            metavar="HOURS",
            min=0,
            max=LONGEST_GRACE // _HOUR,
            help="For how many hours a replaced API secret still verifies notifications; 0 if it has leaked.",
        ),
    ] = GRACE // _HOUR,
    end_grace: Annotated[
        bool, typer.Option("--end-grace", help="Take nothing any more that the replaced API secret has signed.")
    ] = False,
    secrets_file: SecretsFile = None,
    no_check: flags.NoCheck = False,
    as_json: AsJson = False,
    given: Mapping[str, Given],
) -> None:
    """Change an account. Currencies and storefronts given here replace those it had.

    A new gateway brings its own addresses of balances and registers, unless others are named. New secrets come from
    where `accounts add` takes them. They and a new address are tried out first: if the gateway does not take them,
    nothing is changed. With another address all three secrets are asked for: they are sent there.
    """
    columns = flags.columns_of(given)
    place = flags.place_given(gateway, base_url, scheme_word)
    keys = rotate_secrets or secrets_file is not None
    if not columns and place is None and scheme_word is None and not keys and not end_grace:
        raise CommandFailed("say what to change: `saleor-gateway accounts set --help` lists it", status=2)
    meant = with_services(lambda services: find_account(services, account))
    if changes_address(meant, Change(columns, place)):
        new_keys = keys_again(secrets_file)
    else:
        new_keys = read_new_keys(secrets_file) if keys else {}

    async def keep(services: Services) -> AccountView:
        row = await find_account(services, meant.id)
        there = place
        if place is None and scheme_word is not None:
            there = replace(Place.of(row), scheme_word=scheme_word)
        asked = Change(columns, there, new_keys, timedelta(hours=grace))
        try:
            row = await change_account(services, row, asked, tried=not no_check)
        except NotTakenError as exc:
            raise CommandFailed(f"nothing was changed: {exc} (--no-check changes it nevertheless)") from exc
        except WalletNotTakenError as exc:
            raise CommandFailed(f"nothing was changed: {exc} (--no-check changes it nevertheless)") from exc
        except NameTakenError as taken:
            other = taken.other
            raise CommandFailed(
                f"another merchant account of this Saleor is named {other.name!r} ({other.id})"
            ) from taken
        except OptionsRefusedError as exc:
            raise flags.not_right(exc) from exc
        except KeysNeededError as needed:  # somebody else has changed the account meanwhile
            raise CommandFailed(f"nothing was changed: {needed}", status=2) from needed
        if end_grace:
            row = await services.accounts.forget_previous_secret(row.id)
        return await view(services, row)

    changed = with_services(keep)
    if as_json:
        show_json(to_json(changed))
        return
    say("The account is changed.", "bold")
    show(as_facts(changed))
