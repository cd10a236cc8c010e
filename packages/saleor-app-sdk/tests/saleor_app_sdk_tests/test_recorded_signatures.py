"""Saleor's signatures, on all that a real Saleor sent."""

import base64
from datetime import UTC, datetime

import pytest

from saleor_app_sdk.jwks import find_key, parse_key_set
from saleor_app_sdk.signature import BadSignatureError, read_key_id, verify
from saleor_app_sdk_tests.recordings import JWKS, Recorded, webhooks

RECORDED = webhooks()
KEYS = parse_key_set(JWKS)


def check(signature: str, body: bytes) -> None:
    key = find_key(KEYS, read_key_id(signature), datetime.now(UTC))
    assert key is not None
    verify(signature, body, key)


def test_there_is_something_to_check() -> None:
    assert len(RECORDED) >= 20
    assert len({recording.event for recording in RECORDED}) == 6
    assert any(not recording.body for recording in RECORDED), "Saleor's retries with an empty body are among them"


@pytest.mark.parametrize("recorded", RECORDED, ids=str)
def test_what_saleor_signed_verifies(recorded: Recorded) -> None:
    check(recorded.headers["saleor-signature"], recorded.body)


@pytest.mark.threat("forged-webhook")
@pytest.mark.parametrize("recorded", RECORDED, ids=str)
def test_one_flipped_bit_in_the_body_refuses(recorded: Recorded) -> None:
    for place in {0, len(recorded.body) // 2, len(recorded.body) - 1} if recorded.body else ():
        flipped = bytearray(recorded.body)
        flipped[place] ^= 1
        with pytest.raises(BadSignatureError):
            check(recorded.headers["saleor-signature"], bytes(flipped))
    with pytest.raises(BadSignatureError):
        check(recorded.headers["saleor-signature"], recorded.body + b" ")


@pytest.mark.threat("forged-webhook")
@pytest.mark.parametrize("recorded", RECORDED, ids=str)
def test_one_flipped_bit_in_the_signature_refuses(recorded: Recorded) -> None:
    protected, _, made = recorded.headers["saleor-signature"].split(".")
    raw = bytearray(base64.urlsafe_b64decode(made + "=="))
    raw[len(raw) // 2] ^= 1
    with pytest.raises(BadSignatureError):
        check(f"{protected}..{base64.urlsafe_b64encode(raw).rstrip(b'=').decode()}", recorded.body)


def test_the_signature_of_one_body_is_none_of_another() -> None:
    one, other = [recording for recording in RECORDED if recording.body][:2]
    with pytest.raises(BadSignatureError):
        check(one.headers["saleor-signature"], other.body)
