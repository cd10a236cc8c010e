"""Signatures that Saleor would never make."""

import hashlib
import hmac
import json
from datetime import UTC, datetime

import pytest

from saleor_app_sdk.jwks import find_key
from saleor_app_sdk.signature import BadSignatureError, verify
from saleor_app_sdk_tests.fake_saleor import b64, signing_key

BODY = b'{"amount": 569.5}'
KEY = signing_key("first")
PUBLIC = find_key({"keys": [KEY.public]}, "first", datetime.now(UTC))


def refused(signature: str, body: bytes = BODY) -> str:
    assert PUBLIC is not None
    with pytest.raises(BadSignatureError) as caught:
        verify(signature, body, PUBLIC)
    return str(caught.value)


def test_the_right_one_passes_so_that_the_others_mean_something() -> None:
    assert PUBLIC is not None
    verify(KEY.sign(BODY), BODY, PUBLIC)
    verify(KEY.sign(b""), b"", PUBLIC)
    verify(KEY.sign(b"x" * 1024 * 1024), b"x" * 1024 * 1024, PUBLIC)


@pytest.mark.threat("forged-webhook")
@pytest.mark.parametrize("alg", ["none", "HS256", "RS512", "PS256", "rs256", None, 7])
def test_no_other_algorithm_is_taken(alg: object) -> None:
    """``None`` leaves the header's word out altogether."""
    assert "RS256" in refused(KEY.sign(BODY, alg=alg))


@pytest.mark.threat("forged-webhook")
def test_the_public_key_is_no_shared_secret() -> None:
    """The classic: HS256, keyed with what everybody can fetch."""
    protected = b64(json.dumps({"alg": "HS256", "b64": False, "crit": ["b64"], "kid": "first"}).encode())
    secret = json.dumps(KEY.public).encode()
    made = hmac.new(secret, f"{protected}.".encode() + BODY, hashlib.sha256).digest()
    assert "RS256" in refused(f"{protected}..{b64(made)}")


@pytest.mark.threat("forged-webhook")
@pytest.mark.parametrize(
    "changed", [{"b64": True}, {"b64": None}, {"crit": None}, {"crit": []}, {"crit": ["b64", "exp"]}, {"crit": "b64"}]
)
def test_the_header_is_exactly_of_saleors_form(changed: dict[str, object]) -> None:
    assert "raw body" in refused(KEY.sign(BODY, **changed))


@pytest.mark.parametrize("kid", [None, "", 1, ["first"]])
def test_the_key_is_named(kid: object) -> None:
    assert "name its key" in refused(KEY.sign(BODY, kid=kid))


@pytest.mark.threat("forged-webhook")
def test_a_body_inside_the_signature_is_not_the_body_of_the_request() -> None:
    """An attached payload would verify by itself, whatever the request says."""
    protected, _, made = KEY.sign(BODY).split(".")
    assert "detached" in refused(f"{protected}.{BODY.decode()}.{made}", b'{"amount": 1}')


@pytest.mark.threat("forged-webhook")
def test_a_header_alone_is_no_signature() -> None:
    protected, _, _ = KEY.sign(BODY).partition(".")
    assert "detached" in refused(protected)


@pytest.mark.threat("forged-webhook")
@pytest.mark.parametrize(
    "garbage",
    [
        "",
        ".",
        "..",
        "...",
        "a..b",
        "é..x",
        "!!!..AAAA",
        b64(b"[]") + "..AAAA",
        b64(b"{") + "..AAAA",
        "x" * 5000,
        b64(b"[" * 900) + "..A",
    ],
)
def test_garbage_is_refused_and_never_breaks_anything(garbage: str) -> None:
    refused(garbage)


@pytest.mark.threat("forged-webhook")
def test_another_key_of_the_same_name_is_another_key() -> None:
    refused(signing_key("second").sign(BODY, kid="first"))
