"""What an amount may be, and how people type one."""

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from integration_base.amounts import (
    LARGEST,
    NotAnAmountError,
    format_amount,
    has_whole_cents,
    is_amount,
    quantize_to_cents,
    read_amount,
)


@pytest.mark.parametrize(
    ("number", "fits"),
    [
        ("0.01", True), ("0", True), ("-1.5", True), ("1.2300", True), ("1E+3", True), ("9999999999999999.99", True),
        ("0.001", False), ("1E-3", False), ("1E+40", False), ("0." + "1" * 50, False), ("NaN", False),
        ("Infinity", False),
    ],
)  # fmt: skip
def test_at_most_two_decimals(number: str, *, fits: bool) -> None:
    amount = Decimal(number)
    assert has_whole_cents(amount) is fits
    if fits:
        assert (quantize_to_cents(amount), quantize_to_cents(amount).as_tuple().exponent) == (amount, -2)
    else:
        with pytest.raises(ValueError, match="at most two decimals"):
            quantize_to_cents(amount)


def test_an_amount_is_above_zero_and_no_larger_than_any() -> None:
    assert is_amount(Decimal("0.01"))
    assert is_amount(LARGEST)
    assert not is_amount(Decimal(0))
    assert not is_amount(LARGEST + Decimal("0.01"))
    assert not is_amount(Decimal("1.001"))


@pytest.mark.parametrize(
    ("typed", "amount"),
    [
        ("40", "40"),
        ("40.5", "40.5"),
        ("40,50", "40.50"),
        ("1 234,50", "1234.50"),
        ("1,234.50", "1234.50"),
        ("9,999,999", "9999999"),
        (" 7 ", "7"),
        ("1\xa0234", "1234"),
        ("١٢٣٤٫٥٠", "1234.50"),
        ("١", "1"),
        ("۱۲۳۴٫۵", "1234.5"),
        ("१२३४.५०", "1234.50"),
        ("１２３４．５０", "1234.50"),
        ("1٬234٬567", "1234567"),
        ("\u200e12.50\u200e", "12.50"),
        ("\u206812,50\u2069", "12.50"),
    ],
)
def test_amounts_are_typed_as_people_write_them(typed: str, amount: str) -> None:
    assert str(read_amount(typed)) == amount


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "1,000",
        "1.000",
        "1.234,50",
        "-1",
        "+1",
        "1e3",
        "1_0",
        "NaN",
        "1..2",
        ".5",
        "5.",
        "9" * 16,
        "10²",
        "①",
        "١٬٠٠٠",
        "−5",
    ],
)
def test_what_could_be_meant_otherwise_is_no_amount(typed: str) -> None:
    with pytest.raises(NotAnAmountError):
        read_amount(typed)


@pytest.mark.parametrize(
    ("typed", "amount"),
    [
        ("10.250", "10.250"),
        ("10.255", "10.255"),
        ("1,000.500", "1000.500"),
        ("1 000,500", "1000.500"),
        ("1\u202f000\u202f000,500", "1000000.500"),
        ("١٠٫٢٥٠", "10.250"),
        ("40,50", "40.50"),
        ("1,234.50", "1234.50"),
        ("1,234,567", "1234567"),
    ],
)
def test_amounts_of_three_decimals_are_typed_as_their_currency_has_them(typed: str, amount: str) -> None:
    assert str(read_amount(typed, decimals=3)) == amount


@pytest.mark.parametrize(
    ("typed", "amount"),
    [("1,000", "1000"), ("12,000,000", "12000000"), ("1,000.00", "1000.00"), ("100.00", "100.00"), ("1 000", "1000")],
)
def test_thousands_of_a_currency_without_decimals_are_typed_as_they_are_shown(typed: str, amount: str) -> None:
    assert str(read_amount(typed, decimals=0)) == amount


@pytest.mark.parametrize("typed", ["1.000", "1,00,000", "0,100", "1,0000"])
def test_what_is_no_group_of_thousands_is_no_whole_amount(typed: str) -> None:
    with pytest.raises(NotAnAmountError):
        read_amount(typed, decimals=0)


@pytest.mark.parametrize("typed", ["10,250", "1,000", "1.000,500", "1.2345", "1 00,500", "1,00.500", "١٬٠٠٠"])
def test_what_could_be_a_thousand_is_no_amount_of_three_decimals(typed: str) -> None:
    with pytest.raises(NotAnAmountError):
        read_amount(typed, decimals=3)


@given(amount=st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**13), max_value=10**13, places=6))
def test_an_amount_is_written_with_two_decimals_or_as_many_as_it_has(amount: Decimal) -> None:
    text = format_amount(amount)
    assert Decimal(text) == amount
    assert re.fullmatch(r"-?\d+\.\d\d(\d*[1-9])?", text)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("1708.5", "1708.50"), ("0", "0.00"), ("1E+3", "1000.00"), ("1.4525", "1.4525"), ("5.695000", "5.695"),
        ("1e999999", "1E+999999"), ("NaN", "NaN"),
    ],
)  # fmt: skip
def test_an_amount_in_other_notations(number: str, text: str) -> None:
    assert format_amount(Decimal(number)) == text


@pytest.mark.parametrize(
    ("number", "text"), [("1708.00", "1708"), ("1708.5", "1708.50"), ("0.00", "0"), ("1E+3", "1000")]
)
def test_a_whole_amount_of_a_currency_without_cents(number: str, text: str) -> None:
    assert format_amount(Decimal(number), cents=False) == text
