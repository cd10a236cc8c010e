"""What was typed into the forms of an account, as the functions that keep accounts take it. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial

from app.db.accounts import AccountKeys, NewAccount
from app.db.tables import MerchantAccount
from app.gateway.hosts import on_private_network
from app.i18n.messages import LazyMessage, gettext_noop
from app.payments.accounts.keeping import Change, new_account
from app.payments.accounts.option_values import Given, OptionsRefusedError, all_read, read_option, read_options
from app.payments.accounts.options import OPTIONS, Form, Option
from app.payments.accounts.places import Place, check_point_of_sale, place_of
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
    gettext_noop("The pages that shoppers see"): ("shop_name", "shop_logo", "shop_color"),
    gettext_noop("The shopper and the payment page"): ("order_timeout", "names_required", "cancel_older"),
    gettext_noop("What the gateway is told"): (
        "sector",
        "merchant_mcc",
        "description_template",
        "products",
        "receipt_delivery",
    ),
    gettext_noop("Cards"): ("order_3ds_bypass", "pci_dss_confirmed", "saved_cards", "subscriptions"),
    gettext_noop("Payouts to cards"): ("payouts", "payout_most", "payout_most_a_day", "payout_staff"),
    gettext_noop("Apple Pay and Google Pay"): (
        "apple_pay",
        "apple_pay_association",
        "google_pay",
        "google_pay_gateway",
        "google_pay_gateway_merchant",
        "google_pay_merchant",
    ),
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
    """Return what the form of all options gives differently from how it stands. Raises OptionsRefusedError."""
    given = {name: _given(OPTIONS[name], said) for group in GROUPS.values() for name in group}
    values = all_read(*(partial(read_option, name, each) for name, each in given.items()))
    return {
        name: each
        for (name, each), value in zip(given.items(), values, strict=True)
        if value != OPTIONS[name].of(account)
    }


def new_account_in(said: FormFields, services: Services, installation_id: int) -> NewAccount:
    """Return the account that the form of a new one describes. Raises OptionsRefusedError."""
    pos_id, keys = text_of(said, "pos_id"), AccountKeys(**{name: text_of(said, name) for name in KEYS})
    options = partial(read_options, _options_of_new(said), services.now())
    place = partial(place_in, said)
    # Each is read once for what is wrong with it, so that all of it is told at once.
    all_read(options, place, partial(check_point_of_sale, pos_id, keys), partial(_check_kind, said))
    new = new_account(installation_id, pos_id, place(), keys, options())
    require_public_addresses(services, {"base_url": new.base_url})
    return new


def _options_of_new(said: FormFields) -> dict[str, Given]:
    given: dict[str, Given] = {name: _given(OPTIONS[name], said) for name in ("currencies", "storefront_origins")}
    return given | {"test_project": text_of(said, "kind") == "test", "name": text_of(said, "name") or None}


def _check_kind(said: FormFields) -> None:
    if text_of(said, "kind") not in {"test", "live"}:
        raise OptionsRefusedError({"kind": "say whether it is a test project"})


def new_keys_in(said: FormFields) -> Change:
    """Return a change of those secrets that were typed. Raises OptionsRefusedError."""
    hours = text_of(said, "grace")
    if hours not in map(str, GRACES):
        raise OptionsRefusedError({"grace": "choose one of those that are offered"})
    return Change(keys=keys_typed(said), grace=timedelta(hours=int(hours)))


def keys_typed(said: FormFields) -> dict[str, str]:
    """Return those secrets that were typed, by their names."""
    return {name: text_of(said, name) for name in KEYS if text_of(said, name)}


def place_in(said: FormFields) -> Place:
    """Return the gateway that was chosen. Raises OptionsRefusedError."""
    place = place_of(*(text_of(said, name) or None for name in ("gateway", "base_url", "scheme_word")))
    if place is None:
        raise OptionsRefusedError({"gateway": "choose a gateway"})
    return place


def place_changed(account: MerchantAccount, said: FormFields) -> Place:
    """Return the gateway that was chosen instead; without an address of its own only the scheme word changes."""
    if text_of(said, "gateway") or text_of(said, "base_url"):
        return place_in(said)
    present = Place.of(account)
    return replace(present, scheme_word=text_of(said, "scheme_word") or present.scheme_word)


def require_public_addresses(services: Services, columns: Mapping[str, object]) -> None:
    """Refuse addresses of private networks, unless the app itself is on one. Raises OptionsRefusedError.

    Whoever manages a store's apps does not always run the app: the pages must not ask around in a network for them.
    """
    if on_private_network(services.addresses.base_url):
        return
    given = {name: columns.get(name) for name in _ADDRESSES}
    private = [name for name, address in given.items() if isinstance(address, str) and on_private_network(address)]
    if private:
        raise OptionsRefusedError(dict.fromkeys(private, "a public address"))


def _given(option: Option, said: FormFields) -> str | bool | list[str]:
    texts = said.get(option.name, [])
    match option.form:
        case Form.SWITCH:
            return bool(texts)
        case Form.TEXTS:
            return [each for text in texts for each in re.split(r"[\s,;]+", text) if each]
        case _:
            return texts[0] if texts else ""
