"""Card numbers are found wherever somebody typed them, and other numbers are not taken for one. Pure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.rules.cards.card_form import holds_card_number
from gateway_client.luhn import passes_luhn


@pytest.mark.threat("card-numbers")
@pytest.mark.parametrize(
    "text",
    [
        "4242424242424242",
        "Taras 4242 4242 4242 4242",
        "4242-4242-4242-4242 Shevchenko",
        "4242.4242.4242.4242",
        "4242/4242/4242/4242",
        "4242_4242_4242_4242",
        "4242\N{NO-BREAK SPACE}4242\N{EN DASH}4242 - 4242",
        "4 2 4 2 4 2 4 2 4 2 4 2 4 2 4 2",
        "4242424242424242 12/30 937",
        "№4242424242424242,",
        "٤٢٤٢٤٢٤٢٤٢٤٢٤٢٤٢",
        "４２４２４２４２４２４２４２４２",
        "378282246310005",
        "30569309025904",
        "4222222222222",
        "6304000000000000",
    ],
)
def test_a_card_number_is_found_however_it_is_written(text: str) -> None:
    assert holds_card_number(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Тарас",
        "4242424242424243",
        "424242424242",
        "00000000-0000-0000-0000-000000000000",
        "0000000000000000",
        "42424242424242424242",  # 20 digits in one
        "4242 4242 street 4242 4242",
        "4242 a 4242 a 4242 a 4242",
        "4242    4242    4242    4242",
        "+380501234567",
    ],
)
def test_other_numbers_are_left_alone(text: str) -> None:
    assert not holds_card_number(text)


@given(digits=st.text("0123456789", min_size=13, max_size=19), around=st.text("aб .-", max_size=4))
def test_what_passes_the_check_is_found_and_nothing_else(digits: str, around: str) -> None:
    assert holds_card_number(f"{around}{digits}{around}") == (passes_luhn(digits) and bool(digits.strip("0")))


def test_where_long_numbers_are_usual_only_the_longer_ones_count() -> None:
    assert holds_card_number("378282246310005")
    assert not holds_card_number("378282246310005", min_digits=16)
    assert holds_card_number("4242424242424242", min_digits=16)
