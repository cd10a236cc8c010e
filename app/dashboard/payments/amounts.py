"""Reads amounts from forms, alone or with whom they are taken from. Pure; what can be is judged where it is done."""

import re
from collections.abc import Iterable
from decimal import Decimal

FIELD = "from."
"""Before the sub-merchant's id in the name of a field."""

# A comma is a decimal comma, as Ukrainian writes amounts. "1,000" might be a thousand to somebody: it is not taken.
_AMOUNT = re.compile(r"([0-9]{1,15})(?:[.,]([0-9]{1,2}))?")


class NotAnAmountError(Exception):
    """What stands in a field is no amount of money; the message is what was typed."""


def read_amounts(fields: Iterable[tuple[str, str]]) -> dict[str, Decimal]:
    """Return the amounts by sub-merchant. Empty fields are of those who give nothing. Raises NotAnAmountError."""
    typed = [(name.removeprefix(FIELD), text.strip()) for name, text in fields if name.startswith(FIELD)]
    return {who: read_amount(text) for who, text in typed if text}


def read_amount(text: str) -> Decimal:
    """Return an amount. Raises NotAnAmountError."""
    # As amounts are shown, so may they be typed: "1 234,50 UAH" without its currency.
    found = _AMOUNT.fullmatch("".join(text.split()))
    if found is None:
        raise NotAnAmountError(text)
    return Decimal(f"{found[1]}.{found[2] or '0'}")
