"""Parses the forms of an account into the arguments of the functions that store accounts. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial

from app.flows.accounts.changes import AccountChange, build_account
from app.flows.accounts.gateway_endpoint import GatewayEndpoint, check_point_of_sale, resolve_endpoint
from app.i18n.messages import LazyMessage, gettext_noop
from app.rules.accounts.dialect_options import DIALECT_OPTIONS
from app.rules.accounts.option import Form, Option
from app.rules.accounts.option_values import (
    OptionInput,
    OptionsRefusedError,
    first_currency,
    read_all,
    read_option,
    read_options,
)
from app.rules.accounts.options import DEFAULT_CURRENCIES, OPTIONS
from app.rules.requests.payout import currency_of
from app.services import Services
from app.store.accounts import AccountKeys, NewAccount
from app.store.tables import MerchantAccount
from gateway_client.hosts import is_on_private_network

FormFields = Mapping[str, Sequence[str]]
"""The fields of a form by their names; a name can occur several times."""

KEYS = {
    "api_key": LazyMessage("API key"),
    "api_secret": LazyMessage("API secret"),
    "endpoints_key": LazyMessage("Endpoints key"),
}
_A_KEY = LazyMessage("Copy it from the merchant portal: letters, digits and symbols, without spaces.")
_RULES = {
    **{name: (title, _A_KEY) for name, title in KEYS.items()},
    "pos_id": (
        LazyMessage("Point of sale"),
        LazyMessage("Copy the ID from the merchant portal: a UUID, like 5a9db0c5-7d1f-4c2b-9b60-3b1f2a4c5d6e."),
    ),
    "gateway": (
        LazyMessage("Gateway"),
        LazyMessage("Choose one from the list, or choose “another” and enter its address."),
    ),
    "base_url": (
        LazyMessage("Gateway address"),
        LazyMessage(
            "Enter a full https address without a query, like https://api.example.com. An address of this "
            "machine or of a private network can only be set by the app operator, in a terminal."
        ),
    ),
    "scheme_word": (LazyMessage("Scheme word"), LazyMessage("One word, like CPAY.")),
    "grace": (LazyMessage("Old API secret"), LazyMessage("Choose one of the available options.")),
    "kind": (LazyMessage("Project"), LazyMessage("Choose whether this is a test project or a live one.")),
}
_ADDRESSES = ("base_url", "balances_url", "register_url")

_CHANGED = "changed"  # the field with the names of those that were changed since the form was opened
ANYWAY = "anyway"
"""The field that appears when a test of keys has failed, although they may be right."""

GROUPS: Sequence[tuple[str, tuple[str, ...]]] = (
    (gettext_noop("The account"), ("name", "test_project", "currencies", "storefront_origins")),
    (gettext_noop("The pages that shoppers see"), ("shop_name", "shop_logo", "shop_color")),
    (
        gettext_noop("The shopper and the payment page"),
        (
            "order_timeout",
            "names_required",
            "cancel_older",
            "payer_fee_percent",
        ),
    ),
    (
        gettext_noop("What is sent to the gateway"),
        (
            "sector",
            "merchant_mcc",
            "description_template",
            "attributes",
            "validation_url",
            "products",
            "receipt_delivery",
        ),
    ),
    (gettext_noop("Cards"), ("order_3ds_bypass", "pci_dss_confirmed", "saved_cards", "subscriptions")),
    (gettext_noop("Payouts to cards"), ("payouts", "payout_most", "payout_most_a_day", "payout_staff")),
    (
        gettext_noop("Apple Pay and Google Pay"),
        (
            "apple_pay",
            "apple_pay_association",
            "google_pay",
            "google_pay_gateway",
            "google_pay_gateway_merchant",
            "google_pay_merchant",
        ),
    ),
    (gettext_noop("Comparing the records"), ("reconcile_at", "other_orders")),
    (gettext_noop("Other gateway addresses"), ("balances_url", "register_url")),
    (gettext_noop("What the gateway decides"), tuple(option.name for option in DIALECT_OPTIONS)),
)
"""The options of an account as its page groups them. Switching it on and off has a form of its own."""

GRACES: Mapping[int, str] = {
    24: gettext_noop("for a day"),
    1: gettext_noop("for an hour"),
    168: gettext_noop("for a week"),
    0: gettext_noop("not at all: it has leaked"),
}
"""The choices of the number of hours for which a replaced API secret still verifies notifications."""


def group_fields(fields: Sequence[tuple[str, str]]) -> FormFields:
    """Return the fields of a form by their names."""
    form: dict[str, list[str]] = {}
    for name, text in fields:
        form.setdefault(name, []).append(text)
    return form


def text_of(form: FormFields, name: str) -> str:
    """Return the text of a field, stripped; empty if there is none."""
    return form.get(name, [""])[0].strip()


def is_changed_in(form: FormFields, name: str) -> bool:
    """Return True unless the form states which of its fields were changed, and that one was not."""
    return _CHANGED not in form or name in text_of(form, _CHANGED).split()


def is_saved_anyway(form: FormFields) -> bool:
    """Return True when keys are to be saved that could not be tested."""
    return text_of(form, ANYWAY) == "yes"


def rule_of(name: str) -> tuple[LazyMessage, LazyMessage]:
    """Return the title of a field and the rule for its values."""
    if name in OPTIONS:
        return OPTIONS[name].title, OPTIONS[name].rule
    return _RULES[name]


def changed_options(account: MerchantAccount, form: FormFields, services: Services) -> dict[str, OptionInput]:
    """Return the options in the form that differ from the account's. Raises OptionsRefusedError.

    Those that nobody has changed in the form are left alone: it may show what they were before somebody else changed
    them.
    """
    given = {
        name: _read_value(OPTIONS[name], form) for _, names in GROUPS for name in names if is_changed_in(form, name)
    }
    currency = first_currency(given, currency_of(account))
    reads = {name: partial(read_option, name, value, currency) for name, value in given.items()}
    changed = read_all(*(partial(_is_changed, account, services, name, read) for name, read in reads.items()))
    return {name: value for (name, value), differs in zip(given.items(), changed, strict=True) if differs}


def _is_changed(account: MerchantAccount, services: Services, name: str, read: Callable[[], object]) -> bool:
    value = read()
    if value == OPTIONS[name].value_in(account):
        return False  # a private address that the operator has set stays
    require_public_addresses(services, {name: value})
    return True


def read_new_account(form: FormFields, services: Services, installation_id: int) -> NewAccount:
    """Return the account that the form of a new one describes. Raises OptionsRefusedError."""
    pos_id, keys = text_of(form, "pos_id"), AccountKeys(**{name: text_of(form, name) for name in KEYS})
    options = partial(read_options, _new_account_options(form), services.now(), DEFAULT_CURRENCIES[0])
    endpoint = partial(_read_public_endpoint, form, services)
    # Validate all of them first, so that all errors are reported at once.
    read_all(options, endpoint, partial(check_point_of_sale, pos_id, keys), partial(_check_kind, form))
    return build_account(installation_id, pos_id, endpoint(), keys, options())


def _read_public_endpoint(form: FormFields, services: Services) -> GatewayEndpoint:
    endpoint = read_endpoint(form)
    require_public_addresses(services, {"base_url": endpoint.base_url})
    return endpoint


def _new_account_options(form: FormFields) -> dict[str, OptionInput]:
    given: dict[str, OptionInput] = {
        name: _read_value(OPTIONS[name], form) for name in ("currencies", "storefront_origins")
    }
    return given | {"test_project": text_of(form, "kind") == "test", "name": text_of(form, "name") or None}


def _check_kind(form: FormFields) -> None:
    if text_of(form, "kind") not in {"test", "live"}:
        raise OptionsRefusedError({"kind": "say whether it is a test project"})


def read_new_keys(form: FormFields) -> AccountChange:
    """Return the change of those secrets that were typed. Raises OptionsRefusedError."""
    hours = text_of(form, "grace")
    if hours not in map(str, GRACES):
        raise OptionsRefusedError({"grace": "choose one of those that are offered"})
    return AccountChange(keys=typed_keys(form), grace=timedelta(hours=int(hours)))


def typed_keys(form: FormFields) -> dict[str, str]:
    """Return those secrets that were typed, by their names."""
    return {name: text_of(form, name) for name in KEYS if text_of(form, name)}


def read_endpoint(form: FormFields) -> GatewayEndpoint:
    """Return the gateway that was chosen. Raises OptionsRefusedError."""
    endpoint = resolve_endpoint(*(text_of(form, name) or None for name in ("gateway", "base_url", "scheme_word")))
    if endpoint is None:
        raise OptionsRefusedError({"gateway": "choose a gateway"})
    return endpoint


def read_changed_endpoint(account: MerchantAccount, form: FormFields) -> GatewayEndpoint:
    """Return the newly chosen gateway; if the form has no gateway or address, only the scheme word changes.

    Raises OptionsRefusedError.
    """
    if text_of(form, "gateway") or text_of(form, "base_url"):
        return read_endpoint(form)
    present = GatewayEndpoint.for_account(account)
    return replace(present, scheme_word=text_of(form, "scheme_word") or present.scheme_word)


def require_public_addresses(services: Services, columns: Mapping[str, object]) -> None:
    """Reject addresses of private networks, unless the app itself is on one. Raises OptionsRefusedError.

    The manager of a store's apps is not always the operator of this app: the pages must not let them probe its network.
    """
    if is_on_private_network(services.addresses.base_url):
        return
    given = {name: columns.get(name) for name in _ADDRESSES}
    private = [name for name, address in given.items() if isinstance(address, str) and is_on_private_network(address)]
    if private:
        raise OptionsRefusedError(dict.fromkeys(private, "a public address"))


def _read_value(option: Option, form: FormFields) -> str | bool | list[str]:
    texts = form.get(option.name, [])
    match option.form:
        case Form.SWITCH:
            return bool(texts)
        case Form.TEXTS:
            return [part for text in texts for part in re.split(r"[\s,;]+", text) if part]
        case Form.LINES:
            return [line for text in texts for line in text.splitlines() if line.strip()]
        case _:
            return texts[0] if texts else ""
