"""``accounts set``: changes an account. Changes that the gateway must accept are checked before they are stored."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Annotated

import typer

from app.commands import account_flags as flags
from app.commands.account_keys import SecretsFile, read_all_keys, read_new_keys
from app.commands.account_view import as_facts, to_json
from app.commands.failure import CommandFailed
from app.commands.finders import find_account
from app.commands.services import with_services
from app.commands.terminal import AsJson, print_line, show, show_json
from app.flows.accounts.changes import (
    LONGEST_GRACE,
    AccountChange,
    AccountCheckFailedError,
    KeysRequiredError,
    WalletNotAllowedError,
    change_account,
    changes_address,
)
from app.flows.accounts.channels import AccountView, load_view
from app.flows.accounts.gateway_endpoint import GatewayEndpoint
from app.rules.accounts.option_values import OptionInput, OptionsRefusedError
from app.rules.requests.payout import currency_of
from app.services import Services
from app.store.accounts import GRACE, NameTakenError

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
            help="Replace secrets. For a time, the old API secret still verifies notifications that are on their way.",
        ),
    ] = False,
    grace: Annotated[
        int,
        typer.Option(
            metavar="HOURS",
            min=0,
            max=LONGEST_GRACE // _HOUR,
            help="How many hours a replaced API secret still verifies notifications; 0 if it has leaked.",
        ),
    ] = GRACE // _HOUR,
    end_grace: Annotated[
        bool, typer.Option("--end-grace", help="Stop accepting notifications signed with the replaced API secret.")
    ] = False,
    secrets_file: SecretsFile = None,
    no_check: flags.NoCheck = False,
    as_json: AsJson = False,
    given: Mapping[str, OptionInput],
) -> None:
    """Change an account. Currencies and storefronts given here replace the existing ones.

    A new gateway comes with its own addresses for balances and registers, unless you name others. New secrets are read
    from the same places as in `accounts add`. They and a new address are tested first: if the gateway does not accept
    them, nothing is changed. With a different address you must give all three secrets, because they are sent there.
    """
    endpoint = flags.parse_endpoint(gateway, base_url, scheme_word)
    keys = rotate_secrets or secrets_file is not None
    is_given = any(value is not None for value in given.values())
    if not is_given and endpoint is None and scheme_word is None and not keys and not end_grace:
        raise CommandFailed("nothing to change: `saleor-gateway accounts set --help` lists the options", status=2)
    found = with_services(lambda services: find_account(services, account))
    columns = flags.parse_columns(given, currency_of(found))
    if changes_address(found, AccountChange(columns, endpoint)):
        new_keys = read_all_keys(secrets_file)
    else:
        new_keys = read_new_keys(secrets_file) if keys else {}

    async def apply(services: Services) -> AccountView:
        row = await find_account(services, found.id)
        new_endpoint = endpoint
        if endpoint is None and scheme_word is not None:
            new_endpoint = replace(GatewayEndpoint.for_account(row), scheme_word=scheme_word)
        requested = AccountChange(columns, new_endpoint, new_keys, timedelta(hours=grace))
        try:
            row = await change_account(services, row, requested, verify=not no_check)
        except AccountCheckFailedError as exc:
            raise CommandFailed(f"nothing was changed: {exc} (--no-check changes it anyway)") from exc
        except WalletNotAllowedError as exc:
            raise CommandFailed(f"nothing was changed: {exc} (--no-check changes it anyway)") from exc
        except NameTakenError as taken:
            other = taken.other
            raise CommandFailed(
                f"another merchant account of this store is named {other.name!r} ({other.id})"
            ) from taken
        except OptionsRefusedError as exc:
            raise flags.invalid_option_error(exc) from exc
        except KeysRequiredError as needed:  # the account was changed concurrently
            raise CommandFailed(f"nothing was changed: {needed}", status=2) from needed
        if end_grace:
            row = await services.accounts.revoke_previous_secret(row.id)
        return await load_view(services, row)

    changed = with_services(apply)
    if as_json:
        show_json(to_json(changed))
        return
    print_line("The account was updated.", "bold")
    show(as_facts(changed))
