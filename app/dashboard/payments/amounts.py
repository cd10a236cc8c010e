"""Reads the amounts of a form by whom they are taken from. Pure; what can be is judged where it is done."""

from collections.abc import Iterable
from decimal import Decimal

from app.amounts import read_amount

FIELD = "from."
"""Before the sub-merchant's id in the name of a field."""


def read_amounts(fields: Iterable[tuple[str, str]]) -> dict[str, Decimal]:
    """Return the amounts by sub-merchant. Empty fields are of those who give nothing. Raises NotAnAmountError."""
    typed = [(name.removeprefix(FIELD), text.strip()) for name, text in fields if name.startswith(FIELD)]
    return {who: read_amount(text) for who, text in typed if text}
