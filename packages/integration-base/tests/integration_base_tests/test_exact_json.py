"""JSON whose numbers are exact, and what of hostile input is not taken."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from integration_base import exact_json

documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.decimals(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
amounts = st.integers(min_value=-(10**30), max_value=10**30) | st.decimals(-(10**20), 10**20, places=6)


@given(documents)
def test_what_is_written_is_read_again(document: Any) -> None:
    written = exact_json.dumps(document)
    assert written.isascii()
    again = exact_json.loads(written, any_number=True)
    assert again == document
    assert isinstance(again, type(document)) or isinstance(document, Decimal)
    assert exact_json.loads(written.encode(), any_number=True) == document


@given(st.lists(amounts))
def test_what_may_be_an_amount_is_read_again(numbers: list[int | Decimal]) -> None:
    assert exact_json.loads(exact_json.dumps(numbers)) == numbers


@given(documents)
def test_everybody_elses_parser_reads_the_same(document: Any) -> None:
    assert json.loads(exact_json.dumps(document), parse_float=Decimal) == document


@pytest.mark.parametrize("text", ["569.50", "0.00", "0.1", "-0.00", "100000000000000000000.01", "9999999999.99"])
def test_digits_stay_as_they_are(text: str) -> None:
    assert exact_json.dumps(Decimal(text)) == text
    for any_number in (False, True):
        read = exact_json.loads(text.encode(), any_number=any_number)
        assert isinstance(read, Decimal)
        assert str(read) == text


@pytest.mark.parametrize(
    "document", [b'\xef\xbb\xbf{"amount": 569.50}', '\ufeff{"amount": 569.50}'], ids=["bytes", "text"]
)
def test_a_byte_order_mark_before_a_document_is_not_part_of_it(document: str | bytes) -> None:
    """Programs on .NET write one; RFC 8259 lets readers ignore it."""
    assert exact_json.loads(document) == {"amount": Decimal("569.50")}


@pytest.mark.parametrize("document", ["\ufeff\ufeff{}", "{}\ufeff", "{\ufeff}"])
def test_a_byte_order_mark_elsewhere_is_not_json(document: str) -> None:
    with pytest.raises(exact_json.NotJsonError):
        exact_json.loads(document)


@pytest.mark.threat("decompression-bomb")
@pytest.mark.parametrize(
    ("number", "written"),
    [
        ("1E+2", "100"),
        ("10.50", "10.50"),
        ("1e-7", "0.0000001"),
        ("1E+999999", "1E+999999"),
        ("1E-999999999", "1E-999999999"),
        ("0E-999999999", "0E-999999999"),
    ],
)
def test_numbers_are_written_plainly_but_for_those_that_would_take_a_gigabyte(number: str, written: str) -> None:
    assert exact_json.dumps(Decimal(number)) == written
    assert exact_json.loads(written, any_number=True) == Decimal(number)


@pytest.mark.parametrize("value", [0.1, float("nan"), {1: 2}, object(), {1}, b"x"])
def test_what_json_cannot_say_exactly_is_not_written(value: object) -> None:
    for document in (value, [value], {"a": value}):
        with pytest.raises(TypeError):
            exact_json.dumps(document)


@pytest.mark.parametrize("text", ["NaN", "sNaN", "Infinity", "-Infinity"])
def test_a_number_that_is_none_is_not_written(text: str) -> None:
    with pytest.raises(ValueError, match="finite"):
        exact_json.dumps([Decimal(text)])


@pytest.mark.parametrize("any_number", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "", "{", "NaN", "[Infinity]", "-Infinity", "[" * 100_000, b"\xff\xfe\x00", b"\xff", "'x'", "1 2",
        "[]".encode("utf-16"), b'"\xed\xa0\x80"', "1e9999999999999999999", "0e-9999999999999999999", "1" * 5000,
    ],
)  # fmt: skip
def test_what_is_not_json(text: str | bytes, any_number: bool) -> None:
    with pytest.raises(exact_json.NotJsonError) as caught:
        exact_json.loads(text, any_number=any_number)
    assert caught.value.__context__ is None or isinstance(caught.value.__context__, exact_json.NotJsonError)


@pytest.mark.parametrize("text", ["1e999999999", "1e-999999999", "0e-999999999", "0." + "1" * 100, "1" * 100, "-1e65"])
def test_what_is_too_long_for_an_amount_is_taken_where_it_need_not_be_one(text: str) -> None:
    with pytest.raises(exact_json.NotJsonError):
        exact_json.loads(f'{{"amount": {text}}}')
    [number] = exact_json.loads(f"[{text}]", any_number=True)
    assert number == Decimal(text)


def test_half_of_a_surrogate_pair_and_a_name_given_twice_come_through() -> None:
    """As ``json`` reads them: what cannot be kept of a text, a column makes fit."""
    assert exact_json.loads(r'"\ud800"') == "\ud800"
    assert exact_json.dumps("\ud800") == r'"\ud800"'
    assert exact_json.loads('{"a": 1, "a": 2}') == {"a": 2}
