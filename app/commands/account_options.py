"""What can be said of an account in options, and how it is checked before anything else is done with it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import typer

from app.commands.failure import CommandFailed
from app.gateway.credentials import Credentials
from app.gateway.errors import InvalidRequest
from app.gateway.hosts import PRESETS
from app.ledger.accounts import AccountKeys
from app.payments.storefront import origin_of

DEFAULT_SCHEME_WORD = "CPAY"
DEFAULT_ORDER_TIMEOUT = 3600
_CURRENCY = re.compile(r"[A-Z]{3}")
_LONGEST_NAME = 100
_FIELDS = {
    "pos_id": "--pos-id",
    "api_key": "the API key",
    "api_secret": "the API secret",
    "endpoints_key": "the endpoints key",
    "scheme_word": "--scheme-word",
    "base_url": "--base-url",
    "balances_url": "--balances-url",
    "register_url": "--register-url",
}

Account = Annotated[str, typer.Argument(metavar="ACCOUNT", help="Its id or its name.", show_default=False)]
Saleor = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="The API address of the Saleor. May be left out where only one has installed the app."
    ),
]
PosId = Annotated[str, typer.Option(metavar="UUID", help="The point of sale, as the merchant portal shows it.")]
Name = Annotated[str | None, typer.Option(metavar="TEXT", help="What staff call the account.")]
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
CurrencyCodes = Annotated[
    list[str] | None,
    typer.Option("--currency", metavar="CODE", help="A currency that the account takes; may be repeated."),
]
Storefronts = Annotated[
    list[str] | None,
    typer.Option(
        "--storefront",
        metavar="ORIGIN",
        help="A site that shoppers may be sent back to, like https://example.com; may be repeated.",
    ),
]
OrderTimeout = Annotated[
    int | None,
    typer.Option(
        metavar="SECONDS",
        min=1,
        help=f"How long a shopper has to pay; an account is added with {DEFAULT_ORDER_TIMEOUT}.",
    ),
]
NoCheck = Annotated[bool, typer.Option("--no-check", help="Do not try the keys out at the gateway.")]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a gateway is; ``balances_url`` and ``register_url`` are None where payments are made."""

    name: str
    base_url: str
    scheme_word: str
    balances_url: str | None = None
    register_url: str | None = None

    def with_areas(self, columns: Mapping[str, object]) -> "Place":
        """Return it with the addresses among an account's ``columns`` instead of its own."""
        balances = columns.get("balances_url", self.balances_url)
        register = columns.get("register_url", self.register_url)
        return replace(
            self,
            balances_url=None if balances is None else str(balances),
            register_url=None if register is None else str(register),
        )


def place_of(preset: str | None, base_url: str | None, scheme_word: str | None) -> Place | None:
    """Return the gateway that is meant; None when neither a preset nor an address is given. Raises BadParameter."""
    if preset is not None and base_url is not None:
        raise typer.BadParameter("give either this or --base-url", param_hint="--gateway")
    if preset is not None:
        known = PRESETS.get(preset.lower())
        if known is None:
            raise typer.BadParameter(
                f"{preset!r} is not one of {', '.join(PRESETS)}; any other is named by --base-url",
                param_hint="--gateway",
            )
        return Place(
            known.name, known.base_url, scheme_word or known.scheme_word, known.balances_url, known.register_url
        )
    if base_url is not None:
        origin = origin_of(base_url) or base_url
        return Place(origin.partition("://")[2], base_url.rstrip("/"), scheme_word or DEFAULT_SCHEME_WORD)
    return None


def account_name(given: str) -> str:
    """Return a name without space around it. Raises BadParameter."""
    name = given.strip()
    if not 1 <= len(name) <= _LONGEST_NAME or not name.isprintable():
        raise typer.BadParameter(f"a name has 1 to {_LONGEST_NAME} printable characters", param_hint="--name")
    return name


def currency_codes(given: Sequence[str]) -> list[str]:
    """Return each code once, in capitals. Raises BadParameter."""
    codes = [code.strip().upper() for code in given]
    for code in codes:
        if not _CURRENCY.fullmatch(code):
            raise typer.BadParameter(
                f"{code!r} is not a currency: write three letters, like UAH", param_hint="--currency"
            )
    return list(dict.fromkeys(codes))


def storefront_origins(given: Sequence[str]) -> list[str]:
    """Return each origin once, as browsers write it. Raises BadParameter for anything more or less than an origin."""
    origins = []
    for text in given:
        origin = origin_of(text)
        if origin is None:
            raise typer.BadParameter(
                f"{text!r} is not an origin: write it like https://shop.example.com", param_hint="--storefront"
            )
        rest = text.partition("://")[2].partition("/")[2]
        if rest or "?" in text or "#" in text:
            raise typer.BadParameter(f"{text!r} is more than an origin: write {origin}", param_hint="--storefront")
        origins.append(origin)
    return list(dict.fromkeys(origins))


def credentials(pos_id: str, place: Place, keys: AccountKeys) -> Credentials:
    """Return credentials that could work. Raises CommandFailed, which names the option and no secret."""
    try:
        return Credentials(
            pos_id=pos_id.strip().lower(),
            api_key=keys.api_key,
            api_secret=keys.api_secret,
            endpoints_key=keys.endpoints_key,
            base_url=place.base_url,
            scheme_word=place.scheme_word,
            balances_url=place.balances_url,
            register_url=place.register_url,
        )
    except InvalidRequest as exc:
        field = _FIELDS.get(exc.field, exc.field)
        raise CommandFailed(f"{field} is not right: {exc.limit}; given: {exc.given}", status=2) from exc
