"""Test cards and amount endings: how a person or a test chooses the outcome of a payment.

Real cards should not be entered here, and cannot be used: every number that is not a test card is bad card data.
No card number is ever stored; a card on file is its mask and the outcome that it stands for.
"""

from decimal import Decimal

from gateway_client.sandbox.core.codes import BAD_CARD, CHALLENGE_NEEDED, INSUFFICIENT_FUNDS, OK, PROCESSING

PLAIN_CARDS = {
    "4242424242424242": OK,
    "4111111111111111": OK,
    "5454545454545454": OK,
}
CODED_PREFIX = "40000000"

AMOUNT_ENDINGS = {
    "09": INSUFFICIENT_FUNDS,
    "10": "4010",
    "12": "4012",
    "19": PROCESSING,
    "22": CHALLENGE_NEEDED,
    "44": BAD_CARD,
    "47": "4147",
}
"""Cents of a payment's amount, and the code it ends with when the card itself would be accepted."""

SECONDARY_ENDINGS = {"09": INSUFFICIENT_FUNDS, "19": PROCESSING}
"""Cents of a capture's or refund's amount, and the code it ends with."""


def luhn_digit(digits: str) -> str:
    """Return the check digit that makes `digits` a well-formed card number."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        doubled = int(digit) * 2 if place % 2 == 0 else int(digit)
        total += doubled - 9 if doubled > 9 else doubled
    return str(-total % 10)


def coded_card(code: str) -> str:
    """Return the card number whose payments end with a status code: `4000 0000 <code> 000` and its check digit."""
    digits = f"{CODED_PREFIX}{code}000"
    return digits + luhn_digit(digits)


def code_of_card(number: str) -> str:
    """Return the status code that a card number stands for; 4144 when it is not a test card."""
    if number in PLAIN_CARDS:
        return PLAIN_CARDS[number]
    code = number[8:12]
    if len(number) == 16 and code.isdecimal() and code.isascii() and coded_card(code) == number:
        return code
    return BAD_CARD


def mask_number(number: str) -> str:
    """Return the first six digits, six mask characters, the last four digits (gateway interface, Conventions)."""
    return f"{number[:6]}******{number[-4:]}"


def ending_of(amount: Decimal) -> str:
    """Return the two digits of the cents."""
    return f"{amount:.2f}"[-2:]
