"""An account's options as flags: made of the same definitions as the pages (``payments.accounts.options``)."""

import inspect
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import wraps
from typing import Annotated, Any

import typer

from app.commands.failure import CommandFailed
from app.gateway.hosts import PRESETS
from app.payments.accounts.option_values import Given, OptionsRefusedError, read_options
from app.payments.accounts.options import OPTIONS, Form, Option
from app.payments.accounts.places import DEFAULT_SCHEME_WORD, Place, place_of

Account = Annotated[str, typer.Argument(metavar="ACCOUNT", help="Its id or its name.", show_default=False)]
Saleor = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="The API address of the Saleor. May be left out where only one has installed the app."
    ),
]
PosId = Annotated[str, typer.Option(metavar="UUID", help="The point of sale, as the merchant portal shows it.")]
Preset = Annotated[
    str | None, typer.Option(metavar="PRESET", help=f"A gateway of which we know the address: {', '.join(PRESETS)}.")
]
BaseUrl = Annotated[str | None, typer.Option(metavar="URL", help="The address of any other gateway.")]
SchemeWord = Annotated[
    str | None,
    typer.Option(
        metavar="WORD", help=f"The first word of the authentication header; {DEFAULT_SCHEME_WORD} unless given."
    ),
]
NoCheck = Annotated[bool, typer.Option("--no-check", help="Do not try the keys out at the gateway.")]

# Of each option, its flag and what stands behind it.
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
    "sector": ("--sector", "SECTOR"),
    "merchant_mcc": ("--mcc", "CODE"),
    "description_template": ("--description", "TEXT"),
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
    "balances_url": ("--balances-url", "URL"),
    "register_url": ("--register-url", "URL"),
}
_CALLED = {name: flag for name, (flag, _) in _FLAGS.items()} | {
    "pos_id": "--pos-id",
    "gateway": "--gateway",
    "base_url": "--base-url",
    "scheme_word": "--scheme-word",
    "api_key": "the API key",
    "api_secret": "the API secret",
    "endpoints_key": "the endpoints key",
}
_TYPES: Mapping[Form, Any] = {Form.SWITCH: bool | None, Form.TEXTS: list[str] | None}


def takes_options(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take a flag for each option of an account; it gets what was given as ``given``, by option."""

    @wraps(command)
    def run(**said: Any) -> None:
        given = {name: said.pop(name) for name in OPTIONS}
        # A list that nobody gave is empty: nothing is changed by it.
        command(**said, given={name: None if value == [] else value for name, value in given.items()})

    own = inspect.signature(command)
    flags = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_flag(option))
        for name, option in OPTIONS.items()
    ]
    kept = [each for each in own.parameters.values() if each.name != "given"]
    run.__signature__ = own.replace(parameters=[*kept, *flags])  # type: ignore[attr-defined] # what typer reads
    run.__annotations__ = {each.name: each.annotation for each in (*kept, *flags)}
    return run


def columns_of(given: Mapping[str, Given]) -> dict[str, object]:
    """Return the columns to be set. Raises CommandFailed."""
    try:
        return read_options(given, datetime.now(UTC))
    except OptionsRefusedError as exc:
        raise not_right(exc) from exc


def place_given(preset: str | None, base_url: str | None, scheme_word: str | None) -> Place | None:
    """Return the gateway that is meant; None when none is named. Raises CommandFailed."""
    try:
        return place_of(preset, base_url, scheme_word)
    except OptionsRefusedError as exc:
        raise not_right(exc) from exc


def not_right(error: OptionsRefusedError) -> CommandFailed:
    """Return what is said of all that cannot be: the flag, or which secret, and no secret."""
    wrong = (f"{_CALLED.get(name, name)} is not right: {words}" for name, words in error.refused.items())
    return CommandFailed("; ".join(wrong), status=2)


def _flag(option: Option) -> Any:
    flag, metavar = _FLAGS[option.name]
    words = option.help.removesuffix(".")
    if option.choices:
        words += f": {', '.join(option.choices)}"
    if option.form is Form.TEXTS:
        words += "; may be repeated"
    if option.may_be_empty:
        words += '; "" gives it back to its default'
    return Annotated[_TYPES.get(option.form, str | None), typer.Option(flag, metavar=metavar, help=f"{words}.")]
