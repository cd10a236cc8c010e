"""What an amount of money may be, in any currency, and how people type one (laws of money, 14).

The gateway and Saleor's reports take two decimals at most, in every currency. Nothing is ever rounded to them here.
"""

import re
from decimal import Decimal, InvalidOperation

CENT = Decimal("0.01")
MILLIONTH = Decimal("0.000001")

LARGEST = Decimal("9999999999999.99")
"""The largest amount that anybody takes for one: thousands of it still sum to what a column holds."""

_LARGEST_SUM = Decimal("999999999999.999999")  # what a column of millionths holds

# A comma is a decimal comma, as Ukrainian writes amounts. "1,000" might be a thousand to somebody: it is not taken.
_TYPED = re.compile(r"([0-9]{1,15})(?:[.,]([0-9]{1,2}))?")


class NotAnAmountError(Exception):
    """What stands in a field is no amount of money; the message is what was typed."""


def is_in_cents(amount: Decimal) -> bool:
    """Return True for a number of at most two decimals; zeros beyond do not count."""
    try:
        return amount == amount.quantize(CENT)
    except InvalidOperation:  # too many digits, or no number at all
        return False


def in_cents(amount: Decimal) -> Decimal:
    """Return ``amount`` with exactly two decimals. Raises ValueError for a finer one."""
    if not is_in_cents(amount):
        raise ValueError("an amount has at most two decimals")
    return amount.quantize(CENT)


def is_amount(amount: Decimal) -> bool:
    """Return True for an amount that can be paid: above zero, no larger than any is, with at most two decimals."""
    return 0 < amount <= LARGEST and is_in_cents(amount)


def is_in_millionths(amount: Decimal) -> bool:
    """Return True for what a fee may be: at most six decimals, and no more than a column holds."""
    try:
        return amount == amount.quantize(MILLIONTH) and abs(amount) <= _LARGEST_SUM
    except InvalidOperation:
        return False


def in_millionths(amount: Decimal) -> Decimal:
    """Return ``amount`` with exactly six decimals. Raises ValueError for one that is finer, or too large."""
    if not is_in_millionths(amount):
        raise ValueError("a fee has at most six decimals")
    return amount.quantize(MILLIONTH)


def read_amount(text: str) -> Decimal:
    """Return an amount that somebody has typed; it may be zero, or too large. Raises NotAnAmountError."""
    # As amounts are shown, so may they be typed: "1 234,50 UAH" without its currency.
    found = _TYPED.fullmatch("".join(text.split()))
    if found is None:
        raise NotAnAmountError(text)
    return Decimal(f"{found[1]}.{found[2]}" if found[2] else found[1])
