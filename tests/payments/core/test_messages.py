"""Sentences are English wherever text goes, and remember what they were made of."""

import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.notification import outcome_from
from app.i18n.messages import Joined, LazyMessage, Money, StoredMessage, Value
from app.rules.decisions.notification import outcome_message
from tests.payments.fake_gateway import POS_ID

AT = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
VALUES: st.SearchStrategy[Value] = st.recursive(
    st.text(max_size=8)
    | st.integers()
    | st.datetimes(timezones=st.just(UTC))
    | st.builds(Money, st.decimals(0, 10**9, places=2), st.sampled_from(["UAH", "EUR"])),
    lambda inner: st.builds(lambda value: LazyMessage("about %(value)s", value=value), inner),
    max_leaves=4,
)


def test_a_sentence_is_english_text() -> None:
    why = Joined((LazyMessage("%(sum)s was taken", sum=Money(Decimal("5.00"), "UAH")), StoredMessage("so be it")))
    words = LazyMessage("%(when)s: %(why)s, %(times)s times", when=AT, why=why, times=2)
    assert words == "2026-11-21 12:00 UTC: 5.00 UAH was taken, so be it, 2 times"
    assert isinstance(words, str)
    assert LazyMessage("100 % sure") == "100 % sure"


@given(VALUES)
def test_it_is_kept_as_json_and_said_again(value: Value) -> None:
    words = LazyMessage("It is %(value)s.", value=value)
    again = LazyMessage.from_json(json.loads(json.dumps(words.to_json())))
    assert (again, again.message, again.values) == (words, words.message, words.values)


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        ("unmatched", "no payment of ours has this order"),
        ("to-review refund success", "for review: refund success"),
        ("applied create success", "create success"),
        ("what version 0.1 stored", "what version 0.1 stored"),
    ],
)
def test_what_came_of_a_notification_is_read_in_words(stored: str, read: str) -> None:
    assert outcome_message(outcome_from(stored)) == read


def test_what_stands_in_it_is_not_looked_at_for_places() -> None:
    assert LazyMessage("order %(order)s", order="%(nothing)s %d") == "order %(nothing)s %d"
    assert POS_ID in LazyMessage("at %(pos_id)s", pos_id=POS_ID)
