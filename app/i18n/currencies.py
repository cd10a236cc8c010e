"""How many decimals currencies have, as Saleor counts: by Unicode's table (CLDR), from Babel."""

from decimal import Decimal

from babel.numbers import get_currency_precision

from integration_base.amounts import CENT, read_amount

_WHOLE = Decimal(1)


def decimals_of(currency: str) -> int:
    """Return how many decimals amounts of a currency have; two of one that is not known."""
    return get_currency_precision(currency)


def has_cents(currency: str | None) -> bool:
    """Return False for a currency whose amounts are whole, like the yen; True for one that is not known."""
    return not currency or decimals_of(currency) > 0


def smallest_unit(currency: str, *amounts: Decimal) -> Decimal:
    """Return the unit that amounts of a currency are multiples of: a cent, or one if the currency has no cents.

    If one of ``amounts`` has cents in spite of its currency, the unit is a cent. The gateway takes two decimals at
    most, so nothing is finer.
    """
    whole = not has_cents(currency) and all(amount == amount.to_integral_value() for amount in amounts)
    return _WHOLE if whole else CENT


def read_amount_in(currency: str, text: str) -> Decimal:
    """Parse an amount that people typed in a currency, with the decimals that it has. Raises NotAnAmountError.

    It may have more than the two that the gateway takes.
    """
    return read_amount(text, decimals=decimals_of(currency))


def rounded_by_saleor(amount: Decimal, currency: str) -> Decimal:
    """Return what Saleor records of an amount that is reported to it (Saleor contract, A.7)."""
    return amount.quantize(Decimal(1).scaleb(-decimals_of(currency)))
