"""Opening sealed cards: what is right opens, everything else is a clean refusal that repeats nothing."""

import base64
import json
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.rules.cards.card_form import PaymentInstrument
from app.rules.cards.encrypted_card import MAX_CHARACTERS, is_sealed, open_sealed
from app.rules.cards.key_pair import GRACE, generate_key_pair
from app.rules.refusal import RefusalCode, RefusalError
from gateway_client.luhn import passes_luhn
from tests.payments.cards.seals import CARD, CVV, NUMBER, seal

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
CHECKOUT = "Q2hlY2tvdXQ6MQ=="
TOKEN = "rcr:0f9a61c2d1"


@cache
def pair(number: int = 0) -> tuple[dict[str, Any], str]:
    """Return a public and a private key; the same ones for the same number."""
    return generate_key_pair()


def opened(sealed: str, language: str = "en") -> PaymentInstrument:
    jwk, private = pair()
    return open_sealed(
        sealed,
        lambda kid: private if kid == jwk["kid"] else None,
        paid_for=CHECKOUT,
        language=language,
        now=NOW,
    )


def refusal_of(sealed: str, language: str = "en") -> RefusalError:
    with pytest.raises(RefusalError) as caught:
        opened(sealed, language)
    refusal = caught.value
    # The chain of errors would show what was opened to whatever logs it.
    assert refusal.__cause__ is None
    assert refusal.__context__ is None
    for secret in (NUMBER, CVV, TOKEN, "2030"):
        assert secret not in repr(refusal)
    return refusal


def sealed(content: object, **header: Any) -> str:
    """Seal for this checkout, unless the content says otherwise."""
    content = {"for": CHECKOUT, **content} if isinstance(content, dict) else content
    return seal(content, pair()[0], **header)


def test_a_typed_card_opens_to_the_members_of_the_gateway() -> None:
    instrument = opened(sealed(CARD))
    assert instrument.members == {"cc_number": NUMBER, "exp_month": 12, "exp_year": 2030, "card_cvv": CVV}
    assert NUMBER not in f"{instrument!r} {instrument}"


@pytest.mark.parametrize(
    ("typed", "member", "value"),
    [
        ({"number": "4242 4242 4242 4242"}, "cc_number", NUMBER),
        ({"number": " 4242-4242-4242-4242 "}, "cc_number", NUMBER),
        ({"number": "٤٢٤٢ ٤٢٤٢ ٤٢٤٢ ٤٢٤٢"}, "cc_number", NUMBER),
        ({"number": "４２４２４２４２４２４２４２４２"}, "cc_number", NUMBER),
        ({"number": "\u202a4242\u00a04242\u20114242\u20134242\u202c"}, "cc_number", NUMBER),
        ({"expMonth": "۱۲", "expYear": "२७"}, "exp_year", 2027),
        ({"cvv": "７３７"}, "card_cvv", "737"),
        ({"expMonth": "01", "expYear": "27"}, "exp_month", 1),
        ({"expMonth": "01", "expYear": "27"}, "exp_year", 2027),
        ({"expMonth": "11", "expYear": 26}, "exp_year", 2026),  # good until the end of this month
        ({"cvv": "1234"}, "card_cvv", "1234"),
        ({"cvv": "007"}, "card_cvv", "007"),
        ({"holder": "TARAS SHEVCHENKO", "token": None}, "cc_number", NUMBER),
        ({"token": "", "cryptogram": ""}, "cc_number", NUMBER),
    ],
)
def test_a_card_is_taken_as_shoppers_type_it(typed: dict[str, Any], member: str, value: object) -> None:
    assert opened(sealed(CARD | typed)).members[member] == value


def test_a_token_and_a_cryptogram_open_too() -> None:
    assert opened(sealed({"token": TOKEN})).members == {"cc_token": TOKEN}
    cryptogram = {"data": "abc", "header": {"keys": [1, 2]}}
    assert opened(sealed({"cryptogram": cryptogram})).members == {"cryptogram": cryptogram}


