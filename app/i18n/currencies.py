"""Which currencies have cents, as Saleor counts: by Unicode's table (CLDR), which Babel brings along."""

from babel.numbers import get_currency_precision


def decimals_of(currency: str) -> int:
    """Return how many decimals amounts of a currency have; two of one that is not known."""
    return get_currency_precision(currency)


def has_cents(currency: str | None) -> bool:
    """Return False for a currency whose amounts are whole, like the yen; True for one that is not known."""
    return not currency or decimals_of(currency) > 0
