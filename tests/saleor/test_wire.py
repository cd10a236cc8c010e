"""JSON that loses no digit."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.saleor.wire import read_json, write_json

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.decimals(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(values)
def test_what_is_written_is_read_again(value: Any) -> None:
    again = read_json(write_json(value))
    assert again == value
    assert isinstance(again, type(value)) or isinstance(value, Decimal)


@given(values)
def test_everybody_elses_parser_reads_the_same(value: Any) -> None:
    assert json.loads(write_json(value), parse_float=Decimal) == value


@pytest.mark.parametrize("text", ["569.50", "0.00", "0.1", "100000000000000000000.01", "1E+999999", "1E-7"])
def test_digits_stay_as_they_are(text: str) -> None:
    assert write_json(Decimal(text)) == text.encode()
    read = read_json(text.encode())
    assert isinstance(read, Decimal)
    assert str(read) == text


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"NaN", b"-Infinity", b"\xff", b"[" * 100_000, b"1 2", "[]".encode("utf-16")]
)
def test_what_is_not_json_is_a_value_error(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_json(raw)


@pytest.mark.parametrize("value", [0.1, object(), {1: 2}, [float("nan")], {"a": {1, 2}}, b"x"])
def test_what_json_cannot_say_exactly_is_not_written(value: object) -> None:
    with pytest.raises(TypeError):
        write_json(value)


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_is_none_is_not_written(text: str) -> None:
    with pytest.raises(ValueError, match="finite"):
        write_json([Decimal(text)])
