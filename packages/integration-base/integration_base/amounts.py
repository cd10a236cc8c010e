"""The limits of an amount of money, in any currency, and the parsing of typed amounts (laws of money, 14).

The gateway and Saleor's reports accept two decimals at most, in every currency. Nothing is ever rounded to them here.
"""

import re
from decimal import Decimal, InvalidOperation

from integration_base.typed_text import typed_number

CENT = Decimal("0.01")
MILLIONTH = Decimal("0.000001")

LARGEST = Decimal("9999999999999.99")
"""The largest amount that is accepted: the sum of thousands of them still fits in a column."""

_MOST_DIGITS = 40  # of a number that is written out: a hostile one is as short as 1e999999999
_LARGEST_SUM = Decimal("999999999999.999999")  # what a column of millionths holds

# A comma is a decimal comma, as in Ukrainian. "1,000" is rejected: some readers would take it for a thousand.
# "1,234.50" and "1,234,567", and not "1,234", which may be a fraction.
_GROUPED = re.compile(r"[0-9]{1,3}(?:(?:,[0-9]{3})+\.[0-9]+|(?:,[0-9]{3}){2,})")
_GROUPED_WHOLE = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+")  # where there are no fractions
_TYPED = re.compile(r"([0-9]{1,15})(?:[.,]([0-9]{1,2}))?")
# Three decimals, where the currency has them: behind a point, or behind a comma where spaces separate thousands.
_FINER = re.compile(r"([0-9]{1,15})\.([0-9]{3,})")
_SPACED = re.compile(r"([0-9]{1,3}(?: [0-9]{3})+),([0-9]{3,})")


class NotAnAmountError(Exception):
    """The text of a field is not an amount of money; the message is the typed text."""


def has_whole_cents(amount: Decimal) -> bool:
    """Return True for a number with at most two decimals, not counting trailing zeros."""
    try:
        return amount == amount.quantize(CENT)
    except InvalidOperation:  # too many digits, or not a number
        return False


def quantize_to_cents(amount: Decimal) -> Decimal:
    """Return ``amount`` with exactly two decimals. Raises ValueError if it has more."""
    if not has_whole_cents(amount):
        raise ValueError("an amount has at most two decimals")
    return amount.quantize(CENT)


def is_amount(amount: Decimal) -> bool:
    """Return True for an amount that can be paid: above zero, at most ``LARGEST``, with at most two decimals."""
    return 0 < amount <= LARGEST and has_whole_cents(amount)


def has_whole_millionths(amount: Decimal) -> bool:
    """Return True for a valid fee: at most six decimals, and small enough for a column."""
    try:
        return amount == amount.quantize(MILLIONTH) and abs(amount) <= _LARGEST_SUM
    except InvalidOperation:
        return False


def quantize_to_millionths(amount: Decimal) -> Decimal:
    """Return ``amount`` with exactly six decimals. Raises ValueError if it has more, or is too large."""
    if not has_whole_millionths(amount):
        raise ValueError("a fee has at most six decimals")
    return amount.quantize(MILLIONTH)


def format_amount(amount: Decimal, *, cents: bool = True) -> str:
    """Return ``amount`` as text, as every message, table and file has it: ``1708.50``, whoever wrote 1708.5.

    It has at least two decimals, and more if the amount has: a fee of the gateway may be finer. Without ``cents``,
    which some currencies do not have, a whole amount has no decimals.
    """
    if not amount.is_finite() or abs(amount.adjusted()) > _MOST_DIGITS:
        return str(amount)
    whole, _, written = f"{amount:f}".partition(".")
    decimals = written.rstrip("0")
    return f"{whole}.{decimals.ljust(2, '0')}" if cents or decimals else whole


def read_amount(text: str, *, decimals: int = 2) -> Decimal:
    """Parse a typed amount; the result may be zero, too large, or finer than a cent. Raises NotAnAmountError.

    In a currency of more than two ``decimals`` it may be typed with all of them, and in one without any "1,000" is a
    thousand: elsewhere some readers take the one for the other.
    """
    # Amounts may be typed as they are displayed, without the currency: "1 234,50", "1,234.50".
    number = typed_number(text)
    typed = "".join((_SPACED.sub(r"\1.\2", number) if _SPACED.fullmatch(number) else number).split())
    is_grouped = _GROUPED.fullmatch(typed) or (not decimals and _GROUPED_WHOLE.fullmatch(typed))
    plain = typed.replace(",", "") if is_grouped else typed
    found = _TYPED.fullmatch(plain) or _FINER.fullmatch(plain)
    if found is None or len(found[2] or "") > max(decimals, 2):
        raise NotAnAmountError(text)
    return Decimal(f"{found[1]}.{found[2]}" if found[2] else found[1])
