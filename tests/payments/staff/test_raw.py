"""What staff see of what was said, word for word: never anything of the shopper."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from app.core.vocabulary import Kind, State
from app.reports.raw import REDACTED, Source, raw_messages, raw_records, redact
from gateway_client.models import Records
from tests.commands.books import aggregate, event, moment_after, notification, operation

SHOPPER = {
    "customer_email": "olena@example.com",
    "customer_phone": "+380501234567",
    "customer_fname": "Олена",
    "customer_lname": "Пчілка",
    "customer_ip": "203.0.113.7",
    "customer_birthday": "1849-07-17",
    "customer_tax_id": "1234567890",
    "cc_token": "rcr:4f1c",
    "user_action_url": "https://bank.example/3ds?who=olena",
    "something_new": {"name": "Олена", "amount": "1.00"},
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)


def said(text: str) -> Any:
    return json.loads(text)


def test_the_shopper_is_veiled_and_the_money_is_not() -> None:
    request = SHOPPER | {"amount": "100.00", "order_id": "1", "split": [{"sub_merchant_id": "a", "amount": "100.00"}]}
    asked, notified, told = raw_messages(
        aggregate([operation(request=request)], [event(created_at=moment_after(seconds=2))]),
        [notification(SHOPPER | {"cc_mask": "424242******4242"})],
    )
    assert (asked.source, notified.source, told.source) == (Source.REQUESTED, Source.NOTIFIED, Source.REPORTED)
    assert said(asked.text) == dict.fromkeys(SHOPPER, REDACTED) | {
        "amount": "100.00",
        "order_id": "1",
        "split": [{"sub_merchant_id": "a", "amount": "100.00"}],
    }
    assert said(notified.text)["cc_mask"] == "424242******4242"
    assert said(told.text)["event"] == "CHARGE_SUCCESS"
    everything = asked.text + notified.text + told.text
    for private in ("olena", "Олена", "Пчілка", "38050", "203.0", "1849", "rcr", "123456"):
        assert private not in everything


def test_a_number_where_a_mask_should_be_is_veiled() -> None:
    assert redact({"cc_mask": "4242424242424242"}) == {"cc_mask": REDACTED}


def test_what_has_not_been_sent_was_not_said() -> None:
    waiting = operation(Kind.REFUND, State.WAITING)
    assert [raw_message.what for raw_message in raw_messages(aggregate([operation(), waiting]), [])] == ["create"]


def test_what_others_did_the_gateway_was_not_asked() -> None:
    theirs = operation(Kind.REFUND, idempotency_key="gateway:4711", request={})
    assert [raw_message.what for raw_message in raw_messages(aggregate([operation(), theirs]), [])] == ["create"]


def test_what_no_key_opens_is_told_as_nothing() -> None:
    assert raw_messages(aggregate(), [notification(data=None)])[-1].text == "null"
    assert raw_records(Records(())) == "[]"


@given(JSON)
def test_whatever_has_an_unknown_name_is_veiled(value: object) -> None:
    shown = redact({"x-unknown": value})
    assert shown == {"x-unknown": value if value is None or isinstance(value, bool) else REDACTED}
