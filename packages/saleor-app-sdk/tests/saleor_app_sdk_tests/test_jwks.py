"""What counts as a Saleor's key set."""

from datetime import UTC, datetime
from typing import Any

import pytest
from joserfc.jwk import ECKey, RSAKey

from saleor_app_sdk.errors import KeysUnusableError
from saleor_app_sdk.jwks import find_key, parse_key_set
from saleor_app_sdk_tests.fake_saleor import b64, signing_key
from saleor_app_sdk_tests.recordings import JWKS

KEY = signing_key("first")
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def test_what_saleor_publishes() -> None:
    kid = JWKS["keys"][0]["kid"]
    kept = parse_key_set(JWKS)
    assert find_key(kept, kid, NOW) is not None
    assert find_key(kept, "another", NOW) is None
    assert find_key(None, kid, NOW) is None


def test_only_what_is_needed_is_kept() -> None:
    kept = parse_key_set({"keys": [{**KEY.public, "x5u": "https://evil.example.com"}], "more": 1})
    assert set(kept) == {"keys"}
    assert set(kept["keys"][0]) == {"kty", "use", "alg", "kid", "n", "e"}


@pytest.mark.threat("changed-saleor-key")
@pytest.mark.parametrize(
    "other",
    [
        {**ECKey.generate_key("P-256").as_dict(private=False), "kid": "ec"},
        {"kty": "AKP", "alg": "ML-DSA-44", "kid": "of tomorrow", "pub": "AQAB"},
        {**KEY.public, "use": "enc"},
        {**KEY.public, "alg": "PS256", "kid": "other algorithm"},
    ],
    ids=["EC", "a kind of tomorrow", "for encryption", "another algorithm"],
)
def test_keys_of_other_kinds_are_left_out(other: dict[str, Any]) -> None:
    """RFC 7517, section 5. A Saleor that published one beside its new key had every webhook refused."""
    assert parse_key_set({"keys": [other, KEY.public]}) == parse_key_set({"keys": [KEY.public]})


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in KEY.public.items() if key != name}


@pytest.mark.threat("changed-saleor-key")
@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {},
        {"keys": {}},
        {"keys": []},
        {"keys": ["key"]},
        {"keys": [KEY.public, "key"]},
        {"keys": [KEY.public, KEY.public]},
        {"keys": [{**KEY.public, "kty": "oct", "k": "c2VjcmV0"}]},
        {"keys": [{**ECKey.generate_key("P-256").as_dict(private=True), "kid": "ec"}, KEY.public]},
        {"keys": [{"kid": "of no kind"}, KEY.public]},
        {"keys": [{**ECKey.generate_key("P-256").as_dict(private=False), "kid": "ec"}]},
        {"keys": [{**RSAKey.import_key(KEY.private).as_dict(private=True), "kid": "private"}]},
        {"keys": [{**KEY.public, "use": "enc"}]},
        {"keys": [{**KEY.public, "alg": "HS256"}]},
        {"keys": [{**KEY.public, "kid": ""}]},
        {"keys": [{**KEY.public, "kid": 7}]},
        {"keys": [{**KEY.public, "n": "%%%"}]},
        {"keys": [{**KEY.public, "n": "AQAB"}]},
        {"keys": [{**KEY.public, "e": "Ag"}]},
        {"keys": [without("n")]},
        {"keys": [without("e")]},
        {"keys": [without("kid")]},
        {"keys": [{**KEY.public, "n": b64(b"\xff" * 255)}]},  # 2040 bits
    ],
)
def test_anything_else_is_refused_as_a_whole(document: object) -> None:
    with pytest.raises(KeysUnusableError):
        parse_key_set(document)
