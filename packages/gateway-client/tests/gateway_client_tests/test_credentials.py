"""The account's keys and addresses: refused when they cannot work, never shown."""

from dataclasses import replace
from typing import Any

import pytest

from gateway_client.credentials import Credentials
from gateway_client.dialect import DialectName
from gateway_client.errors import InvalidRequestError
from gateway_client.hosts import KNOWN_GATEWAYS, is_webhook_reachable
from gateway_client_tests.conftest import POS_ID

KEYS: dict[str, Any] = {
    "pos_id": POS_ID,
    "api_key": "k-1",
    "api_secret": "s-1",
    "endpoints_key": "e-1",
}
ACCOUNT = Credentials(**KEYS, base_url="https://pay.example")


def test_the_headers_of_the_interface() -> None:
    assert ACCOUNT.headers(with_endpoints_key=True) == {"X-API-AUTH": "CPAY k-1:s-1", "X-API-KEY": "e-1"}
    other = replace(ACCOUNT, scheme_word="OTHER")
    assert other.headers(with_endpoints_key=False) == {"X-API-AUTH": "OTHER k-1:s-1"}


def test_nothing_secret_shows() -> None:
    account = replace(ACCOUNT, previous_api_secrets=("s-0",))
    assert account.webhook_secrets == ("s-1", "s-0")
    for secret in ("k-1", "s-1", "e-1", "s-0"):
        assert secret not in repr(account)


@pytest.mark.threat("forged-notification")
def test_a_previous_secret_may_be_given_alone() -> None:
    """A tuple of one is easily written without its comma: then each character would be a secret."""
    account = Credentials(**KEYS, base_url="https://pay.example", previous_api_secrets="s-0")  # type: ignore[arg-type] # the mistake
    assert account.webhook_secrets == ("s-1", "s-0")
    assert account.keys == ("k-1", "e-1", "s-1", "s-0")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"pos_id": "shop"}, "pos_id"),
        ({"api_key": ""}, "api_key"),
        ({"api_secret": ""}, "api_secret"),
        ({"api_secret": "pasted "}, "api_secret"),
        ({"endpoints_key": "one\r\nX-Other: two"}, "endpoints_key"),
        ({"endpoints_key": "ключ"}, "endpoints_key"),
        ({"scheme_word": "TWO WORDS"}, "scheme_word"),
        ({"previous_api_secrets": ("",)}, "previous_api_secrets"),
        ({"base_url": "pay.example"}, "base_url"),
        ({"base_url": "http://pay.example"}, "base_url"),
        ({"base_url": "http://8.8.8.8"}, "base_url"),
        ({"base_url": "https://u:p@pay.example"}, "base_url"),
        ({"base_url": "https://pay.example/?a=b"}, "base_url"),
        ({"base_url": "https://pay.example/#top"}, "base_url"),
        ({"balances_url": "file:///etc/passwd"}, "balances_url"),
        ({"register_url": "https://"}, "register_url"),
    ],
)
def test_what_could_not_work_is_refused_without_being_quoted(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        Credentials(**KEYS | {"base_url": "https://pay.example"} | changes)
    assert caught.value.field == field
    for secret in ("pasted", "X-Other", "ключ", "u:p"):
        assert secret not in str(caught.value)


def test_all_that_could_not_work_is_told_at_once() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        Credentials(**KEYS | {"pos_id": "shop", "api_key": "", "base_url": "shop"}, previous_api_secrets=("a b",))
    fields = [rule.field for rule in caught.value.broken]
    assert {"pos_id", "api_key", "base_url", "previous_api_secrets"} <= set(fields)


def test_an_account_is_read_from_the_environment() -> None:
    given = {f"GATEWAY_{name.upper()}": value for name, value in KEYS.items()}
    read = Credentials.from_environment(given | {"GATEWAY_BASE_URL": "https://pay.example/"})
    assert read == Credentials(**KEYS, base_url="https://pay.example")
    assert read.scheme_word == "CPAY"
    other = given | {"GATEWAY_BASE_URL": "https://pay.example", "GATEWAY_SCHEME_WORD": "OTHER"}
    elsewhere = other | {"GATEWAY_BALANCES_URL": "https://b.example", "GATEWAY_REGISTER_URL": "https://r.example"}
    assert Credentials.from_environment(elsewhere) == Credentials(
        **KEYS,
        base_url="https://pay.example",
        scheme_word="OTHER",
        balances_url="https://b.example",
        register_url="https://r.example",
    )
    with pytest.raises(InvalidRequestError) as caught:
        Credentials.from_environment({"GATEWAY_POS_ID": KEYS["pos_id"]})
    missing = [rule.field for rule in caught.value.broken]
    assert missing == ["GATEWAY_API_KEY", "GATEWAY_API_SECRET", "GATEWAY_ENDPOINTS_KEY", "GATEWAY_BASE_URL"]


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:8010", "http://localhost:8010", "http://[::1]:1", "http://sandbox:8010", "http://10.1.2.3"],
)
def test_plain_http_stays_on_this_machine_and_private_networks(url: str) -> None:
    assert Credentials(**KEYS, base_url=url).base_url == url


def test_areas_are_served_at_the_same_address_unless_told_otherwise() -> None:
    account = Credentials(**KEYS, base_url="https://pay.example/")
    assert (account.base_url, account.balances_url, account.register_url) == ("https://pay.example",) * 3


@pytest.mark.parametrize("name", KNOWN_GATEWAYS)
def test_every_preset_makes_an_account(name: str) -> None:
    preset = KNOWN_GATEWAYS[name]
    account = Credentials.at(preset, **KEYS)
    assert account.base_url == preset.base_url
    assert account.balances_url == preset.balances_url
    assert account.register_url == (preset.register_url or preset.base_url)


@pytest.mark.parametrize(
    ("url", "reachable"),
    [
        ("https://shop.example/hook", True),
        ("https://shop.example:443/hook", True),
        ("https://shop.example:8443/hook", True),
        ("https://shop.example:8000/hook", False),
        ("http://shop.example/hook", False),
        ("https://localhost/hook", False),
        ("https://192.168.1.5/hook", False),
        ("hook", False),
    ],
)
def test_where_webhooks_arrive_without_an_arrangement(url: str, reachable: bool) -> None:
    assert is_webhook_reachable(url) is reachable


def test_the_published_addresses_are_these() -> None:
    """A letter that differs leads nowhere, or to somebody else (gateway facts, 1)."""
    published = {
        key: (known.name, known.base_url, known.balances_url, known.register_url, known.scheme_word)
        for key, known in KNOWN_GATEWAYS.items()
    }
    assert published == {
        "tranzzo": ("Tranzzo", "https://cpay.tranzzo.com", "https://api.tranzzo.com", None, "CPAY"),
        "finline": ("Financial Line", "https://api.finline.io", "https://api.finline.io", None, "CPAY"),
    }
    assert {key: known.webhook_senders for key, known in KNOWN_GATEWAYS.items()} == {
        "tranzzo": ("35.187.74.148",),
        "finline": (),
    }
    assert {known.dialect for known in KNOWN_GATEWAYS.values()} == {DialectName.PUBLIC}