@pytest.mark.parametrize(
    ("typed", "field", "words"),
    [
        ({"number": "4242424242424243"}, "number", "card number"),
        ({"number": "4242"}, "number", "card number"),
        ({"number": "0000000000000000"}, "number", "card number"),
        ({"number": 4.2}, "number", "card number"),
        ({"expMonth": 13}, "expMonth", "expiry date"),
        ({"expMonth": None}, "expMonth", "expiry date"),
        ({"expMonth": True}, "expMonth", "expiry date"),
        ({"expYear": 1999}, "expYear", "expiry date"),
        ({"expYear": 2099}, "expYear", "expiry date"),
        ({"expYear": 203}, "expYear", "expiry date"),
        ({"expMonth": 10, "expYear": 2026}, "expYear", "has expired"),
        ({"cvv": None}, "cvv", "security code"),
        ({"cvv": "12"}, "cvv", "security code"),
        ({"cvv": "12345"}, "cvv", "security code"),
    ],
)
def test_a_card_that_cannot_be_right_is_told_to_the_shopper(typed: dict[str, Any], field: str, words: str) -> None:
    refusal = refusal_of(sealed(CARD | typed))
    assert (refusal.code, refusal.field) == (RefusalCode.INVALID_CARD, f"data.card.{field}")
    assert words in (refusal.shopper_message or "")
    assert "картки" in (refusal_of(sealed(CARD | typed), "uk").shopper_message or "").lower()


def test_a_card_is_good_until_its_month_has_ended_everywhere() -> None:
    jwk, private = pair()
    november = seal(CARD | {"for": CHECKOUT, "expMonth": 11, "expYear": 2026}, jwk)
    for hour, good in ((11, True), (13, False)):
        now = datetime(2026, 12, 1, hour, tzinfo=UTC)
        try:
            open_sealed(november, lambda _: private, paid_for=CHECKOUT, language="en", now=now)
        except RefusalError:
            assert not good
        else:
            assert good


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"number": NUMBER, "token": TOKEN},
        {"token": TOKEN, "cryptogram": {"a": 1}},
        {"expMonth": 12, "expYear": 2030, "cvv": CVV},
        {"token": ""},
        {"token": f"{TOKEN}\n"},
        {"token": TOKEN * 100},
        {"token": 12},
        {"cryptogram": {}},
        {"cryptogram": TOKEN},
        [NUMBER],
        NUMBER,
        b"not JSON " + NUMBER.encode(),
        b"\xff\xfe\x00",
        b"",
        b"[" * 5000,
        CARD | {"at": "yesterday"},
        CARD | {"for": "Q2hlY2tvdXQ6Mg=="},
        CARD | {"for": 7},
        CARD | {"for": None},
    ],
)
def test_what_holds_no_card_or_several_is_unreadable(content: object) -> None:
    assert refusal_of(sealed(content)).code is RefusalCode.CARD_UNREADABLE


def test_it_may_say_for_what_it_is_meant_and_when_it_was_made() -> None:
    for at in ("2026-11-21T11:59:00.123Z", "2026-11-21T11:59:00", "2026-11-22T01:00:00+02:00"):
        assert opened(sealed(CARD | {"for": CHECKOUT, "at": at})).members["cc_number"] == NUMBER
    for moment in (NOW - GRACE - timedelta(seconds=1), NOW + GRACE + timedelta(seconds=1)):
        assert refusal_of(sealed(CARD | {"at": moment.isoformat()})).code is RefusalCode.SEAL_OUTDATED


def test_a_key_that_is_not_accepted_any_more_can_be_asked_for_again() -> None:
    refusal = refusal_of(seal(CARD, pair(1)[0]))
    assert refusal.code is RefusalCode.SEAL_OUTDATED
    assert "encrypt again" in refusal.message


