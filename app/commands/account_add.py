"""``accounts add``: a point of sale with its keys, tried out as soon as it is kept."""

from typing import Annotated
from uuid import UUID

import typer

from app.commands import account_choices as choices
from app.commands import account_options as options
from app.commands.account_check import Finding, check
from app.commands.account_keys import SecretsFile, read_keys
from app.commands.account_view import AccountView, as_facts, view
from app.commands.failure import CommandFailed
from app.commands.finding import find_installation
from app.commands.opening import at_desk
from app.commands.terminal import AsJson, complain, say, show, show_json, warn
from app.gateway.credentials import Credentials
from app.gateway.hosts import PRESETS
from app.ledger.accounts import AccountKeys, NewAccount
from app.payments.desk import Desk


def add(
    *,
    pos_id: options.PosId,
    saleor: options.Saleor = None,
    name: options.Name = None,
    gateway: options.Preset = None,
    base_url: options.BaseUrl = None,
    scheme_word: options.SchemeWord = None,
    currency: options.CurrencyCodes = None,
    storefront: options.Storefronts = None,
    order_timeout: options.OrderTimeout = None,
    names_optional: Annotated[
        bool, typer.Option("--names-optional", help="Take payments of shoppers without first and last name too.")
    ] = False,
    sector: choices.MerchantSector = None,
    mcc: choices.Mcc = None,
    description: choices.Description = None,
    products: choices.ProductsTold = None,
    receipt: choices.Receipt = None,
    three_ds: choices.ThreeDSecure = None,
    cancel_older: choices.CancelOlder = None,
    direct_cards: choices.DirectCards = None,
    balances_url: choices.BalancesUrl = None,
    register_url: choices.RegisterUrl = None,
    secrets_file: SecretsFile = None,
    no_check: options.NoCheck = False,
    as_json: AsJson = False,
) -> None:
    """Add a merchant account and try it out.

    You are asked for its secrets, unless they are in a TOML file (--secrets-file) or in the environment, under the
    names GATEWAY_API_KEY, GATEWAY_API_SECRET and GATEWAY_ENDPOINTS_KEY. An account that does not work yet stays: mend
    it with `accounts set`.
    """
    place = options.place_of(gateway, base_url, scheme_word)
    if place is None:
        raise CommandFailed(
            f"say which gateway: --gateway {' or '.join(PRESETS)}, or --base-url with the address of another", status=2
        )
    columns = choices.read_columns(
        sector=sector,
        merchant_mcc=mcc,
        description_template=description,
        products=products,
        receipt_delivery=receipt,
        order_3ds_bypass=three_ds,
        cancel_older=cancel_older,
        pci_dss_confirmed=direct_cards,
        balances_url=balances_url,
        register_url=register_url,
    )
    place = place.with_areas(columns)
    account_name = options.account_name(place.name if name is None else name)
    currencies = options.currency_codes(currency or ["UAH"])
    origins = options.storefront_origins(storefront or [])

    async def before(desk: Desk) -> int:
        """Find out what would be in the way before anybody types a secret."""
        installation = await find_installation(desk, saleor)
        for account in await desk.accounts.all():
            if account.installation_id == installation.id and account.name.casefold() == account_name.casefold():
                raise CommandFailed(
                    f"this Saleor has a merchant account {account_name!r} already ({account.id}): change it with "
                    "`saleor-gateway accounts set`, or give the new one another --name"
                )
        return installation.id

    installation_id = at_desk(before)
    keys = read_keys(secrets_file)
    checked = options.credentials(pos_id, place, keys)

    async def keep(desk: Desk) -> tuple[AccountView, Finding | None]:
        account = await desk.accounts.add(
            NewAccount(
                installation_id=installation_id,
                name=account_name,
                pos_id=str(UUID(checked.pos_id)),
                base_url=checked.base_url,
                scheme_word=checked.scheme_word,
                keys=_only_keys(checked),
                currencies=currencies,
                storefront_origins=origins,
                order_timeout=order_timeout or options.DEFAULT_ORDER_TIMEOUT,
                names_required=not names_optional,
                options={**columns, "balances_url": place.balances_url, "register_url": place.register_url},
            )
        )
        added = await view(desk, account)
        return added, None if no_check else await check(desk.gateways.client(account), added, new=True)

    added, finding = at_desk(keep)
    if as_json:
        show_json({**added.to_json(), "check": finding.to_json() if finding else None})
    else:
        _tell(added, finding)
    if finding is not None and finding.wrong:
        raise typer.Exit(1)


def _only_keys(checked: Credentials) -> AccountKeys:
    return AccountKeys(api_key=checked.api_key, api_secret=checked.api_secret, endpoints_key=checked.endpoints_key)


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
        for words in finding.warnings:
            warn(words)
    say("")
    say(f"Next:  saleor-gateway channels map YOUR-CHANNEL {account.id}")
