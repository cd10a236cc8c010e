"""The gateway's webhooks: signed, or not read at all (gateway interface, Events)."""

import base64
import hashlib
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gateway_client.errors import ForgedNotificationError, UnreadableNotificationError
from gateway_client.models import OperationRecord, PaymentRecord, Status
from gateway_client.notification import MAX_FORM_BYTES, decode, encode, read_data, read_notification
from gateway_client.signature import sign, verify
from gateway_client_tests.counterpart import PAYMENT, REFUND
from gateway_client_tests.strategies import records
from integration_base import exact_json

SECRET = "secret-of-the-api"
DATA = encode(PAYMENT)


def form(data: str = DATA, *, secret: str = SECRET, **changes: str) -> bytes:
    """A signed form; its parts can be overridden one by one."""
    return urlencode({"data": data, "signature": sign(data, secret)} | changes).encode()


def test_the_published_vector() -> None:
    data = "eyJuYW1lIjoiSm9lIiwiYWdlIjoyMH0="
    assert sign(data, "changeme") == "Bcj3hb-h00HrEMIoJ5nPW5ZHlVQ="
    assert verify(data, "Bcj3hb-h00HrEMIoJ5nPW5ZHlVQ=", ["changeme"])
    assert decode(data) == {"name": "Joe", "age": 20}


def test_the_alphabet_is_url_safe_and_the_padding_stays() -> None:
    signatures = [sign(str(number), SECRET) for number in range(200)]
    assert all(len(signature) == 28 and signature.endswith("=") for signature in signatures)
    together = "".join(signatures)
    assert "-" in together
    assert "_" in together
    assert not set("+/") & set(together)


@given(records, st.booleans())
def test_every_record_is_read_from_a_signed_form(members: dict[str, Any], padded: bool) -> None:
    data = encode(members) if padded else encode(members).rstrip("=")
    found = read_notification(form(data), [SECRET])
    assert found.data == data
    assert found.digest == hashlib.sha256(data.encode()).hexdigest()
    assert found.record == read_data(data)
    assert exact_json.dumps(decode(data)) == exact_json.dumps(exact_json.loads(exact_json.dumps(members)))


def test_a_record_behind_a_byte_order_mark_is_read() -> None:
    marked = base64.urlsafe_b64encode(b"\xef\xbb\xbf" + exact_json.dumps(PAYMENT).encode()).decode()
    assert read_notification(form(marked), [SECRET]).record == read_data(DATA)


@pytest.mark.threat("forged-notification")
@given(st.data())
def test_a_form_with_one_byte_changed_is_refused(data: st.DataObject) -> None:
    whole = form()
    at = data.draw(st.integers(min_value=0, max_value=len(whole) - 1))
    other = data.draw(st.integers(min_value=0, max_value=255).filter(lambda byte: byte != whole[at]))
    tampered = whole[:at] + bytes([other]) + whole[at + 1 :]
    # %3d is %3D: the same form, written differently.
    assume(parse_qsl(tampered.decode("latin-1")) != parse_qsl(whole.decode("latin-1")))
    with pytest.raises((ForgedNotificationError, UnreadableNotificationError)):
        read_notification(tampered, [SECRET])


@pytest.mark.threat("forged-notification")
@given(st.text(), st.text(), st.text(min_size=1))
def test_nothing_but_the_signature_itself_verifies(data: str, signature: str, secret: str) -> None:
    assert verify(data, signature, [secret]) == (signature == sign(data, secret))


def test_primary_and_secondary() -> None:
    assert isinstance(read_notification(form(), [SECRET]).record, PaymentRecord)
    refund = read_notification(form(encode(REFUND)), [SECRET]).record
    assert isinstance(refund, OperationRecord)
    assert refund.status is Status.SUCCESS


def test_while_the_secret_is_being_changed_both_are_good() -> None:
    for secret in ("new", "old"):
        assert read_notification(form(secret=secret), ["new", "old"]).record.order_id == "order1"
    with pytest.raises(ForgedNotificationError):
        read_notification(form(secret="older"), ["new", "old"])


@pytest.mark.threat("forged-notification")
def test_a_text_is_one_secret_and_not_one_of_each_character() -> None:
    """Type checkers take a text for a sequence of texts. With one of its characters anybody could sign."""
    assert read_notification(form(), SECRET).record == read_data(DATA)
    for character in set(SECRET):
        assert not verify(DATA, sign(DATA, character), SECRET)
        with pytest.raises(ForgedNotificationError):
            read_notification(form(secret=character), SECRET)


@pytest.mark.threat("forged-notification")
def test_an_empty_secret_signs_nothing_and_verifies_nothing() -> None:
    by_anybody = hashlib.sha1(DATA.encode()).digest()  # noqa: S324 - the interface prescribes SHA-1
    signature = base64.urlsafe_b64encode(by_anybody).decode()
    assert not verify(DATA, signature, [""])
    assert not verify(DATA, signature, [])
    with pytest.raises(ForgedNotificationError):
        read_notification(form(signature=signature), ["", SECRET])
    with pytest.raises(ValueError, match="empty secret"):
        sign(DATA, "")


@pytest.mark.threat("forged-notification")
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"data=",
        form(signature=""),
        form() + b"&data=" + DATA.encode(),
        form() + b"&signature=x",
        b"&".join([b"a=1"] * 20) + b"&" + form(),
        b"\xff" + form(),
        b"{}",
        form() + b"&pad=" + b"x" * MAX_FORM_BYTES,
    ],
    ids=["empty", "blank", "unsigned", "two datas", "two signatures", "many fields", "bytes", "json", "large"],
)
def test_what_is_not_the_form_is_not_even_verified(body: bytes) -> None:
    with pytest.raises(UnreadableNotificationError):
        read_notification(body, [SECRET])


@pytest.mark.parametrize(
    "data", ["e30=", "bm90IGpzb24=", "!!!", "a", "W10=", encode({**PAYMENT, "amount": "much"}), "e30==="]
)
def test_signed_and_yet_no_record(data: str) -> None:
    with pytest.raises(UnreadableNotificationError) as caught:
        read_notification(form(data), [SECRET])
    assert "much" not in str(caught.value)


def test_further_fields_of_the_form_do_not_disturb() -> None:
    assert read_notification(form(extra="1"), [SECRET]).record.order_id == "order1"


def test_nothing_of_the_payer_shows() -> None:
    found = read_notification(form(encode({**PAYMENT, "customer_email": "olena@example.com"})), [SECRET])
    assert "olena" not in repr(found)
    assert found.data not in repr(found)
