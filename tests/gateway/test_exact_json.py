"""JSON whose numbers are exact."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.gateway import exact_json
from app.gateway.models import Refund
from tests.gateway.strategies import amounts

documents = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(min_value=-(10**30), max_value=10**30),
        st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20, places=6),
        st.text(),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)),
    max_leaves=12,
)


@given(documents)
def test_what_is_written_is_read_again(document: Any) -> None:
    written = exact_json.dumps(document)
    assert exact_json.loads(written) == document
    assert exact_json.loads(written.encode()) == document
    assert written.isascii()


@given(amounts)
def test_an_amount_keeps_every_digit_on_its_way(amount: Decimal) -> None:
    members = Refund(order_id="1", order_currency="UAH", refund_amount=amount).to_wire()
    written = exact_json.dumps(members)
    assert f'"refund_amount":{amount}' in written
    assert str(exact_json.loads(written)["refund_amount"]) == str(amount)


def test_a_tenth_and_two_tenths_are_three_tenths() -> None:
    assert exact_json.dumps(Decimal("0.1") + Decimal("0.2")) == "0.3"
    one, other = exact_json.loads("[0.1, 0.2]")
    assert one + other == Decimal("0.3")
    # What floats would have made of it.
    assert exact_json.loads("0.1") != 0.1


@pytest.mark.parametrize(
    ("number", "written"),
    [
        ("1E+2", "100"),
        ("10.50", "10.50"),
        ("1e-7", "0.0000001"),
        ("-0.00", "-0.00"),
        ("9999999999.99", "9999999999.99"),
    ],
)
def test_numbers_are_written_plainly(number: str, written: str) -> None:
    assert exact_json.dumps(Decimal(number)) == written


@pytest.mark.parametrize("value", [0.1, float("nan"), Decimal("NaN"), Decimal("Infinity"), {1: 2}, object(), {1}])
def test_what_is_never_written(value: object) -> None:
    with pytest.raises(TypeError):
        exact_json.dumps([value])


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "NaN", "[Infinity]", "1e999999999", "1e-999999999", "0." + "1" * 100, "1" * 100, "[" * 100_000,
        b"\xff\xfe\x00", "'x'",
    ],
)  # fmt: skip
def test_what_is_not_json_or_too_long_for_an_amount(text: str | bytes) -> None:
    with pytest.raises(exact_json.NotJsonError) as caught:
        exact_json.loads(text)
    assert caught.value.__context__ is None or isinstance(caught.value.__context__, exact_json.NotJsonError)
