"""An account's options as flags, built from the same definitions as the pages (``rules.accounts.options``)."""

import inspect
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import wraps
from typing import Annotated, Any

import typer

from app.commands.failure import CommandFailed
from app.flows.accounts.gateway_endpoint import DEFAULT_SCHEME_WORD, GatewayEndpoint, resolve_endpoint
from app.rules.accounts.option import Form, Option
from app.rules.accounts.option_values import OptionInput, OptionsRefusedError, read_options
from app.rules.accounts.options import DEFAULT_CURRENCIES, OPTIONS
from gateway_client.hosts import KNOWN_GATEWAYS

Account = Annotated[str, typer.Argument(metavar="ACCOUNT", help="The account's ID or name.", show_default=False)]
Saleor = Annotated[
    str | None,
    typer.Option(metavar="URL", help="The store's Saleor API URL. Optional if only one store has installed the app."),
]
PosId = Annotated[
    str, typer.Option(metavar="UUID", help="The ID of the point of sale, as the merchant portal shows it.")
]
Preset = Annotated[
    str | None, typer.Option(metavar="PRESET", help=f"A gateway whose address is known: {', '.join(KNOWN_GATEWAYS)}.")
]
BaseUrl = Annotated[str | None, typer.Option(metavar="URL", help="The address of any other gateway.")]
SchemeWord = Annotated[
    str | None,
    typer.Option(metavar="WORD", help=f"The first word of the authentication header. Default: {DEFAULT_SCHEME_WORD}."),
]
NoCheck = Annotated[bool, typer.Option("--no-check", help="Do not test the keys at the gateway.")]

# The flag of each option, and its metavar.
_FLAGS: Mapping[str, tuple[str, str | None]] = {
    "name": ("--name", "TEXT"),
    "test_project": ("--test/--live", None),
    "enabled": ("--enable/--disable", None),
    "currencies": ("--currency", "CODE"),
    "storefront_origins": ("--storefront", "ORIGIN"),
    "shop_name": ("--shop-name", "TEXT"),
    "shop_logo": ("--shop-logo", "URL"),
    "shop_color": ("--shop-color", "COLOR"),
    "order_timeout": ("--order-timeout", "SECONDS"),
    "names_required": ("--names-required/--names-optional", None),
    "payer_fee_percent": ("--payer-fee", "PERCENT"),
    "sector": ("--sector", "SECTOR"),
    "merchant_mcc": ("--mcc", "CODE"),
    "description_template": ("--description", "TEXT"),
    "attributes": ("--attribute", "KEY=TEXT"),
    "validation_url": ("--validation-url", "URL"),
    "products": ("--products", "FORM"),
    "receipt_delivery": ("--receipt", "WAY"),
    "order_3ds_bypass": ("--3ds", "WHEN"),
    "cancel_older": ("--cancel-older/--keep-older", None),
    "pci_dss_confirmed": ("--confirm-pci-dss/--no-direct-cards", None),
    "saved_cards": ("--saved-cards/--no-saved-cards", None),
    "subscriptions": ("--subscriptions/--no-subscriptions", None),
    "payouts": ("--payouts/--no-payouts", None),
    "payout_most": ("--payout-most", "AMOUNT"),
    "payout_most_a_day": ("--payout-most-a-day", "AMOUNT"),
    "payout_staff": ("--payout-staff", "EMAIL"),
    "apple_pay": ("--apple-pay/--no-apple-pay", None),
    "apple_pay_association": ("--apple-pay-association", "TEXT"),
    "google_pay": ("--google-pay/--no-google-pay", None),
    "google_pay_gateway": ("--google-pay-gateway", "NAME"),
    "google_pay_gateway_merchant": ("--google-pay-gateway-merchant", "ID"),
    "google_pay_merchant": ("--google-pay-merchant", "ID"),
    "reconcile_at": ("--reconcile-at", "HOUR"),
    "other_orders": ("--other-orders", "PATTERN"),
    "dialect": ("--dialect", "PRESET"),
    "capture_endpoint": ("--capture-endpoint", "WHICH"),
    "part_capture": ("--part-capture", "EFFECT"),
    "hold_split": ("--hold-split", "WHETHER"),
    "operation_products": ("--operation-products", "WHETHER"),
    "full_refund_amount": ("--full-refund-amount", "WHETHER"),
    "product_taxes": ("--product-taxes", "FORM"),
    "page_language": ("--page-language", "WHETHER"),
    "payout_3ds_bypass": ("--payout-3ds", "WHEN"),
    "payout_identity": ("--payout-identity", "WHETHER"),
    "time_zone": ("--time-zone", "ZONE"),
    "balances_url": ("--balances-url", "URL"),
    "register_url": ("--register-url", "URL"),
}
_DISPLAY_NAMES = {name: flag for name, (flag, _) in _FLAGS.items()} | {
    "pos_id": "--pos-id",
    "gateway": "--gateway",
    "base_url": "--base-url",
    "scheme_word": "--scheme-word",
    "api_key": "the API key",
    "api_secret": "the API secret",
    "endpoints_key": "the endpoints key",
}
_SEVERAL: Any = list[str] | None
_TYPES: Mapping[Form, Any] = {Form.SWITCH: bool | None, Form.TEXTS: _SEVERAL, Form.LINES: _SEVERAL}


def flag_of(option: str) -> str:
    """Return the flag of an option."""
    return _FLAGS[option][0]


def takes_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add a flag for each option of an account to a command, which receives the given values by option as ``given``."""

    @wraps(command)
    def run(**arguments: Any) -> None:
        given = {name: arguments.pop(name) for name in OPTIONS}
        # A list that was not given is empty: it changes nothing.
        command(**arguments, given={name: None if value == [] else value for name, value in given.items()})

    own = inspect.signature(command)
    flags = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_flag(option))
        for name, option in OPTIONS.items()
    ]
    own_parameters = [parameter for parameter in own.parameters.values() if parameter.name != "given"]
    run.__signature__ = own.replace(parameters=[*own_parameters, *flags])  # type: ignore[attr-defined] # what typer reads
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own_parameters, *flags)}
    return run


def parse_columns(given: Mapping[str, OptionInput], currency: str = DEFAULT_CURRENCIES[0]) -> dict[str, object]:
    """Return the columns to set; ``currency`` is the account's first one. Raises CommandFailed."""
    try:
        return read_options(given, datetime.now(UTC), currency)
    except OptionsRefusedError as exc:
        raise invalid_option_error(exc) from exc


def parse_endpoint(preset: str | None, base_url: str | None, scheme_word: str | None) -> GatewayEndpoint | None:
    """Return the gateway that the flags name; None when they name none. Raises CommandFailed."""
    try:
        return resolve_endpoint(preset, base_url, scheme_word)
    except OptionsRefusedError as exc:
        raise invalid_option_error(exc) from exc


def invalid_option_error(error: OptionsRefusedError) -> CommandFailed:
    """Return the error about all invalid options: it names the flag, or which secret it is, but contains no secret."""
    wrong = (f"{_DISPLAY_NAMES.get(name, name)} is invalid: {text}" for name, text in error.refused.items())
    return CommandFailed("; ".join(wrong), status=2)


def _flag(option: Option) -> Any:
    flag, metavar = _FLAGS[option.name]
    text = option.help.removesuffix(".")
    if option.choices:
        text += f": {', '.join(option.choices)}"
    if option.several:
        text += "; can be repeated" + ("" if option.needs_one else '; "" alone removes all')
    if option.may_be_empty:
        text += '; "" restores the default'
    return Annotated[_TYPES.get(option.form, str | None), typer.Option(flag, metavar=metavar, help=f"{text}.")]
