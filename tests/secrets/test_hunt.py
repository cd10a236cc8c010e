"""The hunt finds what was planted, whatever it is dressed up as; else what it does not find would mean nothing."""

import base64
import json
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.secrets.hunt import CardNumber, Secret, SecurityCode, find_secrets

SECRET = Secret("key", "k€y/of+the ga=teway")
CARD = CardNumber("card", "5454545454545454")
DRESSES: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "backwards": lambda text: text[::-1],
    "in capitals": str.upper,
    "in small letters": str.lower,
    "in hexadecimal": lambda text: text.encode().hex(),
    "in an address": lambda text: quote(text, safe=""),
    "in JSON": json.dumps,
    "in JSON within JSON": lambda text: json.dumps(json.dumps(text)),
    "in base64": lambda text: base64.b64encode(text.encode()).decode(),
}


@pytest.mark.parametrize("dress", DRESSES)
@pytest.mark.parametrize("secret", [SECRET, CARD], ids=["key", "card"])
def test_a_planted_secret_is_found(secret: Secret, dress: str) -> None:
    planted = f"2026-11-21 something happened: {DRESSES[dress](secret.value)}!".encode()
    assert any(
        dress in find and "app.log" in find for find in find_secrets([secret], {"app.log": planted, "other": b""})
    )


@given(st.binary(max_size=20), st.binary(max_size=20), st.booleans())
def test_wherever_it_stands_in_something_encoded(before: bytes, after: bytes, urlsafe: bool) -> None:
    encode = base64.urlsafe_b64encode if urlsafe else base64.b64encode
    assert find_secrets([SECRET], {"body": encode(before + SECRET.value.encode() + after)})


@pytest.mark.parametrize("shown", ["5454 5454 5454 5454", "5454-5454-5454-5454", "54545454****5454"])
def test_a_card_number_in_groups_or_with_too_thin_a_mask(shown: str) -> None:
    assert find_secrets([CARD], {"page": shown.encode()})


def test_a_proper_mask_is_no_find() -> None:
    assert find_secrets([CARD], {"page": b"545454******5454 Mastercard ****5454"}) == []


@pytest.mark.parametrize("text", ['{"cvv": "737"}', "CVC2=737", "securityCode: 737", r"{\"card_cvv\":\"737\"}"])
def test_a_security_code_behind_its_name(text: str) -> None:
    assert find_secrets([SecurityCode("737")], {"log": text.encode()}) == ["security code in log"]


def test_the_same_digits_elsewhere_are_no_find() -> None:
    assert find_secrets([SecurityCode("737")], {"log": b"737 payments, cvv 7371 of them; amount 737.00"}) == []


def test_a_find_does_not_tell_the_secret() -> None:
    assert SECRET.value not in str(find_secrets([SECRET], {"log": SECRET.value.encode()}))


def test_what_is_too_short_to_be_found_is_refused() -> None:
    with pytest.raises(ValueError, match="too short"):
        Secret("pin", "1234")
