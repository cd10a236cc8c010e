"""``accounts add``: stores a point of sale with its keys, and checks it at the gateway at once."""

from collections.abc import Mapping

import typer

from app.commands import account_flags as flags
from app.commands.account_keys import SecretsFile, read_keys
from app.commands.account_view import as_facts, describe_warnings, finding_to_json, to_json
from app.commands.failure import CommandFailed
from app.commands.finders import find_installation
from app.commands.services import with_services
from app.commands.terminal import AsJson, print_error, print_line, print_warning, show, show_json
from app.flows.accounts.changes import build_account, require_free_name
from app.flows.accounts.channels import AccountView, load_view
from app.flows.accounts.check import CheckResult, check_merchant_account
from app.rules.accounts.option_values import OptionInput, OptionsRefusedError
from app.services import Services
from app.store.accounts import NameTakenError
from gateway_client.hosts import KNOWN_GATEWAYS


@flags.takes_options
def add(
    *,
    pos_id: flags.PosId,
    saleor: flags.Saleor = None,
    gateway: flags.Preset = None,
    base_url: flags.BaseUrl = None,
    scheme_word: flags.SchemeWord = None,
    secrets_file: SecretsFile = None,
    no_check: flags.NoCheck = False,
    as_json: AsJson = False,
    given: Mapping[str, OptionInput],
) -> None:
    """Add a merchant account and test it.

    You are prompted for its secrets, unless they are in a TOML file (--secrets-file) or in the environment, under the
    names GATEWAY_API_KEY, GATEWAY_API_SECRET and GATEWAY_ENDPOINTS_KEY. An account that does not work yet is kept: fix
    it with `accounts set`.
    """
    endpoint = flags.parse_endpoint(gateway, base_url, scheme_word)
    if endpoint is None:
        raise CommandFailed(
            f"choose a gateway: --gateway {' or '.join(KNOWN_GATEWAYS)}, or --base-url with the address of another one",
            status=2,
        )
    columns = flags.parse_columns(given)

    async def check_preconditions(services: Services) -> int:
        """Detect conflicts before the user types a secret; return the installation's id. Raises CommandFailed."""
        installation = await find_installation(services, saleor)
        try:
            await require_free_name(services, installation.id, columns.get("name", endpoint.name))
        except NameTakenError as taken:
            raise CommandFailed(
                f"{taken}: change it with `saleor-gateway accounts set`, or give the new one a different --name"
            ) from taken
        return installation.id

    installation_id = with_services(check_preconditions)
    keys = read_keys(secrets_file)
    try:
        new = build_account(installation_id, pos_id, endpoint, keys, columns)
    except OptionsRefusedError as exc:
        raise flags.invalid_option_error(exc) from exc

    async def store(services: Services) -> tuple[AccountView, CheckResult | None]:
        account = await services.accounts.add(new)
        added = await load_view(services, account)
        return added, None if no_check else await check_merchant_account(services, added, new=True)

    added, finding = with_services(store)
    if as_json:
        show_json({**to_json(added), "check": finding_to_json(finding) if finding else None})
    else:
        _print_result(added, finding)
    if finding is not None and finding.failure:
        raise typer.Exit(1)


def _print_result(added: AccountView, finding: CheckResult | None) -> None:
    account = added.account
    print_line("The account was added.", "bold")
    show(as_facts(added))
    if finding is not None and finding.failure:
        print_error(f"the account does not work yet: {finding.failure}")
        print_line(
            f"Fix it with `saleor-gateway accounts set {account.id}`, then: saleor-gateway accounts check {account.id}"
        )
        return
    if finding is not None:
        print_line("The gateway accepts its keys.", "green")
        for text in describe_warnings(finding):
            print_warning(text)
    print_line("")
    print_line(f"Next:  saleor-gateway channels map YOUR-CHANNEL {account.id}")
