"""Amounts as operators type them, alone or with whom they are taken from."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from app import amounts
from app.commands.failure import CommandFailed


def read_amount(text: str) -> Decimal:
    """Return an amount, typed as in the Dashboard. Raises CommandFailed."""
    try:
        return amounts.read_amount(text)
    except amounts.NotAnAmountError:
        raise CommandFailed(f"{text!r} is no amount", status=2) from None


def read_shares(given: Sequence[str], names: Mapping[str, str]) -> dict[str, Decimal]:
    """Return amounts by sub-merchant from ``SUB_MERCHANT=AMOUNT``; ``names`` are by UUID. Raises CommandFailed."""
    by_name = {name.casefold(): who for who, name in names.items()}
    shares: dict[str, Decimal] = {}
    for text in given:
        who, _, number = text.rpartition("=")
        try:
            amount = read_amount(number)
        except CommandFailed:
            raise CommandFailed(f"{text!r} is not like SUB_MERCHANT=AMOUNT", status=2) from None
        who = by_name.get(who.strip().casefold(), who.strip())
        if not who or who in shares:
            raise CommandFailed(f"{text!r} is not like SUB_MERCHANT=AMOUNT, once for each", status=2)
        shares[who] = amount
    return shares
