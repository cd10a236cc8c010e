"""``accounts add``: a point of sale with its keys, tried out as soon as it is kept."""

from collections.abc import Mapping

import typer

from app.commands import account_flags as flags
from app.commands.account_keys import SecretsFile, read_keys
from app.commands.account_view import areas_in_words, as_facts, finding_to_json, lacks_in_words, to_json
from app.commands.failure import CommandFailed
from app.commands.finding import find_installation
from app.commands.opening import with_services
from app.commands.terminal import AsJson, complain, say, show, show_json, warn
from app.gateway.hosts import PRESETS
from app.payments.accounts.channels import AccountView, view
from app.payments.accounts.check import Finding, check
from app.payments.accounts.keeping import NameTakenError, new_account, require_free_name
from app.payments.accounts.option_values import Given, OptionsRefusedError
from app.payments.services import Services


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
    given: Mapping[str, Given],
) -> None:
    """Add a merchant account and try it out.

    You are asked for its secrets, unless they are in a TOML file (--secrets-file) or in the environment, under the
    names GATEWAY_API_KEY, GATEWAY_API_SECRET and GATEWAY_ENDPOINTS_KEY. An account that does not work yet stays: mend
    it with `accounts set`.
    """
    place = flags.place_given(gateway, base_url, scheme_word)
    if place is None:
        raise CommandFailed(
            f"say which gateway: --gateway {' or '.join(PRESETS)}, or --base-url with the address of another", status=2
        )
    columns = flags.columns_of(given)

    async def before(services: Services) -> int:
        """Find out what would be in the way before anybody types a secret."""
        installation = await find_installation(services, saleor)
        try:
            await require_free_name(services, installation.id, columns.get("name", place.name))
        except NameTakenError as taken:
            raise CommandFailed(
                f"{taken}: change it with `saleor-gateway accounts set`, or give the new one another --name"
            ) from taken
        return installation.id

    installation_id = with_services(before)
    keys = read_keys(secrets_file)
    try:
        new = new_account(installation_id, pos_id, place, keys, columns)
    except OptionsRefusedError as exc:
        raise flags.not_right(exc) from exc

    async def keep(services: Services) -> tuple[AccountView, Finding | None]:
        account = await services.accounts.add(new)
        added = await view(services, account)
        return added, None if no_check else await check(services.gateways.client(account), added, new=True)

    added, finding = with_services(keep)
    if as_json:
        show_json({**to_json(added), "check": finding_to_json(finding) if finding else None})
    else:
        _tell(added, finding)
    if finding is not None and finding.wrong:
        raise typer.Exit(1)


def _tell(added: AccountView, finding: Finding | None) -> None:
    account = added.account
    say("The account is added.", "bold")
    show(as_facts(added))
    if finding is not None and finding.wrong:
        complain(f"the account does not work yet: {finding.wrong}")
        say(
            f"Mend it with `saleor-gateway accounts set {account.id}`, then: saleor-gateway accounts check {account.id}"
        )
        return
    if finding is not None:
        say("The gateway takes its keys.", "green")
        for words in [*areas_in_words(finding), *lacks_in_words(finding)]:
            warn(words)
    say("")
    say(f"Next:  saleor-gateway channels map YOUR-CHANNEL {account.id}")
