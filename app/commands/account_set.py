"""``accounts set``: changes an account. What the gateway must agree to is tried out before it is kept."""

from dataclasses import replace
from typing import Annotated

import typer

from app.commands import account_choices as choices
from app.commands import account_options as options
from app.commands.account_check import try_credentials
from app.commands.account_keys import SecretsFile, read_new_keys
from app.commands.account_view import AccountView, as_facts, view
from app.commands.failure import CommandFailed
from app.commands.finding import find_account
from app.commands.opening import at_desk
from app.commands.terminal import AsJson, say, show, show_json
from app.ledger.tables import MerchantAccount
from app.payments.desk import Desk


def change(
    account: options.Account,
    *,
    name: options.Name = None,
    gateway: options.Preset = None,
    base_url: options.BaseUrl = None,
    scheme_word: options.SchemeWord = None,
    currency: options.CurrencyCodes = None,
    storefront: options.Storefronts = None,
    order_timeout: options.OrderTimeout = None,
    names_required: Annotated[
        bool | None,
        typer.Option("--names-required/--names-optional", help="Whether shoppers must give first and last name."),
    ] = None,
    enabled: Annotated[
        bool | None,
        typer.Option("--enable/--disable", help="Whether payments are begun with it. Those begun are always finished."),
    ] = None,
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
    rotate_secrets: Annotated[
        bool,
        typer.Option(
            "--rotate-secrets", help="Replace secrets. The old API secret still verifies notifications on their way."
        ),
    ] = False,
    secrets_file: SecretsFile = None,
    no_check: options.NoCheck = False,
    as_json: AsJson = False,
) -> None:
    """Change an account. Currencies and storefronts given here replace those it had.

    A new gateway brings its own addresses of balances and registers, unless others are named. New secrets come from
    where `accounts add` takes them. They and a new address are tried out first: if the gateway does not take them,
    nothing is changed.
    """
    columns: dict[str, object] = {
        "name": None if name is None else options.account_name(name),
        "currencies": options.currency_codes(currency) if currency else None,
        "storefront_origins": options.storefront_origins(storefront) if storefront else None,
        "order_timeout": order_timeout,
        "names_required": names_required,
        "enabled": enabled,
    }
    columns = {column: value for column, value in columns.items() if value is not None}
    columns |= choices.read_columns(
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
    place = options.place_of(gateway, base_url, scheme_word)
    keys = rotate_secrets or secrets_file is not None
    if not columns and place is None and scheme_word is None and not keys:
        raise CommandFailed("say what to change: `saleor-gateway accounts set --help` lists it", status=2)
    meant = at_desk(lambda desk: find_account(desk, account))
    new_keys = read_new_keys(secrets_file) if keys else {}

    async def keep(desk: Desk) -> AccountView:
        row = await find_account(desk, meant.id)
        await _name_is_free(desk, row, columns.get("name"))
        if place is not None or scheme_word is not None or new_keys:
            present = options.Place(row.name, row.base_url, row.scheme_word, row.balances_url, row.register_url)
            there = (place or replace(present, scheme_word=scheme_word or present.scheme_word)).with_areas(columns)
            checked = options.credentials(row.pos_id, there, replace(desk.accounts.keys(row), **new_keys))
            wrong = None if no_check else await try_credentials(checked)
            if wrong:
                raise CommandFailed(f"nothing was changed: {wrong} (--no-check changes it nevertheless)")
            columns.update(
                base_url=checked.base_url,
                scheme_word=checked.scheme_word,
                balances_url=there.balances_url,
                register_url=there.register_url,
            )
        if columns:
            row = await desk.accounts.change(row.id, **columns)
        if new_keys:
            row = await desk.accounts.change_keys(row.id, **new_keys)
        return await view(desk, row)

    changed = at_desk(keep)
    if as_json:
        show_json(changed.to_json())
        return
    say("The account is changed.", "bold")
    show(as_facts(changed))


async def _name_is_free(desk: Desk, row: MerchantAccount, name: object) -> None:
    for other in await desk.accounts.all():
        same = isinstance(name, str) and other.name.casefold() == name.casefold()
        if same and other.id != row.id and other.installation_id == row.installation_id:
            raise CommandFailed(f"another merchant account of this Saleor is named {other.name!r} ({other.id})")