def test_the_wrong_key_under_the_right_name_does_not_open() -> None:
    wrong = pair(1)[0] | {"kid": pair()[0]["kid"]}
    assert refusal_of(seal(CARD, wrong)).code is RefusalCode.CARD_UNREADABLE


@pytest.mark.threat("stolen-ciphertext", "decompression-bomb")
@pytest.mark.parametrize(
    ("header", "why"),
    [
        ({"alg": "RSA-OAEP"}, "not encrypted with"),
        ({"alg": "RSA1_5"}, "not encrypted with"),
        ({"enc": "A128GCM"}, "not encrypted with"),
        ({"enc": "A256CBC-HS512"}, "not encrypted with"),
        ({"zip": "DEF"}, "`zip`"),
        ({"kid": None}, "`kid`"),
    ],
)
@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
def test_other_algorithms_and_compression_are_refused(header: dict[str, Any], why: str) -> None:
    refusal = refusal_of(sealed(CARD, **header))
    assert refusal.code is RefusalCode.CARD_UNREADABLE
    assert why in refusal.message


def with_header(compact: str, header: bytes) -> str:
    encoded = base64.urlsafe_b64encode(header).decode().rstrip("=")
    return ".".join([encoded, *compact.split(".")[1:]])


@given(st.binary(max_size=300) | st.from_type(dict[str, str]).map(lambda header: json.dumps(header).encode()))
@example(json.dumps({"alg": "dir", "enc": "A256GCM"}).encode())
@example(json.dumps({"alg": "RSA-OAEP-256", "enc": "A256GCM", "kid": ["x"]}).encode())
@example(json.dumps({"alg": "RSA-OAEP-256", "enc": "A256GCM", "crit": ["exp"]}).encode())
@example(json.dumps({"alg": ["RSA-OAEP-256"], "enc": {}}).encode())
@example(b'"alg enc"')
@example(b"[" * 1500)
def test_another_header_never_opens(header: bytes) -> None:
    assert refusal_of(with_header(sealed(CARD), header)).code is RefusalCode.CARD_UNREADABLE


@pytest.mark.threat("stolen-ciphertext")
@given(part=st.integers(0, 4), at=st.integers(0, 10_000), flipped=st.integers(1, 255))
def test_a_single_changed_byte_does_not_open(part: int, at: int, flipped: int) -> None:
    parts = sealed(CARD).split(".")
    raw = bytearray(base64.urlsafe_b64decode(parts[part] + "=="))
    raw[at % len(raw)] ^= flipped
    parts[part] = base64.urlsafe_b64encode(raw).decode().rstrip("=")
    assert refusal_of(".".join(parts)).code in {RefusalCode.CARD_UNREADABLE, RefusalCode.SEAL_OUTDATED}


@given(st.text(max_size=200) | st.from_regex(r"[\w.-]{0,200}"))
@example("." * 4)
@example("a.b.c.d.e")
@example("é.b.c.d.e")
def test_a_text_that_is_no_sealed_card_is_refused(text: str) -> None:
    assert refusal_of(text).code is RefusalCode.CARD_UNREADABLE


@given(st.data())
def test_a_cut_card_does_not_open(data: st.DataObject) -> None:
    whole = sealed(CARD)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    assert refusal_of(cut).code in {RefusalCode.CARD_UNREADABLE, RefusalCode.SEAL_OUTDATED}


@pytest.mark.threat("huge-body")
def test_what_is_too_long_is_not_even_read() -> None:
    long = sealed({"cryptogram": {"data": "x" * MAX_CHARACTERS}})
    assert not is_sealed(long)
    assert refusal_of(long).code is RefusalCode.CARD_UNREADABLE


@given(st.text("0123456789", min_size=11, max_size=18))
def test_every_number_has_exactly_one_check_digit(digits: str) -> None:
    assert sum(passes_luhn(digits + check) for check in "0123456789") == 1
