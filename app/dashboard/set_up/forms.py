"""What was typed into the forms of an account, as the functions that keep accounts take it. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from app.db.accounts import AccountKeys
from app.db.tables import MerchantAccount
from app.gateway.hosts import on_private_network
from app.i18n.messages import LazyMessage, gettext_noop
from app.payments.accounts.keeping import Change
from app.payments.accounts.options import OPTIONS, Form, Given, Option, OptionRefusedError, read_option
from app.payments.accounts.places import Place, place_of
from app.payments.services import Services

FormFields = Mapping[str, Sequence[str]]
"""The fields of a form by their names; one can be there several times."""

KEYS = {
    "api_key": LazyMessage("API key"),
    "api_secret": LazyMessage("API secret"),
    "endpoints_key": LazyMessage("Endpoints key"),
}
_A_KEY = LazyMessage("Copy it from the merchant portal: letters, digits and signs without spaces.")
_RULES = {
    **{name: (title, _A_KEY) for name, title in KEYS.items()},
    "pos_id": (
        LazyMessage("Point of sale"),
        LazyMessage("Copy the id from the merchant portal: a UUID, like 5a9db0c5-7d1f-4c2b-9b60-3b1f2a4c5d6e."),
    ),
    "gateway": (LazyMessage("Gateway"), LazyMessage("Choose one of the list, or “another” and write its address.")),
    "base_url": (
        LazyMessage("Address of the gateway"),
        LazyMessage(
            "Write a whole https address without a query, like https://api.example.com. One of this machine or of a "
            "private network is only taken from whoever runs the app, in a terminal."
        ),
    ),
    "scheme_word": (LazyMessage("Scheme word"), LazyMessage("One word, like CPAY.")),
    "grace": (LazyMessage("Old API secret"), LazyMessage("Choose one of those that are offered.")),
    "kind": (LazyMessage("Project"), LazyMessage("Choose whether it is a test project or a live one.")),
}
_ADDRESSES = ("base_url", "balances_url", "register_url")

GROUPS: Mapping[str, tuple[str, ...]] = {
    gettext_noop("The account"): ("name", "test_project", "currencies", "storefront_origins"),
    gettext_noop("The shopper and the payment page"): ("order_timeout", "names_required", "cancel_older"),
    gettext_noop("What the gateway is told"): (
        "sector",
        "merchant_mcc",
        "description_template",
        "products",
        "receipt_delivery",
    ),
    gettext_noop("Cards"): ("order_3ds_bypass", "pci_dss_confirmed"),
    gettext_noop("Comparing the books"): ("reconcile_at",),
    gettext_noop("Other addresses of the gateway"): ("balances_url", "register_url"),
}
"""The options of an account as its page shows them. Whether it is switched on has a form of its own."""

GRACES: Mapping[int, str] = {
    24: gettext_noop("for a day"),
    1: gettext_noop("for an hour"),
    168: gettext_noop("for a week"),
    0: gettext_noop("not at all: it has leaked"),
}
"""For how many hours a replaced API secret can still verify notifications."""


def said_in(fields: Sequence[tuple[str, str]]) -> FormFields:
    """Return the fields of a form by their names."""
    said: dict[str, list[str]] = {}
    for name, text in fields:
        said.setdefault(name, []).append(text)
    return said


def text_of(said: FormFields, name: str) -> str:
    """Return the text of a field, without space around it; empty if there is none."""
    return said.get(name, [""])[0].strip()


def rule_of(name: str) -> tuple[LazyMessage, LazyMessage]:
    """Return what a field is called and what it can be."""
    if name in OPTIONS:
        return OPTIONS[name].title, OPTIONS[name].rule
    return _RULES[name]


def options_changed(account: MerchantAccount, said: FormFields) -> dict[str, Given]:
    """Return what the form of all options gives differently from how it stands. Raises OptionRefusedError."""
    changed: dict[str, Given] = {}
    for group in GROUPS.values():
        for name in group:
            given, present = _given(OPTIONS[name], said), OPTIONS[name].of(account)
            if read_option(name, given) != present:
                changed[name] = given
    return changed


def options_of_new(said: FormFields) -> dict[str, Given]:
    """Return what the form of a new account gives. Raises OptionRefusedError."""
    kind = text_of(said, "kind")
    if kind not in {"test", "live"}:
        raise OptionRefusedError("kind", "say whether it is a test project")
    given: dict[str, Given] = {name: _given(OPTIONS[name], said) for name in ("currencies", "storefront_origins")}
    given["test_project"] = kind == "test"
    given["name"] = text_of(said, "name") or None
    return given


def keys_in(said: FormFields) -> AccountKeys:
    """Return the secrets that were typed; credentials are checked where they are put together."""
    return AccountKeys(**{name: text_of(said, name) for name in KEYS})


def new_keys_in(said: FormFields) -> Change:
    """Return a change of those secrets that were typed. Raises OptionRefusedError."""
    hours = text_of(said, "grace")
    if hours not in map(str, GRACES):
        raise OptionRefusedError("grace", "choose one of those that are offered")
    return Change(keys=keys_typed(said), grace=timedelta(hours=int(hours)))


def keys_typed(said: FormFields) -> dict[str, str]:
    """Return those secrets that were typed, by their names."""
    return {name: text_of(said, name) for name in KEYS if text_of(said, name)}


def place_in(said: FormFields) -> Place:
    """Return the gateway that was chosen. Raises OptionRefusedError."""
    place = place_of(*(text_of(said, name) or None for name in ("gateway", "base_url", "scheme_word")))
    if place is None:
        raise OptionRefusedError("gateway", "choose a gateway")
    return place


def place_changed(account: MerchantAccount, said: FormFields) -> Place:
    """Return the gateway that was chosen instead; without an address of its own only the scheme word changes."""
    if text_of(said, "gateway") or text_of(said, "base_url"):
        return place_in(said)
    present = Place.of(account)
    return replace(present, scheme_word=text_of(said, "scheme_word") or present.scheme_word)


def require_public_addresses(services: Services, columns: Mapping[str, object]) -> None:
    """Refuse addresses of private networks, unless the app itself is on one. Raises OptionRefusedError.

    Whoever manages a store's apps does not always run the app: the pages must not ask around in a network for them.
    """
    if on_private_network(services.addresses.base_url):
        return
    for name in _ADDRESSES:
        address = columns.get(name)
        if isinstance(address, str) and on_private_network(address):
            raise OptionRefusedError(name, "a public address")


def _given(option: Option, said: FormFields) -> str | bool | list[str]:
    texts = said.get(option.name, [])
    match option.form:
        case Form.SWITCH:
            return bool(texts)
        case Form.TEXTS:
            return [each for text in texts for each in re.split(r"[\s,;]+", text) if each]
        case _:
            return texts[0] if texts else ""
